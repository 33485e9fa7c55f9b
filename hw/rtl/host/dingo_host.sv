// SPDX-License-Identifier: BSD-2-Clause

/// Everything that goes to host memory: AXI4 master with its three engines. Reads of lines (queue
/// entries, page lists, commands) and of payload share the read channels, told apart by ARID's
/// highest bit; all writes share one AWID, so that they arrive in the order in which they were taken.
module dingo_host (
    input logic clk_i,
    input logic rst_ni,

    // lines: clients always take their answers; answers of one client come in order
    input  logic     [rtl_pkg::LINES-1:0]                   line_valid_i,
    output logic     [rtl_pkg::LINES-1:0]                   line_ready_o,
    input  logic     [rtl_pkg::LINES*rtl_pkg::RDL_REQ_W-1:0]  line_i,
    output logic     [rtl_pkg::LINES-1:0]                   line_rsp_valid_o,
    output rtl_pkg::rdl_rsp_t                               line_rsp_o,

    // payload reads: each request is answered by its bytes, from byte 0 of the first beat on, in order per client
    input  logic     [rtl_pkg::READS-1:0]                   read_valid_i,
    output logic     [rtl_pkg::READS-1:0]                   read_ready_o,
    input  logic     [rtl_pkg::READS*rtl_pkg::DMA_REQ_W-1:0]  read_i,
    output logic     [rtl_pkg::READS-1:0]                   read_rsp_valid_o,
    input  logic     [rtl_pkg::READS-1:0]                   read_rsp_ready_i,
    output logic     [rtl_pkg::READS*rtl_pkg::BEAT_W-1:0]     read_rsp_o,

    // writes: a request, then its bytes as beats; `done` when the host has them (or refused them), in order per client
    input  logic     [rtl_pkg::WRITES-1:0]                  write_valid_i,
    output logic     [rtl_pkg::WRITES-1:0]                  write_ready_o,
    input  logic     [rtl_pkg::WRITES*rtl_pkg::DMA_REQ_W-1:0] write_i,
    input  logic     [rtl_pkg::WRITES-1:0]                  wdata_valid_i,
    output logic     [rtl_pkg::WRITES-1:0]                  wdata_ready_o,
    input  logic     [rtl_pkg::WRITES*rtl_pkg::BEAT_W-1:0]    wdata_i,
    output logic     [rtl_pkg::WRITES-1:0]                  done_valid_o,
    output logic                                   done_err_o,

    output logic stat_valid_o,  // dma_errors
    input  logic stat_ready_i,
    output rtl_pkg::stat_t stat_o,
    output logic idle_o,        // nothing outstanding

    // AXI4
    output logic         m_axi_arvalid_o,
    input  logic         m_axi_arready_i,
    output logic [  6:0] m_axi_arid_o,
    output logic [ 63:0] m_axi_araddr_o,   // 64-byte aligned
    output logic [  7:0] m_axi_arlen_o,    // size is always 64 bytes, burst INCR, not across 4 KiB
    input  logic         m_axi_rvalid_i,
    output logic         m_axi_rready_o,
    input  logic [  6:0] m_axi_rid_i,
    input  logic [511:0] m_axi_rdata_i,
    input  logic [  1:0] m_axi_rresp_i,
    input  logic         m_axi_rlast_i,
    output logic         m_axi_awvalid_o,
    input  logic         m_axi_awready_i,
    output logic [ 63:0] m_axi_awaddr_o,   // 64-byte aligned; bytes that are not meant have wstrb 0
    output logic [  7:0] m_axi_awlen_o,
    output logic         m_axi_wvalid_o,
    input  logic         m_axi_wready_i,
    output logic [511:0] m_axi_wdata_o,
    output logic [ 63:0] m_axi_wstrb_o,
    output logic         m_axi_wlast_o,
    input  logic         m_axi_bvalid_i,
    output logic         m_axi_bready_o,
    input  logic [  1:0] m_axi_bresp_i
);
endmodule
