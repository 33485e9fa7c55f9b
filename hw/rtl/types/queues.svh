// SPDX-License-Identifier: BSD-2-Clause
//
// Doorbells, completions and events; the entries of CQs, EQs, SRQs and Ethernet rings that commands write.

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
  typedef struct packed {          // of an SQ, RQ or SRQ; object and page are checked
    logic [2:0]  pushed;           // SQ: blocks before index that were pushed and need no read
    qpi_t        qp;               // or SRQ
    logic [31:0] index;
  } qdb_t;

  localparam int unsigned PUSH_PAGE_LOG = 6;  // doorbell pages that have a push page
  typedef struct packed {          // a doorbell with blocks in its push page
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
    logic        from_rsp;         // engine that gets `fail` when the CQ fails: 0 requester, 1 responder
    qpi_t        qp;
    // fields of struct cqe; dingo_cq adds owner and time stamp
    logic [31:0] wqe_index;
    logic [31:0] byte_len;
    logic [31:0] imm;              // in the byte order of memory
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

  // ------------------------------------------------------------------------------------ tables written by commands
  typedef struct packed {
    logic        on;               // 0: destroyed
    logic        resize;           // changes ring and size only; answered by cq_info_t
    logic        moderate;         // changes count and period only
    cqi_t        cq;
    eqi_t        eq;
    logic [DB_PAGE_LOG-1:0] db_page;
    logic [4:0]  log_size;
    logic [15:0] count;            // moderation (MODIFY_CQ): an event waits for this number of entries (0: no limit)
    logic [25:0] period;           // or this time from the first of them, in ns (0: no moderation)
    xmem_t       mem;
  } cq_cfg_t;
  typedef struct packed {          // the CQ's answer to a resize
    logic        error;            // the CQ has failed and is not changed
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

  // ------------------------------------------------------------------------------------ Ethernet rings
  typedef struct packed {          // checksum to insert into a sent frame
    logic        on;
    logic        nonzero;          // store a sum of 0 as all ones (UDP)
    logic [13:0] from;             // first byte of the sum, even; it reaches to the frame's end
    logic [13:0] at;               // offset of the checksum in the frame
    logic [13:0] length;           // bytes of the frame
  } eth_csum_t;
  typedef struct packed {          // created (on) or destroyed
    logic        on;
    ethi_t       ring;
    cqi_t        cq;
    logic [3:0]  log_size;         // descriptors
    xmem_t       mem;
  } eth_cfg_t;
  typedef struct packed {          // SET_RSS
    logic        on;               // 0: the card's own hash
    logic [319:0] key;             // its first byte in bits 7:0
    logic [127:0] rings;           // entry 0 in bits 1:0
  } rss_t;
