// SPDX-License-Identifier: BSD-2-Clause

/// What comes next in a turn (TN_NEXT), and its plain WQEs (TN_QUICK): one a cycle, each one packet, as dingo_wqe_quick
/// gives them. A WQE that is not plain goes to TN_NEW (dingo_req_new). The look-up of plain WQEs (quick_o) begins with
/// the turn. Combinational; TN_NEXT waits for the report of the packet before.
module dingo_req_plain (
    input  req_pkg::turn_t         turn_i,
    output req_pkg::turn_t         turn_o,
    input  rtl_pkg::qp_cfg_t       cfg_i,
    input  rtl_pkg::qps_t          st_i,
    input  req_pkg::window_t       window_i,
    input  logic                   own_gid_i,     // of a connected QP: its source address is there
    input  logic [63:0]            ack_ns_i,      // deadline for an acknowledgement of what leaves in this cycle
    input  logic                   flush_i,       // a step waits for a flush
    input  logic                   run_i,
    input  logic                   out_free_i,    // nothing of this turn waits to be reported
    input  logic                   free_i,        // dingo_req_send takes a packet
    input  logic                   halt_tx_i,
    input  logic                   tx_room_i,
    input  logic                   others_i,      // other QPs wait for their turn
    // TN_TAKE: what comes from the memories
    input  req_pkg::ctx_t          c_i,
    input  rtl_pkg::qp_t           qp_rdata_i,
    output logic                   room_behind_o, // there is room for a packet behind this one
    output logic                   rec_re_o,
    input  logic                   rec_re_ok_i,
    output req_pkg::rec_t          rec_o,         // record of a plain WQE
    input  logic                   rec_we_ok_i,
    output req_pkg::quick_ask_t    quick_o,
    input  req_pkg::quick_answer_t quick_i
);
  localparam logic [63:0] NEVER = '1;

  req_pkg::ctx_t c;
  logic connected, up, flushing, old, more, may_send, may_begin, take, connected_then, room_behind;
  logic quick_next;                    // a new WQE that may be plain comes next
  logic quick_ok;                      // it is, and may be sent
  logic quick_last;                    // no other one is posted behind it
  logic quick_more;                    // what may_send and may_begin will say behind it, or less
  assign c = turn_i.c;
  assign connected = cfg_i.kind != dingo_pkg::QPT_UD[2:0] && cfg_i.kind != dingo_pkg::QPT_GSI[2:0];
  assign connected_then = qp_rdata_i.cfg.kind == dingo_pkg::QPT_RC[2:0] ||
                          qp_rdata_i.cfg.kind == dingo_pkg::QPT_UC[2:0];
  assign up = st_i == dingo_pkg::QPS_RTS[2:0] || st_i == dingo_pkg::QPS_SQD[2:0];
  // The table may say ERR before the step that flushes what had begun; that step goes first (`down`).
  assign flushing = flush_i || (c.down && (st_i == dingo_pkg::QPS_ERR[2:0] || st_i == dingo_pkg::QPS_SQE[2:0]));
  assign old = c.cursor != c.tail;
  assign more = st_i == dingo_pkg::QPS_RTS[2:0] && !c.halted && c.next_index != c.producer;
  assign may_send = turn_i.used != req_pkg::TURN_PACKETS && !halt_tx_i && tx_room_i;
  assign may_begin = c.tail - c.head != 8'd1 << rtl_pkg::REC_LOG && !window_i.closed;
  // Without long READs outstanding the window keeps PSNs in reach.
  assign quick_next = !flushing && up && !window_i.waits && !old && more && may_send && may_begin && connected &&
                      own_gid_i && (c.reads == 5'd0 || window_i.in_reach) && (quick_i.on || quick_i.valid || quick_i.rest);
  assign quick_ok = quick_i.plain &&
                    !(quick_i.wqe.fetch && (cfg_i.kind == dingo_pkg::QPT_UC[2:0] || c.reads >= window_i.max_reads));
  assign quick_last = quick_i.wqe.blocks[1] ? c.next_index + 32'd2 == c.producer : c.next_index + 32'd1 == c.producer;
  assign quick_more = room_behind && c.tail - c.head < (8'd1 << rtl_pkg::REC_LOG) - 8'd1;
  assign room_behind = turn_i.used != req_pkg::TURN_PACKETS - 5'd1 && !halt_tx_i && tx_room_i && !window_i.closed &&
                       !window_i.one_left;
  assign room_behind_o = room_behind;
  assign rec_re_o = turn_i.state == req_pkg::TN_NEXT && run_i && out_free_i && old;

  assign take = turn_i.state == req_pkg::TN_QUICK && run_i && quick_i.valid && quick_ok && free_i && rec_we_ok_i;
  assign quick_o.take = take;
  assign quick_o.may_start = turn_i.state == req_pkg::TN_TAKE || turn_i.state == req_pkg::TN_NEXT;
  // TN_TAKE: as far as the context from the memory tells
  assign quick_o.start = (turn_i.state == req_pkg::TN_TAKE && connected_then &&
                          qp_rdata_i.state == dingo_pkg::QPS_RTS[2:0] && c_i.cursor == c_i.tail &&
                          c_i.next_index != c_i.producer) ||
                         (turn_i.state == req_pkg::TN_NEXT && run_i && out_free_i && quick_next &&
                          !quick_i.on && !quick_i.valid);
  assign quick_o.stop = (turn_i.state == req_pkg::TN_NEXT && !quick_next) ||
                        (turn_i.state == req_pkg::TN_QUICK && quick_i.valid && !quick_ok) ||
                        turn_i.state == req_pkg::TN_BACK;
  assign quick_o.index = turn_i.state == req_pkg::TN_TAKE ? c_i.next_index : c.next_index;

  always_comb begin
    rec_o = '0;
    rec_o.index = c.next_index;
    rec_o.first = c.new_psn;
    rec_o.packets = 24'd1;
    rec_o.length = quick_i.wqe.length;
    rec_o.opcode = quick_i.wqe.opcode;
    rec_o.blocks = quick_i.wqe.blocks;
    rec_o.fetch = quick_i.wqe.fetch;
    rec_o.kept = quick_i.wqe.fetch && !quick_i.wqe.atomic;
    rec_o.signaled = quick_i.wqe.signaled || cfg_i.signal_all;
  end

  always_comb begin
    turn_o = turn_i;
    case (turn_i.state)
      req_pkg::TN_NEXT:
      if (out_free_i) begin
        turn_o.placed = 1'b0;
        turn_o.checked = 1'b0;
        turn_o.state = req_pkg::TN_BACK;
        if (flushing) turn_o.state = req_pkg::TN_FLUSH_NEXT;
        else if (up && !window_i.waits && (old || more)) begin
          if (!may_send) turn_o.wake = 1'b1;
          else if (old) turn_o.state = rec_re_ok_i ? req_pkg::TN_REC : req_pkg::TN_NEXT;
          else if (quick_next) turn_o.state = req_pkg::TN_QUICK;
          else if (may_begin) turn_o.state = quick_i.rest ? req_pkg::TN_NEW : req_pkg::TN_NEXT;
        end
      end

      req_pkg::TN_QUICK:
      if (take) begin
        turn_o.c.tail = c.tail + 8'd1;
        turn_o.c.cursor = c.tail + 8'd1;
        turn_o.c.next_index = c.next_index + {28'd0, quick_i.wqe.blocks};
        turn_o.c.new_psn = c.new_psn + 32'd1;
        turn_o.c.send = c.send + 32'd1;
        turn_o.c.sent = c.send + 32'd1;
        turn_o.c.ackreq = c.send;
        if (quick_i.wqe.fetch) begin
          turn_o.c.reads = c.reads + 5'd1;
          turn_o.c.read_psns = c.read_psns + 24'd1;
        end
        turn_o.c.since_ackreq = '0;
        if (c.ack_at == NEVER && cfg_i.timeout != 5'd0) turn_o.c.ack_at = ack_ns_i;
        turn_o.used = turn_i.used + 5'd1;
        turn_o.state = quick_last ? req_pkg::TN_BACK : quick_more ? req_pkg::TN_QUICK : req_pkg::TN_NEXT;
      end else if (quick_i.valid && quick_i.missed && others_i) begin
        // A step asks for it during the turn of another QP.
        turn_o.c.fetching = 1'b1;
        turn_o.c.asking = 1'b1;
        turn_o.fetch = 1'b1;
        turn_o.state = req_pkg::TN_BACK;
      end else if (!quick_i.valid && !quick_i.on && quick_i.rest) turn_o.state = req_pkg::TN_NEW;

      default: ;
    endcase
  end

  wire unused_ok = &{1'b0, c, cfg_i, c_i, qp_rdata_i, quick_i, window_i};
endmodule
