// SPDX-License-Identifier: BSD-2-Clause

/// Which flow a frame belongs to: its addresses, its ports if it has some, and the Toeplitz hash of both, four bytes
/// a cycle. One VLAN tag is passed over; fragments and what is neither TCP nor UDP count by their addresses.
module dingo_eth_flow (
    input  logic         clk_i,
    input  logic         rst_ni,
    input  logic         start_i,      // nothing is in work; head_i, len_i and key_i stay until done_o
    input  logic [655:0] head_i,       // the frame's first bytes, up to the ports behind the longest IPv4 header
    input  logic [13:0]  len_i,        // what lies behind it in head_i counts for nothing
    input  logic [319:0] key_i,        // its first byte in bits 7:0
    output logic         done_o,       // what follows stays until the next start
    output logic         ip_o,
    output logic         ports_o,      // the hash has them
    output logic [31:0]  hash_o        // 0 without IP
);
  localparam logic [7:0] Tcp = 8'd6;
  localparam logic [15:0] MoreOrOffset = 16'h3fff;

  typedef enum logic [2:0] {
    IDLE  = 3'd0,
    IP    = 3'd1,    // the Ethernet header is away
    HASH  = 3'd2,    // addresses and ports word by word
    LAST  = 3'd3,    // the last word is being added
    DONE  = 3'd4
  } state_t;
  state_t state_q;

  // ---- where the IP header is
  logic         vlan, is4_q, is6_q;
  logic [15:0]  ether_type;
  logic [13:0]  l3, avail_q;
  logic [511:0] ip_q;
  assign vlan = head_i[111:96] == roce_pkg::WIRE_VLAN;
  assign ether_type = vlan ? head_i[143:128] : head_i[111:96];
  assign l3 = vlan ? 14'd18 : 14'd14;

  // ---- addresses and ports
  roce_pkg::ipv4_t ip4;
  roce_pkg::ipv6_t ip6;
  logic [5:0]  ihl;                    // bytes of the IPv4 header
  logic [7:0]  protocol;
  logic        ip, fragment, ports;
  logic [31:0] ports4;
  logic [13:0] behind;                 // bytes up to the end of the ports
  logic [287:0] text_q;
  logic [3:0]  words_q;
  logic        ports_q;

  assign ip4 = ip_q[159:0];
  assign ip6 = ip_q[319:0];
  assign ihl = {ip4.version_ihl[3:0], 2'd0};
  assign ip = (is4_q && avail_q >= 14'd20) || (is6_q && avail_q >= 14'd40);
  assign protocol = is4_q ? ip4.protocol : ip6.next_header;
  assign fragment = is4_q && (roce_pkg::be16(ip4.fragment) & MoreOrOffset) != '0;
  assign behind = is4_q ? 14'(ihl) + 14'd4 : 14'd44;
  assign ports = ip && !fragment && !(is4_q && ihl < 6'd20) && avail_q >= behind && (protocol == Tcp || protocol == roce_pkg::IP_PROTOCOL_UDP);
  always_comb begin
    ports4 = '0;
    for (int i = 5; i < 16; i++) if (ip4.version_ihl[3:0] == 4'(i)) ports4 = ports4 | ip_q[i*32 +: 32];
  end

  // ---- a word of text, and the 63 bits of the key that it meets
  logic [319:0] key;                   // first bit highest
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

  always_ff @(posedge clk_i) begin
    word_valid_q <= rst_ni && state_q == HASH;
    if (word_valid_q) hash_q <= hash_q ^ part;
    case (state_q)
      IDLE: if (start_i) begin
        ip_q <= vlan ? head_i[655:144] : head_i[623:112];
        avail_q <= len_i < l3 ? '0 : len_i - l3;
        is4_q <= ether_type == roce_pkg::WIRE_IPV4;
        is6_q <= ether_type == roce_pkg::WIRE_IPV6;
        state_q <= IP;
      end
      IP: begin
        text_q <= is4_q ? {192'd0, ports4, ip_q[159:96]} : {ip_q[351:320], ip_q[319:64]};
        words_q <= (is4_q ? 4'd2 : 4'd8) + 4'(ports);
        ports_q <= ports;
        hash_q <= '0;
        at_q <= '0;
        ip_o <= ip;
        state_q <= ip ? HASH : DONE;
      end
      HASH: begin
        text_q <= text_q >> 32;
        at_q <= at_q + 4'd1;
        if (at_q + 4'd1 == words_q) state_q <= LAST;
      end
      LAST: state_q <= DONE;
      default: state_q <= IDLE;
    endcase
    if (state_q == HASH) begin
      word_q <= {text_q[7:0], text_q[15:8], text_q[23:16], text_q[31:24]};
      for (int i = 0; i < 9; i++) if (at_q == 4'(i)) window_q <= key[319 - i*32 -: 63];
    end
    if (!rst_ni) state_q <= IDLE;
    else if (start_i) assert (state_q == IDLE);
  end

  assign done_o = state_q == DONE;
  assign ports_o = ports_q;
  assign hash_o = hash_q;
  wire unused_ok = &{1'b0, ip4, ip6, head_i, ip_q, key};
endmodule
