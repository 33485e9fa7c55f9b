// SPDX-License-Identifier: BSD-2-Clause

/// The admin queue: fetches commands one after the other, checks every field, does them, writes the completion.
/// Commands that change what engines use are done while everything stands still:
/// halt_tx (nobody starts to send) until tx_idle, halt_rx until rx_idle, halt_db and rx_idle once more.
module dingo_admin (
    input  logic        clk_i,
    input  logic        rst_ni,
    output logic        idle_o,
    input  rtl_pkg::strap_t      strap_i,
    // dingo_regs
    input  logic        aq_enable_i,
    input  logic [ 3:0] aq_log_depth_i,
    input  logic [63:0] asq_base_i,
    input  logic [63:0] acq_base_i,
    input  logic [31:0] asq_producer_i,
    output logic [31:0] asq_consumer_o,   // commands completed since enabling
    output logic        fatal_valid_o,
    output logic [31:0] fatal_code_o,
    // standing still
    output logic        halt_tx_o,
    input  logic        tx_idle_i,
    output logic        halt_rx_o,
    input  logic        rx_idle_i,
    output logic        halt_db_o,
    output logic        xl_flush_o,       // pulse: page lists may be gone
    // tables
    output logic        qp_re_o,
    output rtl_pkg::qpi_t        qp_rindex_o,
    input  rtl_pkg::qp_t         qp_rdata_i,
    output logic        qp_we_o,
    output rtl_pkg::qpi_t        qp_windex_o,
    output rtl_pkg::qp_cfg_t     qp_wdata_o,
    output logic        state_we_o,
    output rtl_pkg::qps_t        state_o,          // of qp_windex_o
    output logic        mr_re_o,
    output logic        mr_we_o,
    output rtl_pkg::mri_t        mr_index_o,
    output rtl_pkg::mr_t         mr_wdata_o,
    input  rtl_pkg::mr_t         mr_rdata_i,
    output logic        port_we_o,
    output rtl_pkg::port_t       port_o,
    output logic        gid_we_o,
    output rtl_pkg::gidi_t       gid_index_o,
    output rtl_pkg::gid_t        gid_o,
    input  logic [(1<<rtl_pkg::GID_LOG)*rtl_pkg::GID_W-1:0] gids_i,
    output logic        mac_we_o,
    output logic [rtl_pkg::MAC_LOG-1:0] mac_index_o,
    output logic        mac_valid_o,
    output logic [47:0] mac_o,
    output logic        cq_valid_o,
    output rtl_pkg::cq_cfg_t     cq_o,
    output logic        eq_valid_o,
    output rtl_pkg::eq_cfg_t     eq_o,
    output logic        forget_valid_o,
    output rtl_pkg::ev_t         forget_o,
    output logic        etx_valid_o,
    output logic        erx_valid_o,
    output logic        eth_on_o,
    output rtl_pkg::xmem_t       eth_mem_o,
    output logic [ 3:0] eth_log_size_o,
    output rtl_pkg::cqi_t        eth_cq_o,
    // engines: both get every request; done is one cycle, with the answer
    output logic        qpa_valid_o,      // one cycle
    output rtl_pkg::qpa_req_t    qpa_o,
    input  logic        req_done_i,
    input  rtl_pkg::req_info_t   req_info_i,
    input  logic        rsp_done_i,
    input  rtl_pkg::rsp_info_t   rsp_info_i,
    // dingo_stats
    output logic        clear_valid_o,
    input  logic        clear_ready_i,
    output rtl_pkg::qpi_t        clear_qp_o,
    output logic        read_valid_o,
    input  logic        read_ready_i,
    output logic        read_qp_o,
    output rtl_pkg::qpi_t        read_qpi_o,
    output logic [ 5:0] read_idx_o,
    input  logic        value_valid_i,
    input  logic [63:0] value_i,
    output logic        stat_valid_o,
    input  logic        stat_ready_i,
    output rtl_pkg::stat_t       stat_o,
    output logic        irq_o,            // pulse: the completion is in host memory
    // dingo_host
    output logic        line_valid_o,
    input  logic        line_ready_i,
    output rtl_pkg::rdl_req_t    line_o,
    input  logic        line_rsp_valid_i,
    input  rtl_pkg::rdl_rsp_t    line_rsp_i,
    output logic        write_valid_o,
    input  logic        write_ready_i,
    output rtl_pkg::dma_req_t    write_o,
    output logic        wdata_valid_o,
    input  logic        wdata_ready_i,
    output rtl_pkg::beat_t       wdata_o,
    input  logic        done_valid_i,
    input  logic        done_err_i
);
endmodule
