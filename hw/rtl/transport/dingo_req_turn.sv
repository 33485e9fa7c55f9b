// SPDX-License-Identifier: BSD-2-Clause

/// A QP's turn: which WQE and which packet of it comes next, up to 16 packets; or, in ERR and SQE, its
/// WQEs flushed. After a loss the cursor is at an older record, and its packets are made again.
/// It goes on beside the steps of other QPs: it takes the context out of the memory and writes it back, and
/// between that (busy_o) nobody else touches this QP's.
module dingo_req_turn (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        run_i,         // what is reported has room
    output logic        idle_o,        // no packet on its way out
    output logic        rest_o,        // no turn, nothing of one to be reported
    output logic        free_o,        // what dingo_req_wqes gave last is no longer looked at
    input  logic        halt_tx_i,
    input  logic        others_i,      // other QPs wait for their turn
    input  logic [63:0] now_ns_i,
    input  logic [15:0] port_mtu_i,
    input  logic [(1<<rtl_pkg::GID_LOG)-1:0] gid_valid_i,
    // a QP's turn begins: its context and its entry of the table come in the next cycle
    output logic        ready_o,
    input  logic        take_i,
    input  rtl_pkg::qpi_t        take_qp_i,
    input  req_pkg::ctx_t    c_i,
    input  rtl_pkg::qp_t         qp_rdata_i,
    // or, while everything else stands still, a step has all that was posted flushed
    input  logic        flush_i,       // stays until flushed_o
    input  rtl_pkg::qpi_t        flush_qp_i,
    input  rtl_pkg::qp_cfg_t     flush_cfg_i,
    input  rtl_pkg::qps_t        flush_st_i,
    input  req_pkg::ctx_t    flush_c_i,
    output logic        flushed_o,     // one cycle, with back_o.c
    // the QP
    output logic        busy_o,        // its context is here
    output rtl_pkg::qpi_t        qp_o,
    output logic [31:0] qpn_o,
    output rtl_pkg::cqi_t        cq_o,
    output rtl_pkg::qp_cfg_t     cfg_o,
    output req_pkg::back_t   back_o,        // its context goes back
    output logic        fetch_o,       // with back_o: the WQE that comes next is to be asked for
    output logic        ack_o,         // what has completed is to be looked for; no other turn before
    input  logic        ack_take_i,
    // records; a read gives rec_i in the next cycle
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
    output logic        keep_o,        // the record that is written is of a READ whose place dingo_req_reads keeps
    output dingo_pkg::sge_t      keep_sge_o,
    // dingo_mr_work: asked until it is done
    output logic        mrw_valid_o,
    output rtl_pkg::mrw_req_t    mrw_o,
    input  logic        mrw_done_i,
    input  rtl_pkg::mrw_rsp_t    mrw_rsp_i,
    // dingo_req_settle
    input  req_pkg::settle_t  settle_i,
    output logic        settle_push_o, // this QP waits there
    output logic        pause_push_o,  // this QP waits in dingo_pause_queue
    // dingo_req_out
    input  logic        out_ok_i,      // what is given is taken
    output req_pkg::report_t     report_o,      // without an event
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
  localparam logic [63:0] NEVER = '1;
  localparam logic [4:0] BURST = 5'd16;            // packets of a turn
  localparam int unsigned WINDOW_LOG = 8;          // 256 request packets in flight
  localparam logic [31:0] PSN_SPAN = 32'd1 << 23;  // PSNs outstanding: half of the number space
  localparam logic [31:0] READ_SPAN = 32'd4096;    // response packets that READs may have outstanding
  localparam logic [6:0] ACK_INTERVAL = 7'd64;     // packets between requests for an acknowledgement
  localparam logic [4:0] MAX_READS = 5'd1 << rtl_pkg::RD_LOG;


  typedef enum logic [4:0] {
    IDLE, TAKE, NEXT, QUICK, REC, RELOAD, NEW, BEGIN, KEY, CHECK, PUSH, REFUSE, FAULT, PACKET, WALK, EMIT, FLUSH_NEXT, FLUSH_LOAD, FLUSH_DO, BACK,
    ACK
  } state_t;

  state_t state_q;
  logic flush_q;                       // a step waits for it
  logic ack_q;                         // something has completed without a packet
  rtl_pkg::qpi_t qp_q;
  rtl_pkg::qp_cfg_t cfg_q;
  rtl_pkg::qps_t st_q;
  req_pkg::ctx_t c_q;
  req_pkg::rec_t r_q, rec_wr;
  logic own_gid_q;                     // of a connected QP: its source address is there; that changes at rest only
  logic wake_q, fetch_q, datagram, uc, out_free, leaving;
  logic [4:0] used_q;                  // packets of this turn
  logic [7:0] status_q, verr_q;        // of a failure
  logic [12:0] bytes_q;
  logic [31:0] off_q, next_psn_q, rec_next;
  logic last_q;
  logic [31:0] rest_q, rest_next;      // of the message, with this packet; behind it
  logic goes_on, free_soon, walks_on;
  logic [31:0] off_ahead_q;            // of the packet behind this one
  logic [12:0] bytes_ahead_q;
  logic placed_q;                      // the segments of the packet are there: it is all of its message
  logic checked_q;                     // regions of the WQE are not paused
  req_pkg::report_t report_q;
  logic reports;
  logic load_state, walk_state, load_seen_q, loaded, walk_seen_q, walked, sending;
  logic up, connected, window_closed;
  logic [3:0] shift;                   // PMTU = 2^shift
  logic [12:0] pmtu;
  // What is compared for long is found when the turn begins, and kept: request packets in flight, up to the window; whether
  // the QP waits for a time; READs that it may have. A cycle late, when nothing moves: how many PSNs a new message may take.
  logic [WINDOW_LOG:0] flight_q;
  logic waits_q, near_q, flies;
  logic [4:0] max_reads_q;
  logic [31:0] in_flight, reach, wqe_packets;
  logic signed [32:0] left_q, left_reads_q;
  req_pkg::ctx_t c_now;
  logic [63:0] ack_ns;
  logic [32:0] wqe_round;
  rtl_pkg::txd_t txd;

  assign ready_o = (state_q == IDLE || (leaving && !ack_q)) && quick_i.rest;
  assign leaving = back_o.valid;
  assign rest_o = state_q == IDLE && !reports;
  assign busy_o = state_q != IDLE && state_q != ACK;
  assign qp_o = qp_q;
  assign qpn_o = {8'd0, cfg_q.tag, 16'(qp_q)};
  assign cq_o = cfg_q.send_cq;
  assign cfg_o = cfg_q;
  assign ask_o.datagram = datagram;
  assign ask_o.uc = uc;
  assign ask_o.producer = state_q == TAKE ? c_i.producer : c_q.producer;
  assign ask_o.wake = !flush_q;
  assign back_o.valid = state_q == BACK && !flush_q && run_i && out_free;
  assign flushed_o = state_q == BACK && flush_q && run_i && out_free;
  assign back_o.c = c_q;
  assign back_o.wake = wake_q;
  assign fetch_o = back_o.valid && fetch_q;
  assign ack_o = state_q == ACK;
  assign report_o = report_q;
  assign reports = report_q.cqe.valid || report_q.card.valid || report_q.qp.valid;
  assign out_free = !reports || out_ok_i;
  assign datagram = cfg_q.kind == dingo_pkg::QPT_UD[2:0] || cfg_q.kind == dingo_pkg::QPT_GSI[2:0];
  assign uc = cfg_q.kind == dingo_pkg::QPT_UC[2:0];
  assign connected = !datagram;
  assign up = st_q == dingo_pkg::QPS_RTS[2:0] || st_q == dingo_pkg::QPS_SQD[2:0];
  assign shift = 4'd7 + {1'b0, cfg_q.path_mtu};
  assign pmtu = rtl_pkg::pmtu_bytes(cfg_q.path_mtu);
  assign c_now = state_q == TAKE ? c_i : c_q;
  assign in_flight = c_i.send - c_i.oldest - {8'd0, c_i.read_psns};
  assign reach = c_now.new_psn - c_now.oldest;
  assign window_closed = flight_q[WINDOW_LOG];
  assign flies = (quick_o.take && !quick_i.wqe.fetch) || (sending && free_o && !r_read);  // one more
  assign ack_ns = now_ns_i + (64'd4096 << cfg_q.timeout);
  assign wqe_round = ({1'b0, answer_i.wqe.length} + {20'd0, pmtu} - 33'd1) >> shift;
  assign wqe_packets = datagram || answer_i.wqe.length == 32'd0 ? 32'd1 : wqe_round[31:0];
  // The next packet belongs to the same message and needs no lookup before it.
  assign goes_on = !last_q && connected && !answer_i.wqe.inl && room_behind;
  assign rest_next = rest_q - {19'd0, pmtu};
  assign rec_next = r_q.first + {8'd0, r_q.packets};

  assign load_state = state_q == RELOAD || state_q == NEW || state_q == FLUSH_LOAD;
  assign ask_o.load = load_state && !load_seen_q && free_o;
  assign loaded = answer_i.load_done || load_seen_q;
  assign ask_o.index = state_q == RELOAD ? r_q.index : c_q.next_index;
  // The walk for the next packet begins while this one leaves: its only segment goes with the descriptor.
  assign walks_on = sending && free_o && goes_on && seg_i.last;
  assign walk_state = (state_q == BEGIN && may_check) || state_q == CHECK || state_q == WALK;
  assign ask_o.walk = (walk_state && !walk_seen_q && (free_o || (state_q == WALK && free_soon))) || walks_on;
  assign walked = answer_i.walk_done || walk_seen_q;
  assign ask_o.whole = r_read || (state_q != WALK && !single);
  assign ask_o.offset = state_q == BEGIN ? '0 : state_q == EMIT ? off_ahead_q : off_q;
  assign ask_o.bytes = state_q == BEGIN ? r_q.length[12:0] : state_q == EMIT ? bytes_ahead_q : bytes_q;
  assign sending = state_q == EMIT && run_i;

  assign pause_push_o = run_i && (state_q == CHECK || state_q == WALK) && walked && answer_i.walk_paused;
  assign mrw_valid_o = state_q == KEY;
  assign settle_push_o = state_q == KEY && run_i && mrw_done_i && mrw_rsp_i.verr == 8'd0 && mrw_rsp_i.under_way;
  always_comb begin
    mrw_o.op = rtl_pkg::MRW_INVALIDATE;
    if (r_q.opcode == dingo_pkg::WR_BIND_MW[7:0]) mrw_o.op = rtl_pkg::MRW_BIND;
    if (r_q.opcode == dingo_pkg::WR_REG_MR[7:0]) mrw_o.op = rtl_pkg::MRW_REGISTER;
    mrw_o.qp = qp_q;
    mrw_o.pdn = cfg_q.pdn;
    mrw_o.privileged = cfg_q.privileged;
    mrw_o.key = answer_i.wqe.imm;
    mrw_o.body = answer_i.head;
  end

  // Longest datagram: the largest IB MTU whose packet fits the port's MTU
  logic [31:0] longest;
  always_comb begin
    if (port_mtu_i >= 16'd4192) longest = 32'd4096;
    else if (port_mtu_i >= 16'd2144) longest = 32'd2048;
    else if (port_mtu_i >= 16'd1120) longest = 32'd1024;
    else if (port_mtu_i >= 16'd608) longest = 32'd512;
    else longest = 32'd256;
  end

  // The WQE that begins
  logic no_reads, must_wait, may_check, on_key, key_wait;
  assign no_reads = r_read && connected && cfg_q.max_rd == 8'd0;
  // LOCAL_INV: a message before it may have to be read again through the key.
  assign on_key = r_local && r_q.opcode != dingo_pkg::WR_NOP[7:0];
  assign key_wait = on_key && ((r_q.opcode == dingo_pkg::WR_LOCAL_INV[7:0] && c_q.head != c_q.tail) ||
                               (c_q.settles ? settle_i.waits : !settle_i.room));
  assign must_wait = (answer_i.wqe.fence && c_q.reads != 5'd0) || key_wait ||
                     (connected && !r_local && !no_reads &&
                      ((r_read && (c_q.reads >= max_reads_q || (c_q.reads != 5'd0 && $signed({9'd0, r_q.packets}) > left_reads_q))) ||
                       $signed({9'd0, r_q.packets}) > left_q));
  assign may_check = connected && !must_wait && !r_local && !no_reads && own_gid_q && !answer_i.wqe.inl && answer_i.wqe.num_sge != 4'd0;

  // The packet that begins
  logic [23:0] place;                  // of the packet in its message
  logic [31:0] place_off, rest;
  logic r_read, r_local, r_last, single, gid_ok, ackreq;

  assign place = c_q.send[23:0] - r_q.first[23:0];
  assign place_off = {8'd0, place} << shift;
  assign rest = r_q.length - place_off;
  assign r_read = r_q.fetch;
  assign r_local = answer_i.wqe.local_op;
  assign single = !r_read && r_q.packets == 24'd1;
  assign r_last = place + 24'd1 == r_q.packets;
  assign ackreq = connected && (r_read || last_q || c_q.since_ackreq + 7'd1 >= ACK_INTERVAL);

  dingo_req_txd u_txd (
      .en_i(state_q == EMIT || state_q == QUICK),
      .qp_i(qp_q),
      .qpn_i(qpn_o),
      .cfg_i(cfg_q),
      .datagram_i(datagram),
      .uc_i(uc),
      .wqe_i(state_q == QUICK ? quick_i.wqe : answer_i.wqe),
      .head_i(state_q == QUICK ? {128'd0, quick_i.head} : answer_i.head),
      .psn_i(c_q.send[23:0]),
      .gen_i(c_q.gen),
      .offset_i(state_q == QUICK ? 32'd0 : off_q),
      .bytes_i(state_q != QUICK ? bytes_q : quick_i.wqe.fetch ? 13'd0 : quick_i.wqe.length[12:0]),
      .last_i(state_q == QUICK || last_q),
      .ackreq_i(state_q == QUICK || ackreq),
      .gid_valid_i,
      .own_gid_i(own_gid_q),
      .gid_ok_o(gid_ok),
      .txd_o(txd)
  );

  dingo_req_send u_send (
      .clk_i,
      .rst_ni,
      .idle_o,
      .start_i(sending || quick_o.take),
      .ready_o(free_o),
      .soon_o(free_soon),
      .txd_i(txd),
      .datagram_i(datagram),
      .offset_i(off_q),
      .quick_i(quick_o.take),
      .quick_seg_i(quick_seg_i),
      .quick_data_i(quick_i.data),
      .seg_index_o,
      .seg_i,
      .inl_re_o,
      .inl_block_o,
      .block_i,
      .txd_valid_o,
      .txd_ready_i,
      .txd_o,
      .seg_valid_o,
      .seg_ready_i,
      .seg_o,
      .inl_valid_o,
      .inl_ready_i,
      .inl_o
  );

  // ---------------------------------------------------------------- what may come next
  dingo_pkg::sge_t sge_q;              // of a READ that is new
  logic more, may_send, may_begin, quick_next, quick_last, quick_more, quick_ok, room_behind, flushing, old;
  // The table may say ERR before the step that sees to what had begun, which goes first.
  assign flushing = flush_q || (c_q.down && (st_q == dingo_pkg::QPS_ERR[2:0] || st_q == dingo_pkg::QPS_SQE[2:0]));
  assign old = c_q.cursor != c_q.tail;
  assign more = st_q == dingo_pkg::QPS_RTS[2:0] && !c_q.halted && c_q.next_index != c_q.producer;
  assign may_send = used_q != BURST && !halt_tx_i && tx_room_i;
  assign may_begin = c_q.tail - c_q.head != 8'd1 << rtl_pkg::REC_LOG && !window_closed;
  // A new WQE that may be plain. Without long READs outstanding the window keeps PSNs in reach.
  assign quick_next = !flushing && up && !waits_q && !old && more && may_send && may_begin && connected && own_gid_q &&
                      (c_q.reads == 5'd0 || near_q) && (quick_i.on || quick_i.valid || quick_i.rest);
  assign quick_ok = quick_i.plain && !(quick_i.wqe.fetch && (uc || c_q.reads >= max_reads_q));
  assign quick_last = quick_i.wqe.blocks[1] ? c_q.next_index + 32'd2 == c_q.producer : c_q.next_index + 32'd1 == c_q.producer;
  // And another behind it: what may_send and may_begin will say then, or less.
  assign quick_more = room_behind && c_q.tail - c_q.head < (8'd1 << rtl_pkg::REC_LOG) - 8'd1;
  assign room_behind = used_q != BURST - 5'd1 && !halt_tx_i && tx_room_i &&
                       !window_closed && flight_q[WINDOW_LOG-1:0] != '1;
  assign quick_o.take = state_q == QUICK && run_i && quick_i.valid && quick_ok && free_o && rec_we_ok_i;
  assign quick_o.may_start = state_q == TAKE || state_q == NEXT;
  // It begins with the turn, as far as can be seen of what comes from the memory.
  assign quick_o.start = (state_q == TAKE && (qp_rdata_i.cfg.kind == dingo_pkg::QPT_RC[2:0] || qp_rdata_i.cfg.kind == dingo_pkg::QPT_UC[2:0]) && qp_rdata_i.state == dingo_pkg::QPS_RTS[2:0] &&
                          c_i.cursor == c_i.tail && c_i.next_index != c_i.producer) || (state_q == NEXT && run_i && out_free && quick_next && !quick_i.on && !quick_i.valid);
  assign quick_o.stop = (state_q == NEXT && !quick_next) || (state_q == QUICK && quick_i.valid && !quick_ok) || state_q == BACK;
  assign quick_o.index = state_q == TAKE ? c_i.next_index : c_q.next_index;

  assign keep_o = (quick_o.take && quick_i.wqe.fetch && !quick_i.wqe.atomic) || (state_q == PUSH && run_i && r_q.kept);
  assign keep_sge_o = state_q == PUSH ? sge_q : quick_i.head[255:128];
  assign rec_access_o.re = state_q == NEXT && run_i && out_free && old;
  assign rec_access_o.rpos = c_q.cursor;
  assign rec_access_o.we = quick_o.take || (run_i && (state_q == PUSH || state_q == REFUSE || state_q == FAULT));
  assign rec_access_o.wpos = state_q == FAULT ? c_q.cursor : c_q.tail;
  assign rec_access_o.rec = rec_wr;
  always_comb begin
    rec_wr = r_q;
    if (state_q == REFUSE) rec_wr.packets = '0;
    if (state_q == REFUSE || state_q == FAULT) begin
      rec_wr.status = status_q;
      rec_wr.verr = verr_q;
    end
    if (state_q == QUICK) begin
      rec_wr = '0;
      rec_wr.index = c_q.next_index;
      rec_wr.first = c_q.new_psn;
      rec_wr.packets = 24'd1;
      rec_wr.length = quick_i.wqe.length;
      rec_wr.opcode = quick_i.wqe.opcode;
      rec_wr.blocks = quick_i.wqe.blocks;
      rec_wr.fetch = quick_i.wqe.fetch;
      rec_wr.kept = quick_i.wqe.fetch && !quick_i.wqe.atomic;
      rec_wr.signaled = quick_i.wqe.signaled || cfg_q.signal_all;
    end
  end

  always_ff @(posedge clk_i) begin
    if (out_free) begin
      report_q <= '0;
    end
    if (state_q == TAKE) begin
      waits_q <= c_i.wait_at != NEVER;
      max_reads_q <= qp_rdata_i.cfg.max_rd > {3'd0, MAX_READS} ? MAX_READS : qp_rdata_i.cfg.max_rd[4:0];
      flight_q <= in_flight[31] ? '0 : in_flight[30:WINDOW_LOG] != '0 ? {1'b1, WINDOW_LOG'(0)} : {1'b0, in_flight[WINDOW_LOG-1:0]};
    end else if (flies && !window_closed) flight_q <= flight_q + 1'b1;
    left_q <= $signed({1'b0, PSN_SPAN}) - $signed({reach[31], reach});
    left_reads_q <= $signed({1'b0, READ_SPAN}) - $signed({reach[31], reach});
    near_q <= $signed(reach - READ_SPAN) < 0;
    own_gid_q <= gid_valid_i[state_q == TAKE ? qp_rdata_i.cfg.sgid : cfg_q.sgid];
    load_seen_q <= loaded && !run_i && load_state;
    walk_seen_q <= walked && !run_i && walk_state;
    if (state_q == WALK) begin         // for long enough
      off_ahead_q <= off_q + {19'd0, pmtu};
      bytes_ahead_q <= rest_next < {19'd0, pmtu} ? rest_next[12:0] : pmtu;
    end
    if (!rst_ni) begin
      state_q <= IDLE;
      report_q <= '0;
    end else if (state_q == IDLE) begin
      used_q <= '0;
      wake_q <= 1'b0;
      fetch_q <= 1'b0;
      ack_q <= 1'b0;
      flush_q <= flush_i;
      if (take_i) begin
        qp_q <= take_qp_i;
        state_q <= TAKE;
      end else if (flush_i) begin
        qp_q <= flush_qp_i;
        cfg_q <= flush_cfg_i;
        st_q <= flush_st_i;
        c_q <= flush_c_i;
        state_q <= FLUSH_NEXT;
      end
    end else if (state_q == TAKE) begin  // what comes from the memory is there for one cycle
      cfg_q <= qp_rdata_i.cfg;
      st_q <= qp_rdata_i.state;
      c_q <= c_i;
      c_q.fetching <= 1'b0;
      state_q <= NEXT;
    end else if (run_i)
      case (state_q)
        // -------------------------------------------------------------------------- sending
        NEXT:
        if (out_free) begin
          placed_q <= 1'b0;
          checked_q <= 1'b0;
          state_q <= BACK;
          if (flushing) state_q <= FLUSH_NEXT;
          else if (up && !waits_q && (old || more)) begin
            if (!may_send) wake_q <= 1'b1;
            else if (old) state_q <= rec_re_ok_i ? REC : NEXT;
            else if (quick_next) state_q <= QUICK;
            else if (may_begin) state_q <= quick_i.rest ? NEW : NEXT;
          end
        end
        QUICK:                         // one behind the other, as long as nothing is in the way
        if (quick_o.take) begin
          c_q.tail <= c_q.tail + 8'd1;
          c_q.cursor <= c_q.tail + 8'd1;
          c_q.next_index <= c_q.next_index + {28'd0, quick_i.wqe.blocks};
          c_q.new_psn <= c_q.new_psn + 32'd1;
          c_q.send <= c_q.send + 32'd1;
          c_q.sent <= c_q.send + 32'd1;
          c_q.ackreq <= c_q.send;
          if (quick_i.wqe.fetch) begin
            c_q.reads <= c_q.reads + 5'd1;
            c_q.read_psns <= c_q.read_psns + 24'd1;
          end
          c_q.since_ackreq <= '0;
          if (c_q.ack_at == NEVER && cfg_q.timeout != 5'd0) c_q.ack_at <= ack_ns;
          used_q <= used_q + 5'd1;
          state_q <= quick_last ? BACK : quick_more ? QUICK : NEXT;
          a_new: assert (c_q.send == c_q.new_psn && !rtl_pkg::idx_before(c_q.send, c_q.sent));
        end else if (quick_i.valid && quick_i.missed && others_i) begin
          // A step asks for it while another QP has its turn.
          c_q.fetching <= 1'b1;
          c_q.asking <= 1'b1;
          fetch_q <= 1'b1;
          state_q <= BACK;
        end else if (!quick_i.valid && !quick_i.on && quick_i.rest) state_q <= NEW;
        REC: begin
          r_q <= rec_i;
          state_q <= RELOAD;
          if (rec_i.status != 8'd0 || (rec_i.packets != 24'd0 && window_closed)) state_q <= BACK;
          else if (rec_i.packets == 24'd0) begin  // local operation, passed again while repeating
            c_q.cursor <= c_q.cursor + 8'd1;
            state_q <= NEXT;
          end
        end
        RELOAD:
        if (loaded) begin
          status_q <= answer_i.wqe.status;
          verr_q <= answer_i.wqe.verr;
          if (answer_i.load_miss) begin
            wake_q <= !answer_i.load_asked;
            c_q.fetching <= answer_i.load_asked;
            state_q <= BACK;
          end else if (answer_i.wqe.status != 8'd0) state_q <= FAULT;
          else if (answer_i.wqe.opcode != r_q.opcode || answer_i.wqe.length != r_q.length) begin
            // the host changed a WQE that it had given away
            {status_q, verr_q} <= {dingo_pkg::WCS_LOC_QP_OP_ERR[7:0], dingo_pkg::VERR_WQE_FETCH[7:0]};
            state_q <= FAULT;
          end else state_q <= PACKET;
        end
        NEW:
        if (loaded) begin
          status_q <= answer_i.wqe.status;
          verr_q <= answer_i.wqe.verr;
          r_q.index <= c_q.next_index;
          r_q.first <= c_q.new_psn;
          r_q.packets <= wqe_packets[23:0];
          r_q.length <= answer_i.wqe.length;
          r_q.received <= '0;
          r_q.opcode <= answer_i.wqe.opcode;
          r_q.blocks <= answer_i.wqe.blocks;
          r_q.status <= '0;
          r_q.verr <= '0;
          r_q.fetch <= answer_i.wqe.fetch;
          r_q.kept <= answer_i.wqe.opcode == dingo_pkg::WR_READ[7:0] && answer_i.wqe.num_sge == 4'd1 && answer_i.wqe.length != 32'd0;
          r_q.signaled <= answer_i.wqe.signaled || cfg_q.signal_all;
          if (answer_i.load_miss) begin
            wake_q <= !answer_i.load_asked;
            c_q.fetching <= answer_i.load_asked;
            state_q <= BACK;
          end else state_q <= answer_i.wqe.status != 8'd0 ? REFUSE : BEGIN;
        end
        BEGIN: begin
          if (!must_wait) c_q.settles <= 1'b0;
          off_q <= '0;
          sge_q <= answer_i.head[255:128];
          bytes_q <= r_q.length[12:0];
          {status_q, verr_q} <= {dingo_pkg::WCS_LOC_QP_OP_ERR[7:0], dingo_pkg::VERR_GID[7:0]};
          state_q <= PUSH;
          if (must_wait) begin
            state_q <= BACK;
            if (on_key && !c_q.settles && !settle_i.room) wake_q <= 1'b1;
          end else if (r_local) begin
            r_q.packets <= '0;
            if (on_key && !c_q.settles) state_q <= KEY;
          end else if (datagram && r_q.length > longest) begin
            {status_q, verr_q} <= {dingo_pkg::WCS_LOC_LEN_ERR[7:0], dingo_pkg::VERR_MSG_TOO_LONG[7:0]};
            state_q <= REFUSE;
          end else if (no_reads) begin
            verr_q <= dingo_pkg::VERR_RD_ATOMIC[7:0];
            state_q <= REFUSE;
          end else if (!gid_ok) state_q <= REFUSE;
          else if (may_check) state_q <= CHECK;
        end
        KEY:
        if (mrw_done_i) begin
          status_q <= dingo_pkg::WCS_MW_BIND_ERR[7:0];
          verr_q <= mrw_rsp_i.verr;
          c_q.settles <= settle_push_o;
          state_q <= mrw_rsp_i.verr != 8'd0 ? REFUSE : settle_push_o ? BACK : PUSH;
        end
        CHECK:
        if (walked) begin
          status_q <= dingo_pkg::WCS_LOC_PROT_ERR[7:0];
          verr_q <= answer_i.walk_verr;
          placed_q <= single;
          checked_q <= 1'b1;
          state_q <= answer_i.walk_verr != 8'd0 ? REFUSE : answer_i.walk_paused ? BACK : PUSH;
        end
        PUSH:
        if (rec_we_ok_i) begin
          c_q.tail <= c_q.tail + 8'd1;
          c_q.next_index <= c_q.next_index + {28'd0, r_q.blocks};
          c_q.new_psn <= c_q.new_psn + {8'd0, r_q.packets};
          last_q <= 1'b1;              // as PACKET would find of a message that has its segments
          next_psn_q <= c_q.send + 32'd1;
          state_q <= placed_q ? EMIT : PACKET;
          if (r_local) begin
            c_q.cursor <= c_q.cursor + 8'd1;
            used_q <= used_q + 5'd1;
            ack_q <= 1'b1;
            wake_q <= 1'b1;
            c_q.odd <= 1'b1;
            state_q <= BACK;
          end
          if (r_read) c_q.reads <= c_q.reads + 5'd1;
        end
        REFUSE:                        // completes at once when nothing is before it
        if (rec_we_ok_i) begin
          c_q.tail <= c_q.tail + 8'd1;
          c_q.next_index <= c_q.next_index + {28'd0, r_q.blocks};
          c_q.halted <= 1'b1;
          c_q.odd <= 1'b1;
          ack_q <= 1'b1;
          state_q <= BACK;
        end
        FAULT:
        if (rec_we_ok_i) begin
          c_q.halted <= 1'b1;
          c_q.odd <= 1'b1;
          ack_q <= 1'b1;
          state_q <= BACK;
        end
        PACKET: begin
          off_q <= place_off;
          rest_q <= rest;
          last_q <= r_last || r_read;
          bytes_q <= r_read ? '0 : r_last || datagram ? rest[12:0] : pmtu;
          next_psn_q <= r_read ? rec_next : c_q.send + 32'd1;
          // A READ is asked for again only when there is a place for its data.
          state_q <= answer_i.wqe.inl || r_q.length == 32'd0 || (r_read && checked_q) ? EMIT : WALK;
          if (connected && !own_gid_q) begin
            {status_q, verr_q} <= {dingo_pkg::WCS_LOC_QP_OP_ERR[7:0], dingo_pkg::VERR_GID[7:0]};
            state_q <= FAULT;
          end
        end
        WALK:
        if (walked) begin
          status_q <= dingo_pkg::WCS_LOC_PROT_ERR[7:0];
          verr_q <= answer_i.walk_verr;
          // What else is wrong with the place of READ data is found when they come.
          state_q <= answer_i.walk_paused ? BACK : answer_i.walk_verr != 8'd0 && !r_read ? FAULT : EMIT;
        end
        EMIT:
        if (free_o) begin              // it is taken
          if (rtl_pkg::idx_before(c_q.send, c_q.sent)) begin
            report_q.card <= req_pkg::count_card(6'(dingo_pkg::CARD_RETRANSMITS));
            report_q.qp <= req_pkg::count_qp(4'(dingo_pkg::QP_RETRANSMITS));
          end
          if (ackreq) begin
            c_q.ackreq <= next_psn_q - 32'd1;
            c_q.since_ackreq <= '0;
          end else if (connected) c_q.since_ackreq <= c_q.since_ackreq + 7'd1;
          if (r_read) c_q.read_psns <= c_q.read_psns + (next_psn_q[23:0] - c_q.send[23:0]);
          c_q.send <= next_psn_q;
          if (rtl_pkg::idx_before(c_q.sent, next_psn_q)) c_q.sent <= next_psn_q;
          if (connected && c_q.ack_at == NEVER && cfg_q.timeout != 5'd0) c_q.ack_at <= ack_ns;
          if (last_q) c_q.cursor <= c_q.cursor + 8'd1;
          used_q <= used_q + 5'd1;
          state_q <= goes_on ? WALK : NEXT;
          if (goes_on) begin           // as PACKET would find
            off_q <= off_ahead_q;
            rest_q <= rest_next;
            last_q <= rest_next <= {19'd0, pmtu};
            bytes_q <= bytes_ahead_q;
            next_psn_q <= next_psn_q + 32'd1;
          end
        end

        // -------------------------------------------------------------------------- flushing
        FLUSH_NEXT:
        if (!out_free) state_q <= FLUSH_NEXT;
        else if (c_q.next_index == c_q.producer) state_q <= BACK;
        else if (!flush_q && (used_q == BURST || halt_tx_i)) begin
          wake_q <= 1'b1;
          state_q <= BACK;
        end else state_q <= FLUSH_LOAD;
        FLUSH_LOAD:                    // for opcode and size; that it may be wrong no longer matters
        if (loaded) begin
          if (!answer_i.load_miss) state_q <= FLUSH_DO;
          else if (!flush_q) begin
            wake_q <= !answer_i.load_asked;
            c_q.fetching <= answer_i.load_asked;
            state_q <= BACK;
          end
        end
        FLUSH_DO: begin
          report_q.cqe <= req_pkg::cqe(c_q.next_index, 32'd0, answer_i.wqe.opcode, dingo_pkg::WCS_WR_FLUSH_ERR[7:0], dingo_pkg::VERR_FLUSHED[7:0]);
          report_q.qp <= req_pkg::count_qp(4'(dingo_pkg::QP_SEND_CQES));
          report_q.card <= req_pkg::count_card(6'(dingo_pkg::CARD_REQ_CQE_FLUSH_ERROR));
          c_q.next_index <= c_q.next_index + {28'd0, answer_i.wqe.blocks};
          used_q <= used_q + 5'd1;
          state_q <= FLUSH_NEXT;
        end
        BACK: begin
          if (leaving || flushed_o) state_q <= ack_q ? ACK : take_i ? TAKE : IDLE;
          if (take_i) begin
            qp_q <= take_qp_i;
            used_q <= '0;
            wake_q <= 1'b0;
            fetch_q <= 1'b0;
          end
        end
        default: if (ack_take_i) state_q <= IDLE;  // ACK
      endcase
  end

  wire unused_ok = &{1'b0, c_now, wqe_round[32], wqe_packets[31:24], cfg_q, rec_i};
endmodule
