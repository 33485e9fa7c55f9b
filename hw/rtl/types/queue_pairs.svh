// SPDX-License-Identifier: BSD-2-Clause
//
// Contexts of queue pairs; requests of commands to the engines about QPs and SRQs.

  // ------------------------------------------------------------------------------------ queue pairs
  // Only commands write it; engines read it.
  typedef struct packed {
    logic               valid;
    logic [7:0]         tag;       // QPN bits 23:16
    logic [2:0]         kind;      // enum qpt
    logic [PD_BITS-1:0] pdn;
    cqi_t               send_cq;
    cqi_t               recv_cq;
    logic [DB_PAGE_LOG-1:0] db_page;
    logic               signal_all;
    logic               privileged;
    logic [4:0]         log_sq;    // blocks
    logic [3:0]         log_rq;    // entries
    logic [3:0]         log_rq_stride;
    logic               has_srq;   // receives come from `srq`: rq, log_rq, log_rq_stride and ...
    srqi_t              srq;
    logic [PD_BITS-1:0] srq_pdn;   // ... srq_pdn (PD of its SGEs) are the SRQ's
    xmem_t              sq;
    xmem_t              rq;
    // struct qp_attr as last given by MODIFY_QP
    logic [31:0]        qkey;
    logic [23:0]        rq_psn;
    logic [23:0]        sq_psn;
    logic [23:0]        dest_qpn;
    logic [4:0]         access;
    logic [2:0]         path_mtu;
    logic [7:0]         max_rd;
    logic [7:0]         max_dest_rd;
    logic [4:0]         min_rnr_timer;
    logic [4:0]         timeout;
    logic [2:0]         retry_cnt;
    logic [2:0]         rnr_retry;
    logic               port;
    logic               sqd_notify;
    logic [127:0]       dgid;      // first octet on the wire in bits 7:0
    logic [47:0]        dmac;      // first octet on the wire in bits 7:0
    gidi_t              sgid;
    logic [19:0]        flow_label;
    logic [15:0]        udp_sport;
    logic [7:0]         hop_limit;
    logic [7:0]         tclass;
    logic [3:0]         sl;
  } qp_cfg_t;

  typedef logic [2:0] qps_t;       // enum qps

  // Result of a table look-up: context and state of the same cycle.
  typedef struct packed {
    qps_t    state;
    qp_cfg_t cfg;
  } qp_t;

  // A command to an engine, given while the card is at rest (see docs/reference/rtl.md, "Commands").
  typedef enum logic [1:0] {
    QPA_CLEAR  = 2'd0,             // CREATE, DESTROY, MODIFY to RESET: clear all state of this QP
    QPA_MODIFY = 2'd1,             // attributes in `mask` are new; state changes from old_state to ctx.state
    QPA_QUERY  = 2'd2              // changes nothing
  } qpa_op_t;
  typedef struct packed {
    qpa_op_t     op;
    logic        destroy;          // QPA_CLEAR: send a pending acknowledgement first
    qps_t        old_state;
    logic [20:0] mask;             // enum qpm
    qpi_t        qp;
    qp_t         ctx;              // new context; of a destroyed QP, the old one
  } qpa_req_t;
  typedef struct packed {          // the requester's part of struct qp_info
    logic [31:0] sq_producer;
    logic [31:0] sq_consumer;
    logic [23:0] oldest_psn;
    logic [23:0] sq_psn;           // next new PSN
    logic [2:0]  retries_left;
    logic [2:0]  rnr_left;
    logic        draining;
  } req_info_t;
  typedef struct packed {          // the responder's part
    logic [31:0] rq_producer;
    logic [31:0] rq_consumer;
    logic [23:0] rq_psn;           // next expected PSN
    logic [23:0] msn;
  } rsp_info_t;

  // ------------------------------------------------------------------------------------ shared receive queues
  // A command to the responder, which keeps the variable state of an SRQ.
  typedef enum logic [1:0] {
    SRQA_CREATE = 2'd0,
    SRQA_MODIFY = 2'd1,            // a new limit, which may fire at once
    SRQA_QUERY = 2'd2,
    SRQA_DESTROY = 2'd3            // given while the card is at rest
  } srqa_op_t;
  typedef struct packed {
    srqa_op_t    op;
    srqi_t       srq;
    logic [3:0]  log_size;         // CREATE: entries
    logic [15:0] limit;            // CREATE, MODIFY: 0..32768
  } srqa_req_t;
  typedef struct packed {          // values before the command
    logic [15:0] limit;            // 0: fired, or not set
    logic [31:0] available;        // entries posted and not consumed
  } srq_info_t;
