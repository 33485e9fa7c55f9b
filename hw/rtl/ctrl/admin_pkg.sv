// SPDX-License-Identifier: BSD-2-Clause
//
// Types inside dingo_admin.

package admin_pkg;
  typedef enum logic [4:0] {
    IDLE    = 5'd0,
    FETCH   = 5'd1,
    CHECK   = 5'd2,
    HALT    = 5'd3,                // wait for rest
    LOOKUP  = 5'd4,                // tables
    LOOKED  = 5'd5,
    DECIDE  = 5'd6,
    ATTACH  = 5'd7,                // page lists of its rings
    WRITE   = 5'd8,                // tables change
    USERS   = 5'd9,                // second CQ of a QP
    ENGINE  = 5'd10,               // engines take note
    AFTER   = 5'd11,
    FORGET  = 5'd12,
    CLEARC  = 5'd13,               // counters of a new QP
    COMPUTE = 5'd14,               // the QP's kernel
    OUT     = 5'd15,               // the answer goes to the host
    COUNT   = 5'd16,
    REPLY   = 5'd17,
    DEAD    = 5'd18,
    RESIZE  = 5'd19,               // the CQ says what its old ring holds
    SRQ     = 5'd20,               // the responder does what the command says of an SRQ
    DROP_MR = 5'd21,               // a region or window goes
    UNBIND  = 5'd22                // windows of a QP that is no more: nobody gets through them, so the card goes on meanwhile
  } state_t;

  typedef struct packed {          // what a check says
    logic [31:0] status;           // enum st
    logic [31:0] detail;           // BAD_FIELD: byte offset of the field
  } judged_t;
  typedef struct packed {          // how a part's work of several cycles ended; `done` lasts one
    logic        done;
    logic        failed;           // by host memory
  } ended_t;
  typedef struct packed {          // what the completion says of a command
    logic [31:0] status;
    logic [31:0] detail;
    logic [63:0] result;
    logic [31:0] available;        // QUERY_SRQ, the second result; else 0
  } result_t;
  typedef struct packed {          // parts that begin in this cycle
    logic        fetch;
    logic        halt;
    logic        attach;
    logic        out;              // an answer
    logic        stats;            // counters
    logic        reply;
  } start_t;
  typedef struct packed {          // what the command needs, by itself
    logic        halt;             // everything at rest
    logic        attach;           // it has rings with page lists
    logic        out;              // QUERY_DEVICE: an answer of some length
    logic        to_reset;         // MODIFY_QP to RESET
    logic [31:0] stats_len;        // QUERY_STATS: bytes
  } needs_t;
endpackage
