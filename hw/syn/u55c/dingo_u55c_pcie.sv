// SPDX-License-Identifier: BSD-2-Clause

/// PCIe of an Alveo U55C: AMD's block and dingo_pcie. The block's user clock (250 MHz) is the card's clock; its user
/// reset, which is also asserted when the link is lost, resets the card. Not run on a board: see README.md.
module dingo_u55c_pcie (
    input  logic         refclk_p, refclk_n, perst_n,
    input  logic [15:0]  rx_p, rx_n,
    output logic [15:0]  tx_p, tx_n,
    output logic         clk,
    output logic         rst_n,
    // the card
    input  logic         card_ready_i,
    input  logic         msix_valid_i,
    output logic         msix_ready_o,
    input  logic [5:0]   msix_vector_i,
    output logic         m_reg_awvalid_o,
    input  logic         m_reg_awready_i,
    output logic [15:0]  m_reg_awaddr_o,
    output logic         m_reg_wvalid_o,
    input  logic         m_reg_wready_i,
    output logic [63:0]  m_reg_wdata_o,
    output logic [7:0]   m_reg_wstrb_o,
    input  logic         m_reg_bvalid_i,
    output logic         m_reg_bready_o,
    output logic         m_reg_arvalid_o,
    input  logic         m_reg_arready_i,
    output logic [15:0]  m_reg_araddr_o,
    input  logic         m_reg_rvalid_i,
    output logic         m_reg_rready_o,
    input  logic [63:0]  m_reg_rdata_i,
    output logic         m_db_awvalid_o,
    input  logic         m_db_awready_i,
    output logic [21:0]  m_db_awaddr_o,
    output logic         m_db_wvalid_o,
    input  logic         m_db_wready_i,
    output logic [63:0]  m_db_wdata_o,
    output logic [7:0]   m_db_wstrb_o,
    input  logic         m_db_bvalid_i,
    output logic         m_db_bready_o,
    output logic         m_db_arvalid_o,
    input  logic         m_db_arready_i,
    output logic [21:0]  m_db_araddr_o,
    input  logic         m_db_rvalid_i,
    output logic         m_db_rready_o,
    input  logic [63:0]  m_db_rdata_i,
    input  logic         s_axi_arvalid_i,
    output logic         s_axi_arready_o,
    input  logic [6:0]   s_axi_arid_i,
    input  logic [63:0]  s_axi_araddr_i,
    input  logic [7:0]   s_axi_arlen_i,
    output logic         s_axi_rvalid_o,
    input  logic         s_axi_rready_i,
    output logic [6:0]   s_axi_rid_o,
    output logic [511:0] s_axi_rdata_o,
    output logic [1:0]   s_axi_rresp_o,
    output logic         s_axi_rlast_o,
    input  logic         s_axi_awvalid_i,
    output logic         s_axi_awready_o,
    input  logic [63:0]  s_axi_awaddr_i,
    input  logic         s_axi_wvalid_i,
    output logic         s_axi_wready_o,
    input  logic [511:0] s_axi_wdata_i,
    input  logic [63:0]  s_axi_wstrb_i,
    input  logic         s_axi_wlast_i,
    output logic         s_axi_bvalid_o,
    input  logic         s_axi_bready_i,
    output logic [1:0]   s_axi_bresp_o
);
  logic refclk, refclk_gt, user_reset;
  logic rq_tvalid, rq_tready, rq_tlast, rc_tvalid, rc_tready, rc_tlast, cq_tvalid, cq_tready, cq_tlast;
  logic cc_tvalid, cc_tready, cc_tlast;
  logic [511:0] rq_tdata, rc_tdata, cq_tdata, cc_tdata;
  logic [15:0] rq_tkeep, cc_tkeep;
  logic [136:0] rq_tuser;
  logic [160:0] rc_tuser;
  logic [182:0] cq_tuser;
  logic [80:0] cc_tuser;
  logic [1:0] np_req, max_payload;
  logic [2:0] max_read_req;
  logic [3:0] nph_av, msix_enable, msix_mask, flr;
  logic flr_done, mgmt_read, mgmt_done;
  logic [9:0] mgmt_addr;
  logic [31:0] mgmt_data;
  // For a logic analyser; nothing else reads them.
  (* MARK_DEBUG = "TRUE" *) logic [15:0] failed;
  (* MARK_DEBUG = "TRUE" *) logic [15:0] dropped;

  always_ff @(posedge clk) rst_n <= !user_reset;

  IBUFDS_GTE4 #(.REFCLK_HROW_CK_SEL(2'b00)) i_refclk (
      .I(refclk_p), .IB(refclk_n), .CEB(1'b0), .O(refclk_gt), .ODIV2(refclk)
  );

  dingo_pcie4c i_core (
      .sys_clk(refclk), .sys_clk_gt(refclk_gt), .sys_reset(perst_n), .pci_exp_rxp(rx_p), .pci_exp_rxn(rx_n),
      .pci_exp_txp(tx_p), .pci_exp_txn(tx_n), .user_clk(clk), .user_reset,
      .s_axis_rq_tvalid(rq_tvalid), .s_axis_rq_tlast(rq_tlast), .s_axis_rq_tready(rq_tready), .s_axis_rq_tdata(rq_tdata),
      .s_axis_rq_tkeep(rq_tkeep), .s_axis_rq_tuser(rq_tuser), .m_axis_rc_tvalid(rc_tvalid), .m_axis_rc_tlast(rc_tlast),
      .m_axis_rc_tready(rc_tready), .m_axis_rc_tdata(rc_tdata), .m_axis_rc_tuser(rc_tuser),
      .m_axis_cq_tvalid(cq_tvalid), .m_axis_cq_tlast(cq_tlast), .m_axis_cq_tready(cq_tready), .m_axis_cq_tdata(cq_tdata),
      .m_axis_cq_tuser(cq_tuser), .pcie_cq_np_req(np_req), .s_axis_cc_tvalid(cc_tvalid), .s_axis_cc_tlast(cc_tlast),
      .s_axis_cc_tready(cc_tready), .s_axis_cc_tdata(cc_tdata), .s_axis_cc_tkeep(cc_tkeep), .s_axis_cc_tuser(cc_tuser),
      .pcie_tfc_nph_av(nph_av), .cfg_max_payload(max_payload), .cfg_max_read_req(max_read_req),
      .cfg_interrupt_msix_enable(msix_enable), .cfg_interrupt_msix_mask(msix_mask), .cfg_interrupt_msix_data(32'd0),
      .cfg_interrupt_msix_address(64'd0), .cfg_interrupt_msix_int(1'b0), .cfg_flr_in_process(flr),
      .cfg_flr_done({3'd0, flr_done}), .cfg_mgmt_addr(mgmt_addr), .cfg_mgmt_function_number(8'd0),
      .cfg_mgmt_write(1'b0), .cfg_mgmt_read(mgmt_read), .cfg_mgmt_debug_access(1'b0), .cfg_mgmt_write_data(32'd0),
      .cfg_mgmt_byte_enable(4'hf), .cfg_mgmt_read_data(mgmt_data), .cfg_mgmt_read_write_done(mgmt_done),
      .cfg_config_space_enable(1'b1), .cfg_link_training_enable(1'b1), .cfg_power_state_change_ack(1'b1),
      .cfg_err_cor_in(1'b0), .cfg_err_uncor_in(1'b0)
  );

  dingo_pcie i_pcie (
      .clk_i(clk), .rst_ni(rst_n), .rq_tvalid_o(rq_tvalid), .rq_tready_i(rq_tready), .rq_tdata_o(rq_tdata),
      .rq_tkeep_o(rq_tkeep), .rq_tlast_o(rq_tlast), .rq_tuser_o(rq_tuser), .rc_tvalid_i(rc_tvalid),
      .rc_tready_o(rc_tready), .rc_tdata_i(rc_tdata), .rc_tlast_i(rc_tlast), .rc_tuser_i(rc_tuser),
      .cq_tvalid_i(cq_tvalid), .cq_tready_o(cq_tready), .cq_tdata_i(cq_tdata), .cq_tlast_i(cq_tlast),
      .cq_tuser_i(cq_tuser), .cq_np_req_o(np_req), .cc_tvalid_o(cc_tvalid), .cc_tready_i(cc_tready),
      .cc_tdata_o(cc_tdata), .cc_tkeep_o(cc_tkeep), .cc_tlast_o(cc_tlast), .cc_tuser_o(cc_tuser),
      .tfc_nph_av_i(nph_av), .cfg_max_payload_i(max_payload), .cfg_max_read_req_i(max_read_req),
      .cfg_msix_enable_i(msix_enable[0]), .cfg_msix_mask_i(msix_mask[0]), .cfg_flr_i(flr[0]), .cfg_flr_done_o(flr_done),
      .mgmt_addr_o(mgmt_addr), .mgmt_read_o(mgmt_read), .mgmt_data_i(mgmt_data), .mgmt_done_i(mgmt_done),
      .failed_o(failed), .dropped_o(dropped),
      .card_ready_i, .msix_valid_i, .msix_ready_o, .msix_vector_i, .m_reg_awvalid_o, .m_reg_awready_i,
      .m_reg_awaddr_o, .m_reg_wvalid_o, .m_reg_wready_i, .m_reg_wdata_o, .m_reg_wstrb_o, .m_reg_bvalid_i,
      .m_reg_bready_o, .m_reg_arvalid_o, .m_reg_arready_i, .m_reg_araddr_o, .m_reg_rvalid_i, .m_reg_rready_o,
      .m_reg_rdata_i, .m_db_awvalid_o, .m_db_awready_i, .m_db_awaddr_o, .m_db_wvalid_o, .m_db_wready_i,
      .m_db_wdata_o, .m_db_wstrb_o, .m_db_bvalid_i, .m_db_bready_o, .m_db_arvalid_o, .m_db_arready_i,
      .m_db_araddr_o, .m_db_rvalid_i, .m_db_rready_o, .m_db_rdata_i, .s_axi_arvalid_i, .s_axi_arready_o,
      .s_axi_arid_i, .s_axi_araddr_i, .s_axi_arlen_i, .s_axi_rvalid_o, .s_axi_rready_i, .s_axi_rid_o,
      .s_axi_rdata_o, .s_axi_rresp_o, .s_axi_rlast_o, .s_axi_awvalid_i, .s_axi_awready_o, .s_axi_awaddr_i,
      .s_axi_wvalid_i, .s_axi_wready_o, .s_axi_wdata_i, .s_axi_wstrb_i, .s_axi_wlast_i, .s_axi_bvalid_o,
      .s_axi_bready_i, .s_axi_bresp_o
  );
endmodule
