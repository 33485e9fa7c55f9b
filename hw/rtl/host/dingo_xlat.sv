// SPDX-License-Identifier: BSD-2-Clause

/// Address translation by page lists of 0 to 2 levels, with a cache of page-list lines (64 bytes =
/// 8 entries). One request after the other; a miss costs a read of host memory per level.
/// `flush_i` empties the cache: a page list may be freed once its region or ring is destroyed.
module dingo_xlat #(
    parameter int unsigned LogLines = 6
) (
    input  logic     clk_i,
    input  logic     rst_ni,
    input  logic     flush_i,
    output logic     idle_o,
    input  logic     req_valid_i,
    output logic     req_ready_o,
    input  rtl_pkg::xl_req_t  req_i,
    output logic     rsp_valid_o,
    input  logic     rsp_ready_i,
    output rtl_pkg::xl_rsp_t  rsp_o,
    output logic     line_valid_o,
    input  logic     line_ready_i,
    output rtl_pkg::rdl_req_t line_o,
    input  logic     line_rsp_valid_i,
    input  rtl_pkg::rdl_rsp_t line_rsp_i
);
endmodule
