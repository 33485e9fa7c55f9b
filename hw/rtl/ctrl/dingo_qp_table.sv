// SPDX-License-Identifier: BSD-2-Clause

/// Table of QP contexts and states. Only commands write contexts, while the card is at rest; engines write states, too,
/// when a QP fails. A read gives context and state in the next cycle; no stall.
module dingo_qp_table (
    input  logic    clk_i,
    input  logic    rst_ni,
    output logic    ready_o,           // cleared after reset
    // readers: 0 commands, 1 dispatch, 2 requester, 3 responder
    input  logic [3:0]               re_i,
    input  logic [4*rtl_pkg::QP_LOG-1:0]      raddr_i,
    output logic [4*rtl_pkg::QP_W-1:0] rdata_o,
    // commands
    input  logic    we_i,
    input  rtl_pkg::qpi_t    windex_i,
    input  rtl_pkg::qp_cfg_t wdata_i,
    // states: 0 commands, 1 requester, 2 responder; in one cycle only for different QPs or with the same state
    input  logic [2:0]          state_we_i,
    input  logic [3*rtl_pkg::QP_LOG-1:0] state_index_i,
    input  logic [8:0]          state_i
);
  localparam int unsigned IdxW = rtl_pkg::QP_LOG;
  localparam int unsigned Depth = 1 << IdxW;
  localparam int unsigned CfgW = rtl_pkg::QP_CFG_W;
  localparam int unsigned QpW = rtl_pkg::QP_W;

  // Entries not written since reset are no QPs, in state RESET. A command writes context and state together.
  logic [3:0] mark, written_q;
  dingo_marks #(
      .Log(IdxW),
      .Reads(4)
  ) u_marks (
      .clk_i,
      .rst_ni,
      .ready_o,
      .we_i,
      .waddr_i(windex_i),
      .wdata_i(1'b1),
      .raddr_i,
      .rdata_o(mark)
  );
  always_ff @(posedge clk_i) begin
    for (int r = 0; r < 4; r++) if (re_i[r]) written_q[r] <= mark[r];
  end

  // States have three writers, contexts only one.
  logic [2:0] states[0:Depth-1];
  logic [11:0] state_q;

  always_ff @(posedge clk_i) begin
    for (int w = 0; w < 3; w++) begin
      if (state_we_i[w]) states[state_index_i[w*IdxW +: IdxW]] <= state_i[w*3 +: 3];
    end
    for (int r = 0; r < 4; r++) begin
      if (re_i[r]) state_q[r*3 +: 3] <= states[raddr_i[r*IdxW +: IdxW]];
    end
  end

  // One copy of the contexts for each reader.
  for (genvar r = 0; r < 4; r++) begin : g_reader
    logic [CfgW-1:0] cfg_bits;
    rtl_pkg::qp_cfg_t cfg_ram, cfg;
    dingo_ram #(
        .Width(CfgW),
        .LogDepth(IdxW)
    ) u_ram (
        .clk_i,
        .we_i,
        .waddr_i(windex_i),
        .wdata_i,
        .re_i(re_i[r]),
        .raddr_i(raddr_i[r*IdxW +: IdxW]),
        .rdata_o(cfg_bits)
    );
    assign cfg_ram = cfg_bits;
    always_comb begin
      cfg = cfg_ram;
      cfg.valid = cfg_ram.valid && written_q[r];
    end
    assign rdata_o[r*QpW +: QpW] = {written_q[r] ? state_q[r*3 +: 3] : 3'd0, cfg};
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      not_before: assert (ready_o || state_we_i == '0);
      // Two writers of one QP in one cycle must write the same state; one would be lost otherwise.
      one_state_01: assert (!(state_we_i[0] && state_we_i[1]) ||
          state_index_i[0 +: IdxW] != state_index_i[IdxW +: IdxW] || state_i[2:0] == state_i[5:3]);
      one_state_02: assert (!(state_we_i[0] && state_we_i[2]) ||
          state_index_i[0 +: IdxW] != state_index_i[2*IdxW +: IdxW] || state_i[2:0] == state_i[8:6]);
      one_state_12: assert (!(state_we_i[1] && state_we_i[2]) ||
          state_index_i[IdxW +: IdxW] != state_index_i[2*IdxW +: IdxW] || state_i[5:3] == state_i[8:6]);
    end
  end
endmodule
