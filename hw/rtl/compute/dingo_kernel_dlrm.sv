// SPDX-License-Identifier: BSD-2-Clause

/// Compute kernel for records of 48 words, three beats: words 1..13 (dense columns) become ln(max(x, 0) + 1), words
/// 16..41 (sparse columns) x modulo the parameter. Label, padding and an incomplete last word are unchanged. The lanes
/// never stall: no more beats are taken than the queue behind them has room for. Latency 13 cycles, a beat a cycle.
module dingo_kernel_dlrm (
    input  logic              clk_i,
    input  logic              rst_ni,
    input  logic              s_axis_tvalid_i,
    output logic              s_axis_tready_o,
    input  logic [511:0]      s_axis_tdata_i,
    input  logic [63:0]       s_axis_tkeep_i,
    input  logic              s_axis_tlast_i,
    input  rtl_pkg::compute_t s_axis_tuser_i,
    output logic              m_axis_tvalid_o,
    input  logic              m_axis_tready_i,
    output logic [511:0]      m_axis_tdata_o,
    output logic              m_axis_tlast_o
);
  localparam int unsigned Stages = 11;
  localparam int unsigned LogHeld = 5;
  localparam int unsigned FirstDense = 1, LastDense = 13;   // words of beat 0
  localparam int unsigned LastSparse = 9;                   // word of beat 2; all of beat 1

  // Beat within its record: the message's beat number modulo 3. Powers of 4 are 1 modulo 3, so a bit at an even
  // place counts 1, at an odd place 2, which is -1.
  function automatic logic [1:0] modulo3(input logic [25:0] number);
    logic [4:0] sum;                                        // 0..26: ones at even places + 13 - ones at odd places
    sum = 5'd13;
    for (int i = 0; i < 26; i += 2) sum = sum + {4'd0, number[i]} - {4'd0, number[i+1]};
    case (sum)
      5'd1, 5'd4, 5'd7, 5'd10, 5'd13, 5'd16, 5'd19, 5'd22, 5'd25: modulo3 = 2'd0;
      5'd2, 5'd5, 5'd8, 5'd11, 5'd14, 5'd17, 5'd20, 5'd23, 5'd26: modulo3 = 2'd1;
      default: modulo3 = 2'd2;
    endcase
  endfunction

  // ---- in
  logic [LogHeld:0] held_q;              // beats taken and not yet given
  logic             take, give;
  logic [1:0]       phase;
  logic [15:0]      whole;               // words of which all four bytes are valid

  assign s_axis_tready_o = !held_q[LogHeld];
  assign take = s_axis_tvalid_i && s_axis_tready_o;
  assign give = m_axis_tvalid_o && m_axis_tready_i;
  assign phase = modulo3(s_axis_tuser_i.offset[31:6]);

  always_comb for (int w = 0; w < 16; w++) whole[w] = s_axis_tkeep_i[w*4 + 3];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) held_q <= '0;
    else held_q <= held_q + {{LogHeld{1'b0}}, take} - {{LogHeld{1'b0}}, give};
  end

  // ---- lanes; *_en[k]: stage k takes a beat of that kind
  logic [Stages-1:0] valid_q, dense_q, sparse_q;            // [k]: before stage k + 1
  logic [10:0]       dense_en, sparse_en;
  logic [31:0]       reciprocal0_q, m0_q, m1_q, m2_q, m3_q, m4_q, m5_q, m6_q, m7_q;
  logic [511:0]      logs, rests;

  assign dense_en = {dense_q[9:0], take && phase == 2'd0};
  assign sparse_en = {sparse_q[9:0], take && phase != 2'd0};

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_q <= '0;
      dense_q <= '0;
      sparse_q <= '0;
    end else begin
      valid_q <= {valid_q[Stages-2:0], take};
      dense_q <= dense_en;
      sparse_q <= sparse_en;
    end
    if (sparse_en[0]) begin
      reciprocal0_q <= s_axis_tuser_i.reciprocal;
      m0_q <= s_axis_tuser_i.param;
    end
    if (sparse_en[1]) m1_q <= m0_q;
    if (sparse_en[2]) m2_q <= m1_q;
    if (sparse_en[3]) m3_q <= m2_q;
    if (sparse_en[4]) m4_q <= m3_q;
    if (sparse_en[5]) m5_q <= m4_q;
    if (sparse_en[6]) m6_q <= m5_q;
    if (sparse_en[7]) m7_q <= m6_q;
  end

  for (genvar w = 0; w < 16; w++) begin : g_lane
    if (w >= FirstDense && w <= LastDense) begin : g_log
      dingo_lane_log u_log (.clk_i, .en_i(dense_en), .x_i(s_axis_tdata_i[w*32 +: 32]), .y_o(logs[w*32 +: 32]));
    end else begin : g_no_log
      assign logs[w*32 +: 32] = '0;
    end
    dingo_lane_modulus u_modulus (
        .clk_i, .en_i(sparse_en), .x_i(s_axis_tdata_i[w*32 +: 32]), .reciprocal1_i(reciprocal0_q), .m4_i(m3_q), .m8_i(m7_q),
        .y_o(rests[w*32 +: 32]));
  end

  // ---- the original beats, delayed as the lanes delay
  logic             raw_valid, raw_ready, raw_last;
  logic [1:0]       raw_phase;
  logic [15:0]      raw_whole;
  logic [511:0]     raw, mixed;
  logic [LogHeld:0] raw_count, out_count;

  dingo_fifo #(.Width(512 + 16 + 2 + 1), .LogDepth(LogHeld)) u_raw (
      .clk_i, .rst_ni, .valid_i(take), .ready_o(raw_ready), .data_i({s_axis_tlast_i, phase, whole, s_axis_tdata_i}),
      .valid_o(raw_valid), .ready_i(valid_q[Stages-1]), .data_o({raw_last, raw_phase, raw_whole, raw}),
      .count_o(raw_count)
  );

  always_comb begin
    mixed = raw;
    if (valid_q[Stages-1])
      for (int w = 0; w < 16; w++)
        if (raw_whole[w]) begin
          if (raw_phase == 2'd0 && w >= FirstDense && w <= LastDense) mixed[w*32 +: 32] = logs[w*32 +: 32];
          if (raw_phase == 2'd1 || (raw_phase == 2'd2 && w <= LastSparse)) mixed[w*32 +: 32] = rests[w*32 +: 32];
        end
  end

  logic out_ready;

  dingo_fifo #(.Width(513), .LogDepth(LogHeld)) u_out (
      .clk_i, .rst_ni, .valid_i(valid_q[Stages-1]), .ready_o(out_ready), .data_i({raw_last, mixed}),
      .valid_o(m_axis_tvalid_o), .ready_i(m_axis_tready_i), .data_o({m_axis_tlast_o, m_axis_tdata_o}),
      .count_o(out_count)
  );

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      if (take) assert (raw_ready);
      if (valid_q[Stages-1]) assert (raw_valid && out_ready);
      assert (held_q >= raw_count && held_q >= out_count);
    end
  end

  wire unused_ok = &{1'b0, s_axis_tkeep_i, s_axis_tuser_i.offset[5:0], raw_count, out_count, dense_q[10], sparse_q[10]};
endmodule
