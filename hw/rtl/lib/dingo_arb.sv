// SPDX-License-Identifier: BSD-2-Clause

/// Round-robin arbiter, combinational from req_i to grant_o: the search begins behind the last winner. `grant_o` is
/// one-hot, or 0 without a request; `take_i` says that the winner is served in this cycle.
module dingo_arb #(
    parameter int unsigned N = 2
) (
    input  logic         clk_i,
    input  logic         rst_ni,
    input  logic [N-1:0] req_i,
    input  logic         take_i,
    output logic [N-1:0] grant_o
);
  logic [N-1:0] mask_q;  // requests behind the last winner
  logic [N-1:0] high;

  // The first request behind the last winner and the first of all are found in parallel, then one is selected.
  assign high = req_i & mask_q;
  assign grant_o = high != '0 ? high & (~high + 1'b1) : req_i & (~req_i + 1'b1);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) mask_q <= '0;
    else if (take_i && grant_o != '0) mask_q <= ~(grant_o | (grant_o - 1'b1));
  end
endmodule
