// SPDX-License-Identifier: BSD-2-Clause

/// Frames of the card: sent (dingo_wire_tx), received (dingo_wire_rx); dingo_mac_guard keeps them whole at the MAC when
/// the core is reset.
module dingo_frames #(
    parameter int unsigned DropWhenFull = 0       // see dingo_rx_mac
) (
    input  logic                clk_i,
    input  logic                rst_ni,           // power on
    input  logic                core_rst_ni,
    output logic                tx_idle_o,
    output logic                rx_idle_o,
    input  logic                halt_i,
    input  rtl_pkg::port_t      port_i,
    input  logic                link_i,
    input  logic [(1<<rtl_pkg::GID_LOG)*rtl_pkg::GID_W-1:0] gids_i,
    input  logic [(1<<rtl_pkg::MAC_LOG)-1:0]    mac_valid_i,
    input  logic [(1<<rtl_pkg::MAC_LOG)*48-1:0] macs_i,
    // packets of dingo_transport, and reports of them
    input  logic                txd_valid_i,
    output logic                txd_ready_o,
    input  rtl_pkg::txd_t       txd_i,
    input  logic                payload_valid_i,
    output logic                payload_ready_o,
    input  rtl_pkg::beat_t      payload_i,
    output logic                req_err_valid_o,
    input  logic                req_err_ready_i,
    output logic                rsp_err_valid_o,
    input  logic                rsp_err_ready_i,
    output rtl_pkg::txerr_t     err_o,
    output logic                rxh_valid_o,
    input  logic                rxh_ready_i,
    output rtl_pkg::rxh_t       rxh_o,
    output logic                payload_valid_o,
    input  logic                payload_ready_i,
    output rtl_pkg::beat_t      payload_o,
    // frames of dingo_eth
    input  logic                eth_valid_i,
    output logic                eth_ready_o,
    input  rtl_pkg::beat_t      eth_i,
    input  rtl_pkg::eth_csum_t  eth_csum_i,
    output logic                eth_valid_o,
    input  logic                eth_ready_i,
    output rtl_pkg::beat_t      eth_o,
    // 0 dingo_wire_tx, 1 dingo_wire_rx
    output logic [1:0]          stat_valid_o,
    input  logic [1:0]          stat_ready_i,
    output logic [2*rtl_pkg::STAT_W-1:0] stat_o,
    output logic                qstat_valid_o,
    input  logic                qstat_ready_i,
    output rtl_pkg::qstat_t     qstat_o,
    // AXI-Stream to and from the MAC
    output logic            m_axis_tvalid_o,
    input  logic            m_axis_tready_i,
    output logic [511:0]    m_axis_tdata_o,
    output logic [63:0]     m_axis_tkeep_o,
    output logic            m_axis_tlast_o,
    output logic            m_axis_tuser_o,   // with tlast: the frame is invalid, the MAC must give it a bad FCS
    output logic            m_axis_tdest_o,   // a RoCE frame
    input  logic            roce_stop_i,      // begin no RoCE frame: pause by the peer, or many wait in the MAC
    input  logic            s_axis_tvalid_i,
    output logic            s_axis_tready_o,
    input  logic [511:0]    s_axis_tdata_i,
    input  logic [63:0]     s_axis_tkeep_i,
    input  logic            s_axis_tlast_i,
    input  logic            s_axis_tuser_i,
    input  logic [2:0]      rx_dropped_i,     // frames of this cycle that were dropped for lack of room
    input  logic [2:0]      rx_bad_i          // frames of this cycle that the MAC dropped as bad
);
  localparam int unsigned SW = rtl_pkg::STAT_W;
  logic wire_tx_idle, mac_idle, loop_valid, loop_ready;
  rtl_pkg::beat_t loop;
  logic mac_out_valid, mac_out_ready, mac_out_last, mac_out_dest, mac_in_valid, mac_in_ready;
  logic [511:0] mac_out_data;
  logic [63:0] mac_out_keep;
  assign tx_idle_o = wire_tx_idle && mac_idle;

  dingo_wire_tx i_wire_tx (
      .clk_i, .rst_ni(core_rst_ni), .idle_o(wire_tx_idle), .link_i(link_i), .roce_stop_i, .halt_i(halt_i), .gids_i(gids_i), .mac_valid_i(mac_valid_i),
      .macs_i(macs_i), .txd_valid_i, .txd_ready_o, .txd_i,
      .payload_valid_i, .payload_ready_o, .payload_i, .eth_valid_i, .eth_ready_o,
      .eth_i, .eth_csum_i,
      .req_err_valid_o, .req_err_ready_i, .rsp_err_valid_o, .rsp_err_ready_i, .err_o, .loop_valid_o(loop_valid), .loop_ready_i(loop_ready),
      .loop_o(loop), .stat_valid_o(stat_valid_o[0]), .stat_ready_i(stat_ready_i[0]),
      .stat_o(stat_o[0+:SW]), .qstat_valid_o, .qstat_ready_i, .qstat_o,
      .m_axis_tvalid_o(mac_out_valid), .m_axis_tready_i(mac_out_ready), .m_axis_tdata_o(mac_out_data),
      .m_axis_tkeep_o(mac_out_keep), .m_axis_tlast_o(mac_out_last), .m_axis_tdest_o(mac_out_dest)
  );

  dingo_mac_guard i_mac_guard (
      .clk_i, .rst_ni, .core_rst_ni, .idle_o(mac_idle), .tvalid_i(mac_out_valid),
      .tready_o(mac_out_ready), .tdata_i(mac_out_data), .tkeep_i(mac_out_keep), .tlast_i(mac_out_last), .tdest_i(mac_out_dest),
      .m_tvalid_o(m_axis_tvalid_o), .m_tready_i(m_axis_tready_i), .m_tdata_o(m_axis_tdata_o),
      .m_tkeep_o(m_axis_tkeep_o), .m_tlast_o(m_axis_tlast_o), .m_tuser_o(m_axis_tuser_o), .m_tdest_o(m_axis_tdest_o),
      .s_tvalid_i(s_axis_tvalid_i), .s_tready_o(s_axis_tready_o), .s_tlast_i(s_axis_tlast_i),
      .rvalid_o(mac_in_valid), .rready_i(mac_in_ready)
  );

  dingo_wire_rx #(.DropWhenFull(DropWhenFull)) i_wire_rx (
      .clk_i, .rst_ni(core_rst_ni), .idle_o(rx_idle_o), .port_i(port_i), .link_i(link_i), .gids_i(gids_i),
      .mac_valid_i, .macs_i, .loop_valid_i(loop_valid), .loop_ready_o(loop_ready), .loop_i(loop),
      .rxh_valid_o, .rxh_ready_i, .rxh_o, .payload_valid_o, .payload_ready_i, .payload_o, .eth_valid_o, .eth_ready_i, .eth_o, .stat_valid_o(stat_valid_o[1]), .stat_ready_i(stat_ready_i[1]),
      .stat_o(stat_o[SW+:SW]), .s_axis_tvalid_i(mac_in_valid), .s_axis_tready_o(mac_in_ready),
      .s_axis_tdata_i, .s_axis_tkeep_i, .s_axis_tlast_i, .s_axis_tuser_i, .dropped_i(rx_dropped_i),
      .spoilt_i(rx_bad_i)
  );
endmodule
