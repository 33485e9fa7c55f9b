// SPDX-License-Identifier: BSD-2-Clause

/// The writable registers: CTRL, and those of the admin queue. When the queue is enabled again, it starts after the
/// command in work has ended (settle_q); until then dingo_admin sees it disabled, with the old rings.
module dingo_regs_aq (
    input  logic            clk_i,
    input  logic            rst_ni,
    output logic            idle_o,
    input  regs_pkg::step_t step_i,
    output logic            dropped_o,       // the write was dropped
    input  logic            ready_i,         // STATUS.READY
    input  logic            fatal_valid_i,
    input  logic [31:0]     fatal_code_i,
    output logic            soft_reset_o,
    output regs_pkg::aq_t   aq_o,
    output logic            rung_o,          // ASQ_DB was written; held_i is valid from the next cycle on
    input  logic            held_i,          // doorbells that were rung before ASQ_DB are still queued
    output logic            aq_enable_o,
    output logic [ 3:0]     aq_log_depth_o,
    output logic [63:0]     asq_base_o,
    output logic [63:0]     acq_base_o,
    output logic [31:0]     asq_producer_o,
    input  logic [31:0]     asq_consumer_i,
    input  logic            aq_idle_i
);
  localparam logic [31:0] MaxLogDepth = dingo_pkg::ADMIN_MAX_LOG_DEPTH;
  localparam logic [31:0] AqCtrl = dingo_pkg::AQ_CTRL_LOG_DEPTH_MASK | dingo_pkg::AQ_CTRL_ENABLE_MASK;

  logic [63:0] asq_base_q, acq_base_q;          // as written
  logic [63:0] asq_latched_q, acq_latched_q;    // as latched when enabled
  logic [3:0] log_depth_q;
  logic enable_q;
  logic [31:0] producer_q;
  logic settle_q;
  logic [63:0] asq_out_q, acq_out_q;
  logic [3:0] depth_out_q;
  logic [31:0] producer_out_q;
  logic settled;
  logic [31:0] fatal_q, resets_q;
  logic soft_reset_q;
  logic fatal;

  assign fatal = fatal_q != dingo_pkg::FATAL_NONE;
  assign soft_reset_o = soft_reset_q;
  assign aq_enable_o = enable_q && !settle_q;
  assign aq_log_depth_o = depth_out_q;
  assign asq_base_o = asq_out_q;
  assign acq_base_o = acq_out_q;
  assign asq_producer_o = producer_out_q;
  assign settled = settle_q && aq_idle_i;
  assign aq_o = {asq_base_q, acq_base_q, enable_q, log_depth_q, fatal_q, resets_q};
  assign idle_o = !settle_q && !soft_reset_q && producer_out_q == producer_q;

  // ---------------------------------------------------------------------------------- checks
  logic [31:0] data, consumer, next_held, held;
  logic enables, bad_enable, form_ok, dropped;
  assign data = step_i.data;
  assign enables = (data & dingo_pkg::AQ_CTRL_ENABLE_MASK) != '0;
  assign form_ok = (data & ~AqCtrl) == '0;
  assign bad_enable = asq_base_q[11:0] != '0 || acq_base_q[11:0] != '0 || data[3:0] == '0 || 32'(data[3:0]) > MaxLogDepth;
  assign consumer = settle_q ? 32'd0 : asq_consumer_i;
  assign next_held = data - consumer;
  assign held = producer_q - consumer;

  always_comb begin
    dropped = 1'b0;
    if (step_i.valid) begin
      case (step_i.offset)
        dingo_pkg::REG_CTRL[15:0]: dropped = 1'b0;
        dingo_pkg::REG_ASQ_BASE[15:0], dingo_pkg::REG_ASQ_BASE[15:0] + 16'd4, dingo_pkg::REG_ACQ_BASE[15:0],
        dingo_pkg::REG_ACQ_BASE[15:0] + 16'd4:
        dropped = !ready_i;
        dingo_pkg::REG_AQ_CTRL[15:0]: dropped = !ready_i || fatal || !form_ok || (enables && bad_enable);
        dingo_pkg::REG_ASQ_DB[15:0]:
        dropped = !ready_i || !enable_q || next_held > (32'd1 << log_depth_q) || next_held < held;
        default: dropped = 1'b1;
      endcase
    end
    if (step_i.bad) dropped = 1'b1;
  end
  assign dropped_o = dropped;
  assign rung_o = step_i.valid && !dropped && step_i.offset == dingo_pkg::REG_ASQ_DB[15:0];

  always_ff @(posedge clk_i) begin
    soft_reset_q <= 1'b0;
    if (!rst_ni || soft_reset_q) begin
      asq_base_q <= '0;
      acq_base_q <= '0;
      asq_latched_q <= '0;
      acq_latched_q <= '0;
      asq_out_q <= '0;
      acq_out_q <= '0;
      depth_out_q <= '0;
      producer_out_q <= '0;
      settle_q <= 1'b0;
      log_depth_q <= '0;
      enable_q <= 1'b0;
      producer_q <= '0;
      fatal_q <= dingo_pkg::FATAL_NONE;
    end else begin
      if (fatal_valid_i && !fatal) begin
        fatal_q <= fatal_code_i;
        enable_q <= 1'b0;
      end
      if (step_i.valid && !dropped) begin
        case (step_i.offset)
          dingo_pkg::REG_ASQ_BASE[15:0]: asq_base_q[31:0] <= data;
          dingo_pkg::REG_ASQ_BASE[15:0] + 16'd4: asq_base_q[63:32] <= data;
          dingo_pkg::REG_ACQ_BASE[15:0]: acq_base_q[31:0] <= data;
          dingo_pkg::REG_ACQ_BASE[15:0] + 16'd4: acq_base_q[63:32] <= data;
          dingo_pkg::REG_ASQ_DB[15:0]: producer_q <= data;
          default: ;
        endcase
      end
      if (settled) begin
        settle_q <= 1'b0;
        asq_out_q <= asq_latched_q;
        acq_out_q <= acq_latched_q;
        depth_out_q <= log_depth_q;
        producer_out_q <= '0;
      end else if (!settle_q && !held_i) begin
        producer_out_q <= producer_q;
      end
      // An enable with bad values disables the queue.
      if (step_i.valid && step_i.offset == dingo_pkg::REG_AQ_CTRL[15:0] && ready_i && !fatal && !fatal_valid_i && form_ok) begin
        enable_q <= enables && !bad_enable;
        if (enables) begin
          settle_q <= 1'b1;
          asq_latched_q <= asq_base_q;
          acq_latched_q <= acq_base_q;
          log_depth_q <= data[3:0];
          producer_q <= '0;
        end
      end
      if (step_i.valid && step_i.offset == dingo_pkg::REG_CTRL[15:0] && (data & dingo_pkg::CTRL_RESET_MASK) != '0)
        soft_reset_q <= 1'b1;
    end
    if (!rst_ni) resets_q <= '0;
    else if (soft_reset_q) resets_q <= resets_q + 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) enabled_is_sane: assert (!aq_enable_o || (depth_out_q != '0 && asq_out_q[11:0] == '0));
  end
endmodule
