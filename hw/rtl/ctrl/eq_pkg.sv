// SPDX-License-Identifier: BSD-2-Clause
//
// Types inside dingo_eq.

package eq_pkg;
`include "../types/sizes.svh"

  localparam int unsigned SOURCES = 4;  // sources of asynchronous events: requester, responder, CQ, port

  // One operation at a time; an event is in host memory before the next begins.
  typedef enum logic [3:0] {
    CLEAR   = 4'd0,                // after reset
    IDLE    = 4'd1,
    POST    = 4'd2,                // an event: write it, or let it wait if there is no room
    PEND    = 4'd3,                // completion event: mark the CQ as waiting
    ADD     = 4'd4,                // asynchronous event: add it to dingo_eq_wait
    WRITE   = 4'd5,
    WRITING = 4'd6,
    IRQ     = 4'd7,
    BELL    = 4'd8,                // a doorbell
    DRAIN   = 4'd9,                // write waiting events while there is room
    SCAN    = 4'd10,               // find the next CQ with a waiting event
    FORGET  = 4'd11,
    FORGOT  = 4'd12,
    COUNT   = 4'd13
  } state_t;
  typedef struct packed {          // the operation that begins: at most one
    logic forget;
    logic cfg;
    logic fatal;
    logic db;
    logic ev;
    logic comp;
  } take_t;

  // Entry of an EQ
  typedef struct packed {
    logic          on;
    logic          armed;
    logic          error;          // bus error: no more events are written
    logic          is_async;       // takes the asynchronous events
    logic [5:0]    msix;
    logic [4:0]    log_size;
    logic [102:0]  mem;            // rtl_pkg::xmem_t
    logic [31:0]   producer;
    logic [31:0]   consumer;
    logic [CQ_LOG:0] waiting;      // number of CQs with a waiting event
  } ctx_t;
  typedef struct packed {          // effect of an operation on its EQ
    logic          written;        // an event was written
    logic          refused;        // bus error
    logic          bell;           // doorbell, with the two below:
    logic [31:0]   index;          // consumer index
    logic          arm;
    logic          disarm;
    logic          more;           // one more CQ has a waiting event
    logic          fewer;          // one fewer
  } change_t;
endpackage
