// SPDX-License-Identifier: BSD-2-Clause

/// Completions and events of the card: CQs, EQs, interrupts.
module dingo_events (
    input  logic clk_i,
    input  logic rst_ni,
    output logic cq_idle_o,
    output logic eq_idle_o,
    output logic ev_waits_o,               // an event has not yet been taken by dingo_eq
    input  logic halt_i,
    output logic due_o,                    // see dingo_cq
    output logic timer_valid_o,
    output logic [63:0] timer_next_o,
    input  logic [63:0] now_ns_i,
    input  rtl_pkg::orders_t  orders_i,
    output logic              cq_info_valid_o,
    output rtl_pkg::cq_info_t cq_info_o,
    input  rtl_pkg::bell_t    bell_i,
    output logic              cq_bell_taken_o,
    output logic              eq_bell_taken_o,
    // entries: 0 requester, 1 responder, 2 Ethernet transmit, 3 receive
    input  logic [3:0]        cqe_valid_i,
    output logic [3:0]        cqe_ready_o,
    input  logic [4*rtl_pkg::CQE_REQ_W-1:0] cqe_i,
    output rtl_pkg::cq_fail_t fail_o,
    output logic              rsp_done_o,
    // asynchronous events: 0 requester, 1 responder, 2 port
    input  logic [2:0]        ev_valid_i,
    output logic [2:0]        ev_ready_o,
    input  logic [3*rtl_pkg::EV_W-1:0] ev_i,
    input  logic              fatal_valid_i,
    input  logic [31:0]       fatal_code_i,
    input  logic              admin_irq_i,
    output logic              msix_valid_o,
    input  logic              msix_ready_i,
    output logic [5:0]        msix_vector_o,
    // ports of dingo_stats and dingo_host: 0 dingo_cq, 1 dingo_eq
    output logic [1:0]        stat_valid_o,
    input  logic [1:0]        stat_ready_i,
    output logic [2*rtl_pkg::STAT_W-1:0] stat_o,
    output logic [1:0]        write_valid_o,
    input  logic [1:0]        write_ready_i,
    output logic [2*rtl_pkg::DMA_REQ_W-1:0] write_o,
    output logic [1:0]        wdata_valid_o,
    input  logic [1:0]        wdata_ready_i,
    output logic [2*rtl_pkg::BEAT_W-1:0] wdata_o,
    input  logic [1:0]        done_valid_i,
    input  logic              done_err_i,
    output logic [1:0]        line_valid_o,
    input  logic [1:0]        line_ready_i,
    output logic [2*rtl_pkg::RDL_REQ_W-1:0] line_o,
    input  logic [1:0]        line_rsp_valid_i,
    input  rtl_pkg::rdl_rsp_t line_rsp_i
);
  localparam int unsigned LW = rtl_pkg::RDL_REQ_W;
  localparam int unsigned DW = rtl_pkg::DMA_REQ_W;
  localparam int unsigned BW = rtl_pkg::BEAT_W;
  localparam int unsigned SW = rtl_pkg::STAT_W;
  localparam int unsigned EW = rtl_pkg::EV_W;
  localparam int unsigned XL_CQ = 0;
  localparam int unsigned XL_EQ = 1;

  logic comp_valid, comp_ready;
  rtl_pkg::eqi_t comp_eq;
  rtl_pkg::cqi_t comp_cq;
  logic [3:0] ev_valid, ev_ready;   // requester, responder, CQ, port
  rtl_pkg::ev_t ev_cq;
  assign {ev_valid[3], ev_valid[1:0]} = ev_valid_i;
  assign ev_ready_o = {ev_ready[3], ev_ready[1:0]};
  assign ev_waits_o = |ev_valid;

  dingo_cq i_cq (
      .clk_i, .rst_ni, .idle_o(cq_idle_o), .halt_i(halt_i), .due_o(due_o), .timer_valid_o, .timer_next_o, .xl_flush_i(orders_i.xl_flush), .now_ns_i,
      .cfg_valid_i(orders_i.cq_valid),
      .cfg_i(orders_i.cq), .info_valid_o(cq_info_valid_o), .info_o(cq_info_o), .db_valid_i(bell_i.cq), .db_ready_o(cq_bell_taken_o), .db_i(bell_i.db), .cqe_valid_i, .cqe_ready_o, .cqe_i, .req_fail_valid_o(fail_o.req),
      .rsp_fail_valid_o(fail_o.rsp), .fail_qp_o(fail_o.qp), .etx_fail_o(fail_o.etx), .erx_fail_o(fail_o.erx), .rsp_done_o(rsp_done_o),
      .comp_valid_o(comp_valid), .comp_ready_i(comp_ready), .comp_eq_o(comp_eq), .comp_cq_o(comp_cq),
      .ev_valid_o(ev_valid[2]), .ev_ready_i(ev_ready[2]), .ev_o(ev_cq), .stat_valid_o(stat_valid_o[0]),
      .stat_ready_i(stat_ready_i[0]), .stat_o(stat_o[0+:SW]),
      .write_valid_o(write_valid_o[0]), .write_ready_i(write_ready_i[0]),
      .write_o(write_o[0+:DW]), .wdata_valid_o(wdata_valid_o[0]),
      .wdata_ready_i(wdata_ready_i[0]), .wdata_o(wdata_o[0+:BW]),
      .done_valid_i(done_valid_i[0]), .done_err_i(done_err_i),
      .line_valid_o(line_valid_o[XL_CQ]), .line_ready_i(line_ready_i[XL_CQ]),
      .line_o(line_o[XL_CQ*LW+:LW]), .line_rsp_valid_i(line_rsp_valid_i[XL_CQ]),
      .line_rsp_i(line_rsp_i)
  );

  dingo_eq i_eq (
      .clk_i, .rst_ni, .idle_o(eq_idle_o), .xl_flush_i(orders_i.xl_flush), .cfg_valid_i(orders_i.eq_valid),
      .cfg_i(orders_i.eq), .forget_valid_i(orders_i.forget_valid), .forget_i(orders_i.forget), .db_valid_i(bell_i.eq),
      .db_ready_o(eq_bell_taken_o), .db_i(bell_i.db), .comp_valid_i(comp_valid), .comp_ready_o(comp_ready),
      .comp_eq_i(comp_eq), .comp_cq_i(comp_cq), .ev_valid_i(ev_valid), .ev_ready_o(ev_ready),
      .ev_i({ev_i[2*EW+:EW], ev_cq, ev_i[0+:2*EW]}), .fatal_valid_i, .fatal_code_i, .admin_irq_i, .msix_valid_o, .msix_ready_i, .msix_vector_o,
      .stat_valid_o(stat_valid_o[1]), .stat_ready_i(stat_ready_i[1]),
      .stat_o(stat_o[SW+:SW]), .write_valid_o(write_valid_o[1]),
      .write_ready_i(write_ready_i[1]), .write_o(write_o[DW+:DW]),
      .wdata_valid_o(wdata_valid_o[1]), .wdata_ready_i(wdata_ready_i[1]),
      .wdata_o(wdata_o[BW+:BW]), .done_valid_i(done_valid_i[1]), .done_err_i(done_err_i),
      .line_valid_o(line_valid_o[XL_EQ]), .line_ready_i(line_ready_i[XL_EQ]),
      .line_o(line_o[XL_EQ*LW+:LW]), .line_rsp_valid_i(line_rsp_valid_i[XL_EQ]),
      .line_rsp_i(line_rsp_i)
  );

  wire unused_ok = &{1'b0, orders_i, bell_i};
endmodule
