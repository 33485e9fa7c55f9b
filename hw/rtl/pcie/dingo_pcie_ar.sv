// SPDX-License-Identifier: BSD-2-Clause

/// Cuts AXI read bursts into pieces of at most one read request: 512 bytes, or the maximum read request if that is
/// less. As a burst does not cross 4 KiB, its pieces do not. 1 cycle, then a piece a cycle; stalls with ready_i.
module dingo_pcie_ar (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic [ 2:0] mrrs_i,       // 128 << n bytes
    input  logic        arvalid_i,
    output logic        arready_o,
    input  logic [ 6:0] arid_i,
    input  logic [63:0] araddr_i,     // 64-byte aligned
    input  logic [ 7:0] arlen_i,
    output logic        valid_o,
    input  logic        ready_i,
    output logic [ 6:0] id_o,
    output logic [57:0] line_o,
    output pcie_pkg::pos_t len_o,     // lines - 1
    output logic        last_o        // last piece of its burst
);
  logic act_q;
  logic [6:0] id_q;
  logic [57:0] line_q;
  logic [6:0] left_q;                 // lines
  logic [3:0] most, lines;

  assign most = mrrs_i == 3'd0 ? 4'd2 : mrrs_i == 3'd1 ? 4'd4 : 4'd8;
  assign last_o = left_q <= {3'd0, most};
  assign lines = last_o ? left_q[3:0] : most;
  assign valid_o = act_q;
  assign id_o = id_q;
  assign line_o = line_q;
  assign len_o = 3'(lines - 4'd1);
  assign arready_o = !act_q || (ready_i && last_o);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) act_q <= 1'b0;
    else if (arready_o) act_q <= arvalid_i;
    if (arready_o) begin
      id_q <= arid_i;
      line_q <= araddr_i[63:6];
      left_q <= arlen_i[6:0] + 7'd1;
    end else if (ready_i) begin
      line_q[5:0] <= line_q[5:0] + {2'd0, lines};  // a burst does not cross 4 KiB
      left_q <= left_q - {3'd0, lines};
    end
  end

  wire unused_ok = &{1'b0, araddr_i[5:0], arlen_i[7]};
  always_ff @(posedge clk_i) begin
    if (rst_ni && arvalid_i) begin
      one_page: assert (arlen_i < 8'd64 && {2'b0, araddr_i[11:6]} + arlen_i < 8'd64);
      lines_only: assert (araddr_i[5:0] == '0);
    end
  end
endmodule
