// SPDX-License-Identifier: BSD-2-Clause
//
// Types and sizes that the modules of the card share. What the host sees is in dingo_pkg (generated
// from hw/contract); this is the inside only.
//
// Sizes are macros so that a lint, synthesis or formal run can choose a smaller card.

`ifndef DINGO_QP_LOG
`define DINGO_QP_LOG 11
`endif
`ifndef DINGO_CQ_LOG
`define DINGO_CQ_LOG 11
`endif
`ifndef DINGO_MR_LOG
`define DINGO_MR_LOG 13
`endif
`ifndef DINGO_EQ_LOG
`define DINGO_EQ_LOG 5
`endif
`ifndef DINGO_GID_LOG
`define DINGO_GID_LOG 4
`endif

/* verilator lint_off UNUSEDPARAM */  // no module needs all of it
package rtl_pkg;

  // ------------------------------------------------------------------------------------ sizes
  localparam int unsigned QP_LOG = `DINGO_QP_LOG;   // QP contexts; index 0 is never used, 1 is GSI
  localparam int unsigned CQ_LOG = `DINGO_CQ_LOG;
  localparam int unsigned MR_LOG = `DINGO_MR_LOG;
  localparam int unsigned EQ_LOG = `DINGO_EQ_LOG;
  localparam int unsigned SRQ_LOG = QP_LOG - 2;     // fewer than QPs: dingo_db keeps their doorbells beside those of other objects
  localparam int unsigned RQ_LOG = QP_LOG + 1;      // receive queues: QPs' own and SRQs
  localparam int unsigned GID_LOG = `DINGO_GID_LOG;
  localparam int unsigned MAC_LOG = 4;              // entries of the address table
  localparam int unsigned DB_PAGE_LOG = 10;         // doorbell pages
  localparam int unsigned ETH_LOG = 2;              // Ethernet rings of each kind
  localparam int unsigned RD_LOG = 4;               // READs outstanding per QP, each direction
  localparam int unsigned REC_LOG = 6;              // send WQEs between first packet and completion, per QP
  localparam int unsigned PD_BITS = 16;

  typedef logic [QP_LOG-1:0] qpi_t;                 // QP index
  typedef logic [CQ_LOG-1:0] cqi_t;
  typedef logic [MR_LOG-1:0] mri_t;
  typedef logic [EQ_LOG-1:0] eqi_t;
  typedef logic [SRQ_LOG-1:0] srqi_t;
  typedef logic [RQ_LOG-1:0] rqi_t;                 // a queue of receives: QP index, or with the highest bit SRQ index
  typedef logic [ETH_LOG-1:0] ethi_t;               // Ethernet ring
  typedef logic [5:0] gen_t;                        // counts what makes a QP's PSNs start afresh
  typedef logic [GID_LOG-1:0] gidi_t;

  // ------------------------------------------------------------------------------------ streams
  // A frame, message or packet as beats. Byte k of the stream is bits 8k+7:8k of its beat. All beats
  // are full but the last one.
  typedef struct packed {
    logic         err;     // with last: what came before is unusable
    logic         last;
    logic [6:0]   bytes;   // 1..64; 64 unless last
    logic [511:0] data;
  } beat_t;

  // ------------------------------------------------------------------------------------ host memory
  // Where bytes of a ring or region lie (contract: struct mem). Byte `off` of it is at
  // levels 0: addr + offset + off; else by page list.
  localparam logic [1:0] LEVELS_FRESH = 2'd3;       // one level, and nothing of the list is kept: REG_MR may name it anew at any time
  typedef struct packed {
    logic [1:0]  levels;
    logic [4:0]  shift;    // page size 2^shift, levels > 0
    logic [31:0] offset;
    logic [63:0] addr;
  } xmem_t;

  // Read of whole 64-byte lines, at most 8, not across a 4 KiB boundary.
  typedef struct packed {
    logic [3:0]  lines;    // 1..8
    logic [57:0] addr;     // bus address >> 6
  } rdl_req_t;
  typedef struct packed {
    logic         err;     // bus error: data is worthless
    logic         last;    // last line of the request
    logic [511:0] data;
  } rdl_rsp_t;

  // Clients of dingo_dma_lines, dingo_dma_read and dingo_dma_write
  localparam int unsigned LINE_ADMIN = 0;           // commands
  localparam int unsigned LINE_XL_TX = 1;           // page lists of payload that leaves
  localparam int unsigned LINE_XL_RX = 2;           // page lists of payload that arrives
  localparam int unsigned LINE_XL_SQ = 3;           // page lists of send queues
  localparam int unsigned LINE_XL_RQ = 4;           // page lists of receive queues
  localparam int unsigned LINE_XL_CQ = 5;           // of completion and event queues
  localparam int unsigned LINE_XL_ETX = 6;          // page lists of Ethernet rings
  localparam int unsigned LINE_XL_ERX = 7;
  localparam int unsigned LINE_SQ = 8;              // WQEs
  localparam int unsigned LINE_RQ = 9;              // receive WQEs
  localparam int unsigned LINE_ETX = 10;            // Ethernet descriptors
  localparam int unsigned LINE_ERX = 11;
  localparam int unsigned LINE_XL_EQ = 12;
  localparam int unsigned LINE_ATOMIC = 13;         // words of atomics
  localparam int unsigned LINES = 14;
  localparam int unsigned READ_TX = 0;              // payload
  localparam int unsigned READ_ETX = 1;             // Ethernet frames
  localparam int unsigned READS = 2;
  localparam int unsigned WRITE_RX = 0;             // payload
  localparam int unsigned WRITE_CQ = 1;             // CQEs
  localparam int unsigned WRITE_EQ = 2;             // EQEs
  localparam int unsigned WRITE_ADMIN = 3;          // command completions and answers
  localparam int unsigned WRITE_ERX = 4;            // Ethernet frames
  localparam int unsigned WRITES = 5;

  // Bytes of host memory, 1..4096, not across a 4 KiB boundary.
  typedef struct packed {
    logic [12:0] len;
    logic [63:0] addr;
  } dma_req_t;

  // Address translation: byte `off` of `mem`.
  typedef struct packed {
    logic [63:0] off;
    xmem_t       mem;
  } xl_req_t;
  typedef struct packed {
    logic        err;      // the page list could not be read
    logic [63:0] addr;     // bus address; valid up to the end of its 4 KiB page
  } xl_rsp_t;

  // A piece of payload in host memory, of any length.
  typedef struct packed {
    logic        last;     // the last one of its packet
    logic [31:0] len;      // bytes, not 0
    logic [63:0] off;
    xmem_t       mem;
  } seg_t;

  // ------------------------------------------------------------------------------------ memory regions and windows
  typedef struct packed {
    logic        valid;
    logic        free;             // gives no access: a window that is not bound, an FRWR region that no REG_MR has made valid
    logic        paused;           // region: PAUSE_MR, neither it nor its windows give access before REREG_MR
    logic [2:0]  kind;             // enum mrt
    logic [15:0] tag;
    logic [PD_BITS-1:0] pdn;
    logic [5:0]  access;           // enum acc
    logic [63:0] iova;
    logic [63:0] length;
    qpi_t        qp;               // window of type 2: the QP that bound it
    logic [15:0] more;             // region: windows bound to it; FRWR: most pages; bound window: index of its region
    logic [47:0] place;            // of the first byte in `mem`: a window has the memory of its region
    xmem_t       mem;
  } mr_t;

  typedef struct packed {
    logic [31:0] key;
    logic [63:0] va;
    logic [31:0] len;              // not 0
    logic [5:0]  access;           // rights needed, enum acc
    logic [PD_BITS-1:0] pdn;
    logic        privileged;
    qpi_t        qp;               // remote rights: whose windows of type 2 count
  } mr_req_t;
  typedef struct packed {
    logic        ok;
    logic        paused;           // not ok, and nothing but a pause is in the way: once more when it is over
    logic [7:0]  verr;             // enum verr when not ok: KEY, KEY_PD, KEY_STATE, KEY_ACCESS, KEY_BOUNDS; NONE when paused
    logic [63:0] off;              // offset of va in mem
    xmem_t       mem;
  } mr_rsp_t;

  // What changes an entry of the table beside CREATE_MR and REREG_MR; see dingo_mr_work
  typedef enum logic [2:0] {
    MRW_INVALIDATE = 3'd0,         // LOCAL_INV, SEND_INV: `key`
    MRW_BIND = 3'd1,               // `body` is a wqe_bind_t
    MRW_REGISTER = 3'd2,           // `body` is a wqe_reg_t
    MRW_DESTROY = 3'd3,            // a command: the entry of `key` goes
    MRW_FORGET = 3'd4              // a command: windows of type 2 that `qp` bound are unbound
  } mrw_op_t;
  typedef struct packed {
    mrw_op_t      op;
    qpi_t         qp;              // the asking QP, its PD and privilege
    logic [PD_BITS-1:0] pdn;
    logic         privileged;
    logic [31:0]  key;
    logic [383:0] body;            // bytes 16..63 of the WQE
  } mrw_req_t;
  typedef struct packed {
    logic [7:0]  verr;             // enum verr; NONE: done
    logic        under_way;        // some access that it ended may have been granted already and not be over
  } mrw_rsp_t;
  // How far what was granted has come: pulses, by which dingo_req_settle counts
  typedef struct packed {
    logic        rx_in;            // a received packet that is not bare goes to its engine,
    logic        rx_out;           // its bytes are in memory, or dropped; in the same order
    logic        tx_open;          // level: the responder has the key of a READ response's payload, and its order not given yet
    logic        tx_in;            // it has given one
    logic        tx_order;         // payload of a packet is about to be read,
    logic        tx_order_rsp;     // with it: of the responder
    logic        tx_out;           // has been read; in the order of tx_order
  } flow_t;

  // ------------------------------------------------------------------------------------ queue pairs
  // Written by commands only; engines read.
  typedef struct packed {
    logic               valid;
    logic [7:0]         tag;       // QPN bits 23:16
    logic [2:0]         kind;      // enum qpt
    logic [PD_BITS-1:0] pdn;
    cqi_t               send_cq;
    cqi_t               recv_cq;
    logic [DB_PAGE_LOG-1:0] db_page;
    logic               signal_all;
    logic               privileged;
    logic [4:0]         log_sq;    // blocks
    logic [3:0]         log_rq;    // entries
    logic [3:0]         log_rq_stride;
    logic               has_srq;   // receives come from `srq`: its are ring (rq, log_rq, log_rq_stride) and ...
    srqi_t              srq;
    logic [PD_BITS-1:0] srq_pdn;   // ... PD of what they name
    xmem_t              sq;
    xmem_t              rq;
    // struct qp_attr as last given by MODIFY_QP
    logic [31:0]        qkey;
    logic [23:0]        rq_psn;
    logic [23:0]        sq_psn;
    logic [23:0]        dest_qpn;
    logic [4:0]         access;
    logic [2:0]         path_mtu;
    logic [7:0]         max_rd;
    logic [7:0]         max_dest_rd;
    logic [4:0]         min_rnr_timer;
    logic [4:0]         timeout;
    logic [2:0]         retry_cnt;
    logic [2:0]         rnr_retry;
    logic               port;
    logic               sqd_notify;
    logic [127:0]       dgid;      // first octet on the wire in bits 7:0
    logic [47:0]        dmac;      // first octet on the wire in bits 7:0
    gidi_t              sgid;
    logic [19:0]        flow_label;
    logic [15:0]        udp_sport;
    logic [7:0]         hop_limit;
    logic [7:0]         tclass;
    logic [3:0]         sl;
  } qp_cfg_t;

  typedef logic [2:0] qps_t;       // enum qps

  // What a table lookup gives: context and state of one moment.
  typedef struct packed {
    qps_t    state;
    qp_cfg_t cfg;
  } qp_t;

  // A command at an engine, given while everything stands still (see docs/reference/rtl.md, "Commands").
  typedef enum logic [1:0] {
    QPA_CLEAR  = 2'd0,             // CREATE, DESTROY, MODIFY to RESET: forget everything of this QP
    QPA_MODIFY = 2'd1,             // attributes `mask` are new; state went from old_state to qp.state
    QPA_QUERY  = 2'd2              // only the answer is wanted
  } qpa_op_t;
  typedef struct packed {
    qpa_op_t     op;
    logic        destroy;          // QPA_CLEAR: an acknowledgement that is owed leaves first
    qps_t        old_state;
    logic [20:0] mask;             // enum qpm
    qpi_t        qp;
    qp_t         ctx;              // new; of a QP that is destroyed as it was
  } qpa_req_t;
  typedef struct packed {          // the requester's part of struct qp_info
    logic [31:0] sq_producer;
    logic [31:0] sq_consumer;
    logic [23:0] oldest_psn;
    logic [23:0] sq_psn;           // next new PSN
    logic [2:0]  retries_left;
    logic [2:0]  rnr_left;
    logic        draining;
  } req_info_t;
  typedef struct packed {          // the responder's part
    logic [31:0] rq_producer;
    logic [31:0] rq_consumer;
    logic [23:0] rq_psn;           // next expected PSN
    logic [23:0] msn;
  } rsp_info_t;

  // ------------------------------------------------------------------------------------ shared receive queues
  // A command at the responder, which has what changes of an SRQ.
  typedef enum logic [1:0] {
    SRQA_CREATE = 2'd0,
    SRQA_MODIFY = 2'd1,            // a new limit, which may fire at once
    SRQA_QUERY = 2'd2,
    SRQA_DESTROY = 2'd3            // given while everything stands still
  } srqa_op_t;
  typedef struct packed {
    srqa_op_t    op;
    srqi_t       srq;
    logic [3:0]  log_size;         // CREATE: entries
    logic [15:0] limit;            // CREATE, MODIFY: 0..32768
  } srqa_req_t;
  typedef struct packed {          // as they were before the command
    logic [15:0] limit;            // 0: fired, or not set
    logic [31:0] available;        // entries that are posted and not taken
  } srq_info_t;

  // ------------------------------------------------------------------------------------ Ethernet rings
  typedef struct packed {          // a checksum that a frame gets on its way out
    logic        on;
    logic        nonzero;          // where it is 0, all ones
    logic [13:0] from;             // sum from here, an even place, to the end,
    logic [13:0] at;               // where it is stored,
    logic [13:0] length;           // bytes of the frame
  } eth_csum_t;
  typedef struct packed {          // created, or destroyed
    logic        on;
    ethi_t       ring;
    cqi_t        cq;
    logic [3:0]  log_size;         // descriptors
    xmem_t       mem;
  } eth_cfg_t;
  typedef struct packed {          // SET_RSS
    logic        on;               // else the card's own hash
    logic [319:0] key;             // its first byte in bits 7:0
    logic [127:0] rings;           // entry 0 in bits 1:0
  } rss_t;

  // ------------------------------------------------------------------------------------ doorbells
  typedef struct packed {
    logic [DB_PAGE_LOG-1:0] page;
    logic [31:0] index;            // free running
    logic [31:0] word0;
  } db_t;
  typedef struct packed {          // doorbell.word0
    logic        taken;
    logic [1:0]  arm_sn;           // CQ
    logic        arm;              // EQ; CQ: solicited only
    logic [3:0]  kind;             // enum db
    logic [23:0] object;
  } db_word_t;
  typedef struct packed {          // SQ, RQ, SRQ: object and page are good
    logic [2:0]  pushed;           // SQ: blocks before index that need not be read
    qpi_t        qp;               // or SRQ
    logic [31:0] index;
  } qdb_t;

  localparam int unsigned PUSH_PAGE_LOG = 6;  // doorbell pages that have a push page
  typedef struct packed {          // a doorbell that names blocks of its push page
    logic [PUSH_PAGE_LOG-1:0] page;
    logic [23:0] qpn;
    logic [31:0] index;
    logic [2:0]  blocks;
  } push_order_t;
  typedef struct packed {          // a block of a send queue
    qpi_t         qp;
    logic [31:0]  index;
    logic [511:0] data;
  } push_t;

  // ------------------------------------------------------------------------------------ completions, events
  typedef struct packed {
    cqi_t        cq;
    logic        from_rsp;         // unit that is told when the CQ fails: 0 requester, 1 responder
    qpi_t        qp;
    // fields of struct cqe; owner and time stamp are the CQ's
    logic [31:0] wqe_index;
    logic [31:0] byte_len;
    logic [31:0] imm;              // as the four bytes lie in memory
    logic [31:0] qpn_op;
    logic [31:0] src_qpn;
    logic [7:0]  status;
    logic [7:0]  verr;
    logic [15:0] vlan;
    logic [7:0]  flags;
  } cqe_req_t;

  typedef struct packed {          // asynchronous event (everything but COMPLETION)
    logic [7:0]  kind;             // enum ev
    logic [31:0] id;
    logic [31:0] data;
  } ev_t;

  // ------------------------------------------------------------------------------------ frames out
  // One RoCE packet to be made. Which headers it has follows from the opcode.
  typedef struct packed {
    logic [31:0]  offset;          // of the payload in its message, a multiple of 64: for the compute slot
    logic         from_rsp;        // unit that is told of a bus error: 0 requester, 1 responder
    logic         tell;            // report (txerr_t, ok) also when the payload was read and the packet goes out
    gen_t         gen;             // goes with the report
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
    logic [63:0]  swap_add;        // AtomicETH; of an ATOMIC ACK the word as it was
    logic [63:0]  compare;
    logic [31:0]  qkey;            // DETH
    logic [23:0]  src_qpn;
    logic         inl;             // payload comes from the inline stream, not from segments
    logic [12:0]  len;             // payload bytes, 0..4096
  } txd_t;
  typedef struct packed {          // what became of a packet, for its engine: reports of one engine are in the order of its packets
    logic        ok;               // 1: asked for by `tell`; 0: its payload could not be read, it was not sent
    gen_t        gen;              // of the packet: a report of another one is late
    qpi_t        qp;
    logic [23:0] psn;
  } txerr_t;

  // ------------------------------------------------------------------------------------ compute slot
  typedef logic [1:0] kernel_t;    // enum kernel
  localparam int unsigned KERNELS = 3;
  localparam kernel_t KERNEL_PASS = 2'd0;
  localparam kernel_t KERNEL_ADD_ONE = 2'd1;
  localparam kernel_t KERNEL_DLRM = 2'd2;
  typedef struct packed {          // what a kernel is told beside a beat (tuser)
    logic [31:0] offset;           // of its first byte in the message, a multiple of 64
    logic [31:0] param;            // of the QP
    logic [31:0] reciprocal;       // floor((2^32 - 1) / param)
  } compute_t;

  // ------------------------------------------------------------------------------------ frames in
  // Headers of a RoCE packet whose form, checksums and ICRC are good.
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
    logic [63:0]  swap_add;        // AtomicETH, of which dma_len is 8; of an ATOMIC ACK the word as it was
    logic [63:0]  compare;
    logic [31:0]  qkey;            // DETH
    logic [23:0]  src_qpn;
    logic [12:0]  len;             // payload bytes without padding
  } rxh_t;

  // A packet on its way to the requester (responses) or responder (requests, datagrams).
  typedef struct packed {
    qpi_t qp;
    qp_t  ctx;
    rxh_t h;
  } rxp_t;

  // What an engine orders for the payload of the packet that it holds.
  typedef enum logic [1:0] {
    SCAT_SEG = 2'd0,               // the next seg.len bytes of payload go to seg
    SCAT_GRH = 2'd1,               // `item`[319:0] are 40 bytes in front of the payload; segments count them
    SCAT_END = 2'd2,               // the rest is dropped; when everything is in memory, `item` comes back
    SCAT_ATOMIC = 2'd3             // on the 8 bytes of seg, with the operands in `item` (scat_atomic_t); once in a packet
  } scat_op_t;
  localparam int unsigned ITEM_BITS = 384;
  typedef struct packed {
    logic                   bare;         // END: of an ACK without payload, which may stand between other packets
    scat_op_t               op;
    logic                   no_item;      // END: nobody waits for this packet
    logic                   to_rsp;       // END: the unit that gets the item back: 1 the responder
    logic                   has_payload;  // END: the packet has beats in the payload stream
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
    logic                   err;          // some bytes could not be written
    logic [63:0]            word;         // atomic: the value before
    logic [ITEM_BITS-1:0]   item;
  } commit_t;

  // ------------------------------------------------------------------------------------ statistics
  typedef struct packed {
    logic [5:0]  idx;              // CARD_* of dingo_pkg
    logic [15:0] by;
  } stat_t;
  typedef struct packed {
    qpi_t        qp;
    logic [3:0]  idx;              // QP_* of dingo_pkg
    logic [15:0] by;
  } qstat_t;

  // Ports of dingo_stats
  localparam int unsigned STAT_TX = 0;
  localparam int unsigned STAT_RX = 1;
  localparam int unsigned STAT_ETX = 2;
  localparam int unsigned STAT_ERX = 3;
  localparam int unsigned STAT_REQ = 4;
  localparam int unsigned STAT_RSP = 5;
  localparam int unsigned STAT_DISPATCH = 6;
  localparam int unsigned STAT_CQ = 7;
  localparam int unsigned STAT_EQ = 8;
  localparam int unsigned STAT_DB = 9;
  localparam int unsigned STAT_REGS = 10;
  localparam int unsigned STAT_ADMIN = 11;
  localparam int unsigned STAT_HOST = 12;
  localparam int unsigned STATS = 13;
  localparam int unsigned QSTAT_TX = 0;
  localparam int unsigned QSTAT_DISPATCH = 1;
  localparam int unsigned QSTAT_REQ = 2;
  localparam int unsigned QSTAT_RSP = 3;
  localparam int unsigned QSTATS = 4;

  // ------------------------------------------------------------------------------------ tables written by commands
  typedef struct packed {
    logic        on;               // 0: destroyed
    logic        resize;           // a new ring and size only; see cq_info_t
    logic        moderate;         // new count and period only
    cqi_t        cq;
    eqi_t        eq;
    logic [DB_PAGE_LOG-1:0] db_page;
    logic [4:0]  log_size;
    logic [15:0] count;            // MODIFY_CQ: an event waits for so many entries (0: for no number),
    logic [25:0] period;           // or for so many ns from the first of them; 0: it does not wait
    xmem_t       mem;
  } cq_cfg_t;
  typedef struct packed {          // the CQ's answer to a resize
    logic        error;            // it takes no entries any more, and stays as it is
    logic [31:0] producer;         // producer index of the old ring
  } cq_info_t;
  typedef struct packed {
    logic        on;               // 0: destroyed
    srqi_t       srq;
    logic [DB_PAGE_LOG-1:0] db_page;
    logic [PD_BITS-1:0] pdn;
    logic [3:0]  log_size;
    logic [3:0]  log_stride;
    xmem_t       mem;
  } srq_cfg_t;
  typedef struct packed {
    logic        on;
    eqi_t        eq;
    logic        is_async;
    logic [5:0]  msix;
    logic [4:0]  log_size;
    xmem_t       mem;
  } eq_cfg_t;

  // ------------------------------------------------------------------------------------ port
  typedef struct packed {
    logic         valid;
    logic         ipv4;            // v4-mapped
    logic [47:0]  mac;             // first octet in bits 7:0
    logic [15:0]  vlan;            // VLAN_NONE: untagged
    logic [127:0] gid;             // first octet in bits 7:0
  } gid_t;
  typedef struct packed {
    logic        enabled;
    logic        promisc;
    logic        allmulti;
    logic [15:0] mtu;
  } port_t;

  // What a board or a simulation gives a card from outside.
  typedef struct packed {
    logic [31:0] withheld;         // capabilities that this card is not to have, and no commands for them
    logic        db_memory;        // doorbell pages are memory that is polled: capability DB_MEMORY
    logic [47:0] mac;              // factory MAC, first octet on the wire in bits 47:40
    logic [31:0] max_qp;           // limits reported, at most what the card has
    logic [31:0] max_cq;
    logic [31:0] max_mr;
    logic [31:0] max_srq;
    logic [31:0] link_mbps;
    logic [31:0] engine;           // register ENGINE
  } strap_t;

  // ------------------------------------------------------------------------------------ widths
  // Of the structures above where a port or memory holds several (Yosys has no $bits of a type);
  // tests/hw/rtl/lint checks them.
  localparam int unsigned BEAT_W = 521;
  localparam int unsigned RDL_REQ_W = 62;
  localparam int unsigned DMA_REQ_W = 77;
  localparam int unsigned MR_W = 339 + QP_LOG;
  localparam int unsigned MR_REQ_W = 151 + QP_LOG;
  localparam int unsigned MR_RSP_W = 177;
  localparam int unsigned QP_CFG_W = 654 + 2 * CQ_LOG + GID_LOG + SRQ_LOG;
  localparam int unsigned QP_W = 3 + QP_CFG_W;
  localparam int unsigned CQE_REQ_W = 201 + CQ_LOG + QP_LOG;
  localparam int unsigned EV_W = 72;
  localparam int unsigned GID_W = 194;
  localparam int unsigned STAT_W = 22;
  localparam int unsigned QSTAT_W = 20 + QP_LOG;

  // 24-bit sequence numbers: a comes before b
  function automatic logic psn_before(input logic [23:0] a, input logic [23:0] b);
    psn_before = $signed(a - b) < 0;
  endfunction

  // Free-running 32-bit numbers: a comes before b
  function automatic logic idx_before(input logic [31:0] a, input logic [31:0] b);
    idx_before = $signed(a - b) < 0;
  endfunction

  // Payload bytes of a full packet, 256..4096
  function automatic logic [12:0] pmtu_bytes(input logic [2:0] path_mtu);
    pmtu_bytes = 13'd128 << path_mtu;
  endfunction

endpackage
/* verilator lint_on UNUSEDPARAM */
