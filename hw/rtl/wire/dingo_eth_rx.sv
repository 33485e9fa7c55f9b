// SPDX-License-Identifier: BSD-2-Clause

/// Receive ring of the Ethernet function: filter, descriptor, frame into memory, completion. One ring.
module dingo_eth_rx (
    input  logic     clk_i,
    input  logic     rst_ni,
    input  logic     halt_i,
    output logic     idle_o,
    input  logic     xl_flush_i,
    input  rtl_pkg::port_t    port_i,
    input  logic [(1<<rtl_pkg::MAC_LOG)-1:0]    mac_valid_i,
    input  logic [(1<<rtl_pkg::MAC_LOG)*48-1:0] macs_i,
    input  logic     cfg_valid_i,
    input  logic     cfg_on_i,
    input  rtl_pkg::xmem_t    cfg_mem_i,
    input  logic [3:0] cfg_log_size_i,
    input  rtl_pkg::cqi_t     cfg_cq_i,
    input  logic     db_valid_i,
    input  logic [31:0] db_index_i,
    output logic     db_bad_o,
    input  logic     frame_valid_i,
    output logic     frame_ready_o,
    input  rtl_pkg::beat_t    frame_i,
    output logic     cqe_valid_o,
    input  logic     cqe_ready_i,
    output rtl_pkg::cqe_req_t cqe_o,
    input  logic     cq_failed_i,
    output logic     stat_valid_o,
    input  logic     stat_ready_i,
    output rtl_pkg::stat_t    stat_o,
    // dingo_host
    output logic     write_valid_o,
    input  logic     write_ready_i,
    output rtl_pkg::dma_req_t write_o,
    output logic     wdata_valid_o,
    input  logic     wdata_ready_i,
    output rtl_pkg::beat_t    wdata_o,
    input  logic     done_valid_i,
    input  logic     done_err_i,
    output logic     desc_valid_o,    // LINE_ERX
    input  logic     desc_ready_i,
    output rtl_pkg::rdl_req_t desc_o,
    input  logic     desc_rsp_valid_i,
    output logic     line_valid_o,    // LINE_XL_ERX
    input  logic     line_ready_i,
    output rtl_pkg::rdl_req_t line_o,
    input  logic     line_rsp_valid_i,
    input  rtl_pkg::rdl_rsp_t line_rsp_i
);
endmodule
