// SPDX-License-Identifier: BSD-2-Clause

/// Makes the host's steps of 8 bytes AXI4-Lite accesses: one write and one read at a time wait for the port. Answers
/// to writes are counted. 1 cycle; stalls with the port, writes also while 8 answers are owed.
module dingo_pcie_lite #(
    parameter int unsigned AddrW = 16
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic             write_i,
    output logic             write_ready_o,
    input  logic             read_i,
    output logic             read_ready_o,
    input  logic [AddrW-1:0] addr_i,
    input  logic [63:0]      wdata_i,
    input  logic [7:0]       wstrb_i,
    output logic             settled_o,     // every write is answered
    // AXI4-Lite
    output logic             awvalid_o,
    input  logic             awready_i,
    output logic [AddrW-1:0] awaddr_o,
    output logic             wvalid_o,
    input  logic             wready_i,
    output logic [63:0]      wdata_o,
    output logic [7:0]       wstrb_o,
    input  logic             bvalid_i,
    output logic             bready_o,
    output logic             arvalid_o,
    input  logic             arready_i,
    output logic [AddrW-1:0] araddr_o
);
  logic aw_q, w_q, ar_q;
  logic [3:0] owed_q;
  logic write;

  assign write_ready_o = (!aw_q || awready_i) && (!w_q || wready_i) && !owed_q[3];
  assign write = write_i && write_ready_o;
  assign read_ready_o = !ar_q || arready_i;
  assign settled_o = owed_q == '0;
  assign awvalid_o = aw_q;
  assign wvalid_o = w_q;
  assign arvalid_o = ar_q;
  assign bready_o = 1'b1;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      aw_q <= 1'b0;
      w_q <= 1'b0;
      ar_q <= 1'b0;
      owed_q <= '0;
    end else begin
      if (write) aw_q <= 1'b1;
      else if (awready_i) aw_q <= 1'b0;
      if (write) w_q <= 1'b1;
      else if (wready_i) w_q <= 1'b0;
      if (read_ready_o) ar_q <= read_i;
      owed_q <= owed_q + 4'(write) - 4'(bvalid_i);
    end
    if (write) begin
      awaddr_o <= addr_i;
      wdata_o <= wdata_i;
      wstrb_o <= wstrb_i;
    end
    if (read_ready_o) araddr_o <= addr_i;
  end

  always_ff @(posedge clk_i) if (rst_ni && bvalid_i) asked: assert (owed_q != '0);
endmodule
