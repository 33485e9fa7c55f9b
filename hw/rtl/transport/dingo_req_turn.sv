// SPDX-License-Identifier: BSD-2-Clause

/// A QP's turn: which WQE and which packet of it comes next, up to 16 packets; or, in ERR and SQE, its WQEs flushed.
/// After a loss the cursor is at an older record, and its packets are made again. A turn goes on beside the steps of
/// other QPs: it takes the context out of the memory and writes it back, and meanwhile (busy_o) no step has this QP.
/// Registers and the order of states are here; what a state does is in dingo_req_plain, _new, _packet and _flush; how
/// far the QP may send, in dingo_req_window. docs/reference/rtl/requester.md has the states and cycles of each WQE
/// and what stalls them.
module dingo_req_turn (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        run_i,         // completions, events and counts have room; else the turn stands still
    output logic        idle_o,        // no packet is on its way out
    output logic        rest_o,        // no turn, and nothing left to report
    output logic        free_o,        // dingo_req_send does not need the last answer of dingo_req_wqes
    input  logic        halt_tx_i,
    input  logic        others_i,      // other QPs wait for their turn
    input  logic [63:0] now_ns_i,
    input  logic [15:0] port_mtu_i,
    input  logic [(1<<rtl_pkg::GID_LOG)-1:0] gid_valid_i,
    // a QP's turn begins: context and entry of the QP table come in the next cycle
    output logic        ready_o,
    input  logic        take_i,
    input  rtl_pkg::qpi_t        take_qp_i,
    input  req_pkg::ctx_t    c_i,
    input  rtl_pkg::qp_t         qp_rdata_i,
    // or a flush of all that was posted, for a step, while everything else stands still
    input  logic        flush_i,       // stays until flushed_o
    input  rtl_pkg::qpi_t        flush_qp_i,
    input  rtl_pkg::qp_cfg_t     flush_cfg_i,
    input  rtl_pkg::qps_t        flush_st_i,
    input  req_pkg::ctx_t    flush_c_i,
    output logic        flushed_o,     // one cycle, with back_o.c
    // the QP of the turn
    output logic        busy_o,        // its context is here
    output rtl_pkg::qpi_t        qp_o,
    output logic [31:0] qpn_o,
    output rtl_pkg::cqi_t        cq_o,
    output rtl_pkg::qp_cfg_t     cfg_o,
    output req_pkg::back_t   back_o,        // its context goes back
    output logic        fetch_o,       // with back_o: a step is to ask for the next WQE
    output logic        ack_o,         // a step is to look for completions; no other turn before ack_take_i
    input  logic        ack_take_i,
    // records; rec_i answers a read in the next cycle
    output req_pkg::rec_access_t rec_access_o,
    input  logic        rec_re_ok_i,   // in this cycle
    input  req_pkg::rec_t    rec_i,
    input  logic        rec_we_ok_i,
    // dingo_req_wqes
    output req_pkg::wqe_ask_t    ask_o,
    input  req_pkg::wqe_answer_t answer_i,
    output logic [3:0]  seg_index_o,
    input  rtl_pkg::seg_t        seg_i,
    output logic        inl_re_o,
    output logic [2:0]  inl_block_o,
    input  logic [511:0] block_i,
    // dingo_wqe_quick
    output req_pkg::quick_ask_t    quick_o,
    input  req_pkg::quick_answer_t quick_i,
    input  rtl_pkg::seg_t        quick_seg_i,
    output logic        keep_o,        // the record that is written is of a READ: dingo_req_reads keeps keep_sge_o
    output dingo_pkg::sge_t      keep_sge_o,
    // dingo_mr_work; mrw_valid_o stays until mrw_done_i
    output logic        mrw_valid_o,
    output rtl_pkg::mrw_req_t    mrw_o,
    input  logic        mrw_done_i,
    input  rtl_pkg::mrw_rsp_t    mrw_rsp_i,
    // dingo_req_settle
    input  req_pkg::settle_t  settle_i,
    output logic        settle_push_o, // the QP waits there
    output logic        pause_push_o,  // the QP waits in dingo_pause_queue
    // dingo_req_out
    input  logic        out_ok_i,      // report_o is taken
    output req_pkg::report_t     report_o,      // without event
    input  logic        tx_room_i,
    output logic        txd_valid_o,
    input  logic        txd_ready_i,
    output rtl_pkg::txd_t        txd_o,
    output logic        seg_valid_o,
    input  logic        seg_ready_i,
    output rtl_pkg::seg_t        seg_o,
    output logic        inl_valid_o,
    input  logic        inl_ready_i,
    output rtl_pkg::beat_t       inl_o
);
  req_pkg::turn_t t_q, t_d, plain_t, new_t, packet_t, flush_t;
  req_pkg::ctx_t c;
  req_pkg::window_t window;
  req_pkg::report_t report_q, packet_report, flush_report, report;
  req_pkg::rec_t rec_wr, plain_rec;
  rtl_pkg::qpi_t qp_q;
  rtl_pkg::qp_cfg_t cfg_q;
  rtl_pkg::qps_t st_q;
  rtl_pkg::txd_t txd;
  logic flush_q;                       // the turn is a flush for a step
  logic own_gid_q;                     // of a connected QP: its source address is there; that changes at rest only
  logic load_seen_q, walk_seen_q;      // the answer came in a cycle without run_i
  logic datagram, uc, out_free, leaving, reports, take_state, quick_state, load_state, walk_state, loaded, walked;
  logic sending, free_soon, goes_on, walks_on, ackreq, room_behind, may_check, single, gid_ok, flies, rec_re;
  logic [12:0] bytes_ahead;
  logic [31:0] off_ahead;
  logic [63:0] ack_ns;

  assign c = t_q.c;
  assign take_state = t_q.state == req_pkg::TN_TAKE;
  assign quick_state = t_q.state == req_pkg::TN_QUICK;
  assign ready_o = (t_q.state == req_pkg::TN_IDLE || (leaving && !t_q.ack)) && quick_i.rest;
  assign leaving = back_o.valid;
  assign rest_o = t_q.state == req_pkg::TN_IDLE && !reports;
  assign busy_o = t_q.state != req_pkg::TN_IDLE && t_q.state != req_pkg::TN_ACK;
  assign qp_o = qp_q;
  assign qpn_o = {8'd0, cfg_q.tag, 16'(qp_q)};
  assign cq_o = cfg_q.send_cq;
  assign cfg_o = cfg_q;
  assign back_o.valid = t_q.state == req_pkg::TN_BACK && !flush_q && run_i && out_free;
  assign flushed_o = t_q.state == req_pkg::TN_BACK && flush_q && run_i && out_free;
  assign back_o.c = c;
  assign back_o.wake = t_q.wake;
  assign fetch_o = back_o.valid && t_q.fetch;
  assign ack_o = t_q.state == req_pkg::TN_ACK;
  assign report_o = report_q;
  assign reports = report_q.cqe.valid || report_q.card.valid || report_q.qp.valid;
  assign out_free = !reports || out_ok_i;
  assign datagram = cfg_q.kind == dingo_pkg::QPT_UD[2:0] || cfg_q.kind == dingo_pkg::QPT_GSI[2:0];
  assign uc = cfg_q.kind == dingo_pkg::QPT_UC[2:0];
  assign ack_ns = now_ns_i + (64'd4096 << cfg_q.timeout);

  // ---------------------------------------------------------------- WQE and SGEs (dingo_req_wqes)
  assign load_state = t_q.state == req_pkg::TN_RELOAD || t_q.state == req_pkg::TN_NEW ||
                      t_q.state == req_pkg::TN_FLUSH_LOAD;
  assign loaded = answer_i.load_done || load_seen_q;
  // The walk for the next packet begins while this one leaves: its only segment goes with the descriptor.
  assign sending = t_q.state == req_pkg::TN_EMIT && run_i;
  assign walks_on = sending && free_o && goes_on && seg_i.last;
  assign walk_state = (t_q.state == req_pkg::TN_BEGIN && may_check) || t_q.state == req_pkg::TN_CHECK ||
                      t_q.state == req_pkg::TN_WALK;
  assign walked = answer_i.walk_done || walk_seen_q;
  assign single = !t_q.r.fetch && t_q.r.packets == 24'd1;
  assign ask_o.producer = take_state ? c_i.producer : c.producer;
  assign ask_o.datagram = datagram;
  assign ask_o.uc = uc;
  assign ask_o.load = load_state && !load_seen_q && free_o;
  assign ask_o.index = t_q.state == req_pkg::TN_RELOAD ? t_q.r.index : c.next_index;
  assign ask_o.wake = !flush_q;
  assign ask_o.walk = (walk_state && !walk_seen_q && (free_o || (t_q.state == req_pkg::TN_WALK && free_soon))) ||
                      walks_on;
  assign ask_o.whole = t_q.r.fetch || (t_q.state != req_pkg::TN_WALK && !single);
  always_comb begin
    case (t_q.state)
      req_pkg::TN_BEGIN: {ask_o.offset, ask_o.bytes} = {32'd0, t_q.r.length[12:0]};
      req_pkg::TN_EMIT: {ask_o.offset, ask_o.bytes} = {off_ahead, bytes_ahead};
      default: {ask_o.offset, ask_o.bytes} = {t_q.off, t_q.bytes};
    endcase
  end

  assign pause_push_o = run_i && (t_q.state == req_pkg::TN_CHECK || t_q.state == req_pkg::TN_WALK) && walked &&
                        answer_i.walk_paused;
  assign mrw_valid_o = t_q.state == req_pkg::TN_KEY;

  // ---------------------------------------------------------------- the packet leaves
  dingo_req_txd u_txd (
      .en_i(t_q.state == req_pkg::TN_EMIT || quick_state), .qp_i(qp_q), .qpn_i(qpn_o), .cfg_i(cfg_q),
      .datagram_i(datagram), .uc_i(uc), .wqe_i(quick_state ? quick_i.wqe : answer_i.wqe),
      .head_i(quick_state ? {128'd0, quick_i.head} : answer_i.head), .psn_i(c.send[23:0]), .gen_i(c.gen),
      .offset_i(quick_state ? 32'd0 : t_q.off),
      .bytes_i(!quick_state ? t_q.bytes : quick_i.wqe.fetch ? 13'd0 : quick_i.wqe.length[12:0]),
      .last_i(quick_state || t_q.last), .ackreq_i(quick_state || ackreq), .gid_valid_i, .own_gid_i(own_gid_q),
      .gid_ok_o(gid_ok), .txd_o(txd)
  );

  dingo_req_send u_send (
      .clk_i, .rst_ni, .idle_o, .start_i(sending || quick_o.take), .ready_o(free_o), .soon_o(free_soon), .txd_i(txd),
      .datagram_i(datagram), .offset_i(t_q.off), .quick_i(quick_o.take), .quick_seg_i(quick_seg_i),
      .quick_data_i(quick_i.data), .seg_index_o, .seg_i, .inl_re_o, .inl_block_o, .block_i, .txd_valid_o,
      .txd_ready_i, .txd_o, .seg_valid_o, .seg_ready_i, .seg_o, .inl_valid_o, .inl_ready_i, .inl_o
  );

  // ---------------------------------------------------------------- what a state does
  assign flies = (quick_o.take && !quick_i.wqe.fetch) || (sending && free_o && !t_q.r.fetch);
  dingo_req_window u_window (
      .clk_i, .take_i(take_state), .c_i(take_state ? c_i : c), .cfg_i(qp_rdata_i.cfg), .flies_i(flies),
      .window_o(window)
  );
  dingo_req_plain u_plain (
      .turn_i(t_q), .turn_o(plain_t), .cfg_i(cfg_q), .st_i(st_q), .window_i(window), .own_gid_i(own_gid_q),
      .ack_ns_i(ack_ns), .flush_i(flush_q), .run_i, .out_free_i(out_free), .free_i(free_o), .halt_tx_i, .tx_room_i,
      .others_i, .c_i, .qp_rdata_i, .room_behind_o(room_behind), .rec_re_o(rec_re), .rec_o(plain_rec), .rec_re_ok_i,
      .rec_we_ok_i, .quick_o, .quick_i
  );
  dingo_req_new u_new (
      .turn_i(t_q), .turn_o(new_t), .qp_i(qp_q), .cfg_i(cfg_q), .window_i(window), .port_mtu_i, .own_gid_i(own_gid_q),
      .gid_ok_i(gid_ok), .run_i, .loaded_i(loaded), .walked_i(walked), .answer_i, .may_check_o(may_check),
      .rec_we_ok_i, .mrw_o, .mrw_done_i, .mrw_rsp_i, .settle_i, .settle_push_o
  );
  dingo_req_packet u_packet (
      .clk_i, .turn_i(t_q), .turn_o(packet_t), .report_o(packet_report), .cfg_i(cfg_q), .window_i(window),
      .own_gid_i(own_gid_q), .ack_ns_i(ack_ns), .room_behind_i(room_behind), .loaded_i(loaded), .walked_i(walked),
      .answer_i, .rec_i, .rec_we_ok_i, .free_i(free_o), .ackreq_o(ackreq), .goes_on_o(goes_on),
      .off_ahead_o(off_ahead), .bytes_ahead_o(bytes_ahead)
  );
  dingo_req_flush u_flush (
      .turn_i(t_q), .turn_o(flush_t), .report_o(flush_report), .flush_i(flush_q), .halt_tx_i, .out_free_i(out_free),
      .loaded_i(loaded), .answer_i
  );
  always_comb begin
    t_d = t_q;
    report = '0;
    case (t_q.state)
      req_pkg::TN_NEXT, req_pkg::TN_QUICK: t_d = plain_t;
      req_pkg::TN_NEW, req_pkg::TN_BEGIN, req_pkg::TN_KEY, req_pkg::TN_CHECK, req_pkg::TN_PUSH, req_pkg::TN_REFUSE:
      t_d = new_t;
      req_pkg::TN_REC, req_pkg::TN_RELOAD, req_pkg::TN_FAULT, req_pkg::TN_PACKET, req_pkg::TN_WALK,
        req_pkg::TN_EMIT: begin
        t_d = packet_t;
        report = packet_report;
      end
      req_pkg::TN_FLUSH_NEXT, req_pkg::TN_FLUSH_LOAD, req_pkg::TN_FLUSH_DO: begin
        t_d = flush_t;
        report = flush_report;
      end
      req_pkg::TN_BACK: begin
        if (leaving || flushed_o) t_d.state = t_q.ack ? req_pkg::TN_ACK : take_i ? req_pkg::TN_TAKE : req_pkg::TN_IDLE;
        if (take_i) begin
          t_d.used = '0;
          t_d.wake = 1'b0;
          t_d.fetch = 1'b0;
        end
      end
      default: if (ack_take_i) t_d.state = req_pkg::TN_IDLE;  // TN_ACK
    endcase
  end

  // ---------------------------------------------------------------- records
  assign keep_o = (quick_o.take && quick_i.wqe.fetch && !quick_i.wqe.atomic) ||
                  (t_q.state == req_pkg::TN_PUSH && run_i && t_q.r.kept);
  assign keep_sge_o = t_q.state == req_pkg::TN_PUSH ? t_q.sge : quick_i.head[req_pkg::HEAD_SGE +: dingo_pkg::SGE_W];
  assign rec_access_o.re = rec_re;
  assign rec_access_o.rpos = c.cursor;
  assign rec_access_o.we = quick_o.take || (run_i && (t_q.state == req_pkg::TN_PUSH ||
                                                      t_q.state == req_pkg::TN_REFUSE ||
                                                      t_q.state == req_pkg::TN_FAULT));
  assign rec_access_o.wpos = t_q.state == req_pkg::TN_FAULT ? c.cursor : c.tail;
  assign rec_access_o.rec = rec_wr;
  always_comb begin
    rec_wr = t_q.r;
    if (t_q.state == req_pkg::TN_REFUSE) rec_wr.packets = '0;
    if (t_q.state == req_pkg::TN_REFUSE || t_q.state == req_pkg::TN_FAULT) begin
      rec_wr.status = t_q.status;
      rec_wr.verr = t_q.verr;
    end
    if (quick_state) rec_wr = plain_rec;
  end

  // ---------------------------------------------------------------- registers
  always_ff @(posedge clk_i) begin
    if (out_free) report_q <= '0;
    own_gid_q <= gid_valid_i[take_state ? qp_rdata_i.cfg.sgid : cfg_q.sgid];
    load_seen_q <= loaded && !run_i && load_state;
    walk_seen_q <= walked && !run_i && walk_state;
    if (!rst_ni) begin
      t_q.state <= req_pkg::TN_IDLE;
      report_q <= '0;
    end else if (t_q.state == req_pkg::TN_IDLE) begin
      t_q.used <= '0;
      t_q.wake <= 1'b0;
      t_q.fetch <= 1'b0;
      t_q.ack <= 1'b0;
      flush_q <= flush_i;
      if (take_i) begin
        qp_q <= take_qp_i;
        t_q.state <= req_pkg::TN_TAKE;
      end else if (flush_i) begin
        qp_q <= flush_qp_i;
        cfg_q <= flush_cfg_i;
        st_q <= flush_st_i;
        t_q.c <= flush_c_i;
        t_q.state <= req_pkg::TN_FLUSH_NEXT;
      end
    end else if (take_state) begin     // not held by run_i: what comes from the memories is there for one cycle
      cfg_q <= qp_rdata_i.cfg;
      st_q <= qp_rdata_i.state;
      t_q.c <= c_i;
      t_q.c.fetching <= 1'b0;
      t_q.state <= req_pkg::TN_NEXT;
    end else if (run_i) begin
      t_q <= t_d;
      if (t_q.state == req_pkg::TN_BACK && take_i) qp_q <= take_qp_i;
      if (report.cqe.valid) report_q.cqe <= report.cqe;
      if (report.card.valid) report_q.card <= report.card;
      if (report.qp.valid) report_q.qp <= report.qp;
      a_new: assert (!quick_o.take || (c.send == c.new_psn && !rtl_pkg::idx_before(c.send, c.sent)));
    end
  end

  wire unused_ok = &{1'b0, cfg_q, rec_i, report};
endmodule
