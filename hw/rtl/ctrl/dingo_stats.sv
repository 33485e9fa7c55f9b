// SPDX-License-Identifier: BSD-2-Clause

/// Counters of the card and of each QP, 64 bits. Each source has a queue of 4 steps and stalls when that is full; the
/// halves (even and odd indices) of both kinds of counters take one step a cycle each. A read is answered in the next
/// cycle after it is taken.
module dingo_stats (
    input  logic        clk_i,
    input  logic        rst_ni,
    output logic        idle_o,           // all steps are counted
    input  logic [rtl_pkg::STATS-1:0]                 stat_valid_i,
    output logic [rtl_pkg::STATS-1:0]                 stat_ready_o,
    input  logic [rtl_pkg::STATS*rtl_pkg::STAT_W-1:0]   stat_i,
    input  logic [rtl_pkg::QSTATS-1:0]                qstat_valid_i,
    output logic [rtl_pkg::QSTATS-1:0]                qstat_ready_o,
    input  logic [rtl_pkg::QSTATS*rtl_pkg::QSTAT_W-1:0] qstat_i,
    input  logic        clear_valid_i,    // clear the counters of a QP (CREATE_QP)
    output logic        clear_ready_o,
    input  rtl_pkg::qpi_t        clear_qp_i,
    input  logic        read_valid_i,
    output logic        read_ready_o,
    input  logic        read_qp_i,        // 0: card counter, 1: counter of a QP
    input  rtl_pkg::qpi_t        read_qpi_i,
    input  logic [5:0]  read_idx_i,
    output logic        value_valid_o,    // one cycle
    output logic [63:0] value_o
);
  localparam int unsigned StatW = rtl_pkg::STAT_W;
  localparam int unsigned QstatW = rtl_pkg::QSTAT_W;
  localparam int unsigned Stats = rtl_pkg::STATS;
  localparam int unsigned Qstats = rtl_pkg::QSTATS;

  // ---------------------------------------------------------------------------------- sources
  logic [Stats-1:0] s_valid, s_grant;
  logic [Stats*StatW-1:0] s_data;
  for (genvar i = 0; i < Stats; i++) begin : g_stat
    wire [2:0] unused_count;
    dingo_fifo #(
        .Width(StatW),
        .LogDepth(2)
    ) u_fifo (
        .clk_i,
        .rst_ni,
        .valid_i(stat_valid_i[i]),
        .ready_o(stat_ready_o[i]),
        .data_i(stat_i[i*StatW +: StatW]),
        .valid_o(s_valid[i]),
        .ready_i(s_grant[i]),
        .data_o(s_data[i*StatW +: StatW]),
        .count_o(unused_count)
    );
  end
  logic [Qstats-1:0] q_valid, q_grant;
  logic [Qstats*QstatW-1:0] q_data;
  for (genvar i = 0; i < Qstats; i++) begin : g_qstat
    wire [2:0] unused_count;
    dingo_fifo #(
        .Width(QstatW),
        .LogDepth(2)
    ) u_fifo (
        .clk_i,
        .rst_ni,
        .valid_i(qstat_valid_i[i]),
        .ready_o(qstat_ready_o[i]),
        .data_i(qstat_i[i*QstatW +: QstatW]),
        .valid_o(q_valid[i]),
        .ready_i(q_grant[i]),
        .data_o(q_data[i*QstatW +: QstatW]),
        .count_o(unused_count)
    );
  end

  // ---------------------------------------------------------------------------------- counters of the card
  // Two halves, by the lowest bit of the index; each source gives one step at a time.
  logic [1:0] card_clear, card_idle;
  logic [2*Stats-1:0] card_grant;
  logic [127:0] card_value;
  logic clearing;

  assign clearing = card_clear != '0;
  assign s_grant = card_grant[Stats-1:0] | card_grant[2*Stats-1:Stats];
  for (genvar h = 0; h < 2; h++) begin : g_card
    logic [Stats-1:0] mine;
    for (genvar i = 0; i < Stats; i++) begin : g_mine
      rtl_pkg::stat_t front;
      assign front = s_data[i*StatW +: StatW];
      assign mine[i] = s_valid[i] && front.idx[0] == 1'(h);
      wire unused_ok = &{1'b0, front};
    end
    dingo_stats_card u_card (
        .clk_i,
        .rst_ni,
        .clear_o(card_clear[h]),
        .idle_o(card_idle[h]),
        .valid_i(mine),
        .take_o(card_grant[h*Stats +: Stats]),
        .step_i(s_data),
        .read_idx_i(read_idx_i[5:1]),
        .value_o(card_value[h*64 +: 64])
    );
  end

  // ---------------------------------------------------------------------------------- counters of QPs
  // Two halves, in the same way.
  logic [1:0] half_idle, half_busy;
  logic [2*Qstats-1:0] half_grant;
  logic [127:0] half_value;
  logic read_take, clear_take;

  assign read_ready_o = half_busy == '0 && !clearing;
  assign read_take = read_valid_i && read_ready_o;
  assign clear_ready_o = half_busy == '0 && !clearing;
  assign clear_take = clear_valid_i && clear_ready_o;
  assign q_grant = half_grant[Qstats-1:0] | half_grant[2*Qstats-1:Qstats];
  for (genvar h = 0; h < 2; h++) begin : g_half
    logic [Qstats-1:0] mine;
    for (genvar i = 0; i < Qstats; i++) begin : g_mine
      rtl_pkg::qstat_t front;
      assign front = q_data[i*QstatW +: QstatW];
      assign mine[i] = q_valid[i] && front.idx[0] == 1'(h);
      wire unused_ok = &{1'b0, front};
    end
    dingo_stats_qp u_qp (
        .clk_i,
        .rst_ni,
        .hold_i(clearing),
        .idle_o(half_idle[h]),
        .valid_i(mine),
        .take_o(half_grant[h*Qstats +: Qstats]),
        .step_i(q_data),
        .clear_i(clear_take),
        .clear_qp_i,
        .busy_o(half_busy[h]),
        .read_i(read_take && read_qp_i && read_idx_i[0] == 1'(h)),
        .read_qp_i(read_qpi_i),
        .read_idx_i(read_idx_i[3:1]),
        .value_o(half_value[h*64 +: 64])
    );
  end

  logic value_valid_q, value_qp_q, value_odd_q;
  logic [63:0] card_value_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) value_valid_q <= 1'b0;
    else value_valid_q <= read_take;
    if (read_take) begin
      value_qp_q <= read_qp_i;
      value_odd_q <= read_idx_i[0];
      card_value_q <= read_idx_i[0] ? card_value[127:64] : card_value[63:0];
    end
  end
  assign value_valid_o = value_valid_q;
  assign value_o = !value_qp_q ? card_value_q : value_odd_q ? half_value[127:64] : half_value[63:0];

  assign idle_o = !clearing && s_valid == '0 && q_valid == '0 && card_idle == '1 && half_idle == '1;
endmodule
