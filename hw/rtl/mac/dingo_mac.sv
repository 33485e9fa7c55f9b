// SPDX-License-Identifier: BSD-2-Clause

/// Joins the card's clock to a MAC with clocks of its own (AMD's CMAC: 322.265625 MHz, one clock each for transmit
/// and receive); AXI-Stream of 512 bits on all sides. Only whole frames cross; priority flow control ends here. Each
/// clock has its reset, and any of them may be reset at any time. `cfg_i` is constant while the clocks run.
/// docs/reference/rtl/mac.md has latencies and what happens in each fault.
module dingo_mac #(
    parameter int unsigned MaxBeats = 145,     // beats of the longest frame
    parameter int unsigned LogRx = 11,         // log2 of the beats of each FIFO
    parameter int unsigned LogRoce = 10,
    parameter int unsigned LogEthernet = 8,
    parameter int unsigned High = 512,         // received beats that wait: the peer is asked to pause
    parameter int unsigned Low = 256,          // and may send again
    parameter int unsigned Cycles = 33,        // so many cycles of the MAC's clocks
    parameter int unsigned Quanta = 20,        // are so many pause quanta of 512 bit times
    parameter int unsigned Refresh = 32768     // quanta until the request for a pause is repeated
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  mac_pkg::cfg_t    cfg_i,
    output mac_pkg::status_t status_o,
    output logic [2:0]       rx_no_room_o,     // so many more frames were dropped
    output logic [2:0]       rx_bad_o,
    output logic             roce_stop_o,      // the card begins no RoCE frame: many wait
    // the card's frames
    input  logic             s_tvalid_i,
    output logic             s_tready_o,
    input  logic [511:0]     s_tdata_i,
    input  logic [63:0]      s_tkeep_i,
    input  logic             s_tlast_i,
    input  logic             s_tuser_i,        // with tlast: the frame is void
    input  logic             s_tdest_i,        // a RoCE frame
    output logic             m_tvalid_o,
    input  logic             m_tready_i,
    output logic [511:0]     m_tdata_o,
    output logic [63:0]      m_tkeep_o,
    output logic             m_tlast_o,
    output logic             m_tuser_o,        // with tlast: the frame's rest is lost
    // the MAC
    input  logic             mac_tx_clk_i,
    input  logic             mac_tx_up_i,      // clock runs, not in reset
    input  logic             mac_tx_link_i,    // else nothing is sent, except the end of a begun frame
    output logic             mac_tvalid_o,
    input  logic             mac_tready_i,
    output logic [511:0]     mac_tdata_o,
    output logic [63:0]      mac_tkeep_o,
    output logic             mac_tlast_o,
    output logic             mac_tuser_o,      // with tlast: the frame is void
    input  logic             mac_rx_clk_i,
    input  logic             mac_rx_up_i,
    input  logic             mac_rx_link_i,    // receiver is aligned
    input  logic             mac_rvalid_i,
    input  logic [511:0]     mac_rdata_i,
    input  logic [63:0]      mac_rkeep_i,
    input  logic             mac_rlast_i,
    input  logic             mac_ruser_i       // with tlast: the MAC found an error
);
  mac_pkg::beat_t tx, rx, mac_tx, mac_rx, pfc;
  assign tx = {s_tuser_i, s_tlast_i, s_tkeep_i, s_tdata_i};
  assign mac_rx = {mac_ruser_i, mac_rlast_i, mac_rkeep_i, mac_rdata_i};
  assign {mac_tuser_o, mac_tlast_o, mac_tkeep_o, mac_tdata_o} = mac_tx;
  assign {m_tuser_o, m_tlast_o, m_tkeep_o, m_tdata_o} = rx;

  // ---------------------------------------------------------------- levels that cross clocks
  logic [7:0] rx_stop, stop_at_tx, stop_here;
  logic rx_high, high_at_tx, high_here;
  for (genvar i = 0; i < 8; i++) begin : gen_stop
    dingo_mac_sync i_tx (.clk_i(mac_tx_clk_i), .bit_i(rx_stop[i]), .bit_o(stop_at_tx[i]));
    dingo_mac_sync i_here (.clk_i, .bit_i(rx_stop[i]), .bit_o(stop_here[i]));
  end
  dingo_mac_sync i_high_tx (.clk_i(mac_tx_clk_i), .bit_i(rx_high), .bit_o(high_at_tx));
  dingo_mac_sync i_high (.clk_i, .bit_i(rx_high), .bit_o(high_here));

  // ---------------------------------------------------------------- frames
  logic tx_void, tx_away, rx_lost, pfc_valid, pfc_taken, pfc_sent, rx_control, rx_paused, rx_no_room, rx_bad;
  logic [1:0] tx_lost;

  dingo_mac_tx #(.LogRoce(LogRoce), .LogEthernet(LogEthernet), .MaxBeats(MaxBeats)) i_tx (
      .clk_i, .up_i(rst_ni), .untagged_i(cfg_i.untagged), .valid_i(s_tvalid_i), .ready_o(s_tready_o), .beat_i(tx),
      .roce_i(s_tdest_i), .roce_stop_o, .void_o(tx_void), .away_o(tx_away), .mac_clk_i(mac_tx_clk_i), .mac_up_i(mac_tx_up_i),
      .mac_link_i(mac_tx_link_i), .m_valid_o(mac_tvalid_o), .m_ready_i(mac_tready_i), .m_beat_o(mac_tx), .stop_i(stop_at_tx), .pfc_valid_i(pfc_valid),
      .pfc_taken_o(pfc_taken), .pfc_beat_i(pfc), .lost_o(tx_lost)
  );
  dingo_mac_pfc_tx #(.Cycles(Cycles), .Quanta(Quanta), .Refresh(Refresh)) i_pfc_tx (
      .clk_i(mac_tx_clk_i), .up_i(mac_tx_up_i && mac_tx_link_i), .enabled_i(cfg_i.enabled), .mac_i(cfg_i.mac),
      .high_i(high_at_tx), .valid_o(pfc_valid), .taken_i(pfc_taken), .beat_o(pfc), .paused_o(pfc_sent)
  );
  dingo_mac_rx #(
      .LogDepth(LogRx), .MaxBeats(MaxBeats), .High(High), .Low(Low), .Cycles(Cycles), .Quanta(Quanta)
  ) i_rx (
      .mac_clk_i(mac_rx_clk_i), .mac_up_i(mac_rx_up_i), .mac_link_i(mac_rx_link_i), .enabled_i(cfg_i.enabled),
      .s_valid_i(mac_rvalid_i),
      .s_beat_i(mac_rx), .stop_o(rx_stop), .high_o(rx_high), .control_o(rx_control), .paused_o(rx_paused), .no_room_o(rx_no_room),
      .bad_o(rx_bad), .lost_o(rx_lost), .clk_i, .up_i(rst_ni), .valid_o(m_tvalid_o), .ready_i(m_tready_i), .beat_o(rx)
  );

  // ---------------------------------------------------------------- counters
  logic [31:0] void_q = '0, away_q = '0, roce_lost, ethernet_lost;
  logic [2:0] unused_more[0:5];
  always_ff @(posedge clk_i) begin
    void_q <= void_q + 32'(tx_void);
    away_q <= away_q + 32'(tx_away);
  end
  assign status_o.rx_high = high_here;
  assign status_o.tx_paused = |stop_here;
  assign status_o.tx_void = void_q;
  assign status_o.tx_lost = roce_lost + ethernet_lost + away_q;
  dingo_mac_count i_tx_lost0 (
      .from_clk_i(mac_tx_clk_i), .event_i(tx_lost[0]), .clk_i, .more_o(unused_more[0]), .all_o(roce_lost)
  );
  dingo_mac_count i_tx_lost1 (
      .from_clk_i(mac_tx_clk_i), .event_i(tx_lost[1]), .clk_i, .more_o(unused_more[1]), .all_o(ethernet_lost)
  );
  dingo_mac_count i_tx_pauses (
      .from_clk_i(mac_tx_clk_i), .event_i(pfc_sent), .clk_i, .more_o(unused_more[2]), .all_o(status_o.tx_pauses)
  );
  dingo_mac_count i_rx_pauses (
      .from_clk_i(mac_rx_clk_i), .event_i(rx_paused), .clk_i, .more_o(unused_more[3]), .all_o(status_o.rx_pauses)
  );
  dingo_mac_count i_rx_control (
      .from_clk_i(mac_rx_clk_i), .event_i(rx_control), .clk_i, .more_o(unused_more[4]), .all_o(status_o.rx_control)
  );
  dingo_mac_count i_rx_lost (
      .from_clk_i(mac_rx_clk_i), .event_i(rx_lost), .clk_i, .more_o(unused_more[5]), .all_o(status_o.rx_lost)
  );
  dingo_mac_count i_rx_no_room (
      .from_clk_i(mac_rx_clk_i), .event_i(rx_no_room), .clk_i, .more_o(rx_no_room_o), .all_o(status_o.rx_no_room)
  );
  dingo_mac_count i_rx_bad (
      .from_clk_i(mac_rx_clk_i), .event_i(rx_bad), .clk_i, .more_o(rx_bad_o), .all_o(status_o.rx_bad)
  );
  wire unused_ok = &{1'b0, unused_more[0], unused_more[1], unused_more[2], unused_more[3], unused_more[4], unused_more[5]};
endmodule
