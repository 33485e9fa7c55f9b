// SPDX-License-Identifier: BSD-2-Clause
//
// Constants and header layouts of RoCE v2 frames: byte order, EtherTypes, BTH opcodes, AETH syndromes (InfiniBand
// specification, chapter 9 and annex A17; IEEE 802).

/* verilator lint_off UNUSEDPARAM */  // no module needs all of it
package roce_pkg;

  // ------------------------------------------------------------------------------------ byte order
  // The first byte on the wire is bits 7:0 of a beat; fields of headers are big endian.
  function automatic logic [15:0] be16(input logic [15:0] v);
    be16 = {v[7:0], v[15:8]};
  endfunction
  function automatic logic [23:0] be24(input logic [23:0] v);
    be24 = {v[7:0], v[15:8], v[23:16]};
  endfunction
  function automatic logic [31:0] be32(input logic [31:0] v);
    be32 = {v[7:0], v[15:8], v[23:16], v[31:24]};
  endfunction
  function automatic logic [63:0] be64(input logic [63:0] v);
    be64 = {roce_pkg::be32(v[31:0]), roce_pkg::be32(v[63:32])};
  endfunction

  // ------------------------------------------------------------------------------------ below the BTH
  // EtherTypes as numbers (ETHERTYPE_*), and as their two bytes lie in a beat (WIRE_*)
  localparam logic [15:0] ETHERTYPE_IPV4 = 16'h0800;
  localparam logic [15:0] ETHERTYPE_VLAN = 16'h8100;
  localparam logic [15:0] ETHERTYPE_IPV6 = 16'h86dd;
  localparam logic [15:0] WIRE_IPV4 = 16'h0008;
  localparam logic [15:0] WIRE_VLAN = 16'h0081;
  localparam logic [15:0] WIRE_IPV6 = 16'hdd86;
  localparam logic [7:0] IP_PROTOCOL_UDP = 8'd17;
  // Applications may leave the hop limit at 0 for "on this link", but IP hosts drop such packets.
  localparam logic [7:0] DEFAULT_HOP_LIMIT = 8'd64;

  // ------------------------------------------------------------------------------------ headers
  // As they lie in a beat: the last member comes first on the wire; numbers are big endian.
  typedef struct packed {
    logic [31:0] daddr;
    logic [31:0] saddr;
    logic [15:0] checksum;
    logic [7:0]  protocol;
    logic [7:0]  ttl;
    logic [15:0] fragment;         // flags and offset
    logic [15:0] id;
    logic [15:0] total_length;
    logic [7:0]  tos;
    logic [7:0]  version_ihl;
  } ipv4_t;
  typedef struct packed {
    logic [127:0] daddr;
    logic [127:0] saddr;
    logic [7:0]   hop_limit;
    logic [7:0]   next_header;
    logic [15:0]  payload_length;
    logic [31:0]  flow;            // version, traffic class, flow label
  } ipv6_t;
  typedef struct packed {
    logic [15:0] checksum;
    logic [15:0] length;
    logic [15:0] dport;
    logic [15:0] sport;
  } udp_t;
  typedef struct packed {
    logic [23:0] psn;
    logic        ackreq;
    logic [6:0]  rsvd7;
    logic [23:0] dqpn;
    logic [7:0]  rsvd8;
    logic [15:0] pkey;
    logic        se;
    logic        migreq;
    logic [1:0]  pad;
    logic [3:0]  tver;
    logic [7:0]  opcode;
  } bth_t;
  // Extension headers. ImmDt or IETH (immediate data, key to invalidate) follows RETH or DETH, or stands alone.
  typedef struct packed {
    logic [31:0] dma_len;
    logic [31:0] rkey;
    logic [63:0] va;
  } reth_t;
  typedef struct packed {
    logic [23:0] src_qpn;
    logic [7:0]  rsvd;
    logic [31:0] qkey;
  } deth_t;
  typedef struct packed {          // AtomicETH
    logic [63:0] compare;
    logic [63:0] swap_add;
    logic [31:0] rkey;
    logic [63:0] va;
  } atomic_t;
  typedef struct packed {
    logic [23:0] msn;
    logic [7:0]  syndrome;
  } aeth_t;
  // The 16 bits of `fragment`, in wire order
  localparam logic [15:0] IPV4_DONT_FRAGMENT = 16'h0040;
  localparam int unsigned IPV4_MORE_FRAGMENTS = 5;      // bit number in `fragment`
  localparam logic [7:0] IPV4_VERSION_IHL = 8'h45;      // version 4, 20 bytes: no options

  // ------------------------------------------------------------------------------------ BTH opcodes
  // Bits 7:5: the transport
  localparam logic [2:0] TRANSPORT_RC = 3'd0;
  localparam logic [2:0] TRANSPORT_UC = 3'd1;
  // Bits 4:0: the operation, the same for RC and UC
  localparam logic [4:0] OP_SEND_FIRST = 5'h00;
  localparam logic [4:0] OP_SEND_MIDDLE = 5'h01;
  localparam logic [4:0] OP_SEND_LAST = 5'h02;
  localparam logic [4:0] OP_SEND_LAST_IMM = 5'h03;
  localparam logic [4:0] OP_SEND_ONLY = 5'h04;
  localparam logic [4:0] OP_SEND_ONLY_IMM = 5'h05;
  localparam logic [4:0] OP_WRITE_FIRST = 5'h06;
  localparam logic [4:0] OP_WRITE_MIDDLE = 5'h07;
  localparam logic [4:0] OP_WRITE_LAST = 5'h08;
  localparam logic [4:0] OP_WRITE_LAST_IMM = 5'h09;
  localparam logic [4:0] OP_WRITE_ONLY = 5'h0a;
  localparam logic [4:0] OP_WRITE_ONLY_IMM = 5'h0b;
  localparam logic [4:0] OP_READ_REQUEST = 5'h0c;
  localparam logic [4:0] OP_READ_FIRST = 5'h0d;       // responses
  localparam logic [4:0] OP_READ_MIDDLE = 5'h0e;
  localparam logic [4:0] OP_READ_LAST = 5'h0f;
  localparam logic [4:0] OP_READ_ONLY = 5'h10;
  localparam logic [4:0] OP_ACK = 5'h11;
  localparam logic [4:0] OP_ATOMIC_ACK = 5'h12;
  localparam logic [4:0] OP_COMPARE_SWAP = 5'h13;
  localparam logic [4:0] OP_FETCH_ADD = 5'h14;
  localparam logic [4:0] OP_RESERVED = 5'h15;
  localparam logic [4:0] OP_SEND_LAST_INV = 5'h16;
  localparam logic [4:0] OP_SEND_ONLY_INV = 5'h17;
  // Whole opcodes
  localparam logic [7:0] RC_SEND_FIRST = {TRANSPORT_RC, OP_SEND_FIRST};
  localparam logic [7:0] RC_WRITE_FIRST = {TRANSPORT_RC, OP_WRITE_FIRST};
  localparam logic [7:0] RC_SEND_ONLY = {TRANSPORT_RC, OP_SEND_ONLY};
  localparam logic [7:0] RC_SEND_ONLY_IMM = {TRANSPORT_RC, OP_SEND_ONLY_IMM};
  localparam logic [7:0] RC_READ_REQUEST = {TRANSPORT_RC, OP_READ_REQUEST};
  localparam logic [7:0] RC_READ_FIRST = {TRANSPORT_RC, OP_READ_FIRST};
  localparam logic [7:0] RC_READ_MIDDLE = {TRANSPORT_RC, OP_READ_MIDDLE};
  localparam logic [7:0] RC_READ_LAST = {TRANSPORT_RC, OP_READ_LAST};
  localparam logic [7:0] RC_READ_ONLY = {TRANSPORT_RC, OP_READ_ONLY};
  localparam logic [7:0] RC_ACK = {TRANSPORT_RC, OP_ACK};
  localparam logic [7:0] RC_ATOMIC_ACK = {TRANSPORT_RC, OP_ATOMIC_ACK};
  localparam logic [7:0] RC_COMPARE_SWAP = {TRANSPORT_RC, OP_COMPARE_SWAP};
  localparam logic [7:0] RC_FETCH_ADD = {TRANSPORT_RC, OP_FETCH_ADD};
  localparam logic [7:0] RC_SEND_LAST_INV = {TRANSPORT_RC, OP_SEND_LAST_INV};
  localparam logic [7:0] RC_SEND_ONLY_INV = {TRANSPORT_RC, OP_SEND_ONLY_INV};
  localparam logic [7:0] UD_SEND = 8'h64;
  localparam logic [7:0] UD_SEND_IMM = 8'h65;
  localparam logic [7:0] CNP = 8'h81;

  // ------------------------------------------------------------------------------------ AETH syndromes
  // Bits 7:5: the kind; bits 4:0: credits, RNR timer code, NAK code
  localparam logic [2:0] AETH_ACK = 3'd0;
  localparam logic [2:0] AETH_RNR = 3'd1;
  localparam logic [7:0] SYN_ACK = 8'h1f;             // ACK without credit count
  localparam logic [7:0] SYN_RNR = 8'h20;             // RNR NAK; the timer code is added
  localparam logic [7:0] SYN_NAK_SEQ = 8'h60;
  localparam logic [7:0] SYN_NAK_INVALID = 8'h61;
  localparam logic [7:0] SYN_NAK_ACCESS = 8'h62;
  localparam logic [7:0] SYN_NAK_OP = 8'h63;

endpackage
/* verilator lint_on UNUSEDPARAM */
