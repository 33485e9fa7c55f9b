// SPDX-License-Identifier: BSD-2-Clause

/// Selects the next operation of dingo_eq, in this order of priority: `forget`, a command, DEVICE_FATAL, a doorbell, an
/// asynchronous event (sources round-robin), a completion event. `forget`, commands and fatal codes are stored until
/// then.
module dingo_eq_take (
    input  logic              clk_i,
    input  logic              rst_ni,
    input  logic              idle_i,          // an operation may begin
    output logic              none_o,          // nothing waits
    output eq_pkg::take_t     take_o,
    input  logic              forget_valid_i,
    input  rtl_pkg::ev_t      forget_i,
    output rtl_pkg::ev_t      forget_o,
    input  logic              cfg_valid_i,
    input  rtl_pkg::eq_cfg_t  cfg_i,
    output rtl_pkg::eq_cfg_t  cfg_o,
    input  logic              fatal_valid_i,
    input  logic [31:0]       fatal_code_i,
    output logic [31:0]       fatal_code_o,
    output logic              dead_o,          // after DEVICE_FATAL: no more events
    input  logic              db_valid_i,
    output logic              db_ready_o,
    input  logic [eq_pkg::SOURCES-1:0] ev_valid_i,
    output logic [eq_pkg::SOURCES-1:0] ev_ready_o,
    input  logic [eq_pkg::SOURCES*rtl_pkg::EV_W-1:0] ev_i,
    output rtl_pkg::ev_t      ev_o,
    input  logic              comp_valid_i,
    output logic              comp_ready_o
);
  localparam int unsigned EvW = rtl_pkg::EV_W;
  logic forget_valid, forget_room;
  wire [2:0] unused_count;
  logic forget, cfg, fatal, db, ev, comp;
  dingo_fifo #(
      .Width(EvW),
      .LogDepth(2)
  ) u_forget (
      .clk_i,
      .rst_ni,
      .valid_i(forget_valid_i),
      .ready_o(forget_room),
      .data_i(forget_i),
      .valid_o(forget_valid),
      .ready_i(forget),
      .data_o(forget_o),
      .count_o(unused_count)
  );

  logic cfg_full_q;
  rtl_pkg::eq_cfg_t cfg_q;
  logic dead_q, fatal_q;  // no more events; DEVICE_FATAL not yet taken
  logic [31:0] fatal_code_q;
  assign forget = idle_i && forget_valid;
  assign cfg = idle_i && !forget_valid && cfg_full_q;
  assign fatal = idle_i && !forget_valid && !cfg_full_q && fatal_q;
  assign db = idle_i && !forget_valid && !cfg_full_q && !fatal_q && db_valid_i;
  assign ev = idle_i && !forget_valid && !cfg_full_q && !fatal_q && !db_valid_i && ev_valid_i != '0;
  assign comp = idle_i && !forget_valid && !cfg_full_q && !fatal_q && !db_valid_i && ev_valid_i == '0 && comp_valid_i;
  assign take_o = {forget, cfg, fatal, db, ev, comp};
  assign none_o = !forget_valid && !cfg_full_q && !fatal_q && !db_valid_i && ev_valid_i == '0 && !comp_valid_i;

  logic [eq_pkg::SOURCES-1:0] grant;
  logic [EvW-1:0] ev_bits;
  dingo_arb #(
      .N(eq_pkg::SOURCES)
  ) u_arb (
      .clk_i,
      .rst_ni,
      .req_i(ev_valid_i),
      .take_i(ev),
      .grant_o(grant)
  );
  always_comb begin
    ev_bits = '0;
    for (int i = 0; i < eq_pkg::SOURCES; i++) if (grant[i]) ev_bits = ev_bits | ev_i[i*EvW +: EvW];
  end
  assign db_ready_o = db;
  assign ev_ready_o = ev ? grant : '0;
  assign comp_ready_o = comp;
  assign cfg_o = cfg_q;
  assign fatal_code_o = fatal_code_q;
  assign dead_o = dead_q;
  assign ev_o = ev_bits;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      cfg_full_q <= 1'b0;
      dead_q <= 1'b0;
      fatal_q <= 1'b0;
    end else begin
      if (cfg_valid_i) cfg_full_q <= 1'b1;
      else if (cfg) cfg_full_q <= 1'b0;
      if (fatal_valid_i && !dead_q) begin
        dead_q <= 1'b1;
        fatal_q <= 1'b1;
      end else if (fatal) begin
        fatal_q <= 1'b0;
      end
    end
    if (cfg_valid_i) cfg_q <= cfg_i;
    if (fatal_valid_i && !dead_q) fatal_code_q <= fatal_code_i;
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      forget_fits: assert (!forget_valid_i || forget_room);
      commands_one_by_one: assert (!cfg_valid_i || !cfg_full_q);
    end
  end
endmodule
