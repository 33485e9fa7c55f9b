// SPDX-License-Identifier: BSD-2-Clause

/// Frames from dingo_mac_fifo to the card. When the FIFO is emptied in the middle of a frame, the frame ends with a
/// beat that has tuser (VOID_END). A beat that is valid stays until it is taken. 0 cycles; stalls with ready_i.
module dingo_mac_end (
    input  logic           clk_i,
    input  logic           up_i,        // this side is not in reset
    input  logic           run_i,       // else the FIFO gives only the beat at its output
    input  logic           valid_i,
    output logic           ready_o,
    input  mac_pkg::beat_t beat_i,
    output logic           valid_o,
    input  logic           ready_i,
    output mac_pkg::beat_t beat_o
);
  logic within_q = 1'b0;                // the taker has begun a frame and not ended it
  mac_pkg::end_e state_q = mac_pkg::PASS, state;

  assign valid_o = state_q == mac_pkg::FINISH || valid_i;
  assign ready_o = state_q != mac_pkg::FINISH && ready_i;
  always_comb begin
    beat_o = beat_i;
    if (state_q == mac_pkg::FINISH) beat_o = mac_pkg::VOID_END;
  end
  always_comb begin
    state = state_q;
    case (state_q)
      mac_pkg::FINISH: if (ready_i) state = mac_pkg::PASS;
      default:
      // The beat at the FIFO's output still belongs to the frame; no later one does.
      if (!run_i || state_q == mac_pkg::HELD) begin
        if (valid_i) state = !ready_i ? mac_pkg::HELD : beat_i.last ? mac_pkg::PASS : mac_pkg::FINISH;
        else if (within_q) state = mac_pkg::FINISH;
      end
    endcase
  end
  always_ff @(posedge clk_i) begin
    state_q <= state;
    if (valid_o && ready_i) within_q <= !beat_o.last;
    if (!up_i) begin
      state_q <= mac_pkg::PASS;
      within_q <= 1'b0;
    end
  end
endmodule
