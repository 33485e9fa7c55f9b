// SPDX-License-Identifier: BSD-2-Clause

/// Failures. PH_FAIL: the oldest WQE completes in error. PH_ENTER: the QP goes to ERR or SQE. PH_TXERR_TEST: finds the
/// record of a packet whose payload could not be read; that WQE fails once those before it have completed.
/// Combinational: registers and memories are in dingo_req_step.
module dingo_req_fail (
    input  req_pkg::work_t       w_i,
    input  req_pkg::ctx_t        c_i,
    input  logic                 reliable_i,
    input  req_pkg::rec_t        rec_i,         // the oldest record; PH_TXERR_TEST: the record at pos
    output req_pkg::work_t       w_o,
    output req_pkg::ctx_t        c_o,
    output req_pkg::report_t     report_o,
    output logic                 found_o        // PH_TXERR_TEST: the packet belongs to rec_i
);
  localparam logic [63:0] NEVER = '1;

  logic has_front, txerr_here;
  assign has_front = c_i.head != c_i.tail;
  assign txerr_here = w_i.phase == req_pkg::PH_TXERR_TEST && w_i.pos != c_i.tail
                      && w_i.item.psn - rec_i.first < {8'd0, rec_i.packets};
  assign found_o = txerr_here;

  always_comb begin
    w_o = w_i;
    c_o = c_i;
    report_o = '0;
    case (w_i.phase)
      req_pkg::PH_FAIL: begin
        w_o.phase = req_pkg::PH_BACK;
        if (has_front) begin
          report_o.cqe = req_pkg::cqe(rec_i.index, 32'd0, rec_i.opcode, w_i.status, w_i.verr);
          report_o.qp = req_pkg::count_qp(4'(dingo_pkg::QP_SEND_CQES));
          report_o.card = req_pkg::count_card(6'(dingo_pkg::CARD_REQ_CQE_ERROR));
          c_o.next_index = rec_i.index + {28'd0, rec_i.blocks};  // the flush begins there
          c_o.head = c_i.tail;
          w_o.to_sqe = !reliable_i;
          w_o.phase = req_pkg::PH_ENTER;
        end
      end
      req_pkg::PH_ENTER: begin
        if (has_front) c_o.next_index = rec_i.index;
        c_o.head = c_i.tail;
        c_o.cursor = c_i.tail;
        c_o.halted = 1'b0;
        c_o.settles = 1'b0;
        c_o.down = 1'b1;
        c_o.wait_at = NEVER;
        c_o.read_psns = '0;
        if (w_i.to_sqe) begin          // the next message continues at the PSN of an interrupted one: no gap
          c_o.new_psn = c_i.send;
          c_o.sent = c_i.send;
          c_o.oldest = c_i.send;
          c_o.gen = c_i.gen + 6'd1;      // pending reports are of an older generation: ignored
        end else begin
          c_o.send = c_i.oldest;
          c_o.reads = '0;
          c_o.ack_at = NEVER;
        end
        w_o.wake = 1'b1;
        w_o.phase = req_pkg::PH_BACK;
      end
      req_pkg::PH_TXERR_TEST: begin
        w_o.pos = w_i.pos + 8'd1;
        w_o.phase = req_pkg::PH_TXERR_FIND;
        if (txerr_here) begin        // as if the error had been found when the packet was built
          c_o.halted = 1'b1;
          c_o.odd = 1'b1;
          if ($signed(c_i.cursor - w_i.pos) >= 0 && rtl_pkg::idx_before(w_i.item.psn, c_i.send)) begin
            c_o.cursor = w_i.pos;
            c_o.send = w_i.item.psn;
          end
          w_o.adv = 1'b0;
          w_o.ack_psn = c_i.oldest;
          w_o.phase = req_pkg::PH_ACK_READ;
        end
      end
      default: ;
    endcase
  end

  wire unused_ok = &{1'b0, rec_i};
endmodule
