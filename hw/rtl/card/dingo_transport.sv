// SPDX-License-Identifier: BSD-2-Clause

/// RoCE part of the card: both engines, the path of payload from host memory through the compute slot to dingo_wire_tx,
/// and the path of packets from dingo_wire_rx to the engines and, through the compute slot, to host memory.
module dingo_transport (
    input  logic              clk_i,
    input  logic              rst_ni,
    input  logic              halt_tx_i,
    input  logic              halt_rx_i,
    output rtl_pkg::rest_t    rest_o,
    output logic              req_work_o,        // see dingo_requester, dingo_responder
    output logic              rsp_work_o,
    output logic              timer_valid_o,
    output logic [63:0]       timer_next_o,
    input  logic [63:0]       now_ns_i,
    input  rtl_pkg::orders_t  orders_i,
    output rtl_pkg::answers_t answers_o,         // all but dingo_cq's
    input  logic              compute_valid_i,
    output logic              compute_ready_o,
    input  rtl_pkg::compute_cfg_t compute_i,
    input  logic [15:0]       port_mtu_i,
    input  logic [(1<<rtl_pkg::GID_LOG)*rtl_pkg::GID_W-1:0] gids_i,
    input  logic [(1<<rtl_pkg::GID_LOG)-1:0] gid_valid_i,
    // tables
    output rtl_pkg::ask_t     req_ask_o,
    input  rtl_pkg::told_t    req_told_i,
    output rtl_pkg::ask_t     rsp_ask_o,
    input  rtl_pkg::told_t    rsp_told_i,
    output logic              qp_re_o,           // of dingo_dispatch
    output rtl_pkg::qpi_t     qp_index_o,
    input  rtl_pkg::qp_t      qp_i,
    // doorbells
    input  rtl_pkg::bell_t    bell_i,
    output logic              sq_bell_taken_o,
    output logic              rq_bell_taken_o,
    input  logic              push_valid_i,
    output logic              push_ready_o,
    input  rtl_pkg::push_t    push_i,
    // packets to dingo_wire_tx, and reports of them
    output logic              txd_valid_o,
    input  logic              txd_ready_i,
    output rtl_pkg::txd_t     txd_o,
    output logic              payload_valid_o,
    input  logic              payload_ready_i,
    output rtl_pkg::beat_t    payload_o,
    input  logic              req_txerr_valid_i,
    output logic              req_txerr_ready_o,
    input  logic              rsp_txerr_valid_i,
    output logic              rsp_txerr_ready_o,
    input  rtl_pkg::txerr_t   txerr_i,
    // packets from dingo_wire_rx
    input  logic              rxh_valid_i,
    output logic              rxh_ready_o,
    input  rtl_pkg::rxh_t     rxh_i,
    input  logic              rx_payload_valid_i,
    output logic              rx_payload_ready_o,
    input  rtl_pkg::beat_t    rx_payload_i,
    // 0 requester, 1 responder
    output logic [1:0]        cqe_valid_o,
    input  logic [1:0]        cqe_ready_i,
    output logic [2*rtl_pkg::CQE_REQ_W-1:0] cqe_o,
    input  rtl_pkg::cq_fail_t cq_fail_i,
    input  logic              cq_rsp_done_i,
    output logic [1:0]        ev_valid_o,
    input  logic [1:0]        ev_ready_i,
    output logic [2*rtl_pkg::EV_W-1:0] ev_o,
    // dingo_stats: requester, responder, dispatch; counters of QPs: dispatch, requester, responder
    output logic [2:0]        stat_valid_o,
    input  logic [2:0]        stat_ready_i,
    output logic [3*rtl_pkg::STAT_W-1:0] stat_o,
    output logic [2:0]        qstat_valid_o,
    input  logic [2:0]        qstat_ready_i,
    output logic [3*rtl_pkg::QSTAT_W-1:0] qstat_o,
    // dingo_host; for lines see below
    output logic              read_valid_o,
    input  logic              read_ready_i,
    output rtl_pkg::dma_req_t read_o,
    input  logic              read_rsp_valid_i,
    output logic              read_rsp_ready_o,
    input  rtl_pkg::beat_t    read_rsp_i,
    output logic              write_valid_o,
    input  logic              write_ready_i,
    output rtl_pkg::dma_req_t write_o,
    output logic              wdata_valid_o,
    input  logic              wdata_ready_i,
    output rtl_pkg::beat_t    wdata_o,
    input  logic              done_valid_i,
    input  logic              done_err_i,
    output logic [6:0]        line_valid_o,
    input  logic [6:0]        line_ready_i,
    output logic [7*rtl_pkg::RDL_REQ_W-1:0] line_o,
    input  logic [6:0]        line_rsp_valid_i,
    input  rtl_pkg::rdl_rsp_t line_rsp_i
);
  localparam int unsigned LW = rtl_pkg::RDL_REQ_W;
  localparam int unsigned SW = rtl_pkg::STAT_W;
  localparam int unsigned QW = rtl_pkg::QSTAT_W;
  localparam int unsigned XL_TX = 0;     // page lists: of sent payload,
  localparam int unsigned XL_RX = 1;     // of received payload,
  localparam int unsigned XL_SQ = 2;     // of send queues,
  localparam int unsigned XL_RQ = 3;     // of receive queues
  localparam int unsigned SQ = 4;
  localparam int unsigned RQ = 5;
  localparam int unsigned ATOMIC = 6;

  // ------------------------------------------------------------------------------------ packets out
  logic [1:0] tx_room, txd_valid, txd_ready, seg_valid, seg_ready;  // requester, responder
  rtl_pkg::txd_t txd_req, txd_rsp, txd;
  rtl_pkg::seg_t seg_req, seg_rsp, seg;
  logic inl_in_valid, inl_in_ready, inl_valid, inl_ready, txd_out_valid, txd_out_ready, seg_out_valid, seg_out_ready;
  rtl_pkg::beat_t inl_in, inl;
  // Progress of granted accesses, for dingo_req_settle
  logic rxh_bare;
  rtl_pkg::flow_t flow;
  assign flow.rx_in = rxh_valid_i && rxh_ready_o && !rxh_bare;
  assign flow.tx_in = seg_valid[1] && seg_ready[1];
  assign flow.tx_order = seg_out_valid && seg_out_ready && seg.last;

  logic gather_valid, gather_ready;
  assign txd_o = txd;
  rtl_pkg::beat_t gather;

  dingo_tx_mux i_tx_mux (
      .clk_i, .rst_ni, .idle_o(rest_o.tx_mux), .room_o(tx_room), .txd_valid_i(txd_valid),
      .txd_ready_o(txd_ready), .req_txd_i(txd_req), .rsp_txd_i(txd_rsp), .seg_valid_i(seg_valid),
      .seg_ready_o(seg_ready), .req_seg_i(seg_req), .rsp_seg_i(seg_rsp), .inl_valid_i(inl_in_valid),
      .inl_ready_o(inl_in_ready), .inl_i(inl_in), .txd_valid_o(txd_out_valid), .txd_ready_i(txd_out_ready),
      .txd_o(txd), .seg_valid_o(seg_out_valid), .seg_ready_i(seg_out_ready), .seg_o(seg), .seg_rsp_o(flow.tx_order_rsp), .inl_valid_o(inl_valid),
      .inl_ready_i(inl_ready), .inl_o(inl)
  );

  dingo_gather i_gather (
      .clk_i, .rst_ni, .idle_o(rest_o.gather), .packet_read_o(flow.tx_out), .xl_flush_i(orders_i.xl_flush), .seg_valid_i(seg_out_valid),
      .seg_ready_o(seg_out_ready), .seg_i(seg), .beat_valid_o(gather_valid), .beat_ready_i(gather_ready),
      .beat_o(gather), .read_valid_o(read_valid_o), .read_ready_i(read_ready_i),
      .read_o(read_o), .read_rsp_valid_i(read_rsp_valid_i),
      .read_rsp_ready_o(read_rsp_ready_o), .read_rsp_i(read_rsp_i),
      .line_valid_o(line_valid_o[XL_TX]), .line_ready_i(line_ready_i[XL_TX]),
      .line_o(line_o[XL_TX*LW+:LW]), .line_rsp_valid_i(line_rsp_valid_i[XL_TX]),
      .line_rsp_i(line_rsp_i)
  );

  // A command that sets both directions sets `pass`: both tables are ready in the same cycle.
  logic send_idle, send_ready, receive_idle, receive_ready;
  assign rest_o.compute = send_idle && receive_idle;
  assign compute_ready_o = compute_i.send ? send_ready : receive_ready;
  always_ff @(posedge clk_i) if (rst_ni && compute_valid_i && compute_i.send && compute_i.receive) both: assert (send_ready == receive_ready);

  dingo_compute_slot i_compute (
      .clk_i, .rst_ni, .idle_o(send_idle), .cfg_valid_i(compute_valid_i && compute_i.send), .cfg_ready_o(send_ready),
      .cfg_qp_i(compute_i.qp), .cfg_kernel_i(compute_i.kernel), .cfg_param_i(compute_i.param), .txd_valid_i(txd_out_valid),
      .txd_ready_o(txd_out_ready), .txd_i(txd), .txd_valid_o, .txd_ready_i,
      .gather_valid_i(gather_valid), .gather_ready_o(gather_ready), .gather_i(gather), .inl_valid_i(inl_valid),
      .inl_ready_o(inl_ready), .inl_i(inl), .payload_valid_o, .payload_ready_i, .payload_o
  );

  // ------------------------------------------------------------------------------------ packets in
  logic rxp_req_valid, rxp_req_ready, rxp_rsp_valid, rxp_rsp_ready;
  rtl_pkg::rxp_t rxp;
  logic scat_d_valid, scat_d_ready, scat_req_valid, scat_req_ready, scat_rsp_valid, scat_rsp_ready, engine_end, engine_end_bare;
  rtl_pkg::scat_t scat_d, scat_req, scat_rsp, scat;
  logic scat_valid, scat_ready, scat_room;
  logic commit_req_valid, commit_req_ready, commit_rsp_valid, commit_rsp_ready;
  rtl_pkg::commit_t commit;

  dingo_dispatch i_dispatch (
      .clk_i, .rst_ni, .halt_i(halt_rx_i), .idle_o(rest_o.dispatch), .gids_i, .rxh_valid_i, .rxh_ready_o, .rxh_bare_o(rxh_bare), .rxh_i, .qp_re_o, .qp_raddr_o(qp_index_o), .qp_rdata_i(qp_i), .req_valid_o(rxp_req_valid), .req_ready_i(rxp_req_ready), .rsp_valid_o(rxp_rsp_valid),
      .rsp_ready_i(rxp_rsp_ready), .rxp_o(rxp), .scat_valid_o(scat_d_valid), .scat_ready_i(scat_d_ready),
      .scat_o(scat_d), .end_i(engine_end), .end_bare_i(engine_end_bare), .stat_valid_o(stat_valid_o[2]),
      .stat_ready_i(stat_ready_i[2]), .stat_o(stat_o[2*SW+:SW]),
      .qstat_valid_o(qstat_valid_o[0]), .qstat_ready_i(qstat_ready_i[0]),
      .qstat_o(qstat_o[0+:QW])
  );

  dingo_scat_mux i_scat_mux (
      .clk_i, .rst_ni, .d_valid_i(scat_d_valid), .d_ready_o(scat_d_ready), .d_i(scat_d),
      .req_valid_i(scat_req_valid), .req_ready_o(scat_req_ready), .req_i(scat_req), .rsp_valid_i(scat_rsp_valid),
      .rsp_ready_o(scat_rsp_ready), .rsp_i(scat_rsp), .valid_o(scat_valid), .ready_i(scat_ready), .scat_o(scat),
      .end_o(engine_end), .end_bare_o(engine_end_bare)
  );
  logic payload_valid, payload_ready;
  rtl_pkg::beat_t payload;
  dingo_compute_receive i_compute_receive (
      .clk_i, .rst_ni, .idle_o(receive_idle), .cfg_valid_i(compute_valid_i && compute_i.receive),
      .cfg_ready_o(receive_ready), .cfg_qp_i(compute_i.qp), .cfg_kernel_i(compute_i.kernel),
      .cfg_param_i(compute_i.param), .order_i(scat_valid && scat_ready), .scat_i(scat),
      .payload_valid_i(rx_payload_valid_i), .payload_ready_o(rx_payload_ready_o), .payload_i(rx_payload_i),
      .payload_valid_o(payload_valid), .payload_ready_i(payload_ready), .payload_o(payload)
  );
  dingo_scatter i_scatter (
      .clk_i, .rst_ni, .idle_o(rest_o.scatter), .packet_done_o(flow.rx_out), .room_o(scat_room), .xl_flush_i(orders_i.xl_flush),
      .scat_valid_i(scat_valid), .scat_ready_o(scat_ready), .scat_i(scat), .payload_valid_i(payload_valid), .payload_ready_o(payload_ready), .payload_i(payload), .req_valid_o(commit_req_valid),
      .req_ready_i(commit_req_ready), .rsp_valid_o(commit_rsp_valid), .rsp_ready_i(commit_rsp_ready),
      .commit_o(commit), .write_valid_o(write_valid_o),
      .write_ready_i(write_ready_i), .write_o(write_o),
      .wdata_valid_o(wdata_valid_o), .wdata_ready_i(wdata_ready_i),
      .wdata_o(wdata_o), .done_valid_i(done_valid_i), .done_err_i(done_err_i),
      .word_valid_o(line_valid_o[ATOMIC]), .word_ready_i(line_ready_i[ATOMIC]),
      .word_o(line_o[ATOMIC*LW+:LW]), .word_rsp_valid_i(line_rsp_valid_i[ATOMIC]),
      .line_valid_o(line_valid_o[XL_RX]), .line_ready_i(line_ready_i[XL_RX]),
      .line_o(line_o[XL_RX*LW+:LW]), .line_rsp_valid_i(line_rsp_valid_i[XL_RX]),
      .line_rsp_i(line_rsp_i)
  );

  // ------------------------------------------------------------------------------------ engines
  logic req_db_bad, rsp_db_bad, req_fail, rsp_fail;
  rtl_pkg::qpi_t req_fail_qp, rsp_fail_qp;
  rtl_pkg::cqe_req_t cqe_req, cqe_rsp;
  rtl_pkg::ev_t ev_req, ev_rsp;
  assign cqe_o = {cqe_rsp, cqe_req};
  assign ev_o = {ev_rsp, ev_req};
  assign answers_o.cq_valid = 1'b0;
  assign answers_o.cq = '0;

  logic req_due;
  assign rest_o.req_timers = !req_due;
  dingo_requester i_requester (
      .clk_i, .rst_ni, .halt_tx_i(halt_tx_i), .tx_idle_o(rest_o.req_tx), .idle_o(rest_o.req), .due_o(req_due),
      .work_o(req_work_o), .timer_valid_o, .timer_next_o, .now_ns_i, .xl_flush_i(orders_i.xl_flush), .resume_i(orders_i.resume), .port_mtu_i(port_mtu_i),
      .gid_valid_i, .db_valid_i(bell_i.sq), .db_ready_o(sq_bell_taken_o), .db_i(bell_i.q), .db_bad_o(req_db_bad),
      .push_valid_i, .push_ready_o, .push_i,
      .rxp_valid_i(rxp_req_valid), .rxp_ready_o(rxp_req_ready), .rxp_i(rxp), .commit_valid_i(commit_req_valid),
      .commit_ready_o(commit_req_ready), .commit_i(commit), .txerr_valid_i(req_txerr_valid_i),
      .txerr_ready_o(req_txerr_ready_o), .txerr_i(txerr_i), .cq_fail_valid_i(cq_fail_i.req), .cq_fail_qp_i(cq_fail_i.qp),
      .fail_valid_i(rsp_fail), .fail_qp_i(rsp_fail_qp), .fail_valid_o(req_fail), .fail_qp_o(req_fail_qp),
      .qpa_valid_i(orders_i.qpa_valid), .qpa_i(orders_i.qpa), .qpa_done_o(answers_o.req_done), .qpa_info_o(answers_o.req), .qp_re_o(req_ask_o.qp_re),
      .qp_raddr_o(req_ask_o.qp), .qp_rdata_i(req_told_i.qp), .state_we_o(req_ask_o.state_we),
      .state_index_o(req_ask_o.state_qp), .state_o(req_ask_o.state), .mr_valid_o(req_ask_o.mr_valid),
      .mr_o(req_ask_o.mr), .mr_rsp_valid_i(req_told_i.mr_valid), .mr_rsp_i(req_told_i.mr), .mrw_valid_o(req_ask_o.mrw_valid), .mrw_o(req_ask_o.mrw),
      .mrw_done_i(req_told_i.mrw_done), .mrw_rsp_i(req_told_i.mrw), .flow_i(flow), .tx_room_i(tx_room[0]),
      .txd_valid_o(txd_valid[0]), .txd_ready_i(txd_ready[0]), .txd_o(txd_req), .seg_valid_o(seg_valid[0]),
      .seg_ready_i(seg_ready[0]), .seg_o(seg_req), .inl_valid_o(inl_in_valid), .inl_ready_i(inl_in_ready),
      .inl_o(inl_in), .scat_room_i(scat_room), .scat_valid_o(scat_req_valid), .scat_ready_i(scat_req_ready),
      .scat_o(scat_req), .cqe_valid_o(cqe_valid_o[0]), .cqe_ready_i(cqe_ready_i[0]), .cqe_o(cqe_req),
      .ev_valid_o(ev_valid_o[0]), .ev_ready_i(ev_ready_i[0]), .ev_o(ev_req), .stat_valid_o(stat_valid_o[0]),
      .stat_ready_i(stat_ready_i[0]), .stat_o(stat_o[0+:SW]),
      .qstat_valid_o(qstat_valid_o[1]), .qstat_ready_i(qstat_ready_i[1]),
      .qstat_o(qstat_o[QW+:QW]), .wqe_valid_o(line_valid_o[SQ]),
      .wqe_ready_i(line_ready_i[SQ]), .wqe_o(line_o[SQ*LW+:LW]),
      .wqe_rsp_valid_i(line_rsp_valid_i[SQ]), .line_valid_o(line_valid_o[XL_SQ]),
      .line_ready_i(line_ready_i[XL_SQ]), .line_o(line_o[XL_SQ*LW+:LW]),
      .line_rsp_valid_i(line_rsp_valid_i[XL_SQ]), .line_rsp_i(line_rsp_i)
  );

  dingo_responder i_responder (
      .clk_i, .rst_ni, .halt_tx_i(halt_tx_i), .tx_idle_o(rest_o.rsp_tx), .idle_o(rest_o.rsp),
      .work_o(rsp_work_o), .xl_flush_i(orders_i.xl_flush), .resume_i(orders_i.resume), .gid_valid_i, .db_valid_i(bell_i.rq),
      .db_ready_o(rq_bell_taken_o), .db_i(bell_i.q), .db_srq_i(bell_i.q_srq), .db_bad_o(rsp_db_bad), .rxp_valid_i(rxp_rsp_valid),
      .rxp_ready_o(rxp_rsp_ready), .rxp_i(rxp), .commit_valid_i(commit_rsp_valid), .commit_ready_o(commit_rsp_ready),
      .commit_i(commit), .txerr_valid_i(rsp_txerr_valid_i), .txerr_ready_o(rsp_txerr_ready_o), .txerr_i(txerr_i),
      .cq_fail_valid_i(cq_fail_i.rsp), .cq_fail_qp_i(cq_fail_i.qp), .cqe_done_i(cq_rsp_done_i), .fail_valid_i(req_fail),
      .fail_qp_i(req_fail_qp), .srqa_valid_i(orders_i.srqa_valid), .srqa_i(orders_i.srqa), .srqa_done_o(answers_o.srqa_done), .srqa_info_o(answers_o.srq),
      .fail_valid_o(rsp_fail), .fail_qp_o(rsp_fail_qp), .qpa_valid_i(orders_i.qpa_valid), .qpa_i(orders_i.qpa),
      .qpa_done_o(answers_o.rsp_done), .qpa_info_o(answers_o.rsp), .qp_re_o(rsp_ask_o.qp_re), .qp_raddr_o(rsp_ask_o.qp),
      .qp_rdata_i(rsp_told_i.qp), .state_we_o(rsp_ask_o.state_we), .state_index_o(rsp_ask_o.state_qp),
      .state_o(rsp_ask_o.state), .mr_valid_o(rsp_ask_o.mr_valid), .mr_o(rsp_ask_o.mr), .mr_rsp_valid_i(rsp_told_i.mr_valid),
      .mr_rsp_i(rsp_told_i.mr), .mrw_valid_o(rsp_ask_o.mrw_valid), .mrw_o(rsp_ask_o.mrw), .mrw_done_i(rsp_told_i.mrw_done),
      .mrw_rsp_i(rsp_told_i.mrw), .reading_o(flow.tx_open), .tx_room_i(tx_room[1]), .txd_valid_o(txd_valid[1]), .txd_ready_i(txd_ready[1]),
      .txd_o(txd_rsp), .seg_valid_o(seg_valid[1]), .seg_ready_i(seg_ready[1]), .seg_o(seg_rsp),
      .scat_room_i(scat_room), .scat_valid_o(scat_rsp_valid), .scat_ready_i(scat_rsp_ready), .scat_o(scat_rsp),
      .cqe_valid_o(cqe_valid_o[1]), .cqe_ready_i(cqe_ready_i[1]), .cqe_o(cqe_rsp), .ev_valid_o(ev_valid_o[1]),
      .ev_ready_i(ev_ready_i[1]), .ev_o(ev_rsp), .stat_valid_o(stat_valid_o[1]),
      .stat_ready_i(stat_ready_i[1]), .stat_o(stat_o[SW+:SW]),
      .qstat_valid_o(qstat_valid_o[2]), .qstat_ready_i(qstat_ready_i[2]),
      .qstat_o(qstat_o[2*QW+:QW]), .rwqe_valid_o(line_valid_o[RQ]),
      .rwqe_ready_i(line_ready_i[RQ]), .rwqe_o(line_o[RQ*LW+:LW]),
      .rwqe_rsp_valid_i(line_rsp_valid_i[RQ]), .line_valid_o(line_valid_o[XL_RQ]),
      .line_ready_i(line_ready_i[XL_RQ]), .line_o(line_o[XL_RQ*LW+:LW]),
      .line_rsp_valid_i(line_rsp_valid_i[XL_RQ]), .line_rsp_i(line_rsp_i)
  );

  wire unused_ok = &{1'b0, orders_i, bell_i, cq_fail_i, req_db_bad, rsp_db_bad};
endmodule
