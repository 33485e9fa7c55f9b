// SPDX-License-Identifier: BSD-2-Clause
//
// Internal types and sizes that the modules of the card share, by subject in types/. What the host sees is in
// dingo_pkg, generated from hw/contract. It is one package because Yosys cannot use types of one package in another;
// the package of a part (req_pkg ...) includes types/sizes.svh itself.

package rtl_pkg;
`include "types/sizes.svh"

/* verilator lint_off UNUSEDPARAM */  // not every index is named
`include "types/memory.svh"
`include "types/regions.svh"
`include "types/queue_pairs.svh"
`include "types/queues.svh"
`include "types/frames.svh"
`include "types/counters.svh"
`include "types/port.svh"
`include "types/orders.svh"
`include "types/channels.svh"

  // ------------------------------------------------------------------------------------ widths
  // Widths of structures that a port or memory holds several of (Yosys has no $bits of a type). tests/hw/rtl/lint
  // checks them.
  localparam int unsigned BEAT_W = 521;
  localparam int unsigned RDL_REQ_W = 62;
  localparam int unsigned DMA_REQ_W = 77;
  localparam int unsigned MR_W = 339 + QP_LOG;
  localparam int unsigned MR_REQ_W = 151 + QP_LOG;
  localparam int unsigned MR_RSP_W = 177;
  localparam int unsigned QP_CFG_W = 654 + 2 * CQ_LOG + GID_LOG + SRQ_LOG;
  localparam int unsigned QP_W = 3 + QP_CFG_W;
  localparam int unsigned CQE_REQ_W = 201 + CQ_LOG + QP_LOG;
  localparam int unsigned EV_W = 72;
  localparam int unsigned GID_W = 194;
  localparam int unsigned STAT_W = 22;
  localparam int unsigned QSTAT_W = 20 + QP_LOG;

  // ------------------------------------------------------------------------------------ numbers
  // 24-bit sequence numbers: a comes before b
  function automatic logic psn_before(input logic [23:0] a, input logic [23:0] b);
    psn_before = $signed(a - b) < 0;
  endfunction

  // Free-running 32-bit numbers: a comes before b
  function automatic logic idx_before(input logic [31:0] a, input logic [31:0] b);
    idx_before = $signed(a - b) < 0;
  endfunction

  // Payload bytes of a full packet, 256..4096
  function automatic logic [12:0] pmtu_bytes(input logic [2:0] path_mtu);
    pmtu_bytes = 13'd128 << path_mtu;
  endfunction

endpackage
/* verilator lint_on UNUSEDPARAM */
