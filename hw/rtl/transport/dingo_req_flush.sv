// SPDX-License-Identifier: BSD-2-Clause

/// Flushing in a turn: the WQEs behind the records, up to the producer index, complete as flushed, one in three
/// states (TN_FLUSH_NEXT, TN_FLUSH_LOAD, TN_FLUSH_DO). A turn flushes up to 16; a flush for a step (flush_i) all of
/// them, and it waits for a WQE that must be fetched. Combinational.
module dingo_req_flush (
    input  req_pkg::turn_t       turn_i,
    output req_pkg::turn_t       turn_o,
    output req_pkg::report_t     report_o,
    input  logic                 flush_i,       // for a step
    input  logic                 halt_tx_i,
    input  logic                 out_free_i,    // nothing of this turn waits to be reported
    input  logic                 loaded_i,      // answer_i has the WQE
    input  req_pkg::wqe_answer_t answer_i
);
  req_pkg::ctx_t c;
  assign c = turn_i.c;

  always_comb begin
    turn_o = turn_i;
    report_o = '0;
    case (turn_i.state)
      req_pkg::TN_FLUSH_NEXT:
      if (!out_free_i) turn_o.state = req_pkg::TN_FLUSH_NEXT;
      else if (c.next_index == c.producer) turn_o.state = req_pkg::TN_BACK;
      else if (!flush_i && (turn_i.used == req_pkg::TURN_PACKETS || halt_tx_i)) begin
        turn_o.wake = 1'b1;
        turn_o.state = req_pkg::TN_BACK;
      end else turn_o.state = req_pkg::TN_FLUSH_LOAD;

      req_pkg::TN_FLUSH_LOAD:  // for opcode and number of blocks, of a wrong WQE too
      if (loaded_i) begin
        if (!answer_i.load_miss) turn_o.state = req_pkg::TN_FLUSH_DO;
        else if (!flush_i) begin
          turn_o.wake = !answer_i.load_asked;
          turn_o.c.fetching = answer_i.load_asked;
          turn_o.state = req_pkg::TN_BACK;
        end
      end

      req_pkg::TN_FLUSH_DO: begin
        report_o.cqe = req_pkg::cqe(c.next_index, 32'd0, answer_i.wqe.opcode, dingo_pkg::WCS_WR_FLUSH_ERR[7:0],
                       dingo_pkg::VERR_FLUSHED[7:0]);
        report_o.qp = req_pkg::count_qp(4'(dingo_pkg::QP_SEND_CQES));
        report_o.card = req_pkg::count_card(6'(dingo_pkg::CARD_REQ_CQE_FLUSH_ERROR));
        turn_o.c.next_index = c.next_index + {28'd0, answer_i.wqe.blocks};
        turn_o.used = turn_i.used + 5'd1;
        turn_o.state = req_pkg::TN_FLUSH_NEXT;
      end

      default: ;
    endcase
  end

  wire unused_ok = &{1'b0, c, answer_i};
endmodule
