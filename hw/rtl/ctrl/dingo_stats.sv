// SPDX-License-Identifier: BSD-2-Clause

/// Counters of the card and of each QP, 64 bits to the host. Each source has a small queue; a source waits
/// when it counts faster than one step a cycle on average.
module dingo_stats (
    input  logic        clk_i,
    input  logic        rst_ni,
    output logic        idle_o,           // everything is counted
    input  logic [rtl_pkg::STATS-1:0]                 stat_valid_i,
    output logic [rtl_pkg::STATS-1:0]                 stat_ready_o,
    input  logic [rtl_pkg::STATS*rtl_pkg::STAT_W-1:0]   stat_i,
    input  logic [rtl_pkg::QSTATS-1:0]                qstat_valid_i,
    output logic [rtl_pkg::QSTATS-1:0]                qstat_ready_o,
    input  logic [rtl_pkg::QSTATS*rtl_pkg::QSTAT_W-1:0] qstat_i,
    input  logic        clear_valid_i,    // QP counters to 0 (CREATE_QP)
    output logic        clear_ready_o,
    input  rtl_pkg::qpi_t        clear_qp_i,
    input  logic        read_valid_i,
    output logic        read_ready_o,
    input  logic        read_qp_i,        // 0: card counter, 1: counter of a QP
    input  rtl_pkg::qpi_t        read_qpi_i,
    input  logic [5:0]  read_idx_i,
    output logic        value_valid_o,    // one cycle
    output logic [63:0] value_o
);
endmodule
