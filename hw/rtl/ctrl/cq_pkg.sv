// SPDX-License-Identifier: BSD-2-Clause
//
// Types inside dingo_cq.

package cq_pkg;
`include "../types/sizes.svh"

  localparam int unsigned CLIENTS = 4;  // requester, responder, Ethernet transmit, receive
  localparam int unsigned LOG_FLIGHT = 4;  // entries that are not yet in host memory

  // What commands say of a CQ, and what happens to it.
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
    logic [31:0] head;             // behind the last entry that was given a slot
    logic [31:0] producer;         // behind the last entry that is in host memory
    logic [31:0] consumer;
    logic [31:0] notified;         // entries before it were consumed, or the last event told of them
    logic [31:0] last_solicited;   // behind the newest solicited or error entry
    logic        waits;            // an event is due and waits
    logic [31:0] counted_from;     // entries from here on count; arming after a long poll begins anew
    logic [63:0] first_at;         // when the entry at `notified` came, or before
  } dyn_t;

  typedef enum logic [2:0] {
    OP_CFG  = 3'd0,
    OP_DONE = 3'd1,                // an entry is in host memory
    OP_DUE  = 3'd2,                // the time of an event that waits may have come
    OP_DB   = 3'd3,
    OP_POST = 3'd4                 // a new entry
  } op_t;
  typedef struct packed {          // which of them is next; one at most, `post` without a client is none
    logic cfg;
    logic done;
    logic due;
    logic db;
    logic post;
  } pick_t;

  // An operation in work: its CQ's entries of the tables come with it.
  typedef struct packed {
    logic               valid;
    op_t                op;
    cqi_t      cq;
    logic               refused;   // OP_DONE: host memory refused it
    logic               solicited; // OP_DONE, as it was when posted
    logic [CLIENTS-1:0] client;    // one-hot: of the entry
    qpi_t      qp;        // its QP, or ring
  } work_t;

  // What an operation makes of its CQ.
  typedef struct packed {
    logic          we;             // `dyn` is written
    logic          fired;          // the event is given
    logic          waited;         // one waited before
    cqi_t cq;
    eqi_t eq;
    logic [25:0]   period;
    dyn_t          dyn;
  } outcome_t;
  typedef struct packed {          // and of its entry
    logic push;                    // it goes to host memory
    logic refused;                 // its client is told
    logic failed;                  // the CQ takes no more: event CQ_ERR,
    logic overflowed;              // for it was full
  } fate_t;

  // Widths, as in rtl_pkg
  localparam int unsigned CFG_W = 161 + DB_PAGE_LOG - 10 + EQ_LOG;
  localparam int unsigned DYN_W = 262;
endpackage
