// SPDX-License-Identifier: BSD-2-Clause

/// Joins the card to AMD's UltraScale+ PCIe block (PG213): its four 512-bit streams on one side; the card's AXI4
/// master, two AXI4-Lite slaves and interrupts on the other. One clock, the core's user clock. Options of the core:
/// DW-aligned, no straddle, client tags, external MSI-X table. docs/reference/rtl/pcie.md has rules, latencies and
/// fields.
module dingo_pcie (
    input  logic         clk_i,
    input  logic         rst_ni,          // the core's user reset, which a lost link asserts
    // the core's requester streams
    output logic         rq_tvalid_o,
    input  logic         rq_tready_i,
    output logic [511:0] rq_tdata_o,
    output logic [15:0]  rq_tkeep_o,
    output logic         rq_tlast_o,
    output logic [pcie_pkg::RQ_USER_W-1:0] rq_tuser_o,
    input  logic         rc_tvalid_i,
    output logic         rc_tready_o,
    input  logic [511:0] rc_tdata_i,
    input  logic         rc_tlast_i,
    input  logic [pcie_pkg::RC_USER_W-1:0] rc_tuser_i,
    // the core's completer streams
    input  logic         cq_tvalid_i,
    output logic         cq_tready_o,
    input  logic [511:0] cq_tdata_i,
    input  logic         cq_tlast_i,
    input  logic [pcie_pkg::CQ_USER_W-1:0] cq_tuser_i,
    output logic [1:0]   cq_np_req_o,
    output logic         cc_tvalid_o,
    input  logic         cc_tready_i,
    output logic [511:0] cc_tdata_o,
    output logic [15:0]  cc_tkeep_o,
    output logic         cc_tlast_o,
    output logic [pcie_pkg::CC_USER_W-1:0] cc_tuser_o,
    // state of the core
    input  logic [3:0]   tfc_nph_av_i,  // non-posted headers that the host has room for
    input  logic [1:0]   cfg_max_payload_i,  // 128 << n bytes
    input  logic [2:0]   cfg_max_read_req_i,  // 128 << n bytes
    input  logic         cfg_msix_enable_i,
    input  logic         cfg_msix_mask_i,
    input  logic         cfg_flr_i,
    output logic         cfg_flr_done_o,
    output logic [9:0]   mgmt_addr_o,
    output logic         mgmt_read_o,
    input  logic [31:0]  mgmt_data_i,
    input  logic         mgmt_done_i,
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
    output logic [1:0]   s_axi_bresp_o,
    // what went wrong, for a logic analyser (ILA); both stay at 65535
    output logic [15:0]  failed_o,        // completions of reads that failed
    output logic [15:0]  dropped_o        // posted requests that were not served
);
  logic all_tags, reads_idle, writes_idle, mwr_idle, rq_idle, fail, dropped, clear;

  dingo_pcie_cfg i_cfg (
      .clk_i, .rst_ni, .mgmt_addr_o, .mgmt_read_o, .mgmt_data_i, .mgmt_done_i, .all_tags_o(all_tags)
  );

  // ------------------------------------------------------------------------------------ requester
  logic mrd_valid, mrd_ready, piece_valid, piece_ready, line_valid, line_ready, mwr_valid, mwr_ready, mwr_answer;
  logic skip_answer, msg_valid, msg_ready;
  pcie_pkg::mrd_t mrd;
  pcie_pkg::mwr_t piece;
  pcie_pkg::rqbeat_t mwr;
  logic [511:0] line;
  logic [61:0] msg_dword;
  logic [31:0] msg_data;

  assign rc_tready_o = 1'b1;
  assign s_axi_bresp_o = 2'b00;           // OKAY: PCIe has no answer to a posted write

  dingo_pcie_reads i_reads (
      .clk_i, .rst_ni, .mrrs_i(cfg_max_read_req_i), .all_tags_i(all_tags), .idle_o(reads_idle),
      .arvalid_i(s_axi_arvalid_i), .arready_o(s_axi_arready_o), .arid_i(s_axi_arid_i), .araddr_i(s_axi_araddr_i),
      .arlen_i(s_axi_arlen_i), .rvalid_o(s_axi_rvalid_o), .rready_i(s_axi_rready_i), .rid_o(s_axi_rid_o),
      .rdata_o(s_axi_rdata_o), .rresp_o(s_axi_rresp_o), .rlast_o(s_axi_rlast_o), .mrd_valid_o(mrd_valid),
      .mrd_ready_i(mrd_ready), .mrd_o(mrd), .rc_tvalid_i, .rc_tdata_i, .rc_tlast_i, .rc_discontinue_i(rc_tuser_i[96]),
      .fail_o(fail)
  );
  dingo_pcie_writes i_writes (
      .clk_i, .rst_ni, .mps_i(cfg_max_payload_i), .idle_o(writes_idle), .awvalid_i(s_axi_awvalid_i),
      .awready_o(s_axi_awready_o), .awaddr_i(s_axi_awaddr_i), .wvalid_i(s_axi_wvalid_i), .wready_o(s_axi_wready_o),
      .wdata_i(s_axi_wdata_i), .wstrb_i(s_axi_wstrb_i), .wlast_i(s_axi_wlast_i), .mwr_valid_o(piece_valid),
      .mwr_ready_i(piece_ready), .mwr_o(piece), .line_valid_o(line_valid), .line_ready_i(line_ready), .line_o(line)
  );
  dingo_pcie_mwr i_mwr (
      .clk_i, .rst_ni, .idle_o(mwr_idle), .mwr_valid_i(piece_valid), .mwr_ready_o(piece_ready), .mwr_i(piece),
      .line_valid_i(line_valid), .line_ready_o(line_ready), .line_i(line), .valid_o(mwr_valid), .ready_i(mwr_ready),
      .beat_o(mwr), .answer_o(mwr_answer), .skip_answer_o(skip_answer)
  );
  dingo_pcie_rq i_rq (
      .clk_i, .rst_ni, .nph_av_i(tfc_nph_av_i), .idle_o(rq_idle), .mrd_valid_i(mrd_valid), .mrd_ready_o(mrd_ready),
      .mrd_i(mrd), .mwr_valid_i(mwr_valid), .mwr_ready_o(mwr_ready), .mwr_i(mwr), .mwr_answer_i(mwr_answer),
      .skip_answer_i(skip_answer), .msg_valid_i(msg_valid), .msg_ready_o(msg_ready), .msg_dword_i(msg_dword),
      .msg_data_i(msg_data), .bvalid_o(s_axi_bvalid_o), .bready_i(s_axi_bready_i), .tvalid_o(rq_tvalid_o),
      .tready_i(rq_tready_i), .tdata_o(rq_tdata_o), .tkeep_o(rq_tkeep_o), .tlast_o(rq_tlast_o), .tuser_o(rq_tuser_o)
  );

  // ------------------------------------------------------------------------------------ completer
  logic [2:0] write, write_ready, read, read_ready;
  logic [21:0] addr;
  logic [63:0] wdata, msix_rdata, rdata;
  logic [7:0] wstrb;
  logic reg_settled, db_settled, msix_rvalid, reset_valid, reset_ready, np_req, cc_valid, cc_room;
  logic [351:0] cc_data, cc_out;
  logic [3:0] cc_end, cc_out_end;
  logic [2:0] cc_count;

  dingo_pcie_cq i_cq (
      .clk_i, .rst_ni, .tvalid_i(cq_tvalid_i), .tready_o(cq_tready_o), .tdata_i(cq_tdata_i), .tlast_i(cq_tlast_i),
      .tuser_i(cq_tuser_i), .np_req_o(np_req), .reset_valid_i(reset_valid), .reset_ready_o(reset_ready),
      .write_o(write), .write_ready_i(write_ready), .read_o(read), .read_ready_i(read_ready), .addr_o(addr),
      .wdata_o(wdata), .wstrb_o(wstrb), .settled_i(reg_settled && db_settled),
      .rvalid_i(m_reg_rvalid_i || m_db_rvalid_i || msix_rvalid), .rdata_i(rdata), .cc_valid_o(cc_valid),
      .cc_data_o(cc_data), .cc_end_o(cc_end), .cc_sent_i(cc_tvalid_o && cc_tready_i), .dropped_o(dropped)
  );
  assign cq_np_req_o = {1'b0, np_req};
  assign rdata = m_reg_rvalid_i ? m_reg_rdata_i : m_db_rvalid_i ? m_db_rdata_i : msix_rdata;
  assign m_reg_rready_o = 1'b1;
  assign m_db_rready_o = 1'b1;

  dingo_pcie_lite #(.AddrW(16)) i_reg (
      .clk_i, .rst_ni, .write_i(write[0]), .write_ready_o(write_ready[0]), .read_i(read[0]),
      .read_ready_o(read_ready[0]), .addr_i(addr[15:0]), .wdata_i(wdata), .wstrb_i(wstrb), .settled_o(reg_settled),
      .awvalid_o(m_reg_awvalid_o), .awready_i(m_reg_awready_i), .awaddr_o(m_reg_awaddr_o), .wvalid_o(m_reg_wvalid_o),
      .wready_i(m_reg_wready_i), .wdata_o(m_reg_wdata_o), .wstrb_o(m_reg_wstrb_o), .bvalid_i(m_reg_bvalid_i),
      .bready_o(m_reg_bready_o), .arvalid_o(m_reg_arvalid_o), .arready_i(m_reg_arready_i), .araddr_o(m_reg_araddr_o)
  );
  dingo_pcie_lite #(.AddrW(22)) i_db (
      .clk_i, .rst_ni, .write_i(write[1]), .write_ready_o(write_ready[1]), .read_i(read[1]),
      .read_ready_o(read_ready[1]), .addr_i(addr), .wdata_i(wdata), .wstrb_i(wstrb), .settled_o(db_settled),
      .awvalid_o(m_db_awvalid_o), .awready_i(m_db_awready_i), .awaddr_o(m_db_awaddr_o), .wvalid_o(m_db_wvalid_o),
      .wready_i(m_db_wready_i), .wdata_o(m_db_wdata_o), .wstrb_o(m_db_wstrb_o), .bvalid_i(m_db_bvalid_i),
      .bready_o(m_db_bready_o), .arvalid_o(m_db_arvalid_o), .arready_i(m_db_arready_i), .araddr_o(m_db_araddr_o)
  );
  assign write_ready[2] = 1'b1;
  assign read_ready[2] = 1'b1;
  dingo_pcie_msix i_msix (
      .clk_i, .rst_ni, .enable_i(cfg_msix_enable_i), .mask_i(cfg_msix_mask_i), .clear_i(clear), .valid_i(msix_valid_i),
      .ready_o(msix_ready_o), .vector_i(msix_vector_i), .write_i(write[2]), .read_i(read[2]), .addr_i(addr[14:0]),
      .wdata_i(wdata), .wstrb_i(wstrb), .rvalid_o(msix_rvalid), .rdata_o(msix_rdata), .msg_valid_o(msg_valid),
      .msg_ready_i(msg_ready), .msg_dword_o(msg_dword), .msg_data_o(msg_data)
  );
  dingo_pcie_flr i_flr (
      .clk_i, .rst_ni, .flr_i(cfg_flr_i), .flr_done_o(cfg_flr_done_o), .clear_o(clear), .reset_valid_o(reset_valid),
      .reset_ready_i(reset_ready), .settled_i(reg_settled),
      .bus_idle_i(reads_idle && writes_idle && mwr_idle && rq_idle), .card_ready_i
  );

  dingo_fifo #(.Width(356), .LogDepth(2)) u_cc (
      .clk_i, .rst_ni, .valid_i(cc_valid), .ready_o(cc_room), .data_i({cc_end, cc_data}), .valid_o(cc_tvalid_o),
      .ready_i(cc_tready_i), .data_o({cc_out_end, cc_out}), .count_o(cc_count)
  );
  assign cc_tdata_o = {160'd0, cc_out};
  assign cc_tkeep_o = pcie_pkg::keep(cc_out_end);
  assign cc_tlast_o = 1'b1;
  always_comb begin
    cc_tuser_o = '0;
    cc_tuser_o[0] = 1'b1;                 // is_sop, is_eop: the packet is this beat
    cc_tuser_o[6] = 1'b1;
    cc_tuser_o[11:8] = cc_out_end;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      failed_o <= '0;
      dropped_o <= '0;
    end else begin
      if (fail && failed_o != '1) failed_o <= failed_o + 1'b1;
      if (dropped && dropped_o != '1) dropped_o <= dropped_o + 1'b1;
      if (cc_valid) answer_has_room: assert (cc_room);
    end
  end
  wire unused_ok = &{1'b0, rc_tuser_i[160:97], rc_tuser_i[95:0], cc_count};
endmodule
