// SPDX-License-Identifier: BSD-2-Clause

/// Writes a command's completion, 64 bytes, into the admin completion ring: one host access.
module dingo_admin_reply (
    input  logic                     clk_i,
    input  logic                     rst_ni,
    input  logic                     start_i,       // one cycle; addr_i and cpl_i are stable until done_o
    input  logic [63:0]              addr_i,
    input  dingo_pkg::admin_cpl_t    cpl_i,
    output logic                     done_o,        // one cycle: it is in host memory, or the write failed
    output logic                     err_o,         // with done_o: bus error
    output logic                     write_valid_o,
    input  logic                     write_ready_i,
    output rtl_pkg::dma_req_t        write_o,
    output logic                     wdata_valid_o,
    input  logic                     wdata_ready_i,
    output rtl_pkg::beat_t           wdata_o,
    input  logic                     written_i,
    input  logic                     written_err_i
);
  typedef enum logic [1:0] {
    IDLE = 2'd0,
    WRITE = 2'd1,
    DATA = 2'd2,
    DONE = 2'd3
  } state_t;
  state_t state_q;

  assign write_valid_o = state_q == WRITE;
  assign write_o.len = 13'd64;
  assign write_o.addr = addr_i;
  assign wdata_valid_o = state_q == DATA;
  assign wdata_o.err = 1'b0;
  assign wdata_o.last = 1'b1;
  assign wdata_o.bytes = 7'd64;
  assign wdata_o.data = cpl_i;
  assign done_o = state_q == DONE && written_i;
  assign err_o = written_err_i;

  always_ff @(posedge clk_i) begin
    if (write_valid_o && write_ready_i) state_q <= DATA;
    if (wdata_valid_o && wdata_ready_i) state_q <= DONE;
    if (done_o) state_q <= IDLE;
    if (start_i) state_q <= WRITE;
    if (!rst_ni) state_q <= IDLE;
  end
endmodule
