// SPDX-License-Identifier: BSD-2-Clause
//
// Orders of a command to the card's tables and engines, and their answers.

  // Each part reads its own members; a `valid` or `we` lasts one cycle and is always taken.
  typedef struct packed {
    logic        xl_flush;         // empty the caches of page lists
    logic        resume;           // try again what a paused region stopped
    logic        qp_we;            // write context and state of `qp`
    qpi_t        qp;
    qp_cfg_t     qp_cfg;
    qps_t        qp_state;
    logic        port_we;
    port_t       port;
    logic        gid_we;
    gidi_t       gid_index;
    gid_t        gid;
    logic        mac_we;
    logic [MAC_LOG-1:0] mac_index;
    logic        mac_valid;
    logic [47:0] mac;
    logic        cq_valid;
    cq_cfg_t     cq;
    logic        eq_valid;
    eq_cfg_t     eq;
    logic        srq_valid;        // created or destroyed
    srq_cfg_t    srq;
    logic        forget_valid;
    ev_t         forget;
    logic        etx_valid;
    logic        erx_valid;
    eth_cfg_t    eth;
    logic        rss_valid;
    rss_t        rss;
    logic        qpa_valid;        // both engines answer (req_done, rsp_done)
    qpa_req_t    qpa;
    logic        srqa_valid;       // the responder answers (srqa_done)
    srqa_req_t   srqa;
  } orders_t;
  typedef struct packed {          // a `done` or `valid` lasts one cycle
    logic        req_done;         // answers of the engines to `qpa`
    req_info_t   req;
    logic        rsp_done;
    rsp_info_t   rsp;
    logic        srqa_done;
    srq_info_t   srq;
    logic        cq_valid;         // answer of dingo_cq to a resize
    cq_info_t    cq;
  } answers_t;
  typedef struct packed {          // for dingo_compute_slot and dingo_compute_receive
    logic        send;             // directions that get the kernel
    logic        receive;
    qpi_t        qp;
    kernel_t     kernel;
    logic [31:0] param;
  } compute_cfg_t;
