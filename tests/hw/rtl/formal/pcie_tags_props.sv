// SPDX-License-Identifier: BSD-2-Clause

/// Properties of dingo_pcie_tags (4 tags, 2 without the extended tag field): a tag in use is not given again, no tag is
/// lost or made up, a tag above the small ones is given only with `all_i`, and when all tags are back one is offered
/// again. Assumption: only a tag in use is freed.
module pcie_tags_props (
    input logic       clk_i,
    input logic       all_i,
    input logic       take_i,
    input logic       free_valid_i,
    input logic [1:0] free_tag_i
);
  logic rst_ni = 1'b0;
  logic valid, idle;
  logic [1:0] tag;

  dingo_pcie_tags #(
      .Log(2),
      .SmallLog(1)
  ) dut (
      .clk_i, .rst_ni, .all_i, .valid_o(valid), .take_i, .tag_o(tag), .free_valid_i, .free_tag_i, .idle_o(idle)
  );

  // connected by run.sh
  wire [2:0] dut_wr, dut_rd, dut_out;
  wire dut_fill, dut_all;
  wire [1:0] dut_mem0, dut_mem1, dut_mem2, dut_mem3;

  logic [3:0] has_q = 4'd0;    // bit t: tag t is in use
  logic [3:0] quiet_q = 4'd0;  // cycles, up to 15, in which no tag was in use and all_i was stable
  logic [2:0] held, size, places;

  always_ff @(posedge clk_i) begin
    rst_ni <= 1'b1;
    if (!rst_ni) begin
      has_q   <= 4'd0;
      quiet_q <= 4'd0;
    end else begin
      if (valid && take_i) has_q[tag] <= 1'b1;
      if (free_valid_i) has_q[free_tag_i] <= 1'b0;
      quiet_q <= has_q == 4'd0 && dut_all == all_i && !(valid && take_i) ? quiet_q + {3'd0, quiet_q != 4'd15} : 4'd0;
    end
  end

  assign held   = 3'(has_q[0]) + 3'(has_q[1]) + 3'(has_q[2]) + 3'(has_q[3]);
  assign size   = dut_all ? 3'd4 : 3'd2;
  assign places = dut_wr - dut_rd;

  // Whether place i of the ring is filled and holds tag t.
  function automatic logic in_place(input logic [1:0] i, input logic [1:0] t);
    logic [1:0] age;
    logic [1:0] word;
    age = i - dut_rd[1:0];
    word = i == 2'd0 ? dut_mem0 : i == 2'd1 ? dut_mem1 : i == 2'd2 ? dut_mem2 : dut_mem3;
    in_place = {1'b0, age} < places && word == t;
  endfunction
  logic [3:0] conserved, filled;
  for (genvar t = 0; t < 4; t++) begin : g_tag
    logic [2:0] in_ring;
    assign in_ring = 3'(in_place(2'd0, t)) + 3'(in_place(2'd1, t)) + 3'(in_place(2'd2, t)) + 3'(in_place(2'd3, t));
    assign conserved[t] = in_ring + 3'(has_q[t]) == 3'(dut_all || t < 2);
    assign filled[t] = in_ring == 3'(3'(t) < dut_wr);
  end

  always_comb begin
    if (free_valid_i) assume (has_q[free_tag_i]);
    if (rst_ni) begin
      a_once : assert (!(valid && has_q[tag]));
      a_count : assert (dut_out == held && idle == (held == 3'd0));
      a_allowed : assert (dut_all || has_q[3:2] == 2'd0);
      a_given : assert (!(valid && tag >= 2'd2 && !all_i));
      a_fill : assert (!dut_fill || (held == 3'd0 && dut_rd == 3'd0 && dut_wr < size));
      a_ring : assert (places <= 3'd4 && (dut_fill || places + held == size));
      a_filled : assert (!dut_fill || filled == 4'hf);
      a_conserved : assert (dut_fill || conserved == 4'hf);
      a_back : assert (quiet_q < 4'd6 || dut_all != all_i || valid);
      // for the induction: while the ring is being filled, it gets one tag a cycle
      a_quiet : assert (!dut_fill || quiet_q <= {1'b0, dut_wr} + 4'd1);
    end
  end
endmodule
