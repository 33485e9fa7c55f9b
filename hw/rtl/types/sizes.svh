// SPDX-License-Identifier: BSD-2-Clause
//
// Sizes of the card and types of its indices.
// Sizes are macros so that a lint, synthesis or formal run can choose a smaller card.

`ifndef DINGO_QP_LOG
`define DINGO_QP_LOG 11
`endif
`ifndef DINGO_CQ_LOG
`define DINGO_CQ_LOG 11
`endif
`ifndef DINGO_MR_LOG
`define DINGO_MR_LOG 13
`endif
`ifndef DINGO_EQ_LOG
`define DINGO_EQ_LOG 5
`endif
`ifndef DINGO_GID_LOG
`define DINGO_GID_LOG 4
`endif

/* verilator lint_off UNUSEDPARAM */  // packages that include this use only some of them
  localparam int unsigned QP_LOG = `DINGO_QP_LOG;   // QP contexts; index 0 is never used, 1 is GSI
  localparam int unsigned CQ_LOG = `DINGO_CQ_LOG;
  localparam int unsigned MR_LOG = `DINGO_MR_LOG;
  localparam int unsigned EQ_LOG = `DINGO_EQ_LOG;
  localparam int unsigned SRQ_LOG = QP_LOG - 2;     // fewer than QPs: dingo_db keys waiting doorbells of all kinds in one table
  localparam int unsigned RQ_LOG = QP_LOG + 1;      // receive queues: those of QPs and SRQs
  localparam int unsigned GID_LOG = `DINGO_GID_LOG;
  localparam int unsigned MAC_LOG = 4;              // entries of the address table
  localparam int unsigned DB_PAGE_LOG = 10;         // doorbell pages
  localparam int unsigned ETH_LOG = 2;              // Ethernet rings of each kind
  localparam int unsigned RD_LOG = 4;               // READs and atomics outstanding per QP, each direction
  localparam int unsigned REC_LOG = 6;              // send WQEs between first packet and completion, per QP
  localparam int unsigned PD_BITS = 16;
/* verilator lint_on UNUSEDPARAM */

  typedef logic [QP_LOG-1:0] qpi_t;                 // QP index
  typedef logic [CQ_LOG-1:0] cqi_t;
  typedef logic [MR_LOG-1:0] mri_t;
  typedef logic [EQ_LOG-1:0] eqi_t;
  typedef logic [SRQ_LOG-1:0] srqi_t;
  typedef logic [RQ_LOG-1:0] rqi_t;                 // receive queue: QP index, or SRQ index with the highest bit set
  typedef logic [ETH_LOG-1:0] ethi_t;               // Ethernet ring
  typedef logic [5:0] gen_t;                        // generation of a QP: counts restarts of its PSNs
  typedef logic [GID_LOG-1:0] gidi_t;
