// SPDX-License-Identifier: BSD-2-Clause

/// From packet descriptors (txd) and payload to frames on the wire: headers, padding, ICRC. Frames of the Ethernet
/// function join here and take turns with RoCE frames. A frame leaves only when all of it is stored, so that the MAC
/// gets it without gaps. A packet whose payload could not be read is not sent but reported (err_o, ok = 0). A packet
/// with `tell` is reported also when it was read (ok = 1): UC and UD get no acknowledgement, so this completes them
/// and frees their buffers. Frames for a MAC address of the card itself are looped back (loop_*), RoCE frames with
/// their ICRC. With the link down frames are discarded. Stalls: a full frame buffer, missing payload, tready of the
/// MAC, roce_stop_i.
module dingo_wire_tx (
    input  logic   clk_i,
    input  logic   rst_ni,
    output logic   idle_o,
    input  logic   link_i,                                  // link is up and port enabled
    input  logic   roce_stop_i,                             // begin no RoCE frame, except looped-back ones
    input  logic   halt_i,                                  // a command waits until all sending has ended
    input  logic [(1<<rtl_pkg::GID_LOG)*rtl_pkg::GID_W-1:0] gids_i,
    input  logic [(1<<rtl_pkg::MAC_LOG)-1:0]              mac_valid_i,
    input  logic [(1<<rtl_pkg::MAC_LOG)*48-1:0]           macs_i,     // first octet in bits 7:0 of each
    input  logic   txd_valid_i,
    output logic   txd_ready_o,
    input  rtl_pkg::txd_t   txd_i,
    input  logic   payload_valid_i,                         // only of packets with len != 0
    output logic   payload_ready_o,
    input  rtl_pkg::beat_t  payload_i,
    input  logic   eth_valid_i,                             // whole frames
    output logic   eth_ready_o,
    input  rtl_pkg::beat_t  eth_i,
    input  rtl_pkg::eth_csum_t eth_csum_i,
    output logic   req_err_valid_o,                         // to the requester, responder
    input  logic   req_err_ready_i,
    output logic   rsp_err_valid_o,
    input  logic   rsp_err_ready_i,
    output rtl_pkg::txerr_t err_o,
    output logic   loop_valid_o,
    input  logic   loop_ready_i,
    output rtl_pkg::beat_t  loop_o,
    output logic   stat_valid_o,
    input  logic   stat_ready_i,
    output rtl_pkg::stat_t  stat_o,
    output logic   qstat_valid_o,
    input  logic   qstat_ready_i,
    output rtl_pkg::qstat_t qstat_o,
    // AXI-Stream to the MAC
    output logic         m_axis_tvalid_o,
    input  logic         m_axis_tready_i,
    output logic [511:0] m_axis_tdata_o,
    output logic [ 63:0] m_axis_tkeep_o,
    output logic         m_axis_tlast_o,
    output logic         m_axis_tdest_o     // a RoCE frame
);
  localparam int unsigned LogBeats = 9;    // 32 KiB: 7 of the longest RoCE frames, 3 of the Ethernet function's
  localparam int unsigned QpLog = rtl_pkg::QP_LOG;

  // What later stages need to know of a RoCE frame
  typedef struct packed {
    logic [12:0]   bytes;
    logic          ours;                   // looped back
    logic          from_rsp;
    logic          tell;
    rtl_pkg::gen_t gen;
    rtl_pkg::qpi_t qp;
    logic [23:0]   psn;
  } info_t;

  // ---- headers
  logic          hdr_idle, hdr_valid, hdr_ready, hdr_ipv6, hdr_vlan;
  logic [847:0]  hdr;
  logic [6:0]    hdr_bytes;
  logic [12:0]   hdr_len;
  info_t         info;

  dingo_tx_headers u_headers (
      .clk_i, .rst_ni, .idle_o(hdr_idle), .gids_i, .mac_valid_i, .macs_i,
      .txd_valid_i, .txd_ready_o, .txd_i,
      .valid_o(hdr_valid), .ready_i(hdr_ready), .headers_o(hdr), .header_bytes_o(hdr_bytes),
      .frame_bytes_o(info.bytes), .len_o(hdr_len), .ipv6_o(hdr_ipv6), .vlan_o(hdr_vlan),
      .ours_o(info.ours), .from_rsp_o(info.from_rsp), .tell_o(info.tell), .gen_o(info.gen), .qp_o(info.qp), .psn_o(info.psn)
  );

  // ---- frames
  logic         cat_idle, cat_alloc, cat_valid, cat_first, cat_second, cat_last, cat_ipv6, cat_vlan, cat_err;
  logic [511:0] cat_data;
  logic [6:0]   cat_bytes;
  logic         info_ready, roce_room;

  dingo_tx_concat u_concat (
      .clk_i, .rst_ni, .idle_o(cat_idle),
      .valid_i(hdr_valid), .ready_o(hdr_ready), .headers_i(hdr), .header_bytes_i(hdr_bytes),
      .frame_bytes_i(info.bytes), .len_i(hdr_len), .ipv6_i(hdr_ipv6), .vlan_i(hdr_vlan),
      .payload_valid_i, .payload_ready_o, .payload_i,
      .room_i(roce_room), .alloc_o(cat_alloc),
      .valid_o(cat_valid), .data_o(cat_data), .first_o(cat_first), .second_o(cat_second), .last_o(cat_last),
      .crc_bytes_o(cat_bytes), .ipv6_o(cat_ipv6), .vlan_o(cat_vlan), .err_o(cat_err)
  );

  logic [LogBeats:0] roce_free;
  logic              roce_cmd, roce_cmd_ready, roce_send, roce_valid, roce_ready, roce_idle;
  logic [511:0]      roce_data;
  logic [7:0]        roce_beats;
  logic [1:0]        unused_roce;

  assign roce_room = roce_free != '0 && info_ready;

  dingo_frame_buf #(.LogBeats(LogBeats)) u_roce_buf (
      .clk_i, .rst_ni, .alloc_i(cat_alloc), .room_o(roce_free), .we_i(cat_valid), .data_i(cat_data),
      .cmd_valid_i(roce_cmd), .cmd_ready_o(roce_cmd_ready), .cmd_beats_i(roce_beats), .cmd_first_i(8'd0),
      .cmd_count_i(roce_send ? roce_beats : 8'd0), .cmd_tag_i(1'b0),
      .valid_o(roce_valid), .ready_i(roce_ready), .data_o(roce_data), .last_o(unused_roce[0]),
      .tag_o(unused_roce[1]), .idle_o(roce_idle)
  );

  // ---- ICRC
  logic [511:0] masked;
  logic         crc_valid, crc_err;
  logic [31:0]  crc;

  dingo_icrc_mask u_mask (
      .first_i(cat_valid && cat_first), .second_i(cat_valid && cat_second), .ipv6_i(cat_ipv6), .vlan_i(cat_vlan),
      .data_i(cat_data), .data_o(masked)
  );
  dingo_crc #(.TagWidth(1)) u_crc (
      .clk_i, .rst_ni, .valid_i(cat_valid), .first_i(cat_first), .last_i(cat_last), .bytes_i(cat_bytes),
      .data_i(masked), .tag_i(cat_err), .valid_o(crc_valid), .crc_o(crc), .tag_o(crc_err)
  );

  // ---- RoCE frames that have begun, and their ICRCs once known
  logic          info_valid, done_valid, done_ready, done_err, roce_pop;
  logic [31:0]   done_crc;
  info_t         f;                        // of the oldest frame
  logic [4:0]    info_held, done_held;

  dingo_fifo #(.Width($bits(info)), .LogDepth(4)) u_info (
      .clk_i, .rst_ni, .valid_i(hdr_valid && hdr_ready), .ready_o(info_ready),
      .data_i(info), .valid_o(info_valid), .ready_i(roce_pop), .data_o(f),
      .count_o(info_held)
  );
  dingo_fifo #(.Width(33), .LogDepth(4)) u_done (
      .clk_i, .rst_ni, .valid_i(crc_valid), .ready_o(done_ready), .data_i({crc_err, ~crc}),
      .valid_o(done_valid), .ready_i(roce_pop), .data_o({done_err, done_crc}), .count_o(done_held)
  );

  // ---- frames of the Ethernet function
  logic              eth_cmd, eth_cmd_ready, eth_send, eth_valid, eth_ready, eth_buf_idle, in_idle;
  logic              e_valid, e_err, e_ours;
  logic [7:0]        e_beats;
  logic [6:0]        e_bytes;
  logic [511:0]      eth_data;

  dingo_tx_eth #(.LogBeats(LogBeats)) u_eth (
      .clk_i, .rst_ni, .idle_o(in_idle), .gids_i, .mac_valid_i, .macs_i,
      .valid_i(eth_valid_i), .ready_o(eth_ready_o), .beat_i(eth_i), .csum_i(eth_csum_i),
      .frame_valid_o(e_valid), .frame_ready_i(eth_cmd), .send_i(eth_send), .cmd_ready_o(eth_cmd_ready),
      .err_o(e_err), .ours_o(e_ours), .beats_o(e_beats), .bytes_o(e_bytes),
      .valid_o(eth_valid), .ready_i(eth_ready), .data_o(eth_data), .buf_idle_o(eth_buf_idle)
  );

  // ---- which frame leaves next
  logic       ord_ready, ord_valid, stats_ready, turn_q, out_idle;
  logic       roce_whole, roce_want, eth_want, roce_grant, eth_grant, roce_vanish, roce_good, report, report_taken;
  logic       told_q;                    // the report of the oldest RoCE frame has been taken
  // A peer may pause the card for ever, but a command must end: after so long RoCE frames that are stored are
  // discarded, as if lost on the wire.
  localparam int unsigned Patience = 12; // 2**12 cycles, 16 us
  logic [Patience:0] stuck_q;

  assign roce_whole = info_valid && done_valid && roce_cmd_ready;
  assign roce_beats = 8'((f.bytes + 13'd63) >> 6);
  assign report = roce_whole && (done_err || (f.tell && !told_q));
  assign req_err_valid_o = report && !f.from_rsp;
  assign rsp_err_valid_o = report && f.from_rsp;
  assign err_o.ok = !done_err;
  assign err_o.gen = f.gen;
  assign err_o.qp = f.qp;
  assign err_o.psn = f.psn;
  assign report_taken = report && (f.from_rsp ? rsp_err_ready_i : req_err_ready_i);
  assign roce_good = roce_whole && !done_err && (!f.tell || told_q);
  assign roce_vanish = roce_good && (!link_i || (stuck_q[Patience] && roce_stop_i && !f.ours));
  assign roce_want = roce_good && link_i && stats_ready && (f.ours || !roce_stop_i);
  assign eth_want = e_valid && eth_cmd_ready && !e_err && link_i;
  assign roce_grant = ord_ready && roce_want && !(eth_want && turn_q);
  assign eth_grant = ord_ready && eth_want && !roce_grant;
  assign roce_send = roce_grant;
  assign roce_cmd = roce_grant || roce_vanish || (report_taken && done_err);
  assign roce_pop = roce_cmd;
  assign eth_send = eth_grant;
  assign eth_cmd = eth_grant || (e_valid && eth_cmd_ready && (e_err || !link_i));
  assign ord_valid = roce_grant || eth_grant;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) turn_q <= 1'b0;
    else if (ord_valid) turn_q <= roce_grant;
    told_q <= rst_ni && !roce_pop && (told_q || report_taken);
    if (!rst_ni || !halt_i || !roce_stop_i) stuck_q <= '0;
    else if (!stuck_q[Patience]) stuck_q <= stuck_q + (Patience+1)'(1);
    if (rst_ni) begin
      if (crc_valid) assert (done_ready);
      if (crc_valid) assert (info_valid);
    end
  end

  dingo_tx_out u_out (
      .clk_i, .rst_ni, .idle_o(out_idle),
      .ord_valid_i(ord_valid), .ord_ready_o(ord_ready), .ord_eth_i(eth_grant),
      .ord_loop_i(eth_grant ? e_ours : f.ours), .ord_beats_i(eth_grant ? e_beats : roce_beats),
      .ord_bytes_i(eth_grant ? e_bytes : {1'b0, f.bytes[5:0]}), .ord_icrc_i(done_crc),
      .roce_valid_i(roce_valid), .roce_ready_o(roce_ready), .roce_data_i(roce_data),
      .eth_valid_i(eth_valid), .eth_ready_o(eth_ready), .eth_data_i(eth_data),
      .loop_valid_o, .loop_ready_i, .loop_o,
      .m_axis_tvalid_o, .m_axis_tready_i, .m_axis_tdata_o, .m_axis_tkeep_o, .m_axis_tlast_o,
      .m_axis_tdest_o
  );

  // ---- counters: packets, then bytes
  logic          s_valid, s_pop, card_q, queue_q, bytes_q;
  logic [12:0]   s_bytes;
  rtl_pkg::qpi_t s_qp;
  logic [3:0]    s_held;

  dingo_fifo #(.Width(13 + QpLog), .LogDepth(3)) u_stats (
      .clk_i, .rst_ni, .valid_i(roce_grant), .ready_o(stats_ready), .data_i({f.bytes, f.qp}),
      .valid_o(s_valid), .ready_i(s_pop), .data_o({s_bytes, s_qp}), .count_o(s_held)
  );

  // card_q, queue_q: the card's, the QP's counter of this step has been taken
  assign stat_valid_o = s_valid && !card_q;
  assign stat_o.idx = bytes_q ? 6'(dingo_pkg::CARD_RDMA_TX_BYTES) : 6'(dingo_pkg::CARD_RDMA_TX_PACKETS);
  assign stat_o.by = bytes_q ? 16'(s_bytes) : 16'd1;
  assign qstat_valid_o = s_valid && !queue_q;
  assign qstat_o.qp = s_qp;
  assign qstat_o.idx = bytes_q ? 4'(dingo_pkg::QP_TX_BYTES) : 4'(dingo_pkg::QP_TX_PACKETS);
  assign qstat_o.by = bytes_q ? 16'(s_bytes) : 16'd1;

  logic step;
  assign step = s_valid && (card_q || stat_ready_i) && (queue_q || qstat_ready_i);
  assign s_pop = step && bytes_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || step) begin
      card_q <= 1'b0;
      queue_q <= 1'b0;
      bytes_q <= rst_ni && !bytes_q;
    end else if (s_valid) begin
      card_q <= card_q || stat_ready_i;
      queue_q <= queue_q || qstat_ready_i;
    end
  end

  assign idle_o = hdr_idle && cat_idle && info_held == '0 && roce_idle && in_idle && eth_buf_idle && out_idle &&
                  s_held == '0;
  wire unused_ok = &{1'b0, unused_roce, done_held};
endmodule
