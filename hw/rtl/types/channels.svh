// SPDX-License-Identifier: BSD-2-Clause
//
// Channels between the parts of dingo_card.

  typedef struct packed {          // requests of an engine to the tables
    logic        qp_re;            // read the context of `qp`; it comes in the next cycle
    qpi_t        qp;
    logic        state_we;         // write `state` as the state of `state_qp`
    qpi_t        state_qp;
    qps_t        state;
    logic        mr_valid;         // look-up in dingo_mr_table
    mr_req_t     mr;
    logic        mrw_valid;        // request to dingo_mr_work; stays until mrw_done
    mrw_req_t    mrw;
  } ask_t;
  typedef struct packed {          // answers of the tables
    qp_t         qp;
    logic        mr_valid;
    mr_rsp_t     mr;
    logic        mrw_done;
    mrw_rsp_t    mrw;
  } told_t;
  typedef struct packed {          // a checked doorbell
    logic        sq;               // valid bits by kind: at most one is set
    logic        rq;
    logic        cq;
    logic        eq;
    logic        etx;
    logic        erx;
    qdb_t        q;                // sq, rq: the QP or SRQ
    logic        q_srq;
    db_t         db;               // other kinds: as rung
  } bell_t;
  typedef struct packed {          // answers to bell_t: sq and rq: taken; *_bad: no ring, or a bad index
    logic        sq;
    logic        rq;
    logic        etx_bad;
    logic        erx_bad;
  } bell_taken_t;
  typedef struct packed {          // a CQ has failed: its entry for this unit's QP or ring is dropped
    logic        req;              // requester
    logic        rsp;              // responder
    logic        etx;              // Ethernet rings
    logic        erx;
    qpi_t        qp;               // or Ethernet ring
  } cq_fail_t;
  typedef struct packed {          // parts of dingo_transport that are idle;
    logic        req_tx;           // *_tx: has nothing to send
    logic        rsp_tx;
    logic        req;
    logic        req_timers;       // no deadline of the requester has passed
    logic        rsp;
    logic        tx_mux;
    logic        gather;
    logic        compute;
    logic        dispatch;
    logic        scatter;
  } rest_t;
