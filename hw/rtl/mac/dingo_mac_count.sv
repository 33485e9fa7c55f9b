// SPDX-License-Identifier: BSD-2-Clause

/// Counts what happens in another clock.
module dingo_mac_count (
    input  logic        from_clk_i,
    input  logic        event_i,
    input  logic        clk_i,
    output logic [2:0]  more_o,   // since the cycle before
    output logic [31:0] all_o
);
  logic [7:0] unused_here, there, seen_q = '0;
  logic [2:0] more_q = '0;
  logic [31:0] all_q = '0;

  dingo_mac_gray #(.Width(8)) i_gray (
      .from_clk_i, .step_i(event_i), .here_o(unused_here), .to_clk_i(clk_i), .there_o(there)
  );
  always_ff @(posedge clk_i) begin
    seen_q <= there;
    more_q <= 3'(there - seen_q);
    all_q <= all_q + 32'(8'(there - seen_q));
  end
  assign more_o = more_q;
  assign all_o = all_q;
  wire unused_ok = &{1'b0, unused_here};
endmodule
