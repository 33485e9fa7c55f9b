// SPDX-License-Identifier: BSD-2-Clause

/// Writes of registers: takes address and data in any order; then each 32-bit half is one step (step_o), the low one
/// first. At least 5 cycles a write.
module dingo_regs_write (
    input  logic            clk_i,
    input  logic            rst_ni,
    output logic            idle_o,
    input  logic            hold_i,        // earlier doorbells are not yet in the queue: a write of ASQ_DB waits
    output regs_pkg::step_t step_o,
    input  logic            awvalid_i,
    output logic            awready_o,
    input  logic [15:0]     awaddr_i,
    input  logic            wvalid_i,
    output logic            wready_o,
    input  logic [63:0]     wdata_i,
    input  logic [7:0]      wstrb_i,
    output logic            bvalid_o,
    input  logic            bready_i
);
  typedef enum logic [1:0] {
    W_IDLE = 2'd0,
    W_LOW  = 2'd1,
    W_HIGH = 2'd2,
    W_RESP = 2'd3
  } wstate_t;
  wstate_t w_state_q;
  logic aw_full_q, w_full_q;
  logic [12:0] w_word_q;   // 64-bit word of BAR_REGS
  logic [63:0] w_data_q;
  logic [7:0] w_strb_q;
  logic form_ok, kick, orders_db, step, high;

  assign awready_o = !aw_full_q;
  assign wready_o = !w_full_q;
  assign bvalid_o = w_state_q == W_RESP;
  assign idle_o = !aw_full_q && !w_full_q;
  assign form_ok = w_strb_q == 8'hff || w_strb_q == 8'h0f || w_strb_q == 8'hf0;
  assign kick = w_word_q[12:9] == dingo_pkg::KICK_PAGE_OFFSET[15:12];
  assign orders_db = w_word_q == 13'(dingo_pkg::REG_ASQ_DB >> 3);
  assign step = (w_state_q == W_LOW && w_strb_q[0]) || (w_state_q == W_HIGH && w_strb_q[7]);
  assign high = w_state_q == W_HIGH;
  assign step_o.valid = step && form_ok && !kick;
  assign step_o.bad = w_state_q == W_LOW && !form_ok;
  assign step_o.offset = {w_word_q, high, 2'b00};
  assign step_o.data = high ? w_data_q[63:32] : w_data_q[31:0];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      w_state_q <= W_IDLE;
      aw_full_q <= 1'b0;
      w_full_q <= 1'b0;
    end else begin
      if (awvalid_i && awready_o) aw_full_q <= 1'b1;
      if (wvalid_i && wready_o) w_full_q <= 1'b1;
      case (w_state_q)
        W_IDLE: if (aw_full_q && w_full_q && !(orders_db && hold_i)) w_state_q <= W_LOW;
        W_LOW: w_state_q <= W_HIGH;
        W_HIGH: w_state_q <= W_RESP;
        default: begin
          if (bready_i) begin
            w_state_q <= W_IDLE;
            aw_full_q <= 1'b0;
            w_full_q <= 1'b0;
          end
        end
      endcase
    end
    if (awvalid_i && awready_o) w_word_q <= awaddr_i[15:3];
    if (wvalid_i && wready_o) begin
      w_data_q <= wdata_i;
      w_strb_q <= wstrb_i;
    end
  end

  wire unused_ok = &{1'b0, awaddr_i[2:0]};
endmodule
