// SPDX-License-Identifier: BSD-2-Clause

/// QP contexts and states. Contexts are written by commands only, while everything stands still; states
/// also by the engines, when a QP fails. A read gives context and state in the next cycle.
module dingo_qp_table (
    input  logic    clk_i,
    input  logic    rst_ni,
    output logic    ready_o,           // cleared after reset
    // readers: 0 commands, 1 dispatch, 2 requester, 3 responder
    input  logic [3:0]               re_i,
    input  logic [4*rtl_pkg::QP_LOG-1:0]      raddr_i,
    output logic [4*rtl_pkg::QP_W-1:0] rdata_o,
    // commands
    input  logic    we_i,
    input  rtl_pkg::qpi_t    windex_i,
    input  rtl_pkg::qp_cfg_t wdata_i,
    // states: 0 commands, 1 requester, 2 responder; at once for different QPs, or to the same state
    input  logic [2:0]          state_we_i,
    input  logic [3*rtl_pkg::QP_LOG-1:0] state_index_i,
    input  logic [8:0]          state_i
);
endmodule
