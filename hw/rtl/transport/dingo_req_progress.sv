// SPDX-License-Identifier: BSD-2-Clause

/// Effects of progress (the QP's oldest PSN has advanced): resets retries and the ACK timer, raises SQ_DRAINED, wakes
/// the QP for a turn. Also moves send, cursor and ordered up to the oldest PSN or record. Combinational.
module dingo_req_progress (
    input  req_pkg::ctx_t        c_i,           // with the new oldest PSN and head
    input  rtl_pkg::qp_cfg_t     cfg_i,
    input  logic [2:0]           st_i,          // state of the QP
    input  logic                 adv_i,         // oldest has advanced; 0: updates only send, cursor, ordered, odd
    input  logic [63:0]          now_ns_i,
    output req_pkg::ctx_t        c_o,
    output logic                 wakes_o,       // something is to be sent: wake_o is valid
    output logic                 wake_o,
    output logic                 drained_o      // SQ_DRAINED is to be raised
);
  localparam logic [63:0] NEVER = '1;

  logic empty, reliable, ahead_of_send, cursor_lost, drains;
  assign empty = c_i.head == c_i.tail;
  assign reliable = cfg_i.kind != dingo_pkg::QPT_UD[2:0] && cfg_i.kind != dingo_pkg::QPT_GSI[2:0];
  assign ahead_of_send = rtl_pkg::idx_before(c_i.send, c_i.oldest);
  assign cursor_lost = ahead_of_send || $signed(c_i.cursor - c_i.head) < 0;
  assign drains = adv_i && st_i == dingo_pkg::QPS_SQD[2:0] && !c_i.drained && empty;
  assign drained_o = drains && cfg_i.sqd_notify;
  assign wakes_o = adv_i && ((cursor_lost ? c_i.head : c_i.cursor) != c_i.tail || c_i.next_index != c_i.producer);
  assign wake_o = !c_i.fetching;

  always_comb begin
    c_o = c_i;
    if (ahead_of_send) begin           // a retransmission went back further than needed
      c_o.send = c_i.oldest;
      c_o.read_psns = '0;
    end
    if (cursor_lost) c_o.cursor = c_i.head;
    if (rtl_pkg::idx_before(c_i.ordered, c_i.oldest)) c_o.ordered = c_i.oldest;
    if (adv_i) begin
      c_o.retries = cfg_i.retry_cnt;
      c_o.rnr = cfg_i.rnr_retry;
      c_o.implied = 1'b0;
      c_o.ack_at = reliable && rtl_pkg::idx_before(c_i.oldest, c_i.send) && cfg_i.timeout != 5'd0
                   ? now_ns_i + (64'd4096 << cfg_i.timeout) : NEVER;
    end
    if (drains) c_o.drained = 1'b1;
    if (empty) c_o.odd = 1'b0;
  end

  wire unused_ok = &{1'b0, cfg_i};
endmodule
