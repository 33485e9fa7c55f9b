// SPDX-License-Identifier: BSD-2-Clause
//
// Types inside dingo_admin.

package admin_pkg;
  typedef enum logic [4:0] {
    IDLE    = 5'd0,
    FETCH   = 5'd1,
    CHECK   = 5'd2,
    HALT    = 5'd3,                // wait until the card is at rest
    LOOKUP  = 5'd4,                // read the tables
    LOOKED  = 5'd5,                // their data comes
    DECIDE  = 5'd6,                // dingo_admin_verdict, 8 cycles
    ATTACH  = 5'd7,                // check the page lists of the command's rings
    WRITE   = 5'd8,                // change the tables
    USERS   = 5'd9,                // CREATE_QP, DESTROY_QP: the receive CQ
    ENGINE  = 5'd10,               // wait for the engines' answers to `qpa`
    AFTER   = 5'd11,               // flush page lists, resume, remove a destroyed QP
    FORGET  = 5'd12,               // drop waiting events of a destroyed object
    CLEARC  = 5'd13,               // clear the counters of a new QP
    COMPUTE = 5'd14,               // write the QP's kernel
    OUT     = 5'd15,               // write the answer to the host
    COUNT   = 5'd16,
    REPLY   = 5'd17,
    DEAD    = 5'd18,               // a bus error stopped the admin queue
    RESIZE  = 5'd19,               // wait for dingo_cq's answer
    SRQ     = 5'd20,               // wait for the responder's answer
    DROP_MR = 5'd21,               // dingo_mr_work removes a region or window
    UNBIND  = 5'd22                // unbind windows of a destroyed or reset QP; the card need not rest
  } state_t;

  typedef struct packed {          // result of a check
    logic [31:0] status;           // enum st
    logic [31:0] detail;           // BAD_FIELD: byte offset of the field
  } judged_t;
  typedef struct packed {          // end of a part's work; `done` lasts one cycle
    logic        done;
    logic        failed;           // bus error
  } ended_t;
  typedef struct packed {          // content of the command's completion
    logic [31:0] status;
    logic [31:0] detail;
    logic [63:0] result;
    logic [31:0] available;        // QUERY_SRQ: second result; else 0
  } result_t;
  typedef struct packed {          // parts that begin in this cycle
    logic        fetch;
    logic        halt;
    logic        attach;
    logic        out;              // dingo_admin_out with an answer
    logic        stats;            // dingo_admin_out with counters
    logic        reply;
  } start_t;
  typedef struct packed {          // steps that the command needs
    logic        halt;             // the card at rest
    logic        attach;           // it has rings with page lists
    logic        out;              // QUERY_DEVICE: the answer's length is not 0
    logic        to_reset;         // MODIFY_QP to RESET
    logic [31:0] stats_len;        // QUERY_STATS: bytes
  } needs_t;
endpackage
