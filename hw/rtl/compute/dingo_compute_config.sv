// SPDX-License-Identifier: BSD-2-Clause

/// Table of each QP's kernel, parameter and reciprocal floor((2^32 - 1) / param). Before a write, a serial divider
/// calculates the reciprocal in 32 cycles. A read gives the entry in the next cycle; an entry that was never
/// written is undefined (CREATE_QP writes it).
module dingo_compute_config (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic             cfg_valid_i,   // held until ready
    output logic             cfg_ready_o,   // for one cycle: the entry is written
    input  rtl_pkg::qpi_t    cfg_qp_i,
    input  rtl_pkg::kernel_t cfg_kernel_i,
    input  logic [31:0]      cfg_param_i,
    input  logic             re_i,
    input  rtl_pkg::qpi_t    qp_i,
    output rtl_pkg::kernel_t kernel_o,
    output logic [31:0]      param_o,
    output logic [31:0]      reciprocal_o
);
  typedef enum logic [1:0] {
    IDLE   = 2'd0,
    DIVIDE = 2'd1,
    WRITE  = 2'd2
  } state_e;

  state_e      state_q;
  logic [4:0]  step_q;
  logic [31:0] rest_q, quotient_q;
  logic [32:0] next;               // next partial dividend; the dividend is 2^32 - 1, all ones
  logic        fits;

  assign next = {rest_q, 1'b1};
  assign fits = next >= {1'b0, cfg_param_i};
  assign cfg_ready_o = state_q == WRITE;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) state_q <= IDLE;
    else
      case (state_q)
        IDLE:
        if (cfg_valid_i) begin
          state_q <= cfg_param_i == '0 ? WRITE : DIVIDE;
          step_q <= '0;
          rest_q <= '0;
          quotient_q <= '0;
        end
        DIVIDE: begin
          step_q <= step_q + 5'd1;
          rest_q <= fits ? 32'(next - {1'b0, cfg_param_i}) : next[31:0];
          quotient_q <= {quotient_q[30:0], fits};
          if (step_q == 5'd31) state_q <= WRITE;
        end
        default: state_q <= IDLE;
      endcase
  end

  dingo_ram #(.Width(66), .LogDepth(rtl_pkg::QP_LOG)) u_ram (
      .clk_i, .we_i(state_q == WRITE), .waddr_i(cfg_qp_i), .wdata_i({cfg_kernel_i, cfg_param_i, quotient_q}),
      .re_i, .raddr_i(qp_i), .rdata_o({kernel_o, param_o, reciprocal_o})
  );
endmodule
