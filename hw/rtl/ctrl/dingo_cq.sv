// SPDX-License-Identifier: BSD-2-Clause

/// Completion queues: entries of four clients into rings in host memory; arming and events. The event
/// of an entry follows when the entry is in host memory. A CQ that overflows or cannot be written takes no
/// more entries (event CQ_ERR once) and every entry for it makes `fail` for the QP, or for the Ethernet ring.
module dingo_cq (
    input  logic        clk_i,
    input  logic        rst_ni,
    output logic        idle_o,
    input  logic        xl_flush_i,
    input  logic [63:0] now_ns_i,
    input  logic        cfg_valid_i,     // create (index and phase start afresh) or destroy
    input  rtl_pkg::cq_cfg_t     cfg_i,
    input  logic        db_valid_i,
    output logic        db_ready_o,
    input  rtl_pkg::db_t         db_i,
    // entries: 0 requester, 1 responder, 2 Ethernet transmit, 3 receive
    input  logic [3:0]  cqe_valid_i,
    output logic [3:0]  cqe_ready_o,
    input  logic [4*rtl_pkg::CQE_REQ_W-1:0] cqe_i,
    output logic        req_fail_valid_o,   // always taken
    output logic        rsp_fail_valid_o,
    output rtl_pkg::qpi_t        fail_qp_o,
    output logic        etx_fail_o,
    output logic        erx_fail_o,
    output logic        comp_valid_o,    // completion events
    input  logic        comp_ready_i,
    output rtl_pkg::eqi_t        comp_eq_o,
    output rtl_pkg::cqi_t        comp_cq_o,
    output logic        ev_valid_o,
    input  logic        ev_ready_i,
    output rtl_pkg::ev_t         ev_o,
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
