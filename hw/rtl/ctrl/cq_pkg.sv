// SPDX-License-Identifier: BSD-2-Clause
//
// Types inside dingo_cq.

package cq_pkg;
`include "../types/sizes.svh"

  localparam int unsigned CLIENTS = 4;  // requester, responder, Ethernet transmit, receive
  localparam int unsigned LOG_FLIGHT = 4;  // log2 of the entries that may be on their way to host memory

  // Entry of a CQ: cfg_t is written by commands, dyn_t by operations.
  typedef struct packed {
    logic           on;
    eqi_t  eq;
    logic [DB_PAGE_LOG-1:0] db_page;
    logic [4:0]     log_size;
    logic [15:0]    count;         // see rtl_pkg::cq_cfg_t
    logic [25:0]    period;
    logic [102:0]   mem;           // rtl_pkg::xmem_t
  } cfg_t;
  typedef struct packed {
    logic        error;
    logic        armed;
    logic        armed_solicited;
    logic [1:0]  arm_sn;
    logic [31:0] head;             // index behind the last entry that has a slot
    logic [31:0] producer;         // index behind the last entry that is in host memory
    logic [31:0] consumer;
    logic [31:0] notified;         // entries before it are consumed or were reported by an event
    logic [31:0] last_solicited;   // index behind the newest solicited or error entry
    logic        waits;            // an event is due and waits (moderation)
    logic [31:0] counted_from;     // moderation counts entries from here on; arming sets it
    logic [63:0] first_at;         // time of the entry at `notified`, or earlier
  } dyn_t;

  typedef enum logic [2:0] {
    OP_CFG  = 3'd0,
    OP_DONE = 3'd1,                // an entry is in host memory
    OP_DUE  = 3'd2,                // the deadline of a waiting event may have passed
    OP_DB   = 3'd3,
    OP_POST = 3'd4                 // a new entry
  } op_t;
  typedef struct packed {          // the next operation: at most one; `post` only with a granted client
    logic cfg;
    logic done;
    logic due;
    logic db;
    logic post;
  } pick_t;

  // The operation in work; cfg_t and dyn_t of its CQ are valid with it.
  typedef struct packed {
    logic               valid;
    op_t                op;
    cqi_t      cq;
    logic               refused;   // OP_DONE: bus error
    logic               solicited; // OP_DONE: the entry is solicited or an error
    logic [CLIENTS-1:0] client;    // client of the entry, one-hot
    qpi_t      qp;        // QP or Ethernet ring of the entry
  } work_t;

  // Effect of an operation on its CQ
  typedef struct packed {
    logic          we;             // write `dyn`
    logic          fired;          // give the event
    logic          waited;         // an event was waiting before
    cqi_t cq;
    eqi_t eq;
    logic [25:0]   period;
    dyn_t          dyn;
  } outcome_t;
  typedef struct packed {          // effect of an operation on its entry
    logic push;                    // write it to host memory
    logic refused;                 // dropped: `fail` to its client
    logic failed;                  // the CQ fails: event CQ_ERR
    logic overflowed;              // because it is full
  } fate_t;

  // Widths, as in rtl_pkg
  localparam int unsigned CFG_W = 161 + DB_PAGE_LOG - 10 + EQ_LOG;
  localparam int unsigned DYN_W = 262;
endpackage
