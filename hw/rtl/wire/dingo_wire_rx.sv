// SPDX-License-Identifier: BSD-2-Clause

/// Frames from the wire and from loopback: parses them, checks lengths, IPv4 checksum and ICRC. RoCE packets for this
/// card leave as headers (rxh) and payload, all other frames whole to the Ethernet function; what is dropped is
/// counted. Stalls between frames: 16 frames without a verdict taken, or no room for the longest frame. Then tready
/// is low, or, with DropWhenFull, frames of the MAC are dropped (eth_rx_no_buffer).
module dingo_wire_rx #(
    parameter int unsigned DropWhenFull = 0
) (
    input  logic   clk_i,
    input  logic   rst_ni,
    output logic   idle_o,
    input  rtl_pkg::port_t  port_i,
    input  logic   link_i,
    input  logic [(1<<rtl_pkg::GID_LOG)*rtl_pkg::GID_W-1:0] gids_i,
    input  logic [(1<<rtl_pkg::MAC_LOG)-1:0]              mac_valid_i,
    input  logic [(1<<rtl_pkg::MAC_LOG)*48-1:0]           macs_i,
    input  logic   loop_valid_i,
    output logic   loop_ready_o,
    input  rtl_pkg::beat_t  loop_i,
    output logic   rxh_valid_o,
    input  logic   rxh_ready_i,
    output rtl_pkg::rxh_t   rxh_o,
    output logic   payload_valid_o,   // beats of packets with len != 0, in the order of the headers, without padding
    input  logic   payload_ready_i,
    output rtl_pkg::beat_t  payload_o,
    output logic   eth_valid_o,       // whole frames for the Ethernet function
    input  logic   eth_ready_i,
    output rtl_pkg::beat_t  eth_o,
    output logic   stat_valid_o,
    input  logic   stat_ready_i,
    output rtl_pkg::stat_t  stat_o,
    // AXI-Stream from the MAC
    input  logic         s_axis_tvalid_i,
    output logic         s_axis_tready_o,
    input  logic [511:0] s_axis_tdata_i,
    input  logic [ 63:0] s_axis_tkeep_i,
    input  logic         s_axis_tlast_i,
    input  logic         s_axis_tuser_i,  // with tlast: the frame is bad (FCS)
    input  logic [2:0]   dropped_i,       // so many more frames found no room before this module
    input  logic [2:0]   spoilt_i         // so many more were bad and dropped there
);
  localparam int unsigned LogBeats = 10;   // 64 KiB: seven of the longest frames
  localparam int unsigned MaxBeats = 145;  // beats of MAX_FRAME bytes
  localparam int unsigned LogFrames = 4;
  // Packets whose headers have left and whose payload has not: enough for small packets to keep coming while one
  // waits 600 ns for a line of a page list.
  localparam int unsigned LogCommands = 6;

  // ---- in
  logic         mac_valid, mac_ready, mac_last, mac_bad, dropped;
  logic [511:0] mac_data;
  logic [6:0]   mac_bytes;

  dingo_rx_mac #(.DropWhenFull(DropWhenFull), .MaxBeats(MaxBeats)) u_mac (
      .clk_i, .rst_ni, .s_axis_tvalid_i, .s_axis_tready_o, .s_axis_tdata_i, .s_axis_tkeep_i, .s_axis_tlast_i,
      .s_axis_tuser_i,
      .valid_o(mac_valid), .ready_i(mac_ready), .data_o(mac_data), .bytes_o(mac_bytes), .last_o(mac_last),
      .bad_o(mac_bad), .dropped_o(dropped)
  );

  logic              in_idle, in_start, in_begin, in_alloc, in_valid, in_keep, in_first, in_second, in_last;
  logic              in_bad, in_down;
  logic [511:0]      in_data;
  logic [15:0]       in_len;
  logic [7:0]        in_beats;
  logic [LogBeats:0] room;
  logic [LogFrames:0] frames_q;            // frames begun whose verdict has not been taken

  assign in_start = room >= (LogBeats+1)'(MaxBeats) && !frames_q[LogFrames];

  dingo_rx_input #(.MaxBeats(MaxBeats)) u_input (
      .clk_i, .rst_ni, .idle_o(in_idle), .start_i(in_start), .begin_o(in_begin), .alloc_o(in_alloc),
      .up_i(link_i && port_i.enabled),
      .mac_valid_i(mac_valid), .mac_ready_o(mac_ready), .mac_data_i(mac_data), .mac_bytes_i(mac_bytes),
      .mac_last_i(mac_last), .mac_bad_i(mac_bad), .loop_valid_i, .loop_ready_o, .loop_i,
      .valid_o(in_valid), .data_o(in_data), .keep_o(in_keep), .first_o(in_first), .second_o(in_second),
      .last_o(in_last), .len_o(in_len), .beats_o(in_beats), .bad_o(in_bad), .down_o(in_down)
  );

  // ---- checked while it is stored
  typedef struct packed {
    logic          eth;                    // for the Ethernet function
    logic          drop;                   // dropped, and counted as stat
    logic [5:0]    stat;
    logic [7:0]    beats;
    logic [6:0]    last_bytes;
    logic [6:0]    offset;                 // of the payload
    rtl_pkg::rxh_t rxh;
  } verdict_t;
  logic               p_idle, p_valid, c_idle, c_valid, c_good;
  verdict_t           p, v;                // p: of the parser; v: of the oldest frame

  dingo_rx_parse u_parse (
      .clk_i, .rst_ni, .idle_o(p_idle), .port_i, .gids_i, .mac_valid_i, .macs_i,
      .valid_i(in_valid), .first_i(in_first), .second_i(in_second), .last_i(in_last), .data_i(in_data),
      .len_i(in_len), .beats_i(in_beats), .bad_i(in_bad), .down_i(in_down),
      .valid_o(p_valid), .eth_o(p.eth), .drop_o(p.drop), .stat_o(p.stat), .beats_o(p.beats),
      .last_bytes_o(p.last_bytes), .offset_o(p.offset), .rxh_o(p.rxh)
  );
  dingo_rx_icrc u_icrc (
      .clk_i, .rst_ni, .idle_o(c_idle), .valid_i(in_valid), .first_i(in_first), .second_i(in_second),
      .last_i(in_last), .data_i(in_data), .valid_o(c_valid), .good_o(c_good)
  );

  logic               v_valid, g_valid, judged, g_good, pop, v_ready, g_ready;
  logic [LogFrames:0] unused_v, unused_g;

  dingo_fifo #(.Width($bits(p)), .LogDepth(LogFrames)) u_verdicts (
      .clk_i, .rst_ni, .valid_i(p_valid), .ready_o(v_ready),
      .data_i(p), .valid_o(v_valid), .ready_i(pop), .data_o(v), .count_o(unused_v)
  );
  dingo_fifo #(.Width(1), .LogDepth(LogFrames)) u_goods (
      .clk_i, .rst_ni, .valid_i(c_valid), .ready_o(g_ready), .data_i(c_good),
      .valid_o(g_valid), .ready_i(pop), .data_o(g_good), .count_o(unused_g)
  );

  // ---- the oldest frame: dropped, to the Ethernet function, or to the transport
  logic        cmd_ready, roce, drop, has_payload, drop_full, drop_bad;
  logic [LogCommands:0] eth_out_q;         // Ethernet frames that are leaving the buffer
  logic [5:0]  stat;
  logic [7:0]  cmd_first, cmd_count;
  logic [13:0] payload_end;

  assign judged = v_valid && g_valid && cmd_ready;
  assign roce = judged && !v.eth && !v.drop && g_good;
  assign drop = judged && !v.eth && (v.drop || !g_good);
  assign stat = v.drop ? v.stat : 6'(dingo_pkg::CARD_RX_ICRC_ENCAPSULATED);
  // A header promises its payload: the transport holds the path to memory while it waits for it. An Ethernet frame in
  // front of that payload needs the same path, so the header waits until that frame has left.
  assign rxh_valid_o = roce && (!has_payload || eth_out_q == '0);
  assign rxh_o = v.rxh;
  assign pop = judged && (v.eth || (drop ? !drop_full && !drop_bad && stat_ready_i : rxh_valid_o && rxh_ready_i));
  assign has_payload = v.rxh.len != '0;
  assign payload_end = 14'(v.offset[5:0]) + 14'(v.rxh.len) + 14'd63;
  assign cmd_first = v.eth ? 8'd0 : {7'd0, v.offset[6]};
  assign cmd_count = v.eth ? v.beats : roce && has_payload ? 8'(payload_end >> 6) : 8'd0;

  // Frames dropped before this module are counted in between; a request stays the same until it is taken.
  logic [15:0] full_q, bad_q;
  logic        asked_q, asked_full_q, asked_bad_q;
  assign drop_full = asked_q ? asked_full_q : full_q != '0;
  assign drop_bad = asked_q ? asked_bad_q : !drop_full && bad_q != '0;
  assign stat_valid_o = drop_full || drop_bad || drop;
  assign stat_o.idx = drop_full ? 6'(dingo_pkg::CARD_ETH_RX_NO_BUFFER) :
      drop_bad ? 6'(dingo_pkg::CARD_RX_DROP_MALFORMED) : stat;
  assign stat_o.by = 16'd1;

  always_ff @(posedge clk_i) begin
    asked_full_q <= drop_full;
    asked_bad_q <= drop_bad;
    if (!rst_ni) begin
      full_q <= '0;
      bad_q <= '0;
      frames_q <= '0;
      asked_q <= 1'b0;
    end else begin
      asked_q <= stat_valid_o && !stat_ready_i;
      full_q <= full_q + 16'(dropped) + 16'(dropped_i) - 16'(drop_full && stat_ready_i);
      bad_q <= bad_q + 16'(spoilt_i) - 16'(drop_bad && stat_ready_i);
      frames_q <= frames_q + (LogFrames+1)'(in_begin) - (LogFrames+1)'(pop);
      assert (!p_valid || v_ready);
      assert (!c_valid || g_ready);
    end
  end

  // ---- out of the buffer
  logic         b_valid, b_ready, b_last, b_eth, b_idle, b_first_q;
  logic [511:0] b_data;
  logic [12:0]  b_len;
  logic [5:0]   b_offset;
  logic [6:0]   b_last_bytes;

  dingo_frame_buf #(.LogBeats(LogBeats), .LogCommands(LogCommands), .TagWidth(27)) u_buf (
      .clk_i, .rst_ni, .alloc_i(in_alloc), .room_o(room), .we_i(in_valid && in_keep), .data_i(in_data),
      .cmd_valid_i(pop), .cmd_ready_o(cmd_ready), .cmd_beats_i(v.beats), .cmd_first_i(cmd_first),
      .cmd_count_i(cmd_count), .cmd_tag_i({v.eth, v.last_bytes, v.offset[5:0], v.rxh.len}),
      .valid_o(b_valid), .ready_i(b_ready), .data_o(b_data), .last_o(b_last),
      .tag_o({b_eth, b_last_bytes, b_offset, b_len}), .idle_o(b_idle)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) b_first_q <= 1'b1;
    else if (b_valid && b_ready) b_first_q <= b_last;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) eth_out_q <= '0;
    else eth_out_q <= eth_out_q + (LogCommands+1)'(pop && v.eth) - (LogCommands+1)'(b_valid && b_ready && b_eth && b_last);
    if (rst_ni && pop && v.eth) assert (eth_out_q != '1);
  end

  logic trim_idle, trim_ready;
  assign b_ready = b_eth ? eth_ready_i : trim_ready;
  assign eth_valid_o = b_valid && b_eth;
  assign eth_o.err = 1'b0;
  assign eth_o.last = b_last;
  assign eth_o.bytes = b_last ? b_last_bytes : 7'd64;
  assign eth_o.data = b_data;

  dingo_rx_trim u_trim (
      .clk_i, .rst_ni, .idle_o(trim_idle), .valid_i(b_valid && !b_eth), .ready_o(trim_ready), .data_i(b_data),
      .first_i(b_first_q), .last_i(b_last), .offset_i(b_offset), .len_i(b_len),
      .valid_o(payload_valid_o), .ready_i(payload_ready_i), .beat_o(payload_o)
  );

  assign idle_o = in_idle && p_idle && c_idle && frames_q == '0 && b_idle && trim_idle && !mac_valid && !loop_valid_i &&
                  full_q == '0 && bad_q == '0;
  wire unused_ok = &{1'b0, unused_v, unused_g, port_i};
endmodule
