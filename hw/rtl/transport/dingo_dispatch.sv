// SPDX-License-Identifier: BSD-2-Clause

/// A packet's way to its QP: the checks that all transports share, each with its own counter; then to
/// the requester (responses) or the responder (requests, datagrams). One packet at a time: the next when the engine has ordered
/// END for this one. A packet that is dropped here gets its END from here.
module dingo_dispatch (
    input  logic   clk_i,
    input  logic   rst_ni,
    input  logic   halt_i,
    output logic   idle_o,
    input  logic [(1<<rtl_pkg::GID_LOG)*rtl_pkg::GID_W-1:0] gids_i,
    input  logic   rxh_valid_i,
    output logic   rxh_ready_o,
    input  rtl_pkg::rxh_t   rxh_i,
    output logic   qp_re_o,
    output rtl_pkg::qpi_t   qp_raddr_o,
    input  rtl_pkg::qp_t    qp_rdata_i,
    output logic   req_valid_o,
    input  logic   req_ready_i,
    output logic   rsp_valid_o,
    input  logic   rsp_ready_i,
    output rtl_pkg::rxp_t   rxp_o,
    // orders to dingo_scatter: own, and a look at the engines'
    output logic   scat_valid_o,
    input  logic   scat_ready_i,
    output rtl_pkg::scat_t  scat_o,
    input  logic   end_i,               // an engine's END was taken in this cycle
    output logic   stat_valid_o,
    input  logic   stat_ready_i,
    output rtl_pkg::stat_t  stat_o,
    output logic   qstat_valid_o,
    input  logic   qstat_ready_i,
    output rtl_pkg::qstat_t qstat_o
);
endmodule
