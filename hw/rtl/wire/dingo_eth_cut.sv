// SPDX-License-Identifier: BSD-2-Clause

/// TCP segmentation (TSO): one frame may be under way per ring. Judges whether a frame can be cut, computes size and
/// header fields of its next segment, and puts these fields into the headers as they pass. The place of the TCP
/// checksum gets the pseudo-header's sum; dingo_tx_eth completes it. A judgement takes dingo_eth_flow and 1 cycle, a
/// segment 4 cycles.
module dingo_eth_cut (
    input  logic         clk_i,
    input  logic         rst_ni,
    input  logic         forget_i,      // discard the frame that forget_ring_i has under way
    input  rtl_pkg::ethi_t forget_ring_i,
    output logic [(1<<rtl_pkg::ETH_LOG)-1:0] under_way_o,  // rings that have a frame under way
    input  rtl_pkg::ethi_t ring_i,      // the ring of all ports below
    // a new frame: its first 98 bytes (all of a shorter one) as two beats, then judge_i
    input  logic         head_valid_i,
    input  logic         head_second_i,  // head_i is the second beat
    input  logic [511:0] head_i,
    input  logic         judge_i,
    input  logic [16:0]  length_i,      // bytes of the frame; stays, like the next three, until judged_o
    input  logic [6:0]   count_i,       // descriptors of the frame
    input  logic [8:0]   start_i,       // where the TCP header begins, as the driver says
    input  logic [15:0]  mss_i,         // payload bytes of a segment
    output logic         judged_o,      // one cycle
    output logic         good_o,        // the frame can be cut and is under way
    // the frame under way
    output logic [16:0]  length_o,
    output logic [6:0]   count_o,
    output logic [6:0]   piece_o,       // where the next payload lies: descriptor, and
    output logic [16:0]  skip_o,        // offset there; both as told with sent_i
    output logic         begun_o,       // a segment was sent before
    // the frame's next segment
    input  logic         next_i,
    output logic         next_valid_o,  // the outputs below hold until the next next_i
    output logic [16:0]  bytes_o,       // bytes of the segment with headers
    output logic [7:0]   headers_o,     // bytes of the headers
    output logic         tagged_o,      // the frame has a VLAN tag
    output logic [6:0]   l4_o,          // where the TCP header begins
    output logic         last_o,        // it is the last one
    input  logic         sent_i,        // it was sent; the next payload is at piece_i, skip_i
    input  logic [6:0]   piece_i,
    input  logic [16:0]  skip_i,
    input  logic         end_i,         // the frame ends, sent or not
    // the segment's first two beats, without and with its own fields
    input  logic         second_i,
    input  logic [511:0] data_i,
    output logic [511:0] data_o
);
  localparam int unsigned Rings = 1 << rtl_pkg::ETH_LOG;
  typedef struct packed {
    logic [16:0] length;
    logic [6:0]  count;
    logic [6:0]  piece;
    logic [16:0] skip;
    logic [16:0] left;                  // bytes of payload not sent yet
    logic [15:0] mss;
    logic [7:0]  headers;
    logic [6:0]  l4;
    logic        vlan;
    logic        v4;
    logic        begun;
    logic [31:0] seq;
    logic [15:0] flags;                 // TCP's data offset and flags
    logic [15:0] id;
    logic [15:0] base;                  // sum of the IPv4 header without length, ID and checksum
    logic [15:0] pseudo;                // sum of the pseudo-header without length
  } cut_t;
  cut_t cut, made, after;
  logic [$bits(cut)-1:0] cuts [Rings];
  logic [Rings-1:0] under_way_q;
  assign cut = cuts[ring_i];

  function automatic logic [15:0] fold(input logic [17:0] sum);
    logic [16:0] once;
    once = 17'(sum[15:0]) + 17'(sum[17:16]);
    fold = once[15:0] + 16'(once[16]);
  endfunction

  // ---- a new frame
  logic [783:0] head_q;                 // up to the end of the TCP header without options
  logic         flow_done, ip, ports, v4, tcp, vlan, unused_summed;
  logic [6:0]   l4;
  logic [16:0]  unused_end;
  logic [15:0]  base, pseudo;
  logic [31:0]  unused_hash;
  dingo_eth_flow u_flow (
      .clk_i, .rst_ni, .start_i(judge_i), .head_i(head_q[687:0]), .len_i(length_i), .key_i('0), .done_o(flow_done),
      .ip_o(ip), .ports_o(ports), .hash_o(unused_hash), .tagged_o(vlan), .v4_o(v4), .tcp_o(tcp), .l4_o(l4),
      .end_o(unused_end), .summed_o(unused_summed), .base_o(base), .pseudo_o(pseudo)
  );

  logic [159:0] tcp_header, tcp_q;
  logic [687:0] ip_bytes;
  logic         flow_done_q;
  logic [5:0]   tcp_bytes;
  assign ip_bytes = head_q[687:0];
  always_comb begin
    tcp_header = '0;
    for (int i = 34; i <= 78; i += 4) if (l4 == 7'(i)) tcp_header = tcp_header | head_q[i*8 +: 160];
  end
  assign tcp_bytes = {tcp_q[103:100], 2'd0};
  assign judged_o = flow_done_q;
  assign good_o = ip && ports && tcp && 9'(l4) == start_i && mss_i != '0 && length_i >= 17'(l4) + 17'd20 &&
                  tcp_bytes >= 6'd20 && length_i > 17'(l4) + 17'(tcp_bytes);
  always_comb begin
    made = '0;
    made.length = length_i;
    made.count = count_i;
    made.left = length_i - 17'(l4) - 17'(tcp_bytes);
    made.mss = mss_i;
    made.headers = 8'(l4) + 8'(tcp_bytes);
    made.l4 = l4;
    made.vlan = vlan;
    made.v4 = v4;
    made.seq = roce_pkg::be32(tcp_q[63:32]);
    made.flags = roce_pkg::be16(tcp_q[111:96]);
    made.id = roce_pkg::be16(vlan ? ip_bytes[22*8 +: 16] : ip_bytes[18*8 +: 16]);
    made.base = base;
    made.pseudo = pseudo;
  end

  // ---- the next segment
  logic [16:0] payload_q, ip_length, l4_length;
  logic [15:0] ip_sum_q, tcp_sum_q, ip_length_q, id_q, flags_q;
  logic [31:0] seq_q;
  logic [7:0]  headers_q;
  logic [6:0]  l4_q;
  logic        last_q, tagged_q, v4_q, step1_q, step2_q, step3_q;
  logic [17:0] ip_all_q, tcp_all_q;
  logic [16:0] bytes_q;
  logic [7:0]  l3;
  assign l3 = tagged_q ? 8'd18 : 8'd14;
  assign ip_length = bytes_q - (v4_q ? 17'(l3) : 17'(l4_q));
  assign l4_length = bytes_q - 17'(l4_q);
  always_comb begin
    after = cut;
    after.left = cut.left - payload_q;
    after.seq = cut.seq + 32'(payload_q);
    after.id = cut.id + 16'd1;
    after.begun = 1'b1;
    after.piece = piece_i;
    after.skip = skip_i;
  end

  always_ff @(posedge clk_i) begin
    flow_done_q <= flow_done && rst_ni;
    tcp_q <= tcp_header;
    if (head_valid_i && !head_second_i) head_q[511:0] <= head_i;
    if (head_valid_i && head_second_i) head_q[783:512] <= head_i[271:0];
    step1_q <= next_i && rst_ni;
    step2_q <= step1_q && rst_ni;
    step3_q <= step2_q && rst_ni;
    next_valid_o <= step3_q && rst_ni;
    if (next_i) begin
      payload_q <= cut.left > 17'(cut.mss) ? 17'(cut.mss) : cut.left;
      last_q <= cut.left <= 17'(cut.mss);
      headers_q <= cut.headers;
      l4_q <= cut.l4;
      tagged_q <= cut.vlan;
      v4_q <= cut.v4;
      seq_q <= cut.seq;
      id_q <= cut.id;
      flags_q <= cut.flags & ~(cut.begun ? 16'h0080 : 16'h0) & ~(cut.left > 17'(cut.mss) ? 16'h0009 : 16'h0);
    end
    if (step1_q) bytes_q <= 17'(headers_q) + payload_q;
    if (step2_q) begin
      ip_length_q <= ip_length[15:0];
      ip_all_q <= 18'(cut.base) + 18'(ip_length[15:0]) + 18'(cut.id);
      tcp_all_q <= 18'(cut.pseudo) + 18'(l4_length[15:0]);
    end
    if (step3_q) begin
      ip_sum_q <= ~fold(ip_all_q);
      tcp_sum_q <= fold(tcp_all_q);
    end
    if (judged_o && good_o) cuts[ring_i] <= made;
    else if (sent_i) cuts[ring_i] <= after;
    if (judged_o && good_o) under_way_q[ring_i] <= 1'b1;
    if (end_i || (sent_i && last_q)) under_way_q[ring_i] <= 1'b0;
    if (forget_i) under_way_q[forget_ring_i] <= 1'b0;
    if (!rst_ni) under_way_q <= '0;
    else assert (!(next_i || sent_i) || under_way_q[ring_i]);
  end

  assign under_way_o = under_way_q;
  assign length_o = cut.length;
  assign count_o = cut.count;
  assign piece_o = cut.piece;
  assign skip_o = cut.skip;
  assign begun_o = cut.begun;
  assign bytes_o = bytes_q;
  assign headers_o = headers_q;
  assign tagged_o = tagged_q;
  assign l4_o = l4_q;
  assign last_o = last_q;

  // ---- the segment's fields, each two bytes at an even offset
  localparam int unsigned Fields = 7;
  logic [Fields-1:0]   on;
  logic [Fields*6-1:0] places;          // offset / 2
  logic [Fields*16-1:0] values;
  logic [5:0] ip_at, tcp_at;
  assign ip_at = l3[6:1];
  assign tcp_at = l4_q[6:1];
  assign on = {4'b1111, v4_q, v4_q, 1'b1};
  assign places = {tcp_at + 6'd8, tcp_at + 6'd6, tcp_at + 6'd3, tcp_at + 6'd2, ip_at + 6'd5, ip_at + 6'd2,
                   ip_at + (v4_q ? 6'd1 : 6'd2)};
  assign values = {tcp_sum_q, flags_q, seq_q[15:0], seq_q[31:16], ip_sum_q, id_q, ip_length_q};
  always_comb begin
    data_o = data_i;
    for (int i = 0; i < 32; i++) begin
      for (int f = 0; f < Fields; f++)
        if (on[f] && places[f*6 +: 6] == {second_i, 5'(i)}) data_o[i*16 +: 16] = {values[f*16 +: 8], values[f*16+8 +: 8]};
    end
  end
  wire unused_ok = &{1'b0, unused_summed, unused_end, unused_hash, tcp_q, ip_bytes, ip_length, l4_length, l3, cut};
endmodule
