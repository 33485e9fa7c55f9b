// SPDX-License-Identifier: BSD-2-Clause
//
// Packets that are sent and received, and the side band of the compute slot.

  // ------------------------------------------------------------------------------------ frames out
  // Descriptor of a RoCE packet to send. The opcode decides which headers it has.
  typedef struct packed {
    logic [31:0]  offset;          // of the payload in its message, a multiple of 64; for the compute slot
    logic         from_rsp;        // engine that gets the report (txerr_t): 0 requester, 1 responder
    logic         tell;            // report success, too, when the payload has been read and the packet is sent
    gen_t         gen;             // copied into the report
    qpi_t         qp;
    gidi_t        sgid;            // source: entry of the GID table, known to be valid
    logic [127:0] dgid;
    logic [47:0]  dmac;
    logic [15:0]  udp_sport;
    logic [19:0]  flow_label;
    logic [7:0]   hop_limit;
    logic [7:0]   tclass;
    logic [3:0]   sl;
    logic [7:0]   opcode;          // BTH
    logic         se;
    logic         ackreq;
    logic [23:0]  dqpn;
    logic [23:0]  psn;
    logic [63:0]  va;              // RETH
    logic [31:0]  rkey;
    logic [31:0]  dma_len;
    logic [7:0]   syndrome;        // AETH
    logic [23:0]  msn;
    logic [31:0]  imm;             // bytes as on the wire, first in bits 7:0
    logic [63:0]  swap_add;        // AtomicETH; ATOMIC ACK: the original word
    logic [63:0]  compare;
    logic [31:0]  qkey;            // DETH
    logic [23:0]  src_qpn;
    logic         inl;             // payload comes from the inline stream, not from segments
    logic [12:0]  len;             // payload bytes, 0..4096
  } txd_t;
  typedef struct packed {          // report of a packet to its engine, in the order of its packets
    logic        ok;               // 1: sent (reported only with `tell`); 0: payload could not be read, not sent
    gen_t        gen;              // of the packet; the engine ignores a report whose gen is not its QP's
    qpi_t        qp;
    logic [23:0] psn;
  } txerr_t;

  // ------------------------------------------------------------------------------------ compute slot
  typedef logic [1:0] kernel_t;    // enum kernel
  localparam int unsigned KERNELS = 3;
  localparam kernel_t KERNEL_PASS = 2'd0;
  localparam kernel_t KERNEL_ADD_ONE = 2'd1;
  localparam kernel_t KERNEL_DLRM = 2'd2;
  typedef struct packed {          // tuser of a beat into a kernel
    logic [31:0] offset;           // of the beat's first byte in the message, a multiple of 64
    logic [31:0] param;            // parameter of the QP
    logic [31:0] reciprocal;       // floor((2^32 - 1) / param)
  } compute_t;

  // ------------------------------------------------------------------------------------ frames in
  // Headers of a received RoCE packet with valid format, checksums and ICRC.
  typedef struct packed {
    logic         ipv4;
    logic         has_vlan;
    logic [15:0]  vlan;            // TCI
    logic         ce;              // congestion experienced
    logic [13:0]  frame_bytes;
    logic [127:0] sgid;            // IPv4 as v4-mapped; first octet in bits 7:0
    logic [127:0] dgid;
    logic [319:0] grh;             // GRH as UD receives it: 40 bytes
    logic [7:0]   opcode;
    logic         se;
    logic         ackreq;
    logic [15:0]  pkey;
    logic [23:0]  dqpn;
    logic [23:0]  psn;
    logic [63:0]  va;              // RETH
    logic [31:0]  rkey;
    logic [31:0]  dma_len;
    logic [7:0]   syndrome;        // AETH
    logic [23:0]  msn;
    logic [31:0]  imm;             // immediate data, or the key to invalidate; first octet in bits 7:0
    logic [63:0]  swap_add;        // AtomicETH (dma_len is then 8); ATOMIC ACK: the original word
    logic [63:0]  compare;
    logic [31:0]  qkey;            // DETH
    logic [23:0]  src_qpn;
    logic [12:0]  len;             // payload bytes without padding
  } rxh_t;

  // A received packet for the requester (responses) or the responder (requests, datagrams).
  typedef struct packed {
    qpi_t qp;
    qp_t  ctx;
    rxh_t h;
  } rxp_t;

  // Orders of an engine to dingo_scatter for the payload of its packet.
  typedef enum logic [1:0] {
    SCAT_SEG = 2'd0,               // the next seg.len bytes of payload go to seg
    SCAT_GRH = 2'd1,               // `item`[319:0] are 40 bytes in front of the payload, which segments cover, too
    SCAT_END = 2'd2,               // the remaining payload is dropped; when all is in memory, `item` comes back
    SCAT_ATOMIC = 2'd3             // atomic on the 8 bytes of seg, operands in `item` (scat_atomic_t); one a packet
  } scat_op_t;
  localparam int unsigned ITEM_BITS = 384;
  typedef struct packed {
    // Of each order of a packet, for dingo_compute_receive: has_payload, and with to_rsp (SEND, WRITE, datagram):
    qpi_t                   qp;           // the receiver
    logic [31:0]            offset;       // of the payload in its message, a multiple of 64; not of a dropped packet
    logic                   bare;         // END: of an ACK without payload; may come between another packet's orders
    scat_op_t               op;
    logic                   no_item;      // END: no item comes back
    logic                   to_rsp;       // engine of the packet, which gets the item back: 0 requester, 1 responder
    logic                   has_payload;  // the packet has beats in the payload stream
    logic [ITEM_BITS-1:0]   item;
    seg_t                   seg;
  } scat_t;
  typedef struct packed {
    logic        swap;             // COMPARE_SWAP, else FETCH_ADD
    logic [63:0] swap_add;
    logic [63:0] compare;
  } scat_atomic_t;
  localparam int unsigned SCAT_ATOMIC_W = 129;
  typedef struct packed {
    logic                   err;          // some bytes could not be read or written
    logic [63:0]            word;         // atomic: the original value
    logic [ITEM_BITS-1:0]   item;
  } commit_t;
