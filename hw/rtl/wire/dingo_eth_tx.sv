// SPDX-License-Identifier: BSD-2-Clause

/// Transmit ring of the Ethernet function: descriptors, frame, completion. One ring.
module dingo_eth_tx (
    input  logic     clk_i,
    input  logic     rst_ni,
    input  logic     halt_i,          // finish the frame in work, then stand still
    output logic     idle_o,          // stands still, and so does its memory traffic
    input  logic     xl_flush_i,
    input  rtl_pkg::port_t    port_i,
    input  logic     link_i,
    // command: the ring is created (valid 1) or destroyed
    input  logic     cfg_valid_i,
    input  logic     cfg_on_i,
    input  rtl_pkg::xmem_t    cfg_mem_i,
    input  logic [3:0] cfg_log_size_i,
    input  rtl_pkg::cqi_t     cfg_cq_i,
    input  logic     db_valid_i,      // producer index, page is good
    input  logic [31:0] db_index_i,
    output logic     db_bad_o,        // in the cycle of db_valid_i: no ring, or an index that it cannot have
    output logic     frame_valid_o,
    input  logic     frame_ready_i,
    output rtl_pkg::beat_t    frame_o,
    output logic     cqe_valid_o,
    input  logic     cqe_ready_i,
    output rtl_pkg::cqe_req_t cqe_o,
    input  logic     cq_failed_i,     // its CQ took no entry: the ring stops
    output logic     stat_valid_o,
    input  logic     stat_ready_i,
    output rtl_pkg::stat_t    stat_o,
    // dingo_host
    output logic     read_valid_o,
    input  logic     read_ready_i,
    output rtl_pkg::dma_req_t read_o,
    input  logic     read_rsp_valid_i,
    output logic     read_rsp_ready_o,
    input  rtl_pkg::beat_t    read_rsp_i,
    output logic     desc_valid_o,    // LINE_ETX
    input  logic     desc_ready_i,
    output rtl_pkg::rdl_req_t desc_o,
    input  logic     desc_rsp_valid_i,
    output logic     line_valid_o,    // LINE_XL_ETX
    input  logic     line_ready_i,
    output rtl_pkg::rdl_req_t line_o,
    input  logic     line_rsp_valid_i,
    input  rtl_pkg::rdl_rsp_t line_rsp_i       // of both
);
endmodule
