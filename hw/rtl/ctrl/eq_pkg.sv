// SPDX-License-Identifier: BSD-2-Clause
//
// Types inside dingo_eq.

package eq_pkg;
`include "../types/sizes.svh"

  localparam int unsigned SOURCES = 4;  // of asynchronous events: requester, responder, CQ, port

  // One operation after the other; an event is in host memory before the next one begins.
  typedef enum logic [3:0] {
    CLEAR   = 4'd0,                // after reset
    IDLE    = 4'd1,
    POST    = 4'd2,                // an event: write it or let it wait
    PEND    = 4'd3,                // does an event of this CQ wait already
    ADD     = 4'd4,                // the same for an asynchronous event
    WRITE   = 4'd5,
    WRITING = 4'd6,
    IRQ     = 4'd7,
    BELL    = 4'd8,                // a doorbell
    DRAIN   = 4'd9,                // events that waited, while there is room
    SCAN    = 4'd10,               // which CQ
    FORGET  = 4'd11,
    FORGOT  = 4'd12,
    COUNT   = 4'd13
  } state_t;
  typedef struct packed {          // what an operation begins with; one at most
    logic forget;
    logic cfg;
    logic fatal;
    logic db;
    logic ev;
    logic comp;
  } take_t;

  // What the card knows of an EQ.
  typedef struct packed {
    logic          on;
    logic          armed;
    logic          error;          // host memory refused an event: none is written any more
    logic          is_async;       // asynchronous events are its
    logic [5:0]    msix;
    logic [4:0]    log_size;
    logic [102:0]  mem;            // rtl_pkg::xmem_t
    logic [31:0]   producer;
    logic [31:0]   consumer;
    logic [CQ_LOG:0] waiting;      // CQs with a waiting event
  } ctx_t;
  typedef struct packed {          // what an operation changes of it
    logic          written;        // an event was,
    logic          refused;        // or was not
    logic          bell;           // a doorbell:
    logic [31:0]   index;          // the consumer's,
    logic          arm;
    logic          disarm;
    logic          more;           // a CQ's event waits, too,
    logic          fewer;          // or no more
  } change_t;
endpackage
