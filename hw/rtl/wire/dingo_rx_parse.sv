// SPDX-License-Identifier: BSD-2-Clause

/// Parses the headers of each frame into fields and a verdict: for whom the frame is, and whether its form is good.
/// Takes the frame's first 128 bytes and its length; one verdict a frame, four stages behind its last beat. Never
/// stalls.
module dingo_rx_parse (
    input  logic           clk_i,
    input  logic           rst_ni,
    output logic           idle_o,
    input  rtl_pkg::port_t port_i,
    input  logic [(1<<rtl_pkg::GID_LOG)*rtl_pkg::GID_W-1:0] gids_i,
    input  logic [(1<<rtl_pkg::MAC_LOG)-1:0]                mac_valid_i,
    input  logic [(1<<rtl_pkg::MAC_LOG)*48-1:0]             macs_i,
    // beats
    input  logic           valid_i,
    input  logic           first_i,
    input  logic           second_i,
    input  logic           last_i,
    input  logic [511:0]   data_i,
    input  logic [15:0]    len_i,
    input  logic [7:0]     beats_i,
    input  logic           bad_i,
    input  logic           down_i,
    // verdicts
    output logic           valid_o,
    output logic           eth_o,         // the frame is for the Ethernet function
    output logic           drop_o,        // dropped, counted as stat_o; neither eth_o nor drop_o: a good RoCE packet
    output logic [5:0]     stat_o,
    output logic [7:0]     beats_o,
    output logic [6:0]     last_bytes_o,  // bytes of the frame's last kept beat
    output logic [6:0]     offset_o,      // where the payload begins in the frame
    output rtl_pkg::rxh_t  rxh_o
);
  localparam logic [1:0] ECN_CE = 2'd3;           // congestion experienced (RFC 3168)
  localparam logic [13:0] MaxLen = 14'd8191;     // longer payloads get this length, above any path MTU

  // ---- 0: the first two beats. Bytes that a short frame lacks are an earlier frame's; the length checks reject them.
  logic [511:0] low_q, high_q;
  logic [847:0] head;
  logic         valid0_q, bad0_q, down0_q, take;
  logic [847:0] head0_q;
  logic [15:0]  len0_q;
  logic [7:0]   beats0_q;

  assign head = {second_i ? data_i[335:0] : high_q[335:0], first_i ? data_i : low_q};
  assign take = valid_i && last_i;

  always_ff @(posedge clk_i) begin
    valid0_q <= take && rst_ni;
    if (valid_i && first_i) low_q <= data_i;
    if (valid_i && second_i) high_q <= data_i;
    if (take) begin
      head0_q <= head;
      len0_q <= len_i;
      beats0_q <= beats_i;
      bad0_q <= bad_i;
      down0_q <= down_i;
    end
  end

  // ---- 1: Ethernet header removed
  logic         vlan, ours, in_table;
  logic [15:0]  ether_type;
  logic [4:0]   l3;
  logic         valid1_q, bad1_q, down1_q, vlan1_q, ours1_q, is4_1_q, is6_1_q;
  logic [15:0]  tci1_q, avail1_q, len1_q;
  logic [703:0] ip1_q;
  logic [7:0]   beats1_q;

  assign vlan = head0_q[111:96] == roce_pkg::WIRE_VLAN;
  assign ether_type = vlan ? head0_q[143:128] : head0_q[111:96];
  assign l3 = vlan ? 5'd18 : 5'd14;

  dingo_mac_match u_match (
      .gids_i, .mac_valid_i, .macs_i, .valid_i(valid0_q), .mac_i(head0_q[47:0]), .table_o(in_table), .ours_o(ours)
  );

  always_ff @(posedge clk_i) begin
    valid1_q <= valid0_q && rst_ni;
    if (valid0_q) begin
      ip1_q <= vlan ? head0_q[847:144] : head0_q[815:112];
      vlan1_q <= vlan;
      tci1_q <= roce_pkg::be16(head0_q[127:112]);
      ours1_q <= ours;
      avail1_q <= len0_q < 16'(l3) ? '0 : len0_q - 16'(l3);
      is4_1_q <= len0_q >= 16'(l3) && ether_type == roce_pkg::WIRE_IPV4;
      is6_1_q <= len0_q >= 16'(l3) && ether_type == roce_pkg::WIRE_IPV6;
      len1_q <= len0_q;
      beats1_q <= beats0_q;
      bad1_q <= bad0_q;
      down1_q <= down0_q;
    end
  end

  // ---- 2: IP header removed, opcode looked up
  logic [15:0]  ip_length, datagram;
  logic         roce4, roce6, fragment, short_ip;
  logic         valid2_q, bad2_q, down2_q, vlan2_q, ours2_q, is4_2_q, roce2_q, fragment2_q, short2_q;
  logic [15:0]  tci2_q, datagram2_q;
  logic [19:0]  sum, sum2_q;
  logic [319:0] ip2_q;
  logic [383:0] udp2_q;
  logic [7:0]   beats2_q;
  logic [15:0]  len2_q;
  logic         known, deth, reth, aeth, imm, atomic, atomic_ack, known2_q, deth2_q, reth2_q, aeth2_q, imm2_q, atomic2_q, atomic_ack2_q;
  logic [6:0]   bth_bytes, bth_bytes2_q;

  dingo_opcode u_opcode (
      .opcode_i(is4_1_q ? ip1_q[231:224] : ip1_q[391:384]), .known_o(known), .deth_o(deth), .reth_o(reth),
      .aeth_o(aeth), .atomic_o(atomic), .atomic_ack_o(atomic_ack), .imm_o(imm), .header_bytes_o(bth_bytes)
  );

  roce_pkg::ipv4_t ip4;
  roce_pkg::ipv6_t ip6;
  roce_pkg::udp_t  udp4, udp6;
  assign ip4 = ip1_q[159:0];
  assign ip6 = ip1_q[319:0];
  assign udp4 = ip1_q[223:160];
  assign udp6 = ip1_q[383:320];

  always_comb begin
    ip_length = '0;
    roce4 = '0;
    roce6 = '0;
    fragment = '0;
    short_ip = '0;
    datagram = '0;
    sum = '0;
    if (valid1_q) begin
      ip_length = roce_pkg::be16(is4_1_q ? ip4.total_length : ip6.payload_length);
      roce4 = is4_1_q && avail1_q >= 16'd28 && ip4.version_ihl == roce_pkg::IPV4_VERSION_IHL && ip4.protocol == roce_pkg::IP_PROTOCOL_UDP &&
              roce_pkg::be16(ip4.fragment) << 3 == '0 &&
              roce_pkg::be16(udp4.dport) == dingo_pkg::ROCE_UDP_PORT[15:0];
      roce6 = is6_1_q && avail1_q >= 16'd48 && ip6.flow[7:4] == 4'd6 && ip6.next_header == roce_pkg::IP_PROTOCOL_UDP &&
              roce_pkg::be16(udp6.dport) == dingo_pkg::ROCE_UDP_PORT[15:0];
      fragment = is4_1_q && ip4.fragment[roce_pkg::IPV4_MORE_FRAGMENTS];
      short_ip = is4_1_q ? ip_length > avail1_q || ip_length < 16'd28
                         : ip_length > avail1_q - 16'd40 || ip_length < 16'd8;
      datagram = is4_1_q ? ip_length - 16'd20 : ip_length;
      sum = '0;
      for (int i = 0; i < 10; i++) sum = sum + 20'(roce_pkg::be16(ip1_q[i*16 +: 16]));
    end
  end

  always_ff @(posedge clk_i) begin
    valid2_q <= valid1_q && rst_ni;
    if (valid1_q) begin
      ip2_q <= ip1_q[319:0];
      udp2_q <= is4_1_q ? ip1_q[543:160] : ip1_q[703:320];
      known2_q <= known;
      deth2_q <= deth;
      reth2_q <= reth;
      aeth2_q <= aeth;
      imm2_q <= imm;
      atomic2_q <= atomic;
      atomic_ack2_q <= atomic_ack;
      bth_bytes2_q <= bth_bytes;
      is4_2_q <= is4_1_q;
      roce2_q <= roce4 || roce6;
      fragment2_q <= fragment;
      short2_q <= short_ip;
      datagram2_q <= datagram;
      sum2_q <= sum;
      vlan2_q <= vlan1_q;
      tci2_q <= tci1_q;
      ours2_q <= ours1_q;
      len2_q <= len1_q;
      beats2_q <= beats1_q;
      bad2_q <= bad1_q;
      down2_q <= down1_q;
    end
  end

  // ---- 3: lengths
  logic        checksum_ok;
  logic [16:0] fold;
  logic [15:0] padded, frame;
  logic        before_opcode, form_ok, too_long;
  logic [1:0]  pad;

  roce_pkg::udp_t udp2;
  roce_pkg::bth_t bth2;
  assign udp2 = udp2_q[63:0];
  assign bth2 = udp2_q[159:64];

  always_comb begin
    fold = '0;
    checksum_ok = '0;
    pad = '0;
    before_opcode = '0;
    padded = '0;
    form_ok = '0;
    frame = '0;
    too_long = '0;
    if (valid2_q) begin
      fold = 17'(sum2_q[15:0]) + 17'(sum2_q[19:16]);
      checksum_ok = fold == 17'h0ffff || fold == 17'h1fffe;
      pad = bth2.pad;
      // all checks that come before that of the opcode
      before_opcode = !(is4_2_q && (fragment2_q || !checksum_ok)) && !short2_q &&
                      roce_pkg::be16(udp2.length) == datagram2_q && datagram2_q >= 16'd24 && bth2.tver == '0;
      padded = datagram2_q - 16'd12 - 16'(bth_bytes2_q);     // payload and pad bytes
      form_ok = datagram2_q >= 16'd12 + 16'(bth_bytes2_q) && padded[1:0] == '0 && 16'(pad) <= padded;
      frame = datagram2_q + (is4_2_q ? 16'd34 : 16'd54) + (vlan2_q ? 16'd4 : 16'd0);
      too_long = frame > port_i.mtu + 16'd14 + (vlan2_q ? 16'd4 : 16'd0);
    end
  end

  logic         valid3_q, eth3_q, drop3_q, vlan3_q, is4_3_q, deth3_q, reth3_q, aeth3_q, imm3_q, atomic3_q, atomic_ack3_q;
  logic [5:0]   stat3_q;
  logic [15:0]  tci3_q, payload3_q, len3_q;
  logic [13:0]  frame3_q;
  logic [6:0]   offset3_q;
  logic [7:0]   beats3_q;
  logic [319:0] ip3_q;
  roce_pkg::bth_t bth3_q;
  logic [223:0] ext3_q;             // extension headers

  always_ff @(posedge clk_i) begin
    valid3_q <= valid2_q && rst_ni;
    if (valid2_q) begin
      eth3_q <= !down2_q && !bad2_q && (!roce2_q || !ours2_q);
      drop3_q <= 1'b1;
      if (down2_q) stat3_q <= 6'(dingo_pkg::CARD_RX_PORT_DISABLED);
      else if (bad2_q || !before_opcode) stat3_q <= 6'(dingo_pkg::CARD_RX_DROP_MALFORMED);
      else if (!known2_q) stat3_q <= 6'(dingo_pkg::CARD_RX_DROP_OPCODE);
      else if (!form_ok) stat3_q <= 6'(dingo_pkg::CARD_RX_DROP_MALFORMED);
      else begin
        stat3_q <= 6'(dingo_pkg::CARD_ETH_RX_TOO_LONG);
        drop3_q <= too_long;
      end
      ip3_q <= ip2_q;
      {ext3_q, bth3_q} <= udp2_q[383:64];
      is4_3_q <= is4_2_q;
      vlan3_q <= vlan2_q;
      tci3_q <= tci2_q;
      deth3_q <= deth2_q;
      reth3_q <= reth2_q;
      aeth3_q <= aeth2_q;
      imm3_q <= imm2_q;
      atomic3_q <= atomic2_q;
      atomic_ack3_q <= atomic_ack2_q;
      payload3_q <= padded - 16'(pad);
      frame3_q <= frame[13:0];
      len3_q <= len2_q;
      offset3_q <= bth_bytes2_q + (is4_2_q ? 7'd42 : 7'd62) + (vlan2_q ? 7'd4 : 7'd0);
      beats3_q <= beats2_q;
    end
  end

  // ---- 4: fields
  rtl_pkg::rxh_t   h;
  roce_pkg::ipv4_t ip4_3;
  roce_pkg::ipv6_t ip6_3;
  roce_pkg::reth_t reth3;
  roce_pkg::deth_t deth3;
  roce_pkg::atomic_t atomic3;
  roce_pkg::aeth_t aeth3;

  assign ip4_3 = ip3_q[159:0];
  assign ip6_3 = ip3_q;
  assign reth3 = ext3_q[127:0];
  assign deth3 = ext3_q[63:0];
  assign atomic3 = ext3_q;
  assign aeth3 = ext3_q[31:0];

  always_comb begin
    h = '0;
    if (valid3_q) begin
      h.ipv4 = is4_3_q;
      h.has_vlan = vlan3_q;
      h.vlan = vlan3_q ? tci3_q : '0;
      h.ce = is4_3_q ? ip4_3.tos[1:0] == ECN_CE : ip6_3.flow[13:12] == ECN_CE;
      h.frame_bytes = frame3_q;
      h.sgid = is4_3_q ? {ip4_3.saddr, 16'hffff, 80'd0} : ip6_3.saddr;
      h.dgid = is4_3_q ? {ip4_3.daddr, 16'hffff, 80'd0} : ip6_3.daddr;
      h.grh = is4_3_q ? {ip4_3, 160'd0} : ip3_q;
      h.opcode = bth3_q.opcode;
      h.se = bth3_q.se;
      h.pkey = roce_pkg::be16(bth3_q.pkey);
      h.dqpn = roce_pkg::be24(bth3_q.dqpn);
      h.ackreq = bth3_q.ackreq;
      h.psn = roce_pkg::be24(bth3_q.psn);
      if (reth3_q) begin
        h.va = roce_pkg::be64(reth3.va);
        h.rkey = roce_pkg::be32(reth3.rkey);
        h.dma_len = roce_pkg::be32(reth3.dma_len);
      end
      if (deth3_q) begin
        h.qkey = roce_pkg::be32(deth3.qkey);
        h.src_qpn = roce_pkg::be24(deth3.src_qpn);
      end
      if (atomic3_q) begin
        h.va = roce_pkg::be64(atomic3.va);
        h.rkey = roce_pkg::be32(atomic3.rkey);
        h.dma_len = 32'd8;
        h.swap_add = roce_pkg::be64(atomic3.swap_add);
        h.compare = roce_pkg::be64(atomic3.compare);
      end
      if (atomic_ack3_q) h.swap_add = roce_pkg::be64(ext3_q[95:32]);
      if (aeth3_q) begin
        h.syndrome = aeth3.syndrome;
        h.msn = roce_pkg::be24(aeth3.msn);
      end
      if (imm3_q) h.imm = reth3_q ? ext3_q[159:128] : deth3_q ? ext3_q[95:64] : ext3_q[31:0];
      h.len = payload3_q > 16'(MaxLen) ? MaxLen[12:0] : payload3_q[12:0];
    end
  end

  always_ff @(posedge clk_i) begin
    valid_o <= valid3_q && rst_ni;
    if (valid3_q) begin
      eth_o <= eth3_q;
      drop_o <= drop3_q && !eth3_q;
      stat_o <= stat3_q;
      beats_o <= beats3_q;
      last_bytes_o <= 16'(beats3_q) << 6 < len3_q ? 7'd64 : {1'b0, len3_q[5:0]} == '0 ? 7'd64 : {1'b0, len3_q[5:0]};
      offset_o <= offset3_q;
      rxh_o <= h;
    end
  end

  assign idle_o = !(valid0_q || valid1_q || valid2_q || valid3_q || valid_o);
  wire unused_ok = &{1'b0, in_table, port_i, head0_q, bth3_q, ip2_q, udp2_q, ip4, ip6, udp4, udp6, udp2, bth2, ip4_3, ip6_3, deth3, high_q[511:336]};
endmodule
