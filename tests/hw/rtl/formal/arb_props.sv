// SPDX-License-Identifier: BSD-2-Clause

/// Properties of dingo_arb: at most one grant, only to a requester, one whenever there is a request;
/// a requester that keeps its request up is passed over at most N-1 times.
module arb_props (
    input logic       clk_i,
    input logic [3:0] req_i,
    input logic       take_i
);
  logic rst_ni = 1'b0;
  logic [3:0] grant;

  dingo_arb #(.N(4)) dut (.clk_i, .rst_ni, .req_i, .take_i, .grant_o(grant));

  wire [3:0] dut_mask;  // connected by run.sh
  (* anyconst *) wire [1:0] who;
  logic [2:0] lost_q = 3'd0;  // grants to others since `who` raised its request
  logic [2:0] behind, rank;

  // rank: how many ports come before `who` in the round.
  assign behind = {2'd0, dut_mask[0]} + {2'd0, dut_mask[1]} + {2'd0, dut_mask[2]} + {2'd0, dut_mask[3]};
  assign rank   = dut_mask[who] ? {1'b0, who} + behind - 3'd4 : {1'b0, who} + behind;

  always_ff @(posedge clk_i) begin
    rst_ni <= 1'b1;
    if (!rst_ni || !req_i[who]) lost_q <= 3'd0;
    else if (take_i) lost_q <= grant[who] ? 3'd0 : lost_q + 3'd1;
  end

  always_comb begin
    if (rst_ni) begin
      a_one : assert ((grant & (grant - 4'd1)) == 4'd0);
      a_asked : assert ((grant & ~req_i) == 4'd0);
      a_some : assert ((grant != 4'd0) == (req_i != 4'd0));
      a_fair : assert (lost_q <= 3'd3);
      if (lost_q == 3'd3 && req_i[who]) begin
        a_now : assert (grant[who]);
      end
      // invariants for the induction
      a_shape : assert ((~dut_mask & (~dut_mask + 4'd1)) == 4'd0);
      a_rank : assert ({1'b0, lost_q} + {1'b0, rank} <= 4'd3);
    end
  end
endmodule
