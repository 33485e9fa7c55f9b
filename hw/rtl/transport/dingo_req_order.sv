// SPDX-License-Identifier: BSD-2-Clause

/// A READ response or ATOMIC ACK arrives (phase 1, first part): finds the record that it answers. Needs the QP's
/// context and records, so it is part of a step; dingo_req_place gets the result and does the rest on its own. The next
/// expected packet of a plain READ needs no search (plain_o, in the cycle of start_i): it goes to dingo_req_reads. A
/// search: START, then FIND and TEST for each record that is passed, and GIVE, which waits for ready_i.
module dingo_req_order (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        run_i,         // the step may advance in this cycle
    // start of a search, with rec_i the record at data_at_i; item_i.psn has the packet's 24 bits
    input  logic        start_i,
    input  logic        up_i,          // the QP's state accepts responses
    input  req_pkg::item_t   item_i,
    input  logic [7:0]  opcode_i,
    input  logic [12:0] len_i,
    input  logic [2:0]  path_mtu_i,
    input  logic [31:0] oldest_i,
    input  logic [31:0] sent_i,
    input  logic [31:0] ordered_i,
    input  logic [7:0]  head_i,
    input  logic [7:0]  tail_i,
    input  logic [7:0]  data_at_i,     // the first READ that may wait for data to be ordered
    input  logic        here_i,        // dingo_req_reads has the SGE of rec_i
    output logic        plain_o,       // the next expected packet of rec_i, and plain; else a search is needed
    output logic        plain_last_o,  // with plain_o: the READ's last packet
    output logic [31:0] plain_offset_o,  // with plain_o: offset of its data in the message
    // result of the search
    output logic        valid_o,
    input  logic        ready_i,
    output logic        data_o,        // it is the next expected data of rec_o
    output logic [31:0] offset_o,      // of the data in its message
    output req_pkg::item_t   item_o,
    output req_pkg::rec_t    rec_o,
    // read of a record; rec_i in the next cycle
    output logic        rec_re_o,
    output logic [7:0]  rec_pos_o,
    output logic [7:0]  next_pos_o,    // with valid_o and data_o: record for the data after it
    input  req_pkg::rec_t    rec_i
);

  typedef enum logic [1:0] {
    IDLE = 2'd0,
    FIND = 2'd1,                       // reads the record at pos_q
    TEST = 2'd2,
    GIVE = 2'd3
  } state_t;

  state_t state_q;
  req_pkg::item_t item_q, item;
  req_pkg::rec_t rec_q;
  logic [7:0] pos_q;
  logic skipped_q;                     // an earlier READ still waits for data
  logic next_q;                        // GIVE: its PSN is the next one expected; opcode and length are checked by fits
  logic [31:0] ahead, span, psn, limit_q, rest, want;
  logic live, behind;                  // data_at_i is a record; the packet's PSN is before ordered_i
  logic [23:0] place;
  logic [3:0] shift;
  logic [12:0] pmtu;
  logic is_read, right, op_atomic, op_first, op_last, fits;

  assign ahead = {8'd0, item_i.psn[23:0] - oldest_i[23:0]};
  assign span = sent_i - oldest_i;
  assign psn = oldest_i + ahead;
  assign live = data_at_i - head_i < tail_i - head_i;
  assign behind = !rtl_pkg::idx_before(ordered_i, oldest_i) && ahead < ordered_i - oldest_i;
  // Plain: the response to a READ that was not repeated. All packets but the last are full; for the last one only the
  // length modulo the PMTU is compared.
  logic [31:0] plain_place;
  logic plain_first, plain_last, plain_op, plain_len;
  logic [12:0] differs;
  assign plain_place = ordered_i - rec_i.first;
  assign plain_first = ordered_i == rec_i.first;
  assign plain_last = plain_place == {8'd0, rec_i.packets - 24'd1};
  assign plain_op = opcode_i == (plain_last ? plain_first ? roce_pkg::RC_READ_ONLY : roce_pkg::RC_READ_LAST
                                            : plain_first ? roce_pkg::RC_READ_FIRST : roce_pkg::RC_READ_MIDDLE) &&
                    (opcode_i == roce_pkg::RC_READ_MIDDLE || item_i.syndrome[7:5] == roce_pkg::AETH_ACK);
  assign differs = (len_i - 13'd1) ^ (rec_i.length[12:0] - 13'd1);
  assign plain_len = plain_last ? (differs & (pmtu - 13'd1)) == '0 && len_i != '0 && len_i <= pmtu : len_i == pmtu;
  assign plain_o = up_i && live && rec_i.kept && here_i && rec_i.status == 8'd0 && plain_place < {8'd0, rec_i.packets} &&
                   rtl_pkg::idx_before(ordered_i, sent_i) && item_i.psn[23:0] == ordered_i[23:0] && plain_op && plain_len;
  assign plain_last_o = plain_last;
  assign plain_offset_o = plain_place << shift;
  assign is_read = rec_i.fetch && rec_i.packets != 24'd0;
  assign op_atomic = opcode_i == roce_pkg::RC_ATOMIC_ACK;
  assign right = op_atomic ? rec_i.opcode != dingo_pkg::WR_READ[7:0] && item_q.syndrome[7:5] == roce_pkg::AETH_ACK
                           : rec_i.opcode == dingo_pkg::WR_READ[7:0];

  // Opcode and length must fit the packet's position in the READ. FIRST or ONLY may be anywhere, since a READ that is
  // repeated in part begins there; MIDDLE and LAST must not be at the READ's start.
  assign shift = 4'd7 + {1'b0, path_mtu_i};
  assign pmtu = rtl_pkg::pmtu_bytes(path_mtu_i);
  assign place = item_q.psn[23:0] - rec_q.first[23:0];
  assign rest = rec_q.length - ({8'd0, place} << shift);
  assign want = rest < {19'd0, pmtu} ? rest : {19'd0, pmtu};
  assign op_first = opcode_i == roce_pkg::RC_READ_FIRST || opcode_i == roce_pkg::RC_READ_ONLY;
  assign op_last = opcode_i == roce_pkg::RC_READ_LAST || opcode_i == roce_pkg::RC_READ_ONLY;
  assign fits = op_atomic || (op_last == (place + 24'd1 == rec_q.packets) && (op_first || place != 24'd0) &&
                (opcode_i == roce_pkg::RC_READ_MIDDLE || item_q.syndrome[7:5] == roce_pkg::AETH_ACK) && {19'd0, len_i} == want);

  always_comb begin
    item = item_q;
    if (next_q) item.kind = fits ? req_pkg::IT_DATA : req_pkg::IT_FAULT;
  end
  assign valid_o = state_q == GIVE && run_i;
  assign data_o = next_q && fits;
  assign offset_o = {8'd0, place} << shift;
  assign item_o = item;
  assign rec_o = rec_q;
  assign rec_re_o = state_q == FIND && run_i;
  assign rec_pos_o = pos_q;
  assign next_pos_o = place + 24'd1 == rec_q.packets ? pos_q : pos_q - 8'd1;  // pos_q is one after rec_q's position

  always_ff @(posedge clk_i) begin
    // READ data is ordered before it is acknowledged. The context does not change during a search.
    if (state_q == IDLE) limit_q <= rtl_pkg::idx_before(ordered_i, oldest_i) ? oldest_i : ordered_i;
    if (!rst_ni) state_q <= IDLE;
    else if (run_i)
      case (state_q)
        IDLE:
        if (start_i) begin
          item_q <= item_i;
          item_q.psn <= psn;
          item_q.kind <= req_pkg::IT_STALE;
          item_q.status <= dingo_pkg::WCS_BAD_RESP_ERR[7:0];
          item_q.verr <= dingo_pkg::VERR_BAD_RESPONSE[7:0];
          pos_q <= live && !behind ? data_at_i : head_i;
          skipped_q <= 1'b0;
          next_q <= 1'b0;
          state_q <= GIVE;
          if (up_i && ahead < span) begin
            item_q.kind <= req_pkg::IT_BAD;
            if (((opcode_i >= roce_pkg::RC_READ_FIRST && opcode_i <= roce_pkg::RC_READ_ONLY) || op_atomic) && head_i != tail_i) state_q <= live && !behind ? TEST : FIND;
          end
        end
        FIND: state_q <= pos_q == tail_i ? GIVE : TEST;
        TEST: begin
          rec_q <= rec_i;
          pos_q <= pos_q + 8'd1;
          state_q <= GIVE;
          if (item_q.psn - rec_i.first < {8'd0, rec_i.packets}) begin
            if (is_read && right) begin
              if (skipped_q || item_q.psn != (rtl_pkg::idx_before(limit_q, rec_i.first) ? rec_i.first : limit_q))
                item_q.kind <= req_pkg::IT_SKIP;
              else next_q <= 1'b1;
            end
          end else begin
            if (is_read && rtl_pkg::idx_before(limit_q, rec_i.first + {8'd0, rec_i.packets})) skipped_q <= 1'b1;
            state_q <= FIND;
          end
        end
        default: if (ready_i) state_q <= IDLE;
      endcase
  end

  wire unused_ok = &{1'b0, item_i, rec_i, rec_q};
endmodule
