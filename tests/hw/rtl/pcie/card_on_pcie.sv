// SPDX-License-Identifier: BSD-2-Clause

/// dingo_card behind dingo_pcie and pcie_host, with the ports of dingo_card: the simulation uses it in place of the
/// card when configured with DINGO_RTL_PCIE.
module card_on_pcie #(
    parameter int unsigned DropWhenFull = 0       // a MAC that does not wait for tready: see dingo_rx_mac
) (
    input  logic            clk_i,
    input  logic            rst_ni,
    input  rtl_pkg::strap_t strap_i,
    input  logic [63:0]     now_ns_i,
    input  logic            wire_up_i,          // the link is up
    output logic            idle_o,           // nothing to do until an input or a timer
    output logic [25:0]     busy_o,           // which parts are not idle, to find a hang; see the end
    output logic            ready_o,          // STATUS.READY: reset is over
    output logic            timer_valid_o,    // some timer runs
    output logic [63:0]     timer_next_o,     // and none fires before this time
    output logic            msix_valid_o,
    input  logic            msix_ready_i,
    output logic [5:0]      msix_vector_o,
    // AXI4-Lite, BAR_REGS
    input  logic            s_reg_awvalid_i,
    output logic            s_reg_awready_o,
    input  logic [15:0]     s_reg_awaddr_i,
    input  logic            s_reg_wvalid_i,
    output logic            s_reg_wready_o,
    input  logic [63:0]     s_reg_wdata_i,
    input  logic [7:0]      s_reg_wstrb_i,
    output logic            s_reg_bvalid_o,
    input  logic            s_reg_bready_i,
    input  logic            s_reg_arvalid_i,
    output logic            s_reg_arready_o,
    input  logic [15:0]     s_reg_araddr_i,
    output logic            s_reg_rvalid_o,
    input  logic            s_reg_rready_i,
    output logic [63:0]     s_reg_rdata_o,
    // AXI4-Lite, BAR_DB
    input  logic            s_db_awvalid_i,
    output logic            s_db_awready_o,
    input  logic [rtl_pkg::DB_PAGE_LOG+11:0] s_db_awaddr_i,
    input  logic            s_db_wvalid_i,
    output logic            s_db_wready_o,
    input  logic [63:0]     s_db_wdata_i,
    input  logic [7:0]      s_db_wstrb_i,
    output logic            s_db_bvalid_o,
    input  logic            s_db_bready_i,
    input  logic            s_db_arvalid_i,
    output logic            s_db_arready_o,
    output logic            s_db_rvalid_o,
    input  logic            s_db_rready_i,
    output logic [63:0]     s_db_rdata_o,
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
    input  logic [1:0]      m_axi_bresp_i,
    // AXI-Stream to and from the MAC
    output logic            m_axis_tvalid_o,
    input  logic            m_axis_tready_i,
    output logic [511:0]    m_axis_tdata_o,
    output logic [63:0]     m_axis_tkeep_o,
    output logic            m_axis_tlast_o,
    output logic            m_axis_tuser_o,   // with tlast: the frame is void, its FCS must be wrong
    output logic            m_axis_tdest_o,   // a RoCE frame
    input  logic            roce_stop_i,
    input  logic            s_axis_tvalid_i,
    output logic            s_axis_tready_o,
    input  logic [511:0]    s_axis_tdata_i,
    input  logic [63:0]     s_axis_tkeep_i,
    input  logic            s_axis_tlast_i,
    input  logic            s_axis_tuser_i,
    input  logic [2:0]      rx_dropped_i,     // so many more frames found no room before this module
    input  logic [2:0]      rx_bad_i          // so many more were bad and dropped there
);
  // Between card and adapter.
  logic idle, quiet;
  logic msix_valid, msix_ready;
  logic [5:0] msix_vector;
  logic s_reg_awvalid, s_reg_awready, s_reg_wvalid, s_reg_wready, s_reg_bvalid, s_reg_bready, s_reg_arvalid,
      s_reg_arready, s_reg_rvalid, s_reg_rready, s_db_awvalid, s_db_awready, s_db_wvalid, s_db_wready,
      s_db_bvalid, s_db_bready, s_db_arvalid, s_db_arready, s_db_rvalid, s_db_rready, m_axi_arvalid,
      m_axi_arready, m_axi_rvalid, m_axi_rready, m_axi_rlast, m_axi_awvalid, m_axi_awready, m_axi_wvalid,
      m_axi_wready, m_axi_wlast, m_axi_bvalid, m_axi_bready;
  logic [15:0] s_reg_awaddr, s_reg_araddr;
  logic [63:0] s_reg_wdata, s_reg_rdata, s_db_wdata, s_db_rdata, m_axi_araddr, m_axi_awaddr, m_axi_wstrb;
  logic [7:0] s_reg_wstrb, s_db_wstrb, m_axi_arlen, m_axi_awlen;
  logic [rtl_pkg::DB_PAGE_LOG+11:0] s_db_awaddr;
  logic [6:0] m_axi_arid, m_axi_rid;
  logic [511:0] m_axi_rdata, m_axi_wdata;
  logic [1:0] m_axi_rresp, m_axi_bresp;

  dingo_card #(.DropWhenFull(DropWhenFull)) i_card (
      .clk_i, .rst_ni, .strap_i, .now_ns_i, .wire_up_i, .idle_o(idle), .busy_o, .ready_o, .timer_valid_o,
      .timer_next_o, .msix_valid_o(msix_valid), .msix_ready_i(msix_ready), .msix_vector_o(msix_vector),
      .s_reg_awvalid_i(s_reg_awvalid), .s_reg_awready_o(s_reg_awready), .s_reg_awaddr_i(s_reg_awaddr),
      .s_reg_wvalid_i(s_reg_wvalid), .s_reg_wready_o(s_reg_wready), .s_reg_wdata_i(s_reg_wdata),
      .s_reg_wstrb_i(s_reg_wstrb), .s_reg_bvalid_o(s_reg_bvalid), .s_reg_bready_i(s_reg_bready),
      .s_reg_arvalid_i(s_reg_arvalid), .s_reg_arready_o(s_reg_arready), .s_reg_araddr_i(s_reg_araddr),
      .s_reg_rvalid_o(s_reg_rvalid), .s_reg_rready_i(s_reg_rready), .s_reg_rdata_o(s_reg_rdata),
      .s_db_awvalid_i(s_db_awvalid), .s_db_awready_o(s_db_awready), .s_db_awaddr_i(s_db_awaddr),
      .s_db_wvalid_i(s_db_wvalid), .s_db_wready_o(s_db_wready), .s_db_wdata_i(s_db_wdata),
      .s_db_wstrb_i(s_db_wstrb), .s_db_bvalid_o(s_db_bvalid), .s_db_bready_i(s_db_bready),
      .s_db_arvalid_i(s_db_arvalid), .s_db_arready_o(s_db_arready), .s_db_rvalid_o(s_db_rvalid),
      .s_db_rready_i(s_db_rready), .s_db_rdata_o(s_db_rdata), .m_axi_arvalid_o(m_axi_arvalid),
      .m_axi_arready_i(m_axi_arready), .m_axi_arid_o(m_axi_arid), .m_axi_araddr_o(m_axi_araddr),
      .m_axi_arlen_o(m_axi_arlen), .m_axi_rvalid_i(m_axi_rvalid), .m_axi_rready_o(m_axi_rready),
      .m_axi_rid_i(m_axi_rid), .m_axi_rdata_i(m_axi_rdata), .m_axi_rresp_i(m_axi_rresp),
      .m_axi_rlast_i(m_axi_rlast), .m_axi_awvalid_o(m_axi_awvalid), .m_axi_awready_i(m_axi_awready),
      .m_axi_awaddr_o(m_axi_awaddr), .m_axi_awlen_o(m_axi_awlen), .m_axi_wvalid_o(m_axi_wvalid),
      .m_axi_wready_i(m_axi_wready), .m_axi_wdata_o(m_axi_wdata), .m_axi_wstrb_o(m_axi_wstrb),
      .m_axi_wlast_o(m_axi_wlast), .m_axi_bvalid_i(m_axi_bvalid), .m_axi_bready_o(m_axi_bready),
      .m_axi_bresp_i(m_axi_bresp), .m_axis_tvalid_o, .m_axis_tready_i, .m_axis_tdata_o, .m_axis_tkeep_o,
      .m_axis_tlast_o, .m_axis_tuser_o, .m_axis_tdest_o, .roce_stop_i, .s_axis_tvalid_i, .s_axis_tready_o, .s_axis_tdata_i, .s_axis_tkeep_i,
      .s_axis_tlast_i, .s_axis_tuser_i, .rx_dropped_i, .rx_bad_i
  );
  assign idle_o = idle && quiet;

  logic rq_tvalid, rq_tready, rq_tlast, rc_tvalid, rc_tlast, cq_tvalid, cq_tready, cc_tvalid;
  logic [511:0] rq_tdata, rc_tdata, cq_tdata, cc_tdata;
  logic [136:0] rq_tuser;
  logic [182:0] cq_tuser;
  logic [1:0] np_req;
  logic mgmt_read;

  dingo_pcie i_pcie (
      .clk_i, .rst_ni, .rq_tvalid_o(rq_tvalid), .rq_tready_i(rq_tready), .rq_tdata_o(rq_tdata), .rq_tkeep_o(),
      .rq_tlast_o(rq_tlast), .rq_tuser_o(rq_tuser), .rc_tvalid_i(rc_tvalid), .rc_tready_o(), .rc_tdata_i(rc_tdata),
      .rc_tlast_i(rc_tlast), .rc_tuser_i(161'd0), .cq_tvalid_i(cq_tvalid), .cq_tready_o(cq_tready),
      .cq_tdata_i(cq_tdata), .cq_tlast_i(1'b1), .cq_tuser_i(cq_tuser), .cq_np_req_o(np_req), .cc_tvalid_o(cc_tvalid),
      .cc_tready_i(1'b1), .cc_tdata_o(cc_tdata), .cc_tkeep_o(), .cc_tlast_o(), .cc_tuser_o(), .tfc_nph_av_i(4'd15),
      .cfg_max_payload_i(2'd1), .cfg_max_read_req_i(3'd2), .cfg_msix_enable_i(1'b1), .cfg_msix_mask_i(1'b0),
      .cfg_flr_i(1'b0), .cfg_flr_done_o(), .mgmt_addr_o(), .mgmt_read_o(mgmt_read), .mgmt_data_i(32'd0),
      .mgmt_done_i(mgmt_read), .failed_o(), .dropped_o(), .card_ready_i(ready_o),
      .msix_valid_i(msix_valid), .msix_ready_o(msix_ready), .msix_vector_i(msix_vector),
      .m_reg_awvalid_o(s_reg_awvalid), .m_reg_awready_i(s_reg_awready), .m_reg_awaddr_o(s_reg_awaddr),
      .m_reg_wvalid_o(s_reg_wvalid), .m_reg_wready_i(s_reg_wready), .m_reg_wdata_o(s_reg_wdata),
      .m_reg_wstrb_o(s_reg_wstrb), .m_reg_bvalid_i(s_reg_bvalid), .m_reg_bready_o(s_reg_bready),
      .m_reg_arvalid_o(s_reg_arvalid), .m_reg_arready_i(s_reg_arready), .m_reg_araddr_o(s_reg_araddr),
      .m_reg_rvalid_i(s_reg_rvalid), .m_reg_rready_o(s_reg_rready), .m_reg_rdata_i(s_reg_rdata),
      .m_db_awvalid_o(s_db_awvalid), .m_db_awready_i(s_db_awready), .m_db_awaddr_o(s_db_awaddr),
      .m_db_wvalid_o(s_db_wvalid), .m_db_wready_i(s_db_wready), .m_db_wdata_o(s_db_wdata),
      .m_db_wstrb_o(s_db_wstrb), .m_db_bvalid_i(s_db_bvalid), .m_db_bready_o(s_db_bready),
      .m_db_arvalid_o(s_db_arvalid), .m_db_arready_i(s_db_arready), .m_db_araddr_o(),
      .m_db_rvalid_i(s_db_rvalid), .m_db_rready_o(s_db_rready), .m_db_rdata_i(s_db_rdata),
      .s_axi_arvalid_i(m_axi_arvalid), .s_axi_arready_o(m_axi_arready), .s_axi_arid_i(m_axi_arid),
      .s_axi_araddr_i(m_axi_araddr), .s_axi_arlen_i(m_axi_arlen), .s_axi_rvalid_o(m_axi_rvalid),
      .s_axi_rready_i(m_axi_rready), .s_axi_rid_o(m_axi_rid), .s_axi_rdata_o(m_axi_rdata),
      .s_axi_rresp_o(m_axi_rresp), .s_axi_rlast_o(m_axi_rlast), .s_axi_awvalid_i(m_axi_awvalid),
      .s_axi_awready_o(m_axi_awready), .s_axi_awaddr_i(m_axi_awaddr), .s_axi_wvalid_i(m_axi_wvalid),
      .s_axi_wready_o(m_axi_wready), .s_axi_wdata_i(m_axi_wdata), .s_axi_wstrb_i(m_axi_wstrb),
      .s_axi_wlast_i(m_axi_wlast), .s_axi_bvalid_o(m_axi_bvalid), .s_axi_bready_i(m_axi_bready),
      .s_axi_bresp_o(m_axi_bresp)
  );

  pcie_host i_host (
      .clk_i, .rst_ni, .quiet_o(quiet), .rq_tvalid_i(rq_tvalid), .rq_tready_o(rq_tready), .rq_tdata_i(rq_tdata),
      .rq_tlast_i(rq_tlast), .rq_tuser_i(rq_tuser), .rc_tvalid_o(rc_tvalid), .rc_tdata_o(rc_tdata),
      .rc_tlast_o(rc_tlast), .cq_tvalid_o(cq_tvalid), .cq_tready_i(cq_tready), .cq_tdata_o(cq_tdata),
      .cq_tuser_o(cq_tuser), .cq_np_req_i(np_req), .cc_tvalid_i(cc_tvalid), .cc_tdata_i(cc_tdata),
      .arvalid_o(m_axi_arvalid_o), .arready_i(m_axi_arready_i), .arid_o(m_axi_arid_o), .araddr_o(m_axi_araddr_o),
      .arlen_o(m_axi_arlen_o), .rvalid_i(m_axi_rvalid_i), .rready_o(m_axi_rready_o), .rid_i(m_axi_rid_i),
      .rdata_i(m_axi_rdata_i), .rresp_i(m_axi_rresp_i), .awvalid_o(m_axi_awvalid_o), .awready_i(m_axi_awready_i),
      .awaddr_o(m_axi_awaddr_o), .awlen_o(m_axi_awlen_o), .wvalid_o(m_axi_wvalid_o), .wready_i(m_axi_wready_i),
      .wdata_o(m_axi_wdata_o), .wstrb_o(m_axi_wstrb_o), .wlast_o(m_axi_wlast_o), .msix_valid_o, .msix_ready_i,
      .msix_vector_o, .awvalid_i({s_db_awvalid_i, s_reg_awvalid_i}), .awready_o({s_db_awready_o, s_reg_awready_o}),
      .awaddr_i({22'(s_db_awaddr_i), 6'd0, s_reg_awaddr_i}), .wvalid_i({s_db_wvalid_i, s_reg_wvalid_i}),
      .wready_o({s_db_wready_o, s_reg_wready_o}), .wdata_i({s_db_wdata_i, s_reg_wdata_i}),
      .wstrb_i({s_db_wstrb_i, s_reg_wstrb_i}), .bvalid_o({s_db_bvalid_o, s_reg_bvalid_o}),
      .bready_i({s_db_bready_i, s_reg_bready_i}), .arvalid_i(s_reg_arvalid_i), .arready_o(s_reg_arready_o),
      .araddr_i(s_reg_araddr_i), .rvalid_o(s_reg_rvalid_o), .rready_i(s_reg_rready_i), .rdata_o(s_reg_rdata_o)
  );
  assign m_axi_bready_o = 1'b1;
  // The engine reads no doorbell.
  assign s_db_arready_o = 1'b0;
  assign s_db_rvalid_o = 1'b0;
  assign s_db_rdata_o = '0;
endmodule
