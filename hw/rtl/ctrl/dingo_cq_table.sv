// SPDX-License-Identifier: BSD-2-Clause

/// Two tables of CQs: cfg_t, which commands write, and dyn_t, which operations write. Both are read in the cycle in
/// which an operation is taken and are valid in the next, with the changes of the operation before.
module dingo_cq_table (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    output logic                 ready_o,
    input  logic                 re_i,
    input  rtl_pkg::cqi_t        cq_i,
    input  rtl_pkg::cqi_t        asked_i,        // cq_i of the cycle before
    output cq_pkg::cfg_t         cfg_o,
    output cq_pkg::dyn_t         dyn_o,
    // a command: take_i replaces the whole entry; resizes_i and moderates_i, one cycle later, a part of cfg_o
    input  rtl_pkg::cq_cfg_t     cmd_i,
    input  logic                 take_i,
    input  logic                 resizes_i,
    input  logic                 moderates_i,
    input  cq_pkg::outcome_t     outcome_i
);
  localparam int unsigned IdxW = rtl_pkg::CQ_LOG;
  logic cfg_we, written;   // entries not written since reset are no CQs
  logic [cq_pkg::CFG_W-1:0] cfg_wbits, cfg_rbits;
  logic [cq_pkg::DYN_W-1:0] dyn_wbits, dyn_rbits, last_q;
  logic last_valid_q;
  rtl_pkg::cqi_t last_cq_q;
  cq_pkg::cfg_t cfg_new, cfg_ram, cfg;

  dingo_marked_ram #(
      .Width(cq_pkg::CFG_W),
      .LogDepth(IdxW)
  ) u_cfg (
      .clk_i,
      .rst_ni,
      .ready_o,
      .we_i(cfg_we),
      .waddr_i(cmd_i.cq),
      .wdata_i(cfg_wbits),
      .re_i,
      .raddr_i(cq_i),
      .rdata_o(cfg_rbits),
      .written_o(written)
  );
  dingo_ram #(
      .Width(cq_pkg::DYN_W),
      .LogDepth(IdxW)
  ) u_dyn (
      .clk_i,
      .we_i(outcome_i.we),
      .waddr_i(outcome_i.cq),
      .wdata_i(dyn_wbits),
      .re_i,
      .raddr_i(cq_i),
      .rdata_o(dyn_rbits)
  );

  always_comb begin
    cfg_new = cfg;
    if (resizes_i || take_i) begin
      cfg_new.log_size = cmd_i.log_size;
      cfg_new.mem = cmd_i.mem;
    end
    if (moderates_i || take_i) begin
      cfg_new.count = cmd_i.count;
      cfg_new.period = cmd_i.period;
    end
    if (take_i) begin
      cfg_new.on = cmd_i.on;
      cfg_new.eq = cmd_i.eq;
      cfg_new.db_page = cmd_i.db_page;
    end
  end
  assign cfg_we = (take_i && !cmd_i.resize && !cmd_i.moderate) || resizes_i || moderates_i;
  assign cfg_wbits = cfg_new;
  assign cfg_ram = cfg_rbits;
  always_comb begin
    cfg = cfg_ram;
    cfg.on = cfg_ram.on && written;
  end
  assign cfg_o = cfg;

  // Forwarding: the operation before may write the entry in the cycle of this read.
  assign dyn_wbits = outcome_i.dyn;
  assign dyn_o = last_valid_q && last_cq_q == asked_i ? last_q : written ? dyn_rbits : '0;
  always_ff @(posedge clk_i) begin
    last_valid_q <= rst_ni && outcome_i.we;
    if (outcome_i.we) begin
      last_q <= dyn_wbits;
      last_cq_q <= outcome_i.cq;
    end
  end

  wire unused_ok = &{1'b0, outcome_i};
endmodule
