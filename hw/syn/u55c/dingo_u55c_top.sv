// SPDX-License-Identifier: BSD-2-Clause

/// The card on an Alveo U55C: dingo_card with AMD's PCIe block (dingo_u55c_pcie) and, through dingo_mac, the 100G MAC in
/// the block design dingo_u55c_shell (shell.tcl). Not run on a board or in Vivado: see README.md.
///
/// Clocks: the card and PCIe run on the PCIe block's user clock (250 MHz, clk). The MAC runs on the clocks of its
/// transceivers (322.27 MHz); frames cross between them only in dingo_mac.
module dingo_u55c_top #(
    parameter logic [7:0] PfcClasses = 8'h08,  // priorities with flow control, a bit each: 3, a common choice of switches
    parameter logic [2:0] RoceClass = 3'd3     // priority of RoCE frames without VLAN; those with VLAN have the QP's SL as PCP
) (
    input  logic        pcie_refclk_p, pcie_refclk_n, pcie_perst_n,
    input  logic [15:0] pcie_rx_p, pcie_rx_n,
    output logic [15:0] pcie_tx_p, pcie_tx_n,
    input  logic        qsfp0_refclk_p, qsfp0_refclk_n, clk_100mhz_p, clk_100mhz_n,
    input  logic [3:0]  qsfp0_rx_p, qsfp0_rx_n,
    output logic [3:0]  qsfp0_tx_p, qsfp0_tx_n,
    output logic        hbm_cattrip
);
  logic clk, rst_n, core_rst_n, card_ready;

  logic reg_awvalid, reg_awready, reg_wvalid, reg_wready, reg_bvalid, reg_bready, reg_arvalid, reg_arready;
  logic reg_rvalid, reg_rready;
  logic [15:0] reg_awaddr, reg_araddr;
  logic [63:0] reg_wdata, reg_rdata;
  logic [7:0] reg_wstrb;
  logic db_awvalid, db_awready, db_wvalid, db_wready, db_bvalid, db_bready, db_arvalid, db_arready;
  logic db_rvalid, db_rready;
  logic [21:0] db_awaddr, db_araddr;
  logic [63:0] db_wdata, db_rdata;
  logic [7:0] db_wstrb;
  logic arvalid, arready, rvalid, rready, rlast, awvalid, awready, wvalid, wready, wlast, bvalid, bready;
  logic [6:0] arid, rid;
  logic [63:0] araddr, awaddr, wstrb;
  logic [7:0] arlen, awlen;
  logic [511:0] rdata, wdata;
  logic [1:0] rresp, bresp;
  logic tx_valid, tx_ready, tx_last, rx_valid, rx_ready, rx_last;
  logic [511:0] tx_data, rx_data;
  logic [63:0] tx_keep, rx_keep;
  logic tx_user, rx_user, mac_tx_user, tx_roce, roce_stop, mac_valid, mac_last, mac_clk, mac_tx_valid, mac_tx_ready, mac_tx_last;
  logic [0:0] mac_user, mac_rstn;
  logic [511:0] mac_data, mac_tx_data;
  logic [63:0] mac_keep, mac_tx_keep;
  logic [2:0] rx_dropped, rx_bad;
  logic irq_valid, irq_ready;
  logic [5:0] irq_vector;
  logic cmac_clk, cmac_reset, cmac_rx_aligned, cmac_rx_enable, cmac_tx_enable, cmac_tx_send_rfi, cmac_up;

  assign hbm_cattrip = 1'b0;  // the HBM is not used; the satellite controller must see no alarm

  // Nanoseconds since reset: 4 a cycle at 250 MHz.
  logic [63:0] now_ns_q;
  (* ASYNC_REG = "TRUE" *) logic [1:0] up_q;
  logic rst_q;
  assign rst_n = rst_q;
  always_ff @(posedge clk) begin
    rst_q <= core_rst_n;
    up_q  <= {up_q[0], cmac_up};
    if (!rst_q) now_ns_q <= '0;
    else now_ns_q <= now_ns_q + 64'd4;
  end

  rtl_pkg::strap_t strap;
  always_comb begin
    strap.withheld  = dingo_pkg::CAP_PUSH;  // dingo_pcie passes writes of BAR 2 to s_db only
    strap.db_memory = 1'b0;              // doorbells are posted writes
    strap.mac       = 48'h02_00_00_00_00_01;  // locally administered; a product reads its own from the board
    strap.max_qp    = (32'd1 << rtl_pkg::QP_LOG) - 32'd2;  // index 0 is unused, 1 is GSI
    strap.max_cq    = 32'd1 << rtl_pkg::CQ_LOG;
    strap.max_mr    = 32'd1 << rtl_pkg::MR_LOG;
    strap.max_srq   = 32'd1 << rtl_pkg::SRQ_LOG;
    strap.link_mbps = 32'd100000;
    strap.engine    = 32'(dingo_pkg::ENGINE_FPGA);
  end

  dingo_card i_card (
      .clk_i(clk), .rst_ni(rst_n), .strap_i(strap), .now_ns_i(now_ns_q), .wire_up_i(up_q[1]),
      .idle_o(), .busy_o(), .ready_o(card_ready), .timer_valid_o(), .timer_next_o(),
      .msix_valid_o(irq_valid), .msix_ready_i(irq_ready), .msix_vector_o(irq_vector),
      .s_reg_awvalid_i(reg_awvalid), .s_reg_awready_o(reg_awready), .s_reg_awaddr_i(reg_awaddr),
      .s_reg_wvalid_i(reg_wvalid), .s_reg_wready_o(reg_wready), .s_reg_wdata_i(reg_wdata), .s_reg_wstrb_i(reg_wstrb),
      .s_reg_bvalid_o(reg_bvalid), .s_reg_bready_i(reg_bready), .s_reg_arvalid_i(reg_arvalid),
      .s_reg_arready_o(reg_arready), .s_reg_araddr_i(reg_araddr), .s_reg_rvalid_o(reg_rvalid),
      .s_reg_rready_i(reg_rready), .s_reg_rdata_o(reg_rdata),
      .s_db_awvalid_i(db_awvalid), .s_db_awready_o(db_awready), .s_db_awaddr_i(db_awaddr),
      .s_db_wvalid_i(db_wvalid), .s_db_wready_o(db_wready), .s_db_wdata_i(db_wdata), .s_db_wstrb_i(db_wstrb),
      .s_db_bvalid_o(db_bvalid), .s_db_bready_i(db_bready), .s_db_arvalid_i(db_arvalid),
      .s_db_arready_o(db_arready), .s_db_rvalid_o(db_rvalid), .s_db_rready_i(db_rready), .s_db_rdata_o(db_rdata),
      .s_push_awvalid_i(1'b0), .s_push_awready_o(), .s_push_awaddr_i('0), .s_push_wvalid_i(1'b0), .s_push_wready_o(),
      .s_push_wdata_i('0), .s_push_wstrb_i('0), .s_push_bvalid_o(), .s_push_bready_i(1'b1),
      .m_axi_arvalid_o(arvalid), .m_axi_arready_i(arready), .m_axi_arid_o(arid), .m_axi_araddr_o(araddr),
      .m_axi_arlen_o(arlen), .m_axi_rvalid_i(rvalid), .m_axi_rready_o(rready), .m_axi_rid_i(rid),
      .m_axi_rdata_i(rdata), .m_axi_rresp_i(rresp), .m_axi_rlast_i(rlast), .m_axi_awvalid_o(awvalid),
      .m_axi_awready_i(awready), .m_axi_awaddr_o(awaddr), .m_axi_awlen_o(awlen), .m_axi_wvalid_o(wvalid),
      .m_axi_wready_i(wready), .m_axi_wdata_o(wdata), .m_axi_wstrb_o(wstrb), .m_axi_wlast_o(wlast),
      .m_axi_bvalid_i(bvalid), .m_axi_bready_o(bready), .m_axi_bresp_i(bresp),
      .m_axis_tvalid_o(tx_valid), .m_axis_tready_i(tx_ready), .m_axis_tdata_o(tx_data), .m_axis_tkeep_o(tx_keep),
      .m_axis_tlast_o(tx_last), .m_axis_tuser_o(tx_user), .m_axis_tdest_o(tx_roce), .roce_stop_i(roce_stop),
      .s_axis_tvalid_i(rx_valid), .s_axis_tready_o(rx_ready), .s_axis_tdata_i(rx_data), .s_axis_tkeep_i(rx_keep),
      .s_axis_tlast_i(rx_last), .s_axis_tuser_i(rx_user), .rx_dropped_i(rx_dropped), .rx_bad_i(rx_bad)
  );

  // Its counters are read by a logic analyser only.
  mac_pkg::cfg_t mac_cfg;
  (* MARK_DEBUG = "TRUE" *) mac_pkg::status_t mac_status;
  assign mac_cfg.enabled = PfcClasses;
  assign mac_cfg.untagged = RoceClass;
  assign mac_cfg.mac = strap.mac;
  dingo_mac i_mac (
      .clk_i(clk), .rst_ni(rst_n), .cfg_i(mac_cfg), .status_o(mac_status), .rx_no_room_o(rx_dropped), .rx_bad_o(rx_bad),
      .roce_stop_o(roce_stop), .s_tvalid_i(tx_valid), .s_tready_o(tx_ready), .s_tdata_i(tx_data), .s_tkeep_i(tx_keep),
      .s_tlast_i(tx_last), .s_tuser_i(tx_user), .s_tdest_i(tx_roce), .m_tvalid_o(rx_valid), .m_tready_i(rx_ready),
      .m_tdata_o(rx_data), .m_tkeep_o(rx_keep), .m_tlast_o(rx_last), .m_tuser_o(rx_user),
      .mac_tx_clk_i(cmac_clk), .mac_tx_up_i(!cmac_reset), .mac_tx_link_i(cmac_up), .mac_tvalid_o(mac_tx_valid), .mac_tready_i(mac_tx_ready),
      .mac_tdata_o(mac_tx_data), .mac_tkeep_o(mac_tx_keep), .mac_tlast_o(mac_tx_last),
      .mac_tuser_o(mac_tx_user), .mac_rx_link_i(cmac_rx_aligned),
      .mac_rx_clk_i(mac_clk), .mac_rx_up_i(mac_rstn[0]), .mac_rvalid_i(mac_valid), .mac_rdata_i(mac_data),
      .mac_rkeep_i(mac_keep), .mac_rlast_i(mac_last), .mac_ruser_i(mac_user[0])
  );

  dingo_cmac_start i_start (
      .clk_i(cmac_clk), .rst_ni(!cmac_reset), .aligned_i(cmac_rx_aligned), .rx_enable_o(cmac_rx_enable),
      .tx_enable_o(cmac_tx_enable), .tx_send_rfi_o(cmac_tx_send_rfi), .up_o(cmac_up)
  );

  dingo_u55c_pcie i_pcie (
      .refclk_p(pcie_refclk_p), .refclk_n(pcie_refclk_n), .perst_n(pcie_perst_n), .rx_p(pcie_rx_p), .rx_n(pcie_rx_n),
      .tx_p(pcie_tx_p), .tx_n(pcie_tx_n), .clk, .rst_n(core_rst_n), .card_ready_i(card_ready),
      .msix_valid_i(irq_valid), .msix_ready_o(irq_ready), .msix_vector_i(irq_vector),
      .m_reg_awvalid_o(reg_awvalid), .m_reg_awready_i(reg_awready), .m_reg_awaddr_o(reg_awaddr),
      .m_reg_wvalid_o(reg_wvalid), .m_reg_wready_i(reg_wready), .m_reg_wdata_o(reg_wdata), .m_reg_wstrb_o(reg_wstrb),
      .m_reg_bvalid_i(reg_bvalid), .m_reg_bready_o(reg_bready), .m_reg_arvalid_o(reg_arvalid),
      .m_reg_arready_i(reg_arready), .m_reg_araddr_o(reg_araddr), .m_reg_rvalid_i(reg_rvalid),
      .m_reg_rready_o(reg_rready), .m_reg_rdata_i(reg_rdata),
      .m_db_awvalid_o(db_awvalid), .m_db_awready_i(db_awready), .m_db_awaddr_o(db_awaddr),
      .m_db_wvalid_o(db_wvalid), .m_db_wready_i(db_wready), .m_db_wdata_o(db_wdata), .m_db_wstrb_o(db_wstrb),
      .m_db_bvalid_i(db_bvalid), .m_db_bready_o(db_bready), .m_db_arvalid_o(db_arvalid),
      .m_db_arready_i(db_arready), .m_db_araddr_o(db_araddr), .m_db_rvalid_i(db_rvalid),
      .m_db_rready_o(db_rready), .m_db_rdata_i(db_rdata),
      .s_axi_arvalid_i(arvalid), .s_axi_arready_o(arready), .s_axi_arid_i(arid), .s_axi_araddr_i(araddr),
      .s_axi_arlen_i(arlen), .s_axi_rvalid_o(rvalid), .s_axi_rready_i(rready), .s_axi_rid_o(rid),
      .s_axi_rdata_o(rdata), .s_axi_rresp_o(rresp), .s_axi_rlast_o(rlast), .s_axi_awvalid_i(awvalid),
      .s_axi_awready_o(awready), .s_axi_awaddr_i(awaddr), .s_axi_wvalid_i(wvalid), .s_axi_wready_o(wready),
      .s_axi_wdata_i(wdata), .s_axi_wstrb_i(wstrb), .s_axi_wlast_i(wlast), .s_axi_bvalid_o(bvalid),
      .s_axi_bready_i(bready), .s_axi_bresp_o(bresp)
  );

  dingo_u55c_shell i_shell (
      .qsfp_refclk_clk_p(qsfp0_refclk_p), .qsfp_refclk_clk_n(qsfp0_refclk_n),
      .init_clk_clk_p(clk_100mhz_p), .init_clk_clk_n(clk_100mhz_n),
      .qsfp_grx_p(qsfp0_rx_p), .qsfp_grx_n(qsfp0_rx_n), .qsfp_gtx_p(qsfp0_tx_p), .qsfp_gtx_n(qsfp0_tx_n),
      .core_rstn(core_rst_n),
      .s_tx_tvalid(mac_tx_valid), .s_tx_tlast(mac_tx_last), .s_tx_tready(mac_tx_ready), .s_tx_tdata(mac_tx_data),
      .s_tx_tkeep(mac_tx_keep), .s_tx_tuser(mac_tx_user), .mac_rx_clk(mac_clk), .mac_rx_rstn(mac_rstn), .m_rx_tvalid(mac_valid), .m_rx_tlast(mac_last),
      .m_rx_tuser(mac_user), .m_rx_tdata(mac_data), .m_rx_tkeep(mac_keep),
      .cmac_clk, .cmac_reset, .cmac_rx_aligned, .cmac_rx_enable, .cmac_tx_enable, .cmac_tx_send_rfi
  );
  // The card's bursts have 64-byte beats and do not cross a page; all writes have one ID.
  wire unused_ok = &{1'b0, awlen, db_araddr};
endmodule
