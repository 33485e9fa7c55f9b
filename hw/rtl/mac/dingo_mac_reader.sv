// SPDX-License-Identifier: BSD-2-Clause

/// Frames out of dingo_mac_fifo, or dropped: whole ones, or the rest of one whose beginning was given.
module dingo_mac_reader (
    input  logic           clk_i,
    input  logic           run_i,       // else the FIFO is being emptied, and what comes next is a frame's beginning
    input  logic           drop_i,
    input  logic           valid_i,
    output logic           ready_o,
    input  logic           last_i,
    output logic           valid_o,
    input  logic           ready_i,
    output logic           dropped_o    // a frame was
);
  logic within_q = 1'b0;                // the beat before was not the last of its frame
  logic lost_q = 1'b0;                  // that frame is dropped
  logic drop, dropped_q = 1'b0;

  assign drop = drop_i || (lost_q && within_q);
  assign valid_o = valid_i && !drop;
  assign ready_o = ready_i || drop;
  always_ff @(posedge clk_i) begin
    if (valid_i && ready_o) within_q <= !last_i;
    if (!run_i) within_q <= 1'b0;
    lost_q <= drop;
    dropped_q <= valid_i && drop && last_i;
  end
  assign dropped_o = dropped_q;
endmodule
