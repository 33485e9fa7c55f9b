// SPDX-License-Identifier: BSD-2-Clause

/// Host memory of the card (dingo_host) and the core's reset. A function-level reset keeps the core in reset until
/// nothing is outstanding on the bus (dingo_axi_guard), at least 16 cycles.
module dingo_memory (
    input  logic                clk_i,
    input  logic                rst_ni,           // power on
    input  logic                soft_reset_i,
    output logic                core_rst_no,      // reset of all but registers and bus
    // clients by number: LINE_*, READ_*, WRITE_* of rtl_pkg
    input  logic [rtl_pkg::LINES-1:0]   line_valid_i,
    output logic [rtl_pkg::LINES-1:0]   line_ready_o,
    input  logic [rtl_pkg::LINES*rtl_pkg::RDL_REQ_W-1:0] line_i,
    output logic [rtl_pkg::LINES-1:0]   line_rsp_valid_o,
    output rtl_pkg::rdl_rsp_t           line_rsp_o,
    input  logic [rtl_pkg::READS-1:0]   read_valid_i,
    output logic [rtl_pkg::READS-1:0]   read_ready_o,
    input  logic [rtl_pkg::READS*rtl_pkg::DMA_REQ_W-1:0] read_i,
    output logic [rtl_pkg::READS-1:0]   read_rsp_valid_o,
    input  logic [rtl_pkg::READS-1:0]   read_rsp_ready_i,
    output logic [rtl_pkg::READS*rtl_pkg::BEAT_W-1:0] read_rsp_o,
    input  logic [rtl_pkg::WRITES-1:0]  write_valid_i,
    output logic [rtl_pkg::WRITES-1:0]  write_ready_o,
    input  logic [rtl_pkg::WRITES*rtl_pkg::DMA_REQ_W-1:0] write_i,
    input  logic [rtl_pkg::WRITES-1:0]  wdata_valid_i,
    output logic [rtl_pkg::WRITES-1:0]  wdata_ready_o,
    input  logic [rtl_pkg::WRITES*rtl_pkg::BEAT_W-1:0] wdata_i,
    output logic [rtl_pkg::WRITES-1:0]  done_valid_o,
    output logic                done_err_o,
    output logic                stat_valid_o,
    input  logic                stat_ready_i,
    output rtl_pkg::stat_t      stat_o,
    // AXI4 master
    output logic            m_axi_arvalid_o,
    input  logic            m_axi_arready_i,
    output logic [6:0]      m_axi_arid_o,
    output logic [63:0]     m_axi_araddr_o,
    output logic [7:0]      m_axi_arlen_o,
    input  logic            m_axi_rvalid_i,
    output logic            m_axi_rready_o,
    input  logic [6:0]      m_axi_rid_i,
    input  logic [511:0]    m_axi_rdata_i,
    input  logic [1:0]      m_axi_rresp_i,
    input  logic            m_axi_rlast_i,
    output logic            m_axi_awvalid_o,
    input  logic            m_axi_awready_i,
    output logic [63:0]     m_axi_awaddr_o,
    output logic [7:0]      m_axi_awlen_o,
    output logic            m_axi_wvalid_o,
    input  logic            m_axi_wready_i,
    output logic [511:0]    m_axi_wdata_o,
    output logic [63:0]     m_axi_wstrb_o,
    output logic            m_axi_wlast_o,
    input  logic            m_axi_bvalid_i,
    output logic            m_axi_bready_o,
    input  logic [1:0]      m_axi_bresp_i
);
  logic core_rst_n_q, drained, host_idle;
  logic [3:0] reset_count_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || soft_reset_i) begin
      core_rst_n_q  <= 1'b0;
      reset_count_q <= 4'd15;
    end else if (reset_count_q != '0) reset_count_q <= reset_count_q - 1'b1;
    else if (drained) core_rst_n_q <= 1'b1;
  end
  assign core_rst_no = core_rst_n_q;

  logic c_arvalid, c_arready, c_rvalid, c_rready, c_awvalid, c_awready, c_wvalid, c_wready, c_wlast;
  logic c_bvalid, c_bready;
  logic [6:0] c_arid;
  logic [63:0] c_araddr, c_awaddr, c_wstrb;
  logic [7:0] c_arlen, c_awlen;
  logic [511:0] c_wdata;

  dingo_host i_host (
      .clk_i, .rst_ni(core_rst_n_q), .line_valid_i, .line_ready_o, .line_i,
      .line_rsp_valid_o, .line_rsp_o, .read_valid_i, .read_ready_o,
      .read_i, .read_rsp_valid_o, .read_rsp_ready_i, .read_rsp_o,
      .write_valid_i, .write_ready_o, .write_i, .wdata_valid_i,
      .wdata_ready_o, .wdata_i, .done_valid_o, .done_err_o,
      .stat_valid_o, .stat_ready_i, .stat_o, .idle_o(host_idle), .m_axi_arvalid_o(c_arvalid),
      .m_axi_arready_i(c_arready), .m_axi_arid_o(c_arid), .m_axi_araddr_o(c_araddr), .m_axi_arlen_o(c_arlen),
      .m_axi_rvalid_i(c_rvalid), .m_axi_rready_o(c_rready), .m_axi_rid_i, .m_axi_rdata_i, .m_axi_rresp_i,
      .m_axi_rlast_i, .m_axi_awvalid_o(c_awvalid), .m_axi_awready_i(c_awready), .m_axi_awaddr_o(c_awaddr),
      .m_axi_awlen_o(c_awlen), .m_axi_wvalid_o(c_wvalid), .m_axi_wready_i(c_wready), .m_axi_wdata_o(c_wdata),
      .m_axi_wstrb_o(c_wstrb), .m_axi_wlast_o(c_wlast), .m_axi_bvalid_i(c_bvalid), .m_axi_bready_o(c_bready),
      .m_axi_bresp_i
  );

  dingo_axi_guard i_guard (
      .clk_i, .rst_ni, .drain_i(!core_rst_n_q), .drained_o(drained), .arvalid_i(c_arvalid), .arready_o(c_arready),
      .arid_i(c_arid), .araddr_i(c_araddr), .arlen_i(c_arlen), .rvalid_o(c_rvalid), .rready_i(c_rready),
      .awvalid_i(c_awvalid), .awready_o(c_awready), .awaddr_i(c_awaddr), .awlen_i(c_awlen), .wvalid_i(c_wvalid),
      .wready_o(c_wready), .wdata_i(c_wdata), .wstrb_i(c_wstrb), .wlast_i(c_wlast), .bvalid_o(c_bvalid),
      .bready_i(c_bready), .m_arvalid_o(m_axi_arvalid_o), .m_arready_i(m_axi_arready_i), .m_arid_o(m_axi_arid_o),
      .m_araddr_o(m_axi_araddr_o), .m_arlen_o(m_axi_arlen_o), .m_rvalid_i(m_axi_rvalid_i),
      .m_rready_o(m_axi_rready_o), .m_rlast_i(m_axi_rlast_i), .m_awvalid_o(m_axi_awvalid_o),
      .m_awready_i(m_axi_awready_i), .m_awaddr_o(m_axi_awaddr_o), .m_awlen_o(m_axi_awlen_o),
      .m_wvalid_o(m_axi_wvalid_o), .m_wready_i(m_axi_wready_i), .m_wdata_o(m_axi_wdata_o), .m_wstrb_o(m_axi_wstrb_o),
      .m_wlast_o(m_axi_wlast_o), .m_bvalid_i(m_axi_bvalid_i), .m_bready_o(m_axi_bready_o)
  );

  wire unused_ok = &{1'b0, host_idle};
endmodule
