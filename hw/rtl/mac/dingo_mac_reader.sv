// SPDX-License-Identifier: BSD-2-Clause

/// Passes frames of dingo_mac_fifo on to dingo_mac_tx, or drops them (drop_i): whole frames, or the rest of one that
/// has begun. Combinational.
module dingo_mac_reader (
    input  logic           clk_i,
    input  logic           run_i,       // else the FIFO is being emptied; the next beat begins a frame
    input  logic           drop_i,
    input  logic           valid_i,
    output logic           ready_o,
    input  logic           last_i,
    output logic           valid_o,
    input  logic           ready_i,
    output logic           dropped_o    // a frame was dropped; a register
);
  logic within_q = 1'b0;                // the beat before was not the last of its frame
  logic lost_q = 1'b0;                  // that beat was dropped
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
