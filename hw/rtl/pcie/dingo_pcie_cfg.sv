// SPDX-License-Identifier: BSD-2-Clause

/// Whether the host allows 8-bit tags (Device Control, extended tag field enable). No port of the core shows it, so
/// the register is read again every 256 cycles through the management port.
module dingo_pcie_cfg #(
    parameter logic [11:0] DeviceControl = 12'h078   // the capability of PCIE4 and PCIE4C lies at 0x70
) (
    input  logic        clk_i,
    input  logic        rst_ni,
    output logic [9:0]  mgmt_addr_o,
    output logic        mgmt_read_o,
    input  logic [31:0] mgmt_data_i,
    input  logic        mgmt_done_i,
    output logic        all_tags_o  // 8-bit tags are allowed
);
  logic read_q, all_q;
  logic [7:0] pause_q;

  assign mgmt_addr_o = DeviceControl[11:2];
  assign mgmt_read_o = read_q;
  assign all_tags_o = all_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      read_q <= 1'b0;
      all_q <= 1'b0;
      pause_q <= '0;
    end else if (read_q) begin
      read_q <= !mgmt_done_i;
      pause_q <= '0;
      if (mgmt_done_i) all_q <= mgmt_data_i[8];
    end else begin
      pause_q <= pause_q + 1'b1;
      read_q <= &pause_q;
    end
  end
  wire unused_ok = &{1'b0, mgmt_data_i[31:9], mgmt_data_i[7:0]};
endmodule
