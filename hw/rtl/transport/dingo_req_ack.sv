// SPDX-License-Identifier: BSD-2-Clause

/// What is before w_i.ack_psn is acknowledged: PH_ACK_TEST completes the oldest message, one a cycle, PH_ACK_END does
/// what follows from progress (retries, timer, SQ_DRAINED, a turn). Combinational: registers and memories are
/// dingo_req_step's.
module dingo_req_ack (
    input  req_pkg::work_t       w_i,
    input  req_pkg::ctx_t        c_i,
    input  rtl_pkg::qp_cfg_t     cfg_i,
    input  req_pkg::rec_t        rec_i,         // the oldest record
    input  logic [63:0]          now_ns_i,
    output req_pkg::work_t       w_o,
    output req_pkg::ctx_t        c_o,
    output req_pkg::report_t     report_o,
    output logic                 acked_o        // PH_ACK_END: nothing else is to be done
);
  localparam logic [63:0] NEVER = '1;

  logic empty, has_front, reliable, rec_is_read, rec_waits, acked;
  logic ahead_of_send, cursor_lost;    // of what is acknowledged: `send`, and the record of `cursor`
  logic [31:0] rec_end;
  logic [63:0] ack_ns;
  assign empty = c_i.head == c_i.tail;
  assign has_front = !empty;
  assign reliable = cfg_i.kind != dingo_pkg::QPT_UD[2:0] && cfg_i.kind != dingo_pkg::QPT_GSI[2:0];
  assign rec_is_read = rec_i.fetch && rec_i.packets != 24'd0;
  assign rec_waits = rec_is_read && rec_i.received < rec_i.packets;
  assign rec_end = rec_i.first + {8'd0, rec_i.packets};
  assign ahead_of_send = rtl_pkg::idx_before(c_i.send, c_i.oldest);
  assign cursor_lost = ahead_of_send || $signed(c_i.cursor - c_i.head) < 0;
  assign acked = w_i.ack_ret == req_pkg::PH_RSP_DONE && w_i.item.kind == req_pkg::IT_ACK
                 && w_i.item.syndrome[7:5] == roce_pkg::AETH_ACK && w_i.complete;
  assign acked_o = acked || w_i.ack_ret == req_pkg::PH_BACK;
  assign ack_ns = now_ns_i + (64'd4096 << cfg_i.timeout);

  always_comb begin
    w_o = w_i;
    c_o = c_i;
    report_o = '0;
    case (w_i.phase)
      req_pkg::PH_ACK_TEST: begin
        w_o.complete = 1'b1;
        w_o.phase = req_pkg::PH_ACK_END;
        if (has_front) begin
          if (rec_i.status != 8'd0) begin
            w_o.status = rec_i.status;
            w_o.verr = rec_i.verr;
            w_o.phase = req_pkg::PH_FAIL_READ;
          end else if (rec_waits) begin
            w_o.complete = !rtl_pkg::idx_before(rec_i.first + {8'd0, rec_i.received}, w_i.ack_psn);
          end else if (rtl_pkg::idx_before(w_i.ack_psn, rec_end)) begin
            if (rtl_pkg::idx_before(c_i.oldest, w_i.ack_psn)) c_o.oldest = w_i.ack_psn;
          end else begin
            c_o.oldest = rec_end;
            c_o.head = c_i.head + 8'd1;
            if (c_i.data_at == c_i.head) c_o.data_at = c_i.head + 8'd1;
            if (rec_is_read) c_o.reads = c_i.reads - 5'd1;
            if (rec_i.signaled) begin
              report_o.cqe = req_pkg::cqe(rec_i.index, rec_is_read ? rec_i.length : 32'd0, rec_i.opcode, 8'd0, 8'd0);
              report_o.qp = req_pkg::count_qp(4'(dingo_pkg::QP_SEND_CQES));
            end
            // What lies behind is not completed by this, unless it has no packet or has failed.
            w_o.phase = rec_end == w_i.ack_psn && !c_i.odd ? req_pkg::PH_ACK_END : req_pkg::PH_ACK_TEST;
          end
        end
      end
      req_pkg::PH_ACK_END: begin
        if (ahead_of_send) begin     // went back further than needed
          c_o.send = c_i.oldest;
          c_o.read_psns = '0;
        end
        if (cursor_lost) c_o.cursor = c_i.head;
        if (rtl_pkg::idx_before(c_i.ordered, c_i.oldest)) c_o.ordered = c_i.oldest;
        if (w_i.adv && c_i.oldest != w_i.oldest_then) begin
          c_o.retries = cfg_i.retry_cnt;
          c_o.rnr = cfg_i.rnr_retry;
          c_o.implied = 1'b0;
          c_o.ack_at = reliable && rtl_pkg::idx_before(c_i.oldest, c_i.send) && cfg_i.timeout != 5'd0 ? ack_ns : NEVER;
          if (w_i.st == dingo_pkg::QPS_SQD[2:0] && !c_i.drained && empty) begin
            c_o.drained = 1'b1;
            if (cfg_i.sqd_notify) begin
              report_o.ev = req_pkg::raise(dingo_pkg::EV_SQ_DRAINED[7:0]);
            end
          end
          if ((cursor_lost ? c_i.head : c_i.cursor) != c_i.tail || c_i.next_index != c_i.producer) w_o.wake = !c_i.fetching;
        end
        w_o.phase = w_i.ack_ret;
        if (acked) w_o.phase = req_pkg::PH_BACK;
        if (empty) c_o.odd = 1'b0;
      end
      default: ;
    endcase
  end

  wire unused_ok = &{1'b0, cfg_i, rec_i};
endmodule
