// SPDX-License-Identifier: BSD-2-Clause

/// Event queues. Events that find no room wait, each (kind, object) once, and hold up nobody: a bit per
/// CQ for completion events, a small table for the others (eq_overflow counts what waited). The interrupt follows when the
/// event is in host memory. Also the one place where MSI-X messages are sent.
module dingo_eq (
    input  logic        clk_i,
    input  logic        rst_ni,
    output logic        idle_o,          // nothing to write; events without room may wait
    input  logic        xl_flush_i,
    input  logic        cfg_valid_i,
    input  rtl_pkg::eq_cfg_t     cfg_i,
    input  logic        forget_valid_i,  // the object is gone: its waiting events, too. kind COMPLETION: of CQ id;
    input  rtl_pkg::ev_t         forget_i,        // kind QP_FATAL: every QP event of QPN id; CQ_ERR: of CQ id
    input  logic        db_valid_i,
    output logic        db_ready_o,
    input  rtl_pkg::db_t         db_i,
    input  logic        comp_valid_i,
    output logic        comp_ready_o,
    input  rtl_pkg::eqi_t        comp_eq_i,
    input  rtl_pkg::cqi_t        comp_cq_i,
    // asynchronous events: 0 requester, 1 responder, 2 CQ, 3 port
    input  logic [3:0]  ev_valid_i,
    output logic [3:0]  ev_ready_o,
    input  logic [4*rtl_pkg::EV_W-1:0] ev_i,
    input  logic        fatal_valid_i,   // event DEVICE_FATAL, then none any more
    input  logic [31:0] fatal_code_i,
    input  logic        admin_irq_i,     // pulse: an admin completion is in host memory, send vector 0
    output logic        msix_valid_o,
    input  logic        msix_ready_i,
    output logic [5:0]  msix_vector_o,
    output logic        stat_valid_o,
    input  logic        stat_ready_i,
    output rtl_pkg::stat_t       stat_o,
    // dingo_host
    output logic        write_valid_o,
    input  logic        write_ready_i,
    output rtl_pkg::dma_req_t    write_o,
    output logic        wdata_valid_o,
    input  logic        wdata_ready_i,
    output rtl_pkg::beat_t       wdata_o,
    input  logic        done_valid_i,
    input  logic        done_err_i,
    output logic        line_valid_o,
    input  logic        line_ready_i,
    output rtl_pkg::rdl_req_t    line_o,
    input  logic        line_rsp_valid_i,
    input  rtl_pkg::rdl_rsp_t    line_rsp_i
);
endmodule
