// SPDX-License-Identifier: BSD-2-Clause

/// Reads of registers, answered in the next cycle. Two reads of 32 bits give a consistent CLOCK: a read of the lower
/// half latches the upper one.
module dingo_regs_read (
    input  logic            clk_i,
    input  logic            rst_ni,
    input  logic            soft_reset_i,
    input  rtl_pkg::strap_t strap_i,
    input  logic [63:0]     now_ns_i,
    input  logic            ready_i,       // STATUS.READY
    input  logic            link_up_i,
    input  regs_pkg::aq_t   aq_i,
    output logic            push_on_o,     // capability PUSH
    input  logic            arvalid_i,
    output logic            arready_o,
    input  logic [15:0]     araddr_i,
    output logic            rvalid_o,
    input  logic            rready_i,
    output logic [63:0]     rdata_o
);
  localparam logic [31:0] Magic = 32'h4f474e44;
  localparam logic [31:0] Build = 32'h0000_0100;  // major << 16 | minor << 8 | patch
  localparam logic [15:0] RegistersEnd = 16'h0070;
  localparam logic [31:0] Caps = dingo_pkg::CAP_RC | dingo_pkg::CAP_UC | dingo_pkg::CAP_ATOMIC | dingo_pkg::CAP_UD | dingo_pkg::CAP_TIMESTAMP | dingo_pkg::CAP_ETH
      | dingo_pkg::CAP_COMPUTE | dingo_pkg::CAP_RESIZE_CQ | dingo_pkg::CAP_REREG_MR | dingo_pkg::CAP_SRQ | dingo_pkg::CAP_SEND_INV | dingo_pkg::CAP_MW
      | dingo_pkg::CAP_FRWR | dingo_pkg::CAP_CQ_MODERATION | dingo_pkg::CAP_PAUSE_MR | dingo_pkg::CAP_ETH_RSS | dingo_pkg::CAP_ETH_OFFLOAD
      | dingo_pkg::CAP_COMPUTE_RX;

  logic r_valid_q, take_read, push_on;
  logic [31:0] caps, withheld;
  logic [31:0] clock_high_q;                    // CLOCK 63:32, latched when 31:0 are read
  logic [63:0] r_data_q, value;
  logic [15:0] r_offset;
  assign withheld = strap_i.withheld
                    | ((strap_i.withheld & dingo_pkg::CAP_COMPUTE) != '0 ? dingo_pkg::CAP_COMPUTE_RX : 32'd0);  // no slot, no receive side
  assign caps = (Caps | (strap_i.db_memory ? dingo_pkg::CAP_DB_MEMORY : dingo_pkg::CAP_PUSH)) & ~withheld;
  assign push_on = (caps & dingo_pkg::CAP_PUSH) != '0;
  assign push_on_o = push_on;
  assign arready_o = !r_valid_q;
  assign take_read = arvalid_i && arready_o;
  assign r_offset = {araddr_i[15:3], 3'b000};
  assign rvalid_o = r_valid_q;
  assign rdata_o = r_data_q;

  always_comb begin
    value = '0;
    if (r_offset < RegistersEnd) begin
      case (r_offset)
        dingo_pkg::REG_MAGIC[15:0]:
        value = {dingo_pkg::CONTRACT_MAJOR[15:0], dingo_pkg::CONTRACT_MINOR[15:0], Magic};
        dingo_pkg::REG_CAPS[15:0]: value = {32'd0, caps};
        dingo_pkg::REG_STATUS[15:0]: value = {61'd0, link_up_i, aq_i.fatal != dingo_pkg::FATAL_NONE, ready_i && !soft_reset_i};
        dingo_pkg::REG_DB_PAGES[15:0]: value = {dingo_pkg::MSIX_MAX, 32'd1 << rtl_pkg::DB_PAGE_LOG};
        dingo_pkg::REG_ASQ_BASE[15:0]: value = aq_i.asq_base;
        dingo_pkg::REG_ACQ_BASE[15:0]: value = aq_i.acq_base;
        dingo_pkg::REG_AQ_CTRL[15:0]: value = {32'd0, aq_i.enable, 27'd0, aq_i.log_depth};
        dingo_pkg::REG_FATAL[15:0]: value = {aq_i.resets, aq_i.fatal};
        dingo_pkg::REG_CLOCK[15:0]: value = {araddr_i[2] ? clock_high_q : now_ns_i[63:32], now_ns_i[31:0]};
        dingo_pkg::REG_MAC[15:0]: value = {16'd0, strap_i.mac};
        dingo_pkg::REG_LINK_MBPS[15:0]: value = {strap_i.engine, strap_i.link_mbps};
        dingo_pkg::REG_BUILD[15:0]: value = {32'd0, Build};
        dingo_pkg::REG_PUSH_PAGES[15:0]: value = {32'd0, push_on ? 32'd1 << rtl_pkg::PUSH_PAGE_LOG : 32'd0};
        default: value = '0;
      endcase
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      r_valid_q <= 1'b0;
    end else if (r_valid_q) begin
      if (rready_i) r_valid_q <= 1'b0;
    end else begin
      r_valid_q <= arvalid_i;
    end
    if (take_read) r_data_q <= value;
    if (!rst_ni || soft_reset_i) clock_high_q <= '0;
    else if (take_read && r_offset == dingo_pkg::REG_CLOCK[15:0] && !araddr_i[2]) clock_high_q <= now_ns_i[63:32];
  end

  wire unused_ok = &{1'b0, strap_i, araddr_i[1:0]};
endmodule
