// SPDX-License-Identifier: BSD-2-Clause

/// Half of the counters of the card: those with an even, or those with an odd index. One step a cycle. Packet and byte
/// counters are in different halves, so that both count in the same cycle.
module dingo_stats_card (
    input  logic        clk_i,
    input  logic        rst_ni,
    output logic        clear_o,          // clearing after reset: no steps are taken
    output logic        idle_o,           // all steps taken are counted
    // steps of this half
    input  logic [rtl_pkg::STATS-1:0]                valid_i,
    output logic [rtl_pkg::STATS-1:0]                take_o,
    input  logic [rtl_pkg::STATS*rtl_pkg::STAT_W-1:0] step_i,
    input  logic [4:0]  read_idx_i,       // upper bits of the index
    output logic [63:0] value_o
);
  localparam int unsigned StatW = rtl_pkg::STAT_W;
  localparam int unsigned Sources = rtl_pkg::STATS;

  logic [63:0] count[0:31];
  logic [5:0] walk_q;
  logic step_valid_q;
  rtl_pkg::stat_t step_q, step;

  assign clear_o = !walk_q[5];
  assign idle_o = !step_valid_q;
  assign value_o = count[read_idx_i];
  dingo_arb #(
      .N(Sources)
  ) u_arb (
      .clk_i,
      .rst_ni,
      .req_i(clear_o ? '0 : valid_i),
      .take_i(1'b1),
      .grant_o(take_o)
  );
  always_comb begin
    step = '0;
    for (int i = 0; i < Sources; i++) if (take_o[i]) step = step_i[i*StatW +: StatW];
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      walk_q <= '0;
      step_valid_q <= 1'b0;
    end else begin
      if (clear_o) walk_q <= walk_q + 1'b1;
      step_valid_q <= take_o != '0;
    end
    if (take_o != '0) step_q <= step;
    if (clear_o) count[walk_q[4:0]] <= 64'd0;
    else if (step_valid_q) count[step_q.idx[5:1]] <= count[step_q.idx[5:1]] + 64'(step_q.by);
  end
  wire unused_ok = &{1'b0, step_q};
endmodule
