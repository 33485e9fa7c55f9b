// SPDX-License-Identifier: BSD-2-Clause

/// Headers of a RoCE packet, from the Ethernet header to the last extension header, and what the stages behind need
/// to know of its frame. Four stages, a packet a cycle; stalls when the taker does.
module dingo_tx_headers (
    input  logic          clk_i,
    input  logic          rst_ni,
    output logic          idle_o,
    input  logic [(1<<rtl_pkg::GID_LOG)*rtl_pkg::GID_W-1:0] gids_i,
    input  logic [(1<<rtl_pkg::MAC_LOG)-1:0]                mac_valid_i,
    input  logic [(1<<rtl_pkg::MAC_LOG)*48-1:0]             macs_i,
    input  logic          txd_valid_i,
    output logic          txd_ready_o,
    input  rtl_pkg::txd_t txd_i,
    output logic          valid_o,
    input  logic          ready_i,
    output logic [847:0]  headers_o,      // at most 106 bytes; undefined after header_bytes_o
    output logic [6:0]    header_bytes_o,
    output logic [12:0]   frame_bytes_o,  // with pad and ICRC, without FCS
    output logic [12:0]   len_o,          // payload bytes
    output logic          ipv6_o,
    output logic          vlan_o,
    output logic          ours_o,         // the frame is looped back
    output logic          from_rsp_o,
    output logic          tell_o,
    output rtl_pkg::gen_t gen_o,
    output rtl_pkg::qpi_t qp_o,
    output logic [23:0]   psn_o
);
  logic en1, en2, en3, en4;
  logic valid1_q, valid2_q, valid3_q, valid4_q;

  assign en4 = !valid4_q || ready_i;
  assign en3 = !valid3_q || en4;
  assign en2 = !valid2_q || en3;
  assign en1 = !valid1_q || en2;
  assign txd_ready_o = en1;
  assign valid_o = valid4_q;
  assign idle_o = !(valid1_q || valid2_q || valid3_q || valid4_q);

  always_ff @(posedge clk_i) begin
    if (en1) valid1_q <= txd_valid_i;
    if (en2) valid2_q <= valid1_q;
    if (en3) valid3_q <= valid2_q;
    if (en4) valid4_q <= valid3_q;
    if (!rst_ni) begin
      valid1_q <= 1'b0;
      valid2_q <= 1'b0;
      valid3_q <= 1'b0;
      valid4_q <= 1'b0;
    end
  end

  // ---- 1: descriptor and source address
  rtl_pkg::txd_t txd1_q;
  rtl_pkg::gid_t gid1_q;
  logic [15:0]   id_q, id1_q;      // IPv4 identification: counts all packets
  rtl_pkg::gid_t gid;

  always_comb begin                // a multiplexer; a variable part-select would become a shifter
    gid = '0;
    if (txd_valid_i) begin
      for (int unsigned g = 0; g < 1 << rtl_pkg::GID_LOG; g++)
        if (txd_i.sgid == rtl_pkg::GID_LOG'(g)) gid = gids_i[g*rtl_pkg::GID_W +: rtl_pkg::GID_W];
    end
  end

  always_ff @(posedge clk_i) begin
    if (en1 && txd_valid_i) begin
      txd1_q <= txd_i;
      gid1_q <= gid;
      id1_q <= id_q;
      id_q <= id_q + 16'd1;
    end
    if (!rst_ni) id_q <= '0;
  end

  // ---- 2: transport headers, lengths, sums
  logic          known, deth, reth, aeth, imm, atomic, atomic_ack, ours, in_table;
  logic [6:0]    bth_bytes;
  logic [1:0]    pad;
  logic [12:0]   udp_bytes;
  logic [223:0]  ext;
  roce_pkg::bth_t  bth;
  roce_pkg::reth_t reth_out;
  roce_pkg::deth_t deth_out;
  roce_pkg::aeth_t aeth_out;
  roce_pkg::atomic_t atomic_out;
  logic [18:0]   sum_here, sum_there;   // of the IPv4 header's words without total length

  dingo_opcode u_opcode (
      .opcode_i(txd1_q.opcode), .known_o(known), .deth_o(deth), .reth_o(reth), .aeth_o(aeth),
      .atomic_o(atomic), .atomic_ack_o(atomic_ack), .imm_o(imm), .header_bytes_o(bth_bytes)
  );
  dingo_mac_match u_match (
      .gids_i, .mac_valid_i, .macs_i, .valid_i(valid1_q), .mac_i(txd1_q.dmac), .table_o(in_table), .ours_o(ours)
  );

  always_comb begin
    pad = '0;
    udp_bytes = '0;
    bth = '0;
    reth_out = '0;
    deth_out = '0;
    aeth_out = '0;
    atomic_out = '0;
    ext = '0;
    sum_here = '0;
    sum_there = '0;
    if (valid1_q) begin
      pad = 2'd0 - txd1_q.len[1:0];
      udp_bytes = 13'd12 + 13'(bth_bytes) + txd1_q.len + 13'(pad);
      bth.opcode = txd1_q.opcode;
      bth.pad = pad;
      bth.migreq = 1'b1;
      bth.se = txd1_q.se;
      bth.pkey = dingo_pkg::PKEY_DEFAULT[15:0];
      bth.dqpn = roce_pkg::be24(txd1_q.dqpn);
      bth.ackreq = txd1_q.ackreq;
      bth.psn = roce_pkg::be24(txd1_q.psn);
      reth_out.va = roce_pkg::be64(txd1_q.va);
      reth_out.rkey = roce_pkg::be32(txd1_q.rkey);
      reth_out.dma_len = roce_pkg::be32(txd1_q.dma_len);
      deth_out.qkey = roce_pkg::be32(txd1_q.qkey);
      deth_out.src_qpn = roce_pkg::be24(txd1_q.src_qpn);
      aeth_out.syndrome = txd1_q.syndrome;
      aeth_out.msn = roce_pkg::be24(txd1_q.msn);
      atomic_out.va = reth_out.va;
      atomic_out.rkey = reth_out.rkey;
      atomic_out.swap_add = roce_pkg::be64(txd1_q.swap_add);
      atomic_out.compare = roce_pkg::be64(txd1_q.compare);
      if (reth) begin
        ext[159:0] = {txd1_q.imm, reth_out};
      end else if (atomic) begin
        ext = atomic_out;
      end else if (deth) begin
        ext[95:0] = {txd1_q.imm, deth_out};
      end else if (aeth) begin
        ext[31:0] = aeth_out;
        if (atomic_ack) ext[95:32] = atomic_out.swap_add;
      end else if (imm) begin
        ext[31:0] = txd1_q.imm;
      end
      sum_here = 19'h4511 + 19'h4000 + 19'(txd1_q.tclass) + 19'(id1_q) +
                 {3'd0, (txd1_q.hop_limit == '0 ? roce_pkg::DEFAULT_HOP_LIMIT : txd1_q.hop_limit), 8'd0};
      sum_there = 19'(roce_pkg::be16(gid1_q.gid[111:96])) + 19'(roce_pkg::be16(gid1_q.gid[127:112])) +
                  19'(roce_pkg::be16(txd1_q.dgid[111:96])) + 19'(roce_pkg::be16(txd1_q.dgid[127:112]));
    end
  end

  rtl_pkg::txd_t txd2_q;
  rtl_pkg::gid_t gid2_q;
  logic [15:0]   id2_q;
  logic [18:0]   sum_here2_q, sum_there2_q;
  logic [319:0]  transport2_q;     // BTH and extension headers
  logic [6:0]    bth_bytes2_q;
  logic [12:0]   udp_bytes2_q;
  logic          ours2_q, vlan2_q;

  always_ff @(posedge clk_i) begin
    if (en2 && valid1_q) begin
      txd2_q <= txd1_q;
      gid2_q <= gid1_q;
      id2_q <= id1_q;
      sum_here2_q <= sum_here;
      sum_there2_q <= sum_there;
      transport2_q <= {ext, bth};
      bth_bytes2_q <= bth_bytes;
      udp_bytes2_q <= udp_bytes;
      ours2_q <= ours && !txd1_q.dmac[0];
      vlan2_q <= gid1_q.vlan != dingo_pkg::VLAN_NONE[15:0];
      if (rst_ni) begin
        assert (known);
        assert (gid1_q.valid);
      end
    end
  end

  // ---- 3: both IP headers, UDP, VLAN tag
  logic [12:0]  ip_bytes;
  logic [19:0]  sum;
  logic [7:0]   hops;
  roce_pkg::ipv4_t ipv4;
  roce_pkg::ipv6_t ipv6;
  roce_pkg::udp_t  udp;
  logic [15:0]  tci, ip_type;

  always_comb begin
    ip_bytes = '0;
    sum = '0;
    hops = '0;
    ipv4 = '0;
    ipv6 = '0;
    udp = '0;
    tci = '0;
    ip_type = '0;
    if (valid2_q) begin
      ip_bytes = udp_bytes2_q + 13'd20;
      sum = {1'b0, sum_here2_q} + {1'b0, sum_there2_q} + 20'(ip_bytes);
      hops = txd2_q.hop_limit == '0 ? roce_pkg::DEFAULT_HOP_LIMIT : txd2_q.hop_limit;
      ipv4.version_ihl = roce_pkg::IPV4_VERSION_IHL;
      ipv4.tos = txd2_q.tclass;
      ipv4.total_length = roce_pkg::be16(16'(ip_bytes));
      ipv4.id = roce_pkg::be16(id2_q);
      ipv4.fragment = roce_pkg::IPV4_DONT_FRAGMENT;
      ipv4.ttl = hops;
      ipv4.protocol = roce_pkg::IP_PROTOCOL_UDP;
      ipv4.saddr = gid2_q.gid[127:96];
      ipv4.daddr = txd2_q.dgid[127:96];
      ipv6.flow = roce_pkg::be32({4'd6, txd2_q.tclass, txd2_q.flow_label});
      ipv6.payload_length = roce_pkg::be16(16'(udp_bytes2_q));
      ipv6.next_header = roce_pkg::IP_PROTOCOL_UDP;
      ipv6.hop_limit = hops;
      ipv6.saddr = gid2_q.gid;
      ipv6.daddr = txd2_q.dgid;
      udp.sport = roce_pkg::be16(txd2_q.udp_sport);
      udp.dport = roce_pkg::be16(dingo_pkg::ROCE_UDP_PORT[15:0]);
      udp.length = roce_pkg::be16(16'(udp_bytes2_q));
      tci = {txd2_q.sl[2:0], 1'b0, gid2_q.vlan[11:0]};
      ip_type = gid2_q.ipv4 ? roce_pkg::ETHERTYPE_IPV4 : roce_pkg::ETHERTYPE_IPV6;
    end
  end

  logic [703:0] packet3_q;         // IP header to last extension header
  logic [143:0] ethernet3_q;
  logic [19:0]  sum3_q;
  logic         ipv4_3_q, vlan3_q, ours3_q, from_rsp3_q, tell3_q;
  logic [6:0]   bytes3_q;
  logic [12:0]  frame3_q, len3_q;
  logic [23:0]  psn3_q;
  rtl_pkg::qpi_t qp3_q;
  rtl_pkg::gen_t gen3_q;

  always_ff @(posedge clk_i) begin
    if (en3 && valid2_q) begin
      if (gid2_q.ipv4) packet3_q <= {160'd0, transport2_q, udp, ipv4};
      else packet3_q <= {transport2_q, udp, ipv6};
      ethernet3_q <= {roce_pkg::be16(ip_type), roce_pkg::be16(tci),
                      roce_pkg::be16(vlan2_q ? roce_pkg::ETHERTYPE_VLAN : ip_type), gid2_q.mac, txd2_q.dmac};
      sum3_q <= sum;
      ipv4_3_q <= gid2_q.ipv4;
      vlan3_q <= vlan2_q;
      ours3_q <= ours2_q;
      from_rsp3_q <= txd2_q.from_rsp;
      tell3_q <= txd2_q.tell;
      gen3_q <= txd2_q.gen;
      psn3_q <= txd2_q.psn;
      qp3_q <= txd2_q.qp;
      len3_q <= txd2_q.len;
      bytes3_q <= bth_bytes2_q + (gid2_q.ipv4 ? 7'd42 : 7'd62) + (vlan2_q ? 7'd4 : 7'd0);
      frame3_q <= udp_bytes2_q + (gid2_q.ipv4 ? 13'd34 : 13'd54) + (vlan2_q ? 13'd4 : 13'd0);
    end
  end

  // ---- 4: IPv4 checksum, and the parts joined
  logic [15:0]  checksum;
  logic [16:0]  folded;
  logic [703:0] packet;

  always_comb begin
    folded = '0;
    checksum = '0;
    packet = '0;
    if (valid3_q) begin
      folded = 17'(sum3_q[15:0]) + 17'(sum3_q[19:16]);
      checksum = ~(folded[15:0] + 16'(folded[16]));
      packet = packet3_q;
      if (ipv4_3_q) packet[95:80] = roce_pkg::be16(checksum);
    end
  end

  always_ff @(posedge clk_i) begin
    if (en4 && valid3_q) begin
      headers_o <= vlan3_q ? {packet, ethernet3_q} : {32'd0, packet, ethernet3_q[111:0]};
      header_bytes_o <= bytes3_q;
      frame_bytes_o <= frame3_q;
      len_o <= len3_q;
      ipv6_o <= !ipv4_3_q;
      vlan_o <= vlan3_q;
      ours_o <= ours3_q;
      from_rsp_o <= from_rsp3_q;
      tell_o <= tell3_q;
      gen_o <= gen3_q;
      qp_o <= qp3_q;
      psn_o <= psn3_q;
    end
  end

  wire unused_ok = &{1'b0, in_table, txd2_q, gid2_q, gid1_q, packet3_q};
endmodule
