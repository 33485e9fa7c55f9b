// SPDX-License-Identifier: BSD-2-Clause
//
// Increments of counters, and the ports of dingo_stats.

  typedef struct packed {
    logic [5:0]  idx;              // CARD_* of dingo_pkg
    logic [15:0] by;
  } stat_t;
  typedef struct packed {
    qpi_t        qp;
    logic [3:0]  idx;              // QP_* of dingo_pkg
    logic [15:0] by;
  } qstat_t;

  // Ports of dingo_stats
  localparam int unsigned STAT_TX = 0;
  localparam int unsigned STAT_RX = 1;
  localparam int unsigned STAT_ETX = 2;
  localparam int unsigned STAT_ERX = 3;
  localparam int unsigned STAT_REQ = 4;
  localparam int unsigned STAT_RSP = 5;
  localparam int unsigned STAT_DISPATCH = 6;
  localparam int unsigned STAT_CQ = 7;
  localparam int unsigned STAT_EQ = 8;
  localparam int unsigned STAT_DB = 9;
  localparam int unsigned STAT_REGS = 10;
  localparam int unsigned STAT_ADMIN = 11;
  localparam int unsigned STAT_HOST = 12;
  localparam int unsigned STATS = 13;
  localparam int unsigned QSTAT_TX = 0;
  localparam int unsigned QSTAT_DISPATCH = 1;
  localparam int unsigned QSTAT_REQ = 2;
  localparam int unsigned QSTAT_RSP = 3;
  localparam int unsigned QSTATS = 4;
