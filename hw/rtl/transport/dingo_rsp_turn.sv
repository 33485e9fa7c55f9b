// SPDX-License-Identifier: BSD-2-Clause

/// A QP's turn: READ responses in PSN order, at most 16 packets, then the ACK or NAK that is owed; in ERR, a flush of
/// at most 16 receive WQEs. A turn that ends for lack of room on the wire continues before other QPs' turns, up to 8
/// KiB: consecutive packets of a READ spare the peer reads of its WQE. A flush waits until all items have come back, to
/// keep completions in order. A QP with an SRQ flushes only the entry that it took.
module dingo_rsp_turn (
    input  logic              clk_i,
    input  logic              rst_ni,
    input  logic              go_i,          // all outputs of the responder are free
    input  logic              start_i,       // with ctx_i
    input  rsp_pkg::rctx_t    ctx_i,
    output logic              done_o,        // stays until the next start
    output rsp_pkg::rctx_t    ctx_o,         // new context; intermediate values before done_o
    output logic              wake_o,        // the QP needs another turn
    output logic              again_o,       // with wake_o: this turn was cut short
    input  logic              again_i,       // with start_i: continues the turn that was cut short
    input  rtl_pkg::qp_t      x_i,           // its QP, from the cycle after start_i on
    output rsp_pkg::emit_t    emit_o,
    input  rsp_pkg::emit_ready_t emit_ready_i,
    output rsp_pkg::exit_t    exit_o,        // NAK: the key of a READ's region is no longer good
    input  logic              busy_i,        // an output is still occupied
    input  logic              path_ok_i,     // the QP's source GID is valid
    input  logic              tx_room_i,     // dingo_tx_mux has room for a packet
    output logic              read_o,        // the current packet is a READ response, else ACK or NAK
    output logic              refuse_o,      // it is an RNR NAK for the READ's next packet
    output logic              send_o,        // the packet leaves
    // dingo_rsp_reads: the READ that is being answered
    output logic              rd_get_o,
    output logic              rd_step_o,
    output logic [3:0]        rd_slot_o,
    input  logic              rd_done_i,     // stays until the next operation
    input  logic [12:0]       res_bytes_i,   // of the packet
    input  logic              res_last_i,    // of the response
    output logic              mr_valid_o,
    input  logic              mr_done_i,     // the answer to the last mr_valid_o is here
    input  logic              mr_ok_i,
    input  logic              mr_paused_i,   // not ok, only because the region is paused
    output logic              pause_o,       // READ responses of this QP wait for a paused region
    output logic              open_o,        // dingo_rsp_wqe: entry held_index of ctx_o
    input  logic              wqe_done_i,    // stays until wqe_taken_o
    output logic              wqe_taken_o,
    input  logic [31:0]       wqe_tag_i,
    input  logic              cqes_done_i    // all completions of the responder are in host memory
);
  typedef enum logic [3:0] {
    IDLE = 4'd0,
    TN_START = 4'd1,
    TN_PICK = 4'd2,
    TN_NEXT = 4'd3,
    TN_GET = 4'd4,
    TN_KEY = 4'd5,
    TN_KEY_WAIT = 4'd6,
    TN_SEND = 4'd7,
    TN_REPLY = 4'd8,
    TN_FLUSH = 4'd9,
    TN_FETCH = 4'd10,
    TN_LAST = 4'd11,                         // SRQ: event QP_LAST_WQE, after all completions of the QP
    TN_REFUSE = 4'd12                        // the READ's region is paused: an RNR NAK instead of its next packet
  } state_t;
  localparam logic [4:0] BURST = 5'd16;      // packets, or flushed WQEs, of a turn

  state_t state_q;
  rsp_pkg::rctx_t c_q;
  logic [4:0] used_q;
  logic [4:0] together;                      // packets that are sent before another QP's turn: 8 KiB, at most BURST

  logic is_rc, answers, rq_empty;
  assign is_rc = x_i.cfg.kind == dingo_pkg::QPT_RC[2:0];
  assign answers = x_i.state == dingo_pkg::QPS_RTR[2:0] || x_i.state == dingo_pkg::QPS_RTS[2:0]
                   || x_i.state == dingo_pkg::QPS_SQD[2:0] || x_i.state == dingo_pkg::QPS_SQE[2:0];
  assign together = x_i.cfg.path_mtu == 3'd5 ? 5'd2 : x_i.cfg.path_mtu == 3'd4 ? 5'd4 : x_i.cfg.path_mtu == 3'd3 ? 5'd8 : BURST;
  assign rq_empty = c_q.rq_cons == c_q.rq_prod;

  // The oldest pending READ: the first slot from rd_next on, else from 0 on
  logic [3:0] pick;
  logic [15:0] pick_from;
  assign pick_from = (c_q.rd_pending >> c_q.rd_next) << c_q.rd_next;
  always_comb begin
    pick = '0;
    for (int i = 15; i >= 0; i--) if (c_q.rd_pending[i]) pick = 4'(i);
    for (int i = 15; i >= 0; i--) if (pick_from[i]) pick = 4'(i);
  end

  logic got_q;                               // dingo_rsp_reads holds slot rd_slot_o: the next packet needs no GET
  logic only;                                // no other READ is pending
  assign only = c_q.rd_pending == 16'd1 << rd_slot_o;

  assign done_o = state_q == IDLE;
  assign ctx_o = c_q;
  assign read_o = state_q == TN_GET || state_q == TN_KEY || state_q == TN_KEY_WAIT || state_q == TN_SEND;
  assign refuse_o = state_q == TN_REFUSE;
  assign send_o = (state_q == TN_SEND || state_q == TN_REPLY || state_q == TN_REFUSE) && go_i;
  assign rd_get_o = state_q == TN_NEXT && go_i && used_q != BURST && c_q.rd_pending != '0 && tx_room_i && !busy_i && !got_q;
  assign rd_step_o = state_q == TN_SEND && go_i;
  // Continues with the next packet of the same READ: its look-up begins in TN_NEXT.
  logic goes_on;
  assign goes_on = state_q == TN_NEXT && !busy_i && got_q && c_q.rd_pending != '0 && used_q != BURST && tx_room_i;
  assign mr_valid_o = (state_q == TN_KEY || goes_on) && go_i;
  assign pause_o = state_q == TN_KEY_WAIT && go_i && mr_done_i && mr_paused_i;
  assign wqe_taken_o = state_q == TN_FETCH && go_i && wqe_done_i;

  rsp_pkg::emit_t flushed;                   // flush of the receive WQE of the message in progress, or of the next one
  assign flushed = rsp_pkg::emit_failure(6'(dingo_pkg::CARD_RESP_CQE_FLUSH_ERROR), 4'(dingo_pkg::QP_RECV_CQES),
                                         dingo_pkg::WCS_WR_FLUSH_ERR[7:0], dingo_pkg::VERR_FLUSHED[7:0],
                                         state_q == TN_FETCH ? wqe_tag_i : c_q.held_tag);

  always_ff @(posedge clk_i) begin
    open_o <= 1'b0;
    if (emit_ready_i.stat) emit_o.stat <= 1'b0;
    if (emit_ready_i.qstat) emit_o.qstat <= 1'b0;
    if (emit_ready_i.ev) emit_o.ev <= 1'b0;
    if (emit_ready_i.cqe) emit_o.cqe <= 1'b0;
    if (start_i) begin
      c_q <= ctx_i;
      if (!again_i) used_q <= '0;
      wake_o <= 1'b0;
      again_o <= 1'b0;
      got_q <= 1'b0;
      exit_o <= rsp_pkg::EXIT_STORE;
      state_q <= TN_START;
    end else if (go_i) begin
      case (state_q)
        TN_START: begin
          c_q.queued <= 1'b0;
          state_q <= IDLE;
          if (c_q.err) begin
            if (c_q.items == '0) begin       // else the commit of the last item wakes the QP again
              if (x_i.cfg.has_srq ? c_q.open : c_q.held) begin
                c_q.held <= 1'b0;
                c_q.open <= 1'b0;
                emit_o <= flushed;
              end
              state_q <= TN_FLUSH;
            end
          end else if (is_rc && answers && (c_q.rd_pending != '0 || c_q.reply_pending)) begin
            if (path_ok_i) begin
              rd_slot_o <= pick;
              state_q <= TN_NEXT;
            end else begin                       // no source GID: nothing can be sent
              c_q.rd_pending <= '0;
              c_q.reply_pending <= 1'b0;
              if (c_q.fatal) exit_o <= rsp_pkg::EXIT_ERR;
            end
          end
        end

        TN_NEXT:
        if (!busy_i) begin
          if (c_q.rd_pending == '0 && !c_q.reply_pending) state_q <= IDLE;
          else if (used_q == BURST || !tx_room_i) begin
            wake_o <= 1'b1;
            again_o <= used_q != '0 && used_q < together;
            state_q <= IDLE;
          end else state_q <= c_q.rd_pending == '0 ? TN_REPLY : got_q ? TN_KEY_WAIT : TN_GET;
        end

        TN_GET:
        if (rd_done_i) begin
          got_q <= 1'b1;
          state_q <= res_bytes_i != '0 ? TN_KEY : TN_SEND;
        end

        TN_KEY: begin
          state_q <= TN_KEY_WAIT;
        end

        TN_KEY_WAIT:
        if (mr_done_i) begin
          if (mr_ok_i) state_q <= TN_SEND;
          else if (mr_paused_i) state_q <= c_q.rd_refused ? IDLE : TN_REFUSE;
          else begin                         // the key was invalidated or the region destroyed during the READ
            c_q.rd_pending <= '0;
            exit_o <= rsp_pkg::EXIT_NAK;
            state_q <= IDLE;
          end
        end

        TN_SEND: begin
          used_q <= used_q + 5'd1;
          c_q.rd_refused <= 1'b0;
          if (res_last_i) begin
            c_q.rd_pending[rd_slot_o] <= 1'b0;
            c_q.rd_answered[rd_slot_o] <= 1'b1;
            state_q <= only && !c_q.reply_pending ? IDLE : TN_PICK;
          end else state_q <= TN_NEXT;
        end

        TN_REFUSE: begin
          c_q.rd_refused <= 1'b1;
          emit_o.stat <= 1'b1;
          emit_o.stat_idx <= 6'(dingo_pkg::CARD_RNR_NAK_SENT);
          emit_o.qstat <= 1'b1;
          emit_o.qstat_idx <= 4'(dingo_pkg::QP_RNR_NAK_SENT);
          state_q <= IDLE;
        end

        TN_PICK: begin  // C9-110: the oldest one next, also if a repetition of an earlier READ interrupted it
          rd_slot_o <= pick;
          got_q <= 1'b0;
          state_q <= TN_NEXT;
        end

        TN_REPLY: begin
          c_q.reply_pending <= 1'b0;
          emit_o.qstat <= c_q.reply_syn[7:5] == roce_pkg::AETH_ACK;
          emit_o.qstat_idx <= 4'(dingo_pkg::QP_ACKS_SENT);
          if (c_q.fatal) exit_o <= rsp_pkg::EXIT_ERR;   // the fatal NAK has left
          state_q <= IDLE;
        end

        TN_FLUSH:
        if (x_i.cfg.has_srq) state_q <= c_q.last_wqe ? IDLE : TN_LAST;
        else if (rq_empty) state_q <= IDLE;
        else if (used_q == BURST) begin
          wake_o <= 1'b1;
          state_q <= IDLE;
        end else begin
          c_q.held_index <= c_q.rq_cons;
          open_o <= 1'b1;
          state_q <= TN_FETCH;
        end

        TN_FETCH:  // only the tag is needed; errors of the WQE are ignored
        if (wqe_done_i) begin
          used_q <= used_q + 5'd1;
          c_q.rq_cons <= c_q.rq_cons + 32'd1;
          emit_o <= flushed;
          state_q <= TN_FLUSH;
        end

        TN_LAST:
        if (!busy_i && cqes_done_i) begin
          c_q.last_wqe <= 1'b1;
          emit_o.ev <= 1'b1;
          emit_o.ev_kind <= dingo_pkg::EV_QP_LAST_WQE[7:0];
          state_q <= IDLE;
        end

        default: state_q <= IDLE;
      endcase
    end
    if (!rst_ni) begin
      state_q <= IDLE;
      wake_o <= 1'b0;
      again_o <= 1'b0;
      open_o <= 1'b0;
      emit_o <= '0;
    end
  end
  wire unused_ok = &{1'b0, x_i};
endmodule
