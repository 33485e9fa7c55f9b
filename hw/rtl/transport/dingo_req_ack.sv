// SPDX-License-Identifier: BSD-2-Clause

/// All PSNs before w_i.ack_psn are acknowledged. PH_ACK_TEST completes the oldest message, one a cycle; the last one's
/// cycle also applies what follows from progress (dingo_req_progress). When that cycle is not known to be the last,
/// PH_ACK_END applies it. Combinational: registers and memories are in dingo_req_step.
module dingo_req_ack (
    input  req_pkg::work_t       w_i,
    input  req_pkg::ctx_t        c_i,
    input  rtl_pkg::qp_cfg_t     cfg_i,
    input  req_pkg::rec_t        rec_i,         // the oldest record
    input  logic [63:0]          now_ns_i,
    output req_pkg::work_t       w_o,
    output req_pkg::ctx_t        c_o,
    output req_pkg::report_t     report_o,
    output logic                 over_o         // no phase follows
);
  logic has_front, rec_is_read, rec_waits, testing, ending, completes, last, acked;
  logic wakes, wake, drained;
  logic [31:0] rec_end;
  req_pkg::ctx_t c_done, c_now, c_then;        // oldest record completed; input and output of u_progress
  assign has_front = c_i.head != c_i.tail;
  assign testing = w_i.phase == req_pkg::PH_ACK_TEST;
  assign ending = w_i.phase == req_pkg::PH_ACK_END;
  assign rec_is_read = rec_i.fetch && rec_i.packets != 24'd0;
  assign rec_waits = rec_is_read && rec_i.received < rec_i.packets;
  assign rec_end = rec_i.first + {8'd0, rec_i.packets};
  assign completes = has_front && rec_i.status == 8'd0 && !rec_waits && !rtl_pkg::idx_before(w_i.ack_psn, rec_end);
  // Later records are not completed by this ACK, except those that have no packet or have failed (odd).
  assign last = rec_end == w_i.ack_psn && !c_i.odd;
  assign acked = w_i.ack_ret == req_pkg::PH_BACK ||
                 (w_i.ack_ret == req_pkg::PH_RSP_DONE && w_i.item.kind == req_pkg::IT_ACK
                  && w_i.item.syndrome[7:5] == roce_pkg::AETH_ACK && (w_i.complete || testing));
  assign over_o = acked && (ending || (testing && completes && last));

  always_comb begin
    c_done = c_i;
    c_done.oldest = rec_end;
    c_done.head = c_i.head + 8'd1;
    if (c_i.data_at == c_i.head) c_done.data_at = c_i.head + 8'd1;
    if (rec_is_read) c_done.reads = c_i.reads - 5'd1;
  end
  assign c_now = testing ? c_done : c_i;
  dingo_req_progress u_progress (
      .c_i(c_now), .cfg_i, .st_i(w_i.st), .adv_i(w_i.adv && c_now.oldest != w_i.oldest_then), .now_ns_i,
      .c_o(c_then), .wakes_o(wakes), .wake_o(wake), .drained_o(drained));

  always_comb begin
    w_o = w_i;
    c_o = c_i;
    report_o = '0;
    if (testing) begin
      w_o.complete = 1'b1;
      w_o.phase = req_pkg::PH_ACK_END;
      if (completes) begin
        c_o = c_done;
        if (rec_i.signaled) begin
          report_o.cqe = req_pkg::cqe(rec_i.index, rec_is_read ? rec_i.length : 32'd0, rec_i.opcode, 8'd0, 8'd0);
          report_o.qp = req_pkg::count_qp(4'(dingo_pkg::QP_SEND_CQES));
        end
        w_o.phase = last ? req_pkg::PH_ACK_END : req_pkg::PH_ACK_TEST;
      end else if (has_front) begin
        if (rec_i.status != 8'd0) begin
          w_o.status = rec_i.status;
          w_o.verr = rec_i.verr;
          w_o.phase = req_pkg::PH_FAIL_READ;
        end else if (rec_waits) w_o.complete = !rtl_pkg::idx_before(rec_i.first + {8'd0, rec_i.received}, w_i.ack_psn);
        else if (rtl_pkg::idx_before(c_i.oldest, w_i.ack_psn)) c_o.oldest = w_i.ack_psn;
      end
    end
    if (ending || over_o) begin
      c_o = c_then;
      if (wakes) w_o.wake = wake;
      if (drained) report_o.ev = req_pkg::raise(dingo_pkg::EV_SQ_DRAINED[7:0]);
      w_o.phase = acked ? req_pkg::PH_BACK : w_i.ack_ret;
    end
  end

  wire unused_ok = &{1'b0, cfg_i, rec_i};
endmodule
