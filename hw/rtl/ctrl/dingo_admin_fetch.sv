// SPDX-License-Identifier: BSD-2-Clause

/// Reads a command from the admin ring: two lines of 64 bytes.
module dingo_admin_fetch (
    input  logic                clk_i,
    input  logic                rst_ni,
    input  logic                start_i,       // one cycle; addr_i is stable until line_ready_i
    input  logic [57:0]         addr_i,        // the command's address, in 64-byte lines
    output logic                done_o,        // one cycle
    output logic                err_o,         // with done_o: bus error
    output logic [1023:0]       cmd_o,         // valid from the cycle after done_o
    output logic                line_valid_o,
    input  logic                line_ready_i,
    output rtl_pkg::rdl_req_t   line_o,
    input  logic                line_rsp_valid_i,
    input  rtl_pkg::rdl_rsp_t   line_rsp_i
);
  logic busy_q, asked_q;
  logic [1023:0] cmd_q;

  assign line_valid_o = busy_q && !asked_q;
  assign line_o.lines = 4'd2;
  assign line_o.addr = addr_i;
  assign done_o = busy_q && line_rsp_valid_i && (line_rsp_i.err || line_rsp_i.last);
  assign err_o = line_rsp_i.err;
  assign cmd_o = cmd_q;

  always_ff @(posedge clk_i) begin
    if (line_valid_o && line_ready_i) asked_q <= 1'b1;
    if (busy_q && line_rsp_valid_i) cmd_q <= {line_rsp_i.data, cmd_q[1023:512]};
    if (done_o) busy_q <= 1'b0;
    if (start_i) begin
      busy_q <= 1'b1;
      asked_q <= 1'b0;
    end
    if (!rst_ni) busy_q <= 1'b0;
  end
endmodule
