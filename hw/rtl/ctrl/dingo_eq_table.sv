// SPDX-License-Identifier: BSD-2-Clause

/// Table of EQs (LUT memory, combinational reads), and which EQ takes asynchronous events.
module dingo_eq_table (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic             cfg_we_i,      // a command: create (indices 0) or destroy
    input  rtl_pkg::eq_cfg_t cfg_i,
    input  rtl_pkg::eqi_t    eq_i,
    output eq_pkg::ctx_t     ctx_o,         // of eq_i
    input  eq_pkg::change_t  change_i,      // of eq_i
    input  logic             forgot_i,      // one fewer CQ waits for forgot_eq_i
    input  rtl_pkg::eqi_t    forgot_eq_i,
    input  rtl_pkg::eqi_t    comp_eq_i,
    output logic             comp_on_o,     // EQ comp_eq_i exists
    output logic             async_on_o,    // an EQ for asynchronous events exists
    output rtl_pkg::eqi_t    async_eq_o     // its number
);
  localparam int unsigned Eqs = 1 << rtl_pkg::EQ_LOG;
  localparam int unsigned CqW = rtl_pkg::CQ_LOG;
  localparam int unsigned CfgW = 114;  // msix, log_size, mem

  logic [CfgW-1:0] cfg_mem[0:Eqs-1];
  logic [31:0] producer_mem[0:Eqs-1];
  logic [31:0] consumer_mem[0:Eqs-1];
  logic [CqW:0] waiting_mem[0:Eqs-1];
  logic [Eqs-1:0] on_q, armed_q, error_q;
  logic async_on_q;
  rtl_pkg::eqi_t async_eq_q;
  logic [31:0] producer;
  logic [CqW:0] waiting;

  assign producer = producer_mem[eq_i];
  assign waiting = waiting_mem[eq_i];
  assign {ctx_o.msix, ctx_o.log_size, ctx_o.mem} = cfg_mem[eq_i];
  assign ctx_o.on = on_q[eq_i];
  assign ctx_o.armed = armed_q[eq_i];
  assign ctx_o.error = error_q[eq_i];
  assign ctx_o.is_async = async_on_q && async_eq_q == eq_i;
  assign ctx_o.producer = producer;
  assign ctx_o.consumer = consumer_mem[eq_i];
  assign ctx_o.waiting = waiting;
  assign comp_on_o = on_q[comp_eq_i];
  assign async_on_o = async_on_q;
  assign async_eq_o = async_eq_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      on_q <= '0;
      async_on_q <= 1'b0;
    end else if (cfg_we_i) begin
      on_q[cfg_i.eq] <= cfg_i.on;
      if (cfg_i.on && cfg_i.is_async) begin
        async_on_q <= 1'b1;
        async_eq_q <= cfg_i.eq;
      end else if (async_eq_q == cfg_i.eq) begin
        async_on_q <= 1'b0;
      end
    end
  end

  logic [CqW:0] forgot_waiting;
  assign forgot_waiting = waiting_mem[forgot_eq_i] - 1'b1;
  always_ff @(posedge clk_i) begin
    if (cfg_we_i) begin
      cfg_mem[cfg_i.eq] <= {cfg_i.msix, cfg_i.log_size, cfg_i.mem};
      producer_mem[cfg_i.eq] <= '0;
      consumer_mem[cfg_i.eq] <= '0;
      waiting_mem[cfg_i.eq] <= '0;
      armed_q[cfg_i.eq] <= 1'b0;
      error_q[cfg_i.eq] <= 1'b0;
    end
    if (change_i.refused) error_q[eq_i] <= 1'b1;
    if (change_i.written) producer_mem[eq_i] <= producer + 32'd1;
    if (change_i.bell) begin
      consumer_mem[eq_i] <= change_i.index;
      if (change_i.arm) armed_q[eq_i] <= 1'b1;
    end
    if (change_i.disarm) armed_q[eq_i] <= 1'b0;
    if (change_i.more) waiting_mem[eq_i] <= waiting + 1'b1;
    if (change_i.fewer) waiting_mem[eq_i] <= waiting - 1'b1;
    if (forgot_i) waiting_mem[forgot_eq_i] <= forgot_waiting;
  end

  always_ff @(posedge clk_i) if (rst_ni) count_is_right: assert (!change_i.fewer || waiting != '0);
endmodule
