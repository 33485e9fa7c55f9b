// SPDX-License-Identifier: BSD-2-Clause

/// Counts events of another clock, 5 cycles late. If clk_i stands still for more than 255 events, multiples of 256
/// are missed.
module dingo_mac_count (
    input  logic        from_clk_i,
    input  logic        event_i,  // one event per cycle of from_clk_i
    input  logic        clk_i,
    output logic [2:0]  more_o,   // so many more events, at most 7; the rest follows
    output logic [31:0] all_o     // all events so far
);
  logic [7:0] unused_here, there, seen_q = '0, more;
  logic [2:0] more_q = '0, say;
  logic [15:0] owed_q = '0, owed;
  logic [31:0] all_q = '0;

  dingo_mac_gray #(.Width(8)) i_gray (
      .from_clk_i, .clear_i(1'b0), .step_i(event_i), .here_o(unused_here), .to_clk_i(clk_i), .there_o(there)
  );
  assign more = there - seen_q;
  assign owed = owed_q + 16'(more);
  assign say = owed > 16'd7 ? 3'd7 : owed[2:0];
  always_ff @(posedge clk_i) begin
    seen_q <= there;
    more_q <= say;
    owed_q <= owed - 16'(say);
    all_q <= all_q + 32'(more);
  end
  assign more_o = more_q;
  assign all_o = all_q;
  wire unused_ok = &{1'b0, unused_here};
endmodule
