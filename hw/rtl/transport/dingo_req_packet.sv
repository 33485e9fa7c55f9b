// SPDX-License-Identifier: BSD-2-Clause

/// The next packet of a message that has a record: record and WQE (TN_REC, TN_RELOAD), its place in the message
/// (TN_PACKET), its SGEs (TN_WALK), and the context and report when dingo_req_send takes it (TN_EMIT). TN_FAULT
/// writes the record of a message that fails. Next-state logic, with two registers for the packet behind this one;
/// TN_RELOAD, TN_WALK and TN_EMIT wait for their answers.
module dingo_req_packet (
    input  logic                 clk_i,
    input  req_pkg::turn_t       turn_i,
    output req_pkg::turn_t       turn_o,
    output req_pkg::report_t     report_o,
    input  rtl_pkg::qp_cfg_t     cfg_i,
    input  req_pkg::window_t     window_i,
    input  logic                 own_gid_i,     // of a connected QP: its source address is there
    input  logic [63:0]          ack_ns_i,      // deadline for an acknowledgement of what leaves in this cycle
    input  logic                 room_behind_i, // there is room for a packet behind this one
    input  logic                 loaded_i,      // answer_i has the WQE
    input  logic                 walked_i,      // answer_i has the packet's SGEs
    input  req_pkg::wqe_answer_t answer_i,
    input  req_pkg::rec_t        rec_i,
    input  logic                 rec_we_ok_i,
    input  logic                 free_i,        // TN_EMIT: dingo_req_send takes the packet
    output logic                 ackreq_o,      // the packet asks for an acknowledgement
    output logic                 goes_on_o,     // the next packet is of this message, and TN_WALK comes next
    output logic [31:0]          off_ahead_o,   // of the packet behind this one, from the second cycle of TN_WALK on
    output logic [12:0]          bytes_ahead_o
);
  localparam logic [63:0] NEVER = '1;
  localparam logic [6:0] ACK_INTERVAL = 7'd64;     // packets between requests for an acknowledgement

  req_pkg::ctx_t c;
  req_pkg::rec_t r;
  logic datagram, connected, r_read, r_last, ackreq, goes_on;
  logic [12:0] pmtu;                   // 2^shift
  logic [3:0] shift;
  logic [23:0] place;                  // number of the packet in its message
  logic [31:0] place_off, rest, rest_next, rec_next;
  logic [31:0] off_ahead_q;
  logic [12:0] bytes_ahead_q;
  assign c = turn_i.c;
  assign r = turn_i.r;
  assign datagram = !connected;
  assign connected = cfg_i.kind != dingo_pkg::QPT_UD[2:0] && cfg_i.kind != dingo_pkg::QPT_GSI[2:0];
  assign shift = 4'd7 + {1'b0, cfg_i.path_mtu};
  assign pmtu = rtl_pkg::pmtu_bytes(cfg_i.path_mtu);
  assign place = c.send[23:0] - r.first[23:0];
  assign place_off = {8'd0, place} << shift;
  assign rest = r.length - place_off;
  assign rest_next = turn_i.rest - {19'd0, pmtu};
  assign rec_next = r.first + {8'd0, r.packets};
  assign r_read = r.fetch;
  assign r_last = place + 24'd1 == r.packets;
  assign ackreq = connected && (r_read || turn_i.last || c.since_ackreq + 7'd1 >= ACK_INTERVAL);
  assign goes_on = !turn_i.last && connected && !answer_i.wqe.inl && room_behind_i;
  assign ackreq_o = ackreq;
  assign goes_on_o = goes_on;
  assign off_ahead_o = off_ahead_q;
  assign bytes_ahead_o = bytes_ahead_q;

  always_comb begin
    turn_o = turn_i;
    report_o = '0;
    case (turn_i.state)
      req_pkg::TN_REC: begin
        turn_o.r = rec_i;
        turn_o.state = req_pkg::TN_RELOAD;
        if (rec_i.status != 8'd0 || (rec_i.packets != 24'd0 && window_i.closed)) turn_o.state = req_pkg::TN_BACK;
        else if (rec_i.packets == 24'd0) begin  // local operation: nothing to repeat
          turn_o.c.cursor = c.cursor + 8'd1;
          turn_o.state = req_pkg::TN_NEXT;
        end
      end

      req_pkg::TN_RELOAD:
      if (loaded_i) begin
        turn_o.status = answer_i.wqe.status;
        turn_o.verr = answer_i.wqe.verr;
        if (answer_i.load_miss) begin
          turn_o.wake = !answer_i.load_asked;
          turn_o.c.fetching = answer_i.load_asked;
          turn_o.state = req_pkg::TN_BACK;
        end else if (answer_i.wqe.status != 8'd0) turn_o.state = req_pkg::TN_FAULT;
        else if (answer_i.wqe.opcode != r.opcode || answer_i.wqe.length != r.length) begin
          // The host has changed a WQE that it had given away.
          {turn_o.status, turn_o.verr} = {dingo_pkg::WCS_LOC_QP_OP_ERR[7:0], dingo_pkg::VERR_WQE_FETCH[7:0]};
          turn_o.state = req_pkg::TN_FAULT;
        end else turn_o.state = req_pkg::TN_PACKET;
      end

      req_pkg::TN_FAULT:
      if (rec_we_ok_i) begin
        turn_o.c.halted = 1'b1;
        turn_o.c.odd = 1'b1;
        turn_o.ack = 1'b1;
        turn_o.state = req_pkg::TN_BACK;
      end

      req_pkg::TN_PACKET: begin
        turn_o.off = place_off;
        turn_o.rest = rest;
        turn_o.last = r_last || r_read;
        turn_o.bytes = r_read ? '0 : r_last || datagram ? rest[12:0] : pmtu;
        turn_o.next_psn = r_read ? rec_next : c.send + 32'd1;
        // A READ is asked for again only when there is a place for its data.
        turn_o.state = answer_i.wqe.inl || r.length == 32'd0 || (r_read && turn_i.checked) ? req_pkg::TN_EMIT
                       : req_pkg::TN_WALK;
        if (connected && !own_gid_i) begin
          {turn_o.status, turn_o.verr} = {dingo_pkg::WCS_LOC_QP_OP_ERR[7:0], dingo_pkg::VERR_GID[7:0]};
          turn_o.state = req_pkg::TN_FAULT;
        end
      end

      req_pkg::TN_WALK:
      if (walked_i) begin
        turn_o.status = dingo_pkg::WCS_LOC_PROT_ERR[7:0];
        turn_o.verr = answer_i.walk_verr;
        // Other errors of a READ's SGEs are found when its data arrives.
        turn_o.state = answer_i.walk_paused ? req_pkg::TN_BACK
                       : answer_i.walk_verr != 8'd0 && !r_read ? req_pkg::TN_FAULT : req_pkg::TN_EMIT;
      end

      req_pkg::TN_EMIT:
      if (free_i) begin              // dingo_req_send takes it
        if (rtl_pkg::idx_before(c.send, c.sent)) begin
          report_o.card = req_pkg::count_card(6'(dingo_pkg::CARD_RETRANSMITS));
          report_o.qp = req_pkg::count_qp(4'(dingo_pkg::QP_RETRANSMITS));
        end
        if (ackreq) begin
          turn_o.c.ackreq = turn_i.next_psn - 32'd1;
          turn_o.c.since_ackreq = '0;
        end else if (connected) turn_o.c.since_ackreq = c.since_ackreq + 7'd1;
        if (r_read) turn_o.c.read_psns = c.read_psns + (turn_i.next_psn[23:0] - c.send[23:0]);
        turn_o.c.send = turn_i.next_psn;
        if (rtl_pkg::idx_before(c.sent, turn_i.next_psn)) turn_o.c.sent = turn_i.next_psn;
        if (connected && c.ack_at == NEVER && cfg_i.timeout != 5'd0) turn_o.c.ack_at = ack_ns_i;
        if (turn_i.last) turn_o.c.cursor = c.cursor + 8'd1;
        turn_o.used = turn_i.used + 5'd1;
        turn_o.state = goes_on ? req_pkg::TN_WALK : req_pkg::TN_NEXT;
        if (goes_on) begin           // as TN_PACKET finds
          turn_o.off = off_ahead_q;
          turn_o.rest = rest_next;
          turn_o.last = rest_next <= {19'd0, pmtu};
          turn_o.bytes = bytes_ahead_q;
          turn_o.next_psn = turn_i.next_psn + 32'd1;
        end
      end

      default: ;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (turn_i.state == req_pkg::TN_WALK) begin
      off_ahead_q <= turn_i.off + {19'd0, pmtu};
      bytes_ahead_q <= rest_next < {19'd0, pmtu} ? rest_next[12:0] : pmtu;
    end
  end

  wire unused_ok = &{1'b0, c, r, cfg_i, window_i, answer_i};
endmodule
