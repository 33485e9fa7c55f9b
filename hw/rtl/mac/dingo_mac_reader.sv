// SPDX-License-Identifier: BSD-2-Clause

/// Frames out of dingo_mac_fifo: whole ones only. While this side is in reset they are dropped, and the rest of one that
/// a reset has cut short is, too.
module dingo_mac_reader (
    input  logic           clk_i,
    input  logic           up_i,        // this side is not in reset
    input  logic           valid_i,
    output logic           ready_o,
    input  logic           last_i,
    output logic           valid_o,
    input  logic           ready_i,
    output logic           dropped_o    // a frame was
);
  logic within_q = 1'b0;                // the beat before was not the last of its frame
  logic lost_q = 1'b0;                  // that frame met a reset
  logic drop, dropped_q = 1'b0;

  assign drop = !up_i || (lost_q && within_q);
  assign valid_o = valid_i && !drop;
  assign ready_o = ready_i || drop;
  always_ff @(posedge clk_i) begin
    if (valid_i && ready_o) within_q <= !last_i;
    lost_q <= drop;
    dropped_q <= valid_i && drop && last_i;
  end
  assign dropped_o = dropped_q;
endmodule
