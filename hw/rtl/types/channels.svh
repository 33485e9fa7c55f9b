// SPDX-License-Identifier: BSD-2-Clause
//
// Channels between the parts of dingo_card.

  typedef struct packed {          // what an engine asks the tables
    logic        qp_re;            // the context of a QP, there in the next cycle
    qpi_t        qp;
    logic        state_we;         // a QP has this state
    qpi_t        state_qp;
    qps_t        state;
    logic        mr_valid;         // dingo_mr_table
    mr_req_t     mr;
    logic        mrw_valid;        // dingo_mr_work, until it is done
    mrw_req_t    mrw;
  } ask_t;
  typedef struct packed {          // and what they answer
    qp_t         qp;
    logic        mr_valid;
    mr_rsp_t     mr;
    logic        mrw_done;
    mrw_rsp_t    mrw;
  } told_t;
  typedef struct packed {          // a doorbell, good for its kind
    logic        sq;               // one of these
    logic        rq;
    logic        cq;
    logic        eq;
    logic        etx;
    logic        erx;
    qdb_t        q;                // sq, rq: of this QP or SRQ
    logic        q_srq;
    db_t         db;               // the others: as it came
  } bell_t;
  typedef struct packed {          // bell_t was taken: those that may wait; or is no ring's
    logic        sq;
    logic        rq;
    logic        etx_bad;
    logic        erx_bad;
  } bell_taken_t;
  typedef struct packed {          // a CQ takes no entry any more: that was this one's
    logic        req;              // requester
    logic        rsp;              // responder
    logic        etx;              // Ethernet rings
    logic        erx;
    qpi_t        qp;               // or ring
  } cq_fail_t;
  typedef struct packed {          // parts of dingo_transport that have nothing to do,
    logic        req_tx;           // or nothing to send
    logic        rsp_tx;
    logic        req;
    logic        rsp;
    logic        tx_mux;
    logic        gather;
    logic        compute;
    logic        dispatch;
    logic        scatter;
  } rest_t;
