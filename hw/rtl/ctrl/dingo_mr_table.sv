// SPDX-License-Identifier: BSD-2-Clause

/// Memory regions by key. A lookup checks in the order key, PD, access, bounds and is answered after a fixed
/// number of cycles (Latency), one a cycle on each port.
module dingo_mr_table (
    input  logic    clk_i,
    input  logic    rst_ni,
    output logic    ready_o,
    // lookups: 0 requester, 1 responder
    input  logic [1:0]                    req_valid_i,
    input  logic [2*rtl_pkg::MR_REQ_W-1:0]  req_i,
    output logic [1:0]                    rsp_valid_o,
    output logic [2*rtl_pkg::MR_RSP_W-1:0]  rsp_o,
    // commands
    input  logic    re_i,
    input  logic    we_i,
    input  rtl_pkg::mri_t    index_i,
    input  rtl_pkg::mr_t     wdata_i,
    output rtl_pkg::mr_t     rdata_o             // in the cycle after re_i
);
endmodule
