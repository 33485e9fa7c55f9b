// SPDX-License-Identifier: BSD-2-Clause

/// A QP's turn: which WQE and which packet of it comes next, up to 16 packets; or, in ERR and SQE, its
/// WQEs flushed. After a loss the cursor is at an older record, and its packets are made again.
/// Works on a copy of the context, which it gives back with what is to be done next.
module dingo_req_turn (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        run_i,         // what is reported has room
    output logic        idle_o,        // no packet on its way out
    output logic        free_o,        // what dingo_req_wqes gave last is no longer looked at
    // order: stays until done
    input  logic        fresh_i,       // a step begins
    input  logic        start_i,
    input  logic        flush_i,       // everything is flushed, at once
    input  logic        halt_tx_i,
    input  logic [63:0] now_ns_i,
    input  logic [15:0] port_mtu_i,
    input  logic [(1<<rtl_pkg::GID_LOG)-1:0] gid_valid_i,
    input  rtl_pkg::qpi_t        qp_i,
    input  logic [31:0] qpn_i,
    input  rtl_pkg::qp_cfg_t     cfg_i,
    input  logic        datagram_i,
    input  rtl_pkg::qps_t        st_i,
    input  rtl_pkg::req_ctx_t    c_i,
    output logic        done_o,        // one cycle; what follows stays until the next order
    output rtl_pkg::req_ctx_t    c_o,
    output logic        wake_o,        // there is more to do
    output logic        ack_o,         // what has completed is to be looked for,
    output logic        again_o,       // and then the turn goes on
    // records; reads in the next cycle
    output logic        rec_re_o,
    output logic [7:0]  rec_rpos_o,
    input  rtl_pkg::req_rec_t    rec_i,
    output logic        rec_we_o,
    output logic [7:0]  rec_wpos_o,
    output rtl_pkg::req_rec_t    rec_o,
    // dingo_req_wqes
    output logic        load_o,
    output logic [31:0] index_o,
    input  logic        load_done_i,
    input  logic        load_miss_i,
    input  logic        load_asked_i,
    input  rtl_pkg::swqe_t       wqe_i,
    input  logic [383:0] head_i,
    output logic        walk_o,
    output logic        whole_o,
    output logic [31:0] offset_o,
    output logic [12:0] bytes_o,
    input  logic        walk_done_i,
    input  logic [7:0]  walk_verr_i,
    output logic [3:0]  seg_index_o,
    input  rtl_pkg::seg_t        seg_i,
    output logic        inl_re_o,
    output logic [2:0]  inl_block_o,
    input  logic [511:0] block_i,
    // dingo_req_out
    output logic [88:0] cqe_o,
    output logic [6:0]  card_o,
    output logic [4:0]  count_o,
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
  localparam logic [31:0] WINDOW = 32'd256;        // request packets in flight
  localparam logic [31:0] PSN_SPAN = 32'd1 << 23;  // PSNs outstanding: half of the number space
  localparam logic [31:0] READ_SPAN = 32'd4096;    // response packets that READs may have outstanding
  localparam logic [6:0] ACK_INTERVAL = 7'd64;     // packets between requests for an acknowledgement
  localparam logic [4:0] MAX_READS = 5'd1 << rtl_pkg::RD_LOG;


  typedef enum logic [4:0] {
    IDLE, NEXT, REC, RELOAD, NEW, BEGIN, CHECK, PUSH, REFUSE, FAULT, PACKET, WALK, EMIT, FLUSH_NEXT, FLUSH_LOAD, FLUSH_DO, DONE
  } state_t;
  typedef enum logic [1:0] {
    OVER,
    ACKNOWLEDGE,
    AGAIN
  } then_t;

  state_t state_q;
  then_t then_q;
  rtl_pkg::req_ctx_t c_q;
  rtl_pkg::req_rec_t r_q, rec_wr;
  logic wake_q;
  logic [4:0] used_q;                  // packets of this turn
  logic [7:0] status_q, verr_q;        // of a failure
  logic [12:0] bytes_q;
  logic [31:0] off_q, next_psn_q, rec_next;
  logic last_q;
  logic placed_q;                      // the segments of the packet are there: it is all of its message
  logic [88:0] cqe_q;
  logic [6:0] card_q;
  logic [4:0] count_q;
  logic load_state, walk_state, load_seen_q, loaded, walk_seen_q, walked, sending;
  logic up, reliable, window_closed;
  logic [3:0] shift;                   // PMTU = 2^shift
  logic [12:0] pmtu;
  logic [31:0] in_flight, wqe_packets;
  logic [63:0] ack_ns;
  logic [32:0] wqe_round;
  rtl_pkg::txd_t txd;

  assign done_o = state_q == DONE && run_i;
  assign c_o = c_q;
  assign wake_o = wake_q;
  assign ack_o = then_q != OVER;
  assign again_o = then_q == AGAIN;
  assign cqe_o = cqe_q;
  assign card_o = card_q;
  assign count_o = count_q;
  assign reliable = !datagram_i;
  assign up = st_i == dingo_pkg::QPS_RTS[2:0] || st_i == dingo_pkg::QPS_SQD[2:0];
  assign shift = 4'd7 + {1'b0, cfg_i.path_mtu};
  assign pmtu = rtl_pkg::pmtu_bytes(cfg_i.path_mtu);
  assign in_flight = c_q.send - c_q.oldest - {8'd0, c_q.read_psns};
  assign window_closed = !in_flight[31] && in_flight >= WINDOW;
  assign ack_ns = now_ns_i + (64'd4096 << cfg_i.timeout);
  assign wqe_round = ({1'b0, wqe_i.length} + {20'd0, pmtu} - 33'd1) >> shift;
  assign wqe_packets = datagram_i || wqe_i.length == 32'd0 ? 32'd1 : wqe_round[31:0];
  assign rec_next = r_q.first + {8'd0, r_q.packets};

  assign load_state = state_q == RELOAD || state_q == NEW || state_q == FLUSH_LOAD;
  assign load_o = load_state && !load_seen_q && free_o;
  assign loaded = load_done_i || load_seen_q;
  assign index_o = state_q == RELOAD ? r_q.index : c_q.next_index;
  assign walk_state = (state_q == BEGIN && may_check) || state_q == CHECK || state_q == WALK;
  assign walk_o = walk_state && !walk_seen_q && free_o;
  assign walked = walk_done_i || walk_seen_q;
  assign whole_o = state_q != WALK && !single;
  assign offset_o = state_q == BEGIN ? '0 : off_q;
  assign bytes_o = state_q == BEGIN ? r_q.length[12:0] : bytes_q;
  assign sending = state_q == EMIT && run_i;

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
  logic no_reads, must_wait, may_check;
  assign no_reads = r_read && reliable && cfg_i.max_rd == 8'd0;
  assign must_wait = (wqe_i.fence && c_q.reads != 5'd0) ||
                     (reliable && !r_nop && !no_reads &&
                      ((r_read && (c_q.reads >= max_reads || (c_q.reads != 5'd0 && span > READ_SPAN))) || span > PSN_SPAN));
  assign may_check = reliable && !must_wait && !r_nop && !no_reads && gid_ok && !wqe_i.inl && wqe_i.num_sge != 4'd0;

  // The packet that begins
  logic [23:0] place;                  // of the packet in its message
  logic [31:0] place_off, rest;
  logic r_read, r_nop, r_last, single, gid_ok, ackreq;
  logic [31:0] span;
  logic [4:0] max_reads;

  assign place = c_q.send[23:0] - r_q.first[23:0];
  assign place_off = {8'd0, place} << shift;
  assign rest = r_q.length - place_off;
  assign r_read = r_q.opcode == dingo_pkg::WR_READ[7:0];
  assign r_nop = r_q.opcode == dingo_pkg::WR_NOP[7:0];
  assign single = !r_read && r_q.packets == 24'd1;
  assign r_last = place + 24'd1 == r_q.packets;
  assign ackreq = reliable && (r_read || last_q || c_q.since_ackreq + 7'd1 >= ACK_INTERVAL);
  assign span = c_q.new_psn - c_q.oldest + {8'd0, r_q.packets};
  assign max_reads = cfg_i.max_rd > {3'd0, MAX_READS} ? MAX_READS : cfg_i.max_rd[4:0];

  dingo_req_txd u_txd (
      .en_i(state_q == EMIT),
      .qp_i,
      .qpn_i,
      .cfg_i,
      .datagram_i,
      .wqe_i,
      .head_i,
      .psn_i(c_q.send[23:0]),
      .offset_i(off_q),
      .bytes_i(bytes_q),
      .last_i(last_q),
      .ackreq_i(ackreq),
      .gid_valid_i,
      .gid_ok_o(gid_ok),
      .txd_o(txd)
  );

  dingo_req_send u_send (
      .clk_i,
      .rst_ni,
      .idle_o,
      .start_i(sending),
      .ready_o(free_o),
      .txd_i(txd),
      .datagram_i,
      .offset_i(off_q),
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

  assign rec_re_o = state_q == NEXT && run_i;
  assign rec_rpos_o = c_q.cursor;
  assign rec_we_o = run_i && (state_q == PUSH || state_q == REFUSE || state_q == FAULT);
  assign rec_wpos_o = state_q == FAULT ? c_q.cursor : c_q.tail;
  assign rec_o = rec_wr;
  always_comb begin
    rec_wr = r_q;
    if (state_q == REFUSE) rec_wr.packets = '0;
    if (state_q != PUSH) begin
      rec_wr.status = status_q;
      rec_wr.verr = verr_q;
    end
  end

  always_ff @(posedge clk_i) begin
    cqe_q <= '0;
    card_q <= '0;
    count_q <= '0;
    load_seen_q <= loaded && !run_i && load_state;
    walk_seen_q <= walked && !run_i && walk_state;
    if (fresh_i) used_q <= '0;
    if (!rst_ni) state_q <= IDLE;
    else if (run_i)
      case (state_q)
        IDLE:
        if (start_i) begin
          c_q <= c_i;
          c_q.fetching <= 1'b0;
          wake_q <= 1'b0;
          then_q <= OVER;
          state_q <= NEXT;
        end
        // -------------------------------------------------------------------------- sending
        NEXT: begin
          placed_q <= 1'b0;
          state_q <= DONE;
          if (flush_i || st_i == dingo_pkg::QPS_ERR[2:0] || st_i == dingo_pkg::QPS_SQE[2:0]) state_q <= FLUSH_NEXT;
          else if (up && c_q.wait_at == NEVER) begin
            if (c_q.cursor != c_q.tail || (st_i == dingo_pkg::QPS_RTS[2:0] && !c_q.halted && c_q.next_index != c_q.producer)) begin
              if (used_q == BURST || halt_tx_i || !tx_room_i) wake_q <= 1'b1;
              else if (c_q.cursor != c_q.tail) state_q <= REC;
              else if (c_q.tail - c_q.head != 8'd1 << rtl_pkg::REC_LOG && !window_closed) state_q <= NEW;
            end
          end
        end
        REC: begin
          r_q <= rec_i;
          state_q <= RELOAD;
          if (rec_i.status != 8'd0 || (rec_i.packets != 24'd0 && window_closed)) state_q <= DONE;
          else if (rec_i.packets == 24'd0) begin  // NOP, passed again while repeating
            c_q.cursor <= c_q.cursor + 8'd1;
            state_q <= NEXT;
          end
        end
        RELOAD:
        if (loaded) begin
          status_q <= wqe_i.status;
          verr_q <= wqe_i.verr;
          if (load_miss_i) begin
            wake_q <= !load_asked_i;
            c_q.fetching <= load_asked_i;
            state_q <= DONE;
          end else if (wqe_i.status != 8'd0) state_q <= FAULT;
          else if (wqe_i.opcode != r_q.opcode || wqe_i.length != r_q.length) begin
            // the host changed a WQE that it had given away
            {status_q, verr_q} <= {dingo_pkg::WCS_LOC_QP_OP_ERR[7:0], dingo_pkg::VERR_WQE_FETCH[7:0]};
            state_q <= FAULT;
          end else state_q <= PACKET;
        end
        NEW:
        if (loaded) begin
          status_q <= wqe_i.status;
          verr_q <= wqe_i.verr;
          r_q.index <= c_q.next_index;
          r_q.first <= c_q.new_psn;
          r_q.packets <= wqe_packets[23:0];
          r_q.length <= wqe_i.length;
          r_q.received <= '0;
          r_q.opcode <= wqe_i.opcode;
          r_q.blocks <= wqe_i.blocks;
          r_q.status <= '0;
          r_q.verr <= '0;
          r_q.signaled <= wqe_i.signaled || cfg_i.signal_all;
          if (load_miss_i) begin
            wake_q <= !load_asked_i;
            c_q.fetching <= load_asked_i;
            state_q <= DONE;
          end else state_q <= wqe_i.status != 8'd0 ? REFUSE : BEGIN;
        end
        BEGIN: begin
          off_q <= '0;
          bytes_q <= r_q.length[12:0];
          {status_q, verr_q} <= {dingo_pkg::WCS_LOC_QP_OP_ERR[7:0], dingo_pkg::VERR_GID[7:0]};
          state_q <= PUSH;
          if (must_wait) state_q <= DONE;
          else if (r_nop) r_q.packets <= '0;
          else if (datagram_i && r_q.length > longest) begin
            {status_q, verr_q} <= {dingo_pkg::WCS_LOC_LEN_ERR[7:0], dingo_pkg::VERR_MSG_TOO_LONG[7:0]};
            state_q <= REFUSE;
          end else if (no_reads) begin
            verr_q <= dingo_pkg::VERR_RD_ATOMIC[7:0];
            state_q <= REFUSE;
          end else if (!gid_ok) state_q <= REFUSE;
          else if (may_check) state_q <= CHECK;
        end
        CHECK:
        if (walked) begin
          status_q <= dingo_pkg::WCS_LOC_PROT_ERR[7:0];
          verr_q <= walk_verr_i;
          placed_q <= single;
          state_q <= walk_verr_i != 8'd0 ? REFUSE : PUSH;
        end
        PUSH: begin
          c_q.tail <= c_q.tail + 8'd1;
          c_q.next_index <= c_q.next_index + {28'd0, r_q.blocks};
          c_q.new_psn <= c_q.new_psn + {8'd0, r_q.packets};
          last_q <= 1'b1;              // as PACKET would find of a message that has its segments
          next_psn_q <= c_q.send + 32'd1;
          state_q <= placed_q ? EMIT : PACKET;
          if (r_nop) begin
            c_q.cursor <= c_q.cursor + 8'd1;
            used_q <= used_q + 5'd1;
            then_q <= AGAIN;
            state_q <= DONE;
          end
          if (r_read) c_q.reads <= c_q.reads + 5'd1;
        end
        REFUSE: begin               // completes at once when nothing is before it
          c_q.tail <= c_q.tail + 8'd1;
          c_q.next_index <= c_q.next_index + {28'd0, r_q.blocks};
          c_q.halted <= 1'b1;
          then_q <= ACKNOWLEDGE;
          state_q <= DONE;
        end
        FAULT: begin
          c_q.halted <= 1'b1;
          then_q <= ACKNOWLEDGE;
          state_q <= DONE;
        end
        PACKET: begin
          off_q <= place_off;
          last_q <= r_last || r_read;
          bytes_q <= r_read ? '0 : rest < {19'd0, pmtu} ? rest[12:0] : pmtu;
          if (datagram_i) bytes_q <= rest[12:0];
          next_psn_q <= r_read ? rec_next : c_q.send + 32'd1;
          state_q <= r_read || wqe_i.inl || rest == 32'd0 ? EMIT : WALK;
          if (reliable && !gid_ok) begin
            {status_q, verr_q} <= {dingo_pkg::WCS_LOC_QP_OP_ERR[7:0], dingo_pkg::VERR_GID[7:0]};
            state_q <= FAULT;
          end
        end
        WALK:
        if (walked) begin
          status_q <= dingo_pkg::WCS_LOC_PROT_ERR[7:0];
          verr_q <= walk_verr_i;
          state_q <= walk_verr_i != 8'd0 ? FAULT : EMIT;
        end
        EMIT:
        if (free_o) begin              // it is taken
          if (rtl_pkg::idx_before(c_q.send, c_q.sent)) begin
            card_q <= {1'b1, 6'(dingo_pkg::CARD_RETRANSMITS)};
            count_q <= {1'b1, 4'(dingo_pkg::QP_RETRANSMITS)};
          end
          if (ackreq) begin
            c_q.ackreq <= next_psn_q - 32'd1;
            c_q.since_ackreq <= '0;
          end else if (reliable) c_q.since_ackreq <= c_q.since_ackreq + 7'd1;
          if (r_read) c_q.read_psns <= c_q.read_psns + (next_psn_q[23:0] - c_q.send[23:0]);
          c_q.send <= next_psn_q;
          if (rtl_pkg::idx_before(c_q.sent, next_psn_q)) c_q.sent <= next_psn_q;
          if (reliable && c_q.ack_at == NEVER && cfg_i.timeout != 5'd0) c_q.ack_at <= ack_ns;
          if (last_q) c_q.cursor <= c_q.cursor + 8'd1;
          used_q <= used_q + 5'd1;
          state_q <= NEXT;
        end

        // -------------------------------------------------------------------------- flushing
        FLUSH_NEXT:
        if (c_q.next_index == c_q.producer) state_q <= DONE;
        else if (!flush_i && (used_q == BURST || halt_tx_i)) begin
          wake_q <= 1'b1;
          state_q <= DONE;
        end else state_q <= FLUSH_LOAD;
        FLUSH_LOAD:                    // for opcode and size; that it may be wrong no longer matters
        if (loaded) begin
          if (!load_miss_i) state_q <= FLUSH_DO;
          else if (!flush_i) begin
            wake_q <= !load_asked_i;
            c_q.fetching <= load_asked_i;
            state_q <= DONE;
          end
        end
        FLUSH_DO: begin
          cqe_q <= {1'b1, c_q.next_index, 32'd0, wqe_i.opcode, dingo_pkg::WCS_WR_FLUSH_ERR[7:0], dingo_pkg::VERR_FLUSHED[7:0]};
          count_q <= {1'b1, 4'(dingo_pkg::QP_SEND_CQES)};
          card_q <= {1'b1, 6'(dingo_pkg::CARD_REQ_CQE_FLUSH_ERROR)};
          c_q.next_index <= c_q.next_index + {28'd0, wqe_i.blocks};
          used_q <= used_q + 5'd1;
          state_q <= FLUSH_NEXT;
        end
        default: state_q <= IDLE;
      endcase
  end

  wire unused_ok = &{1'b0, wqe_round[32], wqe_packets[31:24], cfg_i, rec_i};
endmodule
