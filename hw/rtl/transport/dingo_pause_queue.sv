// SPDX-License-Identifier: BSD-2-Clause

/// Queue of QPs that need a paused region, each at most once. When a region may have been resumed, all QPs that wait at
/// that moment come out and try again; a QP whose region is still paused is pushed again, after them.
module dingo_pause_queue (
    input  logic          clk_i,
    input  logic          rst_ni,
    output logic          ready_o,     // cleared after reset; push_i must be 0 before
    input  logic          push_i,
    input  rtl_pkg::qpi_t push_qp_i,
    input  logic          resume_i,    // one cycle
    output logic          valid_o,
    input  logic          take_i,
    output rtl_pkg::qpi_t qp_o
);
  logic waits, take;
  logic [rtl_pkg::QP_LOG:0] count, left_q;  // left_q: QPs that are still to come out

  assign valid_o = left_q != '0;
  assign take = take_i && valid_o;
  dingo_qp_fifo u_waiting (
      .clk_i, .rst_ni, .ready_o, .push_i, .push_qp_i, .valid_o(waits), .pop_i(take), .qp_o, .count_o(count)
  );

  always_ff @(posedge clk_i) begin
    left_q <= (resume_i ? count : left_q) - (rtl_pkg::QP_LOG + 1)'(take);
    if (!rst_ni) left_q <= '0;
    else a_waits: assert (waits || !valid_o);
  end
endmodule
