// SPDX-License-Identifier: BSD-2-Clause

/// Counters of the card and of each QP, 64 bits to the host. Each source has a small queue; a source waits
/// when it counts faster than one step a cycle on average.
module dingo_stats (
    input  logic        clk_i,
    input  logic        rst_ni,
    output logic        idle_o,           // everything is counted
    input  logic [rtl_pkg::STATS-1:0]                 stat_valid_i,
    output logic [rtl_pkg::STATS-1:0]                 stat_ready_o,
    input  logic [rtl_pkg::STATS*rtl_pkg::STAT_W-1:0]   stat_i,
    input  logic [rtl_pkg::QSTATS-1:0]                qstat_valid_i,
    output logic [rtl_pkg::QSTATS-1:0]                qstat_ready_o,
    input  logic [rtl_pkg::QSTATS*rtl_pkg::QSTAT_W-1:0] qstat_i,
    input  logic        clear_valid_i,    // QP counters to 0 (CREATE_QP)
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
  localparam int unsigned AddrW = rtl_pkg::QP_LOG + 4;

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
  logic [Qstats-1:0] q_valid, q_grant, q_win;
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
  logic [63:0] card[0:63];
  logic [6:0] walk_q;  // cleared after reset
  logic clearing;
  logic step_valid_q;
  rtl_pkg::stat_t step_q, step_d;

  assign clearing = !walk_q[6];
  dingo_arb #(
      .N(Stats)
  ) u_arb (
      .clk_i,
      .rst_ni,
      .req_i(clearing ? '0 : s_valid),
      .take_i(1'b1),
      .grant_o(s_grant)
  );
  always_comb begin
    step_d = '0;
    for (int i = 0; i < Stats; i++) if (s_grant[i]) step_d = s_data[i*StatW +: StatW];
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      walk_q <= '0;
      step_valid_q <= 1'b0;
    end else begin
      if (clearing) walk_q <= walk_q + 1'b1;
      step_valid_q <= s_grant != '0;
    end
    if (s_grant != '0) step_q <= step_d;
    if (clearing) card[walk_q[5:0]] <= 64'd0;
    else if (step_valid_q) card[step_q.idx] <= card[step_q.idx] + 64'(step_q.by);
  end

  // ---------------------------------------------------------------------------------- counters of QPs
  // One operation a cycle: clearing first, then reads, then steps. A step is chosen in one cycle, waits in
  // pick_q, reads in the next and writes in the one after; what was written last is forwarded.
  logic clear_q, add_q, fwd_q;
  rtl_pkg::qpi_t clear_qp_q;
  logic [3:0] clear_idx_q;
  logic [AddrW-1:0] add_addr_q;
  logic [15:0] add_by_q;
  logic [63:0] last_q, old, sum, ram_data;
  rtl_pkg::qstat_t q_step, pick_q;
  logic pick_valid_q, pick_go;
  logic read_take, qread;
  logic q_we;
  logic [AddrW-1:0] q_waddr, q_raddr;
  logic [63:0] q_wdata;

  assign read_ready_o = !clear_q && !clearing;
  assign read_take = read_valid_i && read_ready_o;
  assign qread = read_take && read_qp_i;
  assign clear_ready_o = !clear_q && !clearing;

  dingo_arb #(
      .N(Qstats)
  ) u_qarb (
      .clk_i,
      .rst_ni,
      .req_i(q_valid),
      .take_i(q_grant != '0),
      .grant_o(q_win)
  );
  assign pick_go = pick_valid_q && !(clear_q || clear_valid_i || qread || clearing);
  assign q_grant = (pick_valid_q && !pick_go) ? '0 : q_win;
  always_comb begin
    q_step = '0;
    for (int i = 0; i < Qstats; i++) if (q_win[i]) q_step = q_data[i*QstatW +: QstatW];
  end

  assign q_raddr = qread ? {read_qpi_i, read_idx_i[3:0]} : {pick_q.qp, pick_q.idx};
  assign old = fwd_q ? last_q : ram_data;
  assign sum = old + 64'(add_by_q);
  assign q_we = add_q || clear_q;
  assign q_waddr = add_q ? add_addr_q : {clear_qp_q, clear_idx_q};
  assign q_wdata = add_q ? sum : 64'd0;
  dingo_ram #(
      .Width(64),
      .LogDepth(AddrW)
  ) u_qp (
      .clk_i,
      .we_i(q_we),
      .waddr_i(q_waddr),
      .wdata_i(q_wdata),
      .re_i(qread || pick_go),
      .raddr_i(q_raddr),
      .rdata_o(ram_data)
  );

  logic value_valid_q, value_qp_q;
  logic [63:0] card_value_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      clear_q <= 1'b0;
      clear_idx_q <= '0;
      pick_valid_q <= 1'b0;
      add_q <= 1'b0;
      fwd_q <= 1'b0;
      value_valid_q <= 1'b0;
    end else begin
      pick_valid_q <= q_grant != '0 || (pick_valid_q && !pick_go);
      add_q <= pick_go;
      value_valid_q <= read_take;
      fwd_q <= q_we && q_waddr == q_raddr;
      if (clear_q) begin
        clear_idx_q <= clear_idx_q + 1'b1;
        clear_q <= clear_idx_q != 4'd15;
      end else if (clear_valid_i && clear_ready_o) begin
        clear_q <= 1'b1;
      end
    end
    if (clear_valid_i && clear_ready_o) clear_qp_q <= clear_qp_i;
    if (q_grant != '0) pick_q <= q_step;
    if (pick_go) begin
      add_addr_q <= q_raddr;
      add_by_q <= pick_q.by;
    end
    if (q_we) last_q <= q_wdata;
    if (read_take) begin
      value_qp_q <= read_qp_i;
      card_value_q <= card[read_idx_i];
    end
  end
  assign value_valid_o = value_valid_q;
  assign value_o = value_qp_q ? old : card_value_q;

  always_ff @(posedge clk_i) begin
    if (rst_ni) one_writer: assert (!(add_q && clear_q));  // no step is begun when clearing is asked for
  end

  assign idle_o = !clearing && s_valid == '0 && q_valid == '0 && !pick_valid_q && !step_valid_q && !add_q && !clear_q;
endmodule
