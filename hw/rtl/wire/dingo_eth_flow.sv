// SPDX-License-Identifier: BSD-2-Clause

/// Parses the headers of a frame: their place and meaning, their checksum sums (four bytes a cycle), and the Toeplitz
/// hash of addresses and ports. One VLAN tag is skipped; fragments, and protocols other than TCP and UDP, have no
/// ports. One frame at a time: 2 cycles without IP, 9 with IPv4 without options, 12 or 13 with IPv6; never stalls.
module dingo_eth_flow (
    input  logic         clk_i,
    input  logic         rst_ni,
    input  logic         start_i,      // only when idle; head_i, len_i and key_i stay until done_o
    input  logic [687:0] head_i,       // the first bytes, up to 8 after the longest IPv4 header
    input  logic [16:0]  len_i,        // bytes of the frame; head_i after them is not used
    input  logic [319:0] key_i,        // first byte in bits 7:0
    output logic         done_o,       // the outputs below stay until the next start_i
    output logic         ip_o,         // IPv4 or IPv6
    output logic         ports_o,      // TCP or UDP ports are in the hash
    output logic [31:0]  hash_o,       // 0 without IP
    output logic         tagged_o,     // has a VLAN tag
    output logic         v4_o,         // else IPv6
    output logic         tcp_o,        // else UDP; this and all below are valid with ports_o
    output logic [6:0]   l4_o,         // where the TCP or UDP header begins
    output logic [16:0]  end_o,        // where the IP packet ends by its length field
    output logic         summed_o,     // packet complete, with checksums; IPv4's is right
    output logic [15:0]  base_o,       // sum of the IPv4 header without length, identification and checksum
    output logic [15:0]  pseudo_o      // sum of the pseudo-header without length
);
  localparam logic [7:0] Tcp = 8'd6;
  localparam logic [15:0] MoreOrOffset = 16'h3fff;

  typedef enum logic [2:0] {
    IDLE  = 3'd0,
    IP    = 3'd1,    // the IP header is decoded
    HASH  = 3'd2,    // addresses and ports, and the IPv4 header, word by word
    LAST  = 3'd3,    // the last word is being added
    FOLD  = 3'd4,
    DONE  = 3'd5
  } state_t;
  state_t state_q;

  // ---- where the IP header is
  logic         vlan, is4_q, is6_q;
  logic [15:0]  ether_type;
  logic [16:0]  l3, avail_q;
  logic [543:0] ip_q;
  logic         vlan_q;
  assign vlan = head_i[111:96] == roce_pkg::WIRE_VLAN;
  assign ether_type = vlan ? head_i[143:128] : head_i[111:96];
  assign l3 = vlan ? 17'd18 : 17'd14;

  // ---- addresses and ports
  roce_pkg::ipv4_t ip4;
  roce_pkg::ipv6_t ip6;
  logic [5:0]  ihl;                    // bytes of the IPv4 header
  logic [7:0]  protocol;
  logic        ip, fragment, ports;
  logic [63:0] l4_4;                   // the first 8 bytes after the IPv4 header
  logic [15:0] udp_sum, ip_length;
  logic [16:0] behind;                 // bytes from the IP header to the end of the ports
  logic [287:0] text_q;
  logic [3:0]  words_q, steps_q, addresses_q;
  logic        ports_q, tcp_q, v4_q, sums_q;
  logic [6:0]  l4_q;
  logic [15:0] ip_length_q;
  logic [5:0]  ihl_q;
  logic        none_q;                 // UDP without a checksum
  logic [16:0] end_q;

  assign ip4 = ip_q[159:0];
  assign ip6 = ip_q[319:0];
  assign ihl = {ip4.version_ihl[3:0], 2'd0};
  assign ip = (is4_q && avail_q >= 17'd20) || (is6_q && avail_q >= 17'd40);
  assign protocol = is4_q ? ip4.protocol : ip6.next_header;
  assign fragment = is4_q && (roce_pkg::be16(ip4.fragment) & MoreOrOffset) != '0;
  assign behind = is4_q ? 17'(ihl) + 17'd4 : 17'd44;
  assign ip_length = is4_q ? roce_pkg::be16(ip4.total_length) : roce_pkg::be16(ip6.payload_length);
  assign udp_sum = is4_q ? l4_4[63:48] : ip_q[383:368];
  assign ports = ip && !fragment && !(is4_q && ihl < 6'd20) && avail_q >= behind && (protocol == Tcp || protocol == roce_pkg::IP_PROTOCOL_UDP);
  always_comb begin
    l4_4 = '0;
    for (int i = 5; i < 16; i++) if (ip4.version_ihl[3:0] == 4'(i)) l4_4 = l4_4 | ip_q[i*32 +: 64];
  end

  // ---- Toeplitz hash of a word, with the 63 bits of the key that it needs
  logic [319:0] key;                   // first bit is the highest
  logic [31:0]  word_q, hash_q, part;
  logic [62:0]  window_q;
  logic [3:0]   at_q;
  logic         word_valid_q;
  always_comb begin
    for (int i = 0; i < 40; i++) key[319 - i*8 -: 8] = key_i[i*8 +: 8];
  end
  always_comb begin
    part = '0;
    for (int i = 0; i < 32; i++) if (word_q[31 - i]) part = part ^ window_q[62 - i -: 32];
  end

  // ---- sums: the IPv4 header's words, and those of the addresses
  function automatic logic [15:0] fold(input logic [21:0] sum);
    logic [16:0] once;
    once = 17'(sum[15:0]) + 17'(sum[21:16]);
    fold = once[15:0] + 16'(once[16]);
  endfunction
  logic [31:0] ip_word, text_word;
  logic [21:0] base_q, pseudo_q, rest_q;
  logic [15:0] base16_q, rest16_q, pseudo16_q;
  logic        header_ok_q;
  assign ip_word = {ip_q[7:0], ip_q[15:8], ip_q[23:16], ip_q[31:24]};
  assign text_word = {text_q[7:0], text_q[15:8], text_q[23:16], text_q[31:24]};

  always_ff @(posedge clk_i) begin
    word_valid_q <= rst_ni && state_q == HASH && at_q < words_q;
    if (word_valid_q) hash_q <= hash_q ^ part;
    case (state_q)
      IDLE: if (start_i) begin
        ip_q <= vlan ? head_i[687:144] : head_i[655:112];
        vlan_q <= vlan;
        avail_q <= len_i < l3 ? '0 : len_i - l3;
        is4_q <= ether_type == roce_pkg::WIRE_IPV4;
        is6_q <= ether_type == roce_pkg::WIRE_IPV6;
        state_q <= IP;
      end
      IP: begin
        text_q <= is4_q ? {192'd0, l4_4[31:0], ip_q[159:96]} : {ip_q[351:320], ip_q[319:64]};
        words_q <= (is4_q ? 4'd2 : 4'd8) + 4'(ports);
        steps_q <= !is4_q ? 4'd8 + 4'(ports) : ihl < 6'd12 ? 4'd3 : ip4.version_ihl[3:0];
        addresses_q <= is4_q ? 4'd2 : 4'd8;
        ports_q <= ports;
        tcp_q <= protocol == Tcp;
        v4_q <= is4_q;
        l4_q <= (vlan_q ? 7'd18 : 7'd14) + (is4_q ? 7'(ihl) : 7'd40);
        ip_length_q <= ip_length;
        ihl_q <= ihl;
        none_q <= udp_sum == '0;
        sums_q <= 1'b0;
        base_q <= '0;
        rest_q <= 22'(roce_pkg::be16(ip4.total_length)) + 22'(roce_pkg::be16(ip4.id)) + 22'(roce_pkg::be16(ip4.checksum));
        pseudo_q <= 22'(protocol);
        hash_q <= '0;
        at_q <= '0;
        ip_o <= ip;
        state_q <= ip ? HASH : DONE;
      end
      HASH: begin
        text_q <= text_q >> 32;
        at_q <= at_q + 4'd1;
        end_q <= (vlan_q ? 17'd18 : 17'd14) + (v4_q ? 17'd0 : 17'd40) + 17'(ip_length_q);
        sums_q <= ports_q && 17'(ip_length_q) + (v4_q ? 17'd0 : 17'd40) <= avail_q &&
                  17'(ip_length_q) >= (v4_q ? 17'(ihl_q) : 17'd0) + (tcp_q ? 17'd20 : 17'd8) && (tcp_q || !none_q);
        ip_q <= ip_q >> 32;
        base_q <= base_q + (at_q == 4'd1 ? '0 : 22'(ip_word[31:16])) + (at_q == '0 || at_q == 4'd2 ? '0 : 22'(ip_word[15:0]));
        if (at_q < addresses_q) pseudo_q <= pseudo_q + 22'(text_word[31:16]) + 22'(text_word[15:0]);
        if (at_q + 4'd1 == steps_q) state_q <= LAST;
      end
      LAST: begin
        base16_q <= fold(base_q);
        rest16_q <= fold(rest_q);
        pseudo16_q <= fold(pseudo_q);
        state_q <= FOLD;
      end
      FOLD: begin
        header_ok_q <= base16_q == ~rest16_q || (&base16_q && &rest16_q);   // the sum of all words is all ones
        state_q <= DONE;
      end
      default: state_q <= IDLE;
    endcase
    if (state_q == HASH) begin
      word_q <= text_word;
      for (int i = 0; i < 9; i++) if (at_q == 4'(i)) window_q <= key[319 - i*32 -: 63];
    end
    if (!rst_ni) state_q <= IDLE;
    else if (start_i) assert (state_q == IDLE);
  end

  assign done_o = state_q == DONE;
  assign ports_o = ports_q;
  assign hash_o = hash_q;
  assign tagged_o = vlan_q;
  assign v4_o = v4_q;
  assign tcp_o = tcp_q;
  assign l4_o = l4_q;
  assign end_o = end_q;
  assign summed_o = sums_q && (!v4_q || header_ok_q);
  assign base_o = base16_q;
  assign pseudo_o = pseudo16_q;
  wire unused_ok = &{1'b0, ip4, ip6, head_i, ip_q, key};
endmodule
