// SPDX-License-Identifier: BSD-2-Clause

/// Outputs of dingo_cq: `fail` of dropped entries, completion events, CQ_ERR, counters. Inputs of its queues never
/// wait: dingo_cq begins operations only with room_o.
module dingo_cq_tell (
    input  logic                       clk_i,
    input  logic                       rst_ni,
    output logic                       room_o,          // room for two operations
    output logic                       idle_o,
    input  cq_pkg::work_t              work_i,
    input  cq_pkg::fate_t              fate_i,
    input  cq_pkg::outcome_t           outcome_i,
    input  logic                       drop_i,          // a doorbell was dropped
    output logic [cq_pkg::CLIENTS-1:0] fail_o,          // always taken
    output rtl_pkg::qpi_t              fail_qp_o,
    output logic                       comp_valid_o,
    input  logic                       comp_ready_i,
    output rtl_pkg::eqi_t              comp_eq_o,
    output rtl_pkg::cqi_t              comp_cq_o,
    output logic                       ev_valid_o,
    input  logic                       ev_ready_i,
    output rtl_pkg::ev_t               ev_o,
    output logic                       stat_valid_o,
    input  logic                       stat_ready_i,
    output rtl_pkg::stat_t             stat_o
);
  localparam int unsigned IdxW = rtl_pkg::CQ_LOG;
  logic comp_ready, ev_ready, stat_ready;
  logic [2:0] comp_count, ev_count, stat_count;
  rtl_pkg::cqi_t comp_cq, ev_cq;
  logic [5:0] stat_idx;

  // Two operations may be in work, and each pushes at most one entry into each queue.
  assign room_o = comp_count <= 3'd2 && ev_count <= 3'd2 && stat_count <= 3'd2;
  assign idle_o = comp_count == '0 && ev_count == '0 && stat_count == '0;

  logic [cq_pkg::CLIENTS-1:0] fail_q;
  rtl_pkg::qpi_t fail_qp_q;
  assign fail_o = fail_q;
  assign fail_qp_o = fail_qp_q;
  always_ff @(posedge clk_i) begin
    fail_q <= rst_ni && fate_i.refused ? work_i.client : '0;
    if (fate_i.refused) fail_qp_q <= work_i.qp;
  end

  dingo_fifo #(
      .Width(rtl_pkg::EQ_LOG + IdxW),
      .LogDepth(2)
  ) u_comp (
      .clk_i,
      .rst_ni,
      .valid_i(outcome_i.fired),
      .ready_o(comp_ready),
      .data_i({outcome_i.eq, outcome_i.cq}),
      .valid_o(comp_valid_o),
      .ready_i(comp_ready_i),
      .data_o({comp_eq_o, comp_cq}),
      .count_o(comp_count)
  );
  assign comp_cq_o = comp_cq;
  dingo_fifo #(
      .Width(IdxW),
      .LogDepth(2)
  ) u_ev (
      .clk_i,
      .rst_ni,
      .valid_i(fate_i.failed),
      .ready_o(ev_ready),
      .data_i(work_i.cq),
      .valid_o(ev_valid_o),
      .ready_i(ev_ready_i),
      .data_o(ev_cq),
      .count_o(ev_count)
  );
  assign ev_o.kind = dingo_pkg::EV_CQ_ERR[7:0];
  assign ev_o.id = 32'(ev_cq);
  assign ev_o.data = '0;
  dingo_fifo #(
      .Width(6),
      .LogDepth(2)
  ) u_stat (
      .clk_i,
      .rst_ni,
      .valid_i(fate_i.overflowed || drop_i),
      .ready_o(stat_ready),
      .data_i(drop_i ? 6'(dingo_pkg::CARD_DB_DROPPED) : 6'(dingo_pkg::CARD_CQ_OVERFLOW)),
      .valid_o(stat_valid_o),
      .ready_i(stat_ready_i),
      .data_o(stat_idx),
      .count_o(stat_count)
  );
  assign stat_o.idx = stat_idx;
  assign stat_o.by = 16'd1;

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      nothing_lost: assert ((comp_ready || !outcome_i.fired) && (ev_ready || !fate_i.failed) &&
          (stat_ready || !(fate_i.overflowed || drop_i)));
    end
  end

  wire unused_ok = &{1'b0, work_i, fate_i, outcome_i};
endmodule
