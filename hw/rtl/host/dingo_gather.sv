// SPDX-License-Identifier: BSD-2-Clause

/// Payload from host memory: the segments of a packet become one stream of beats without holes. A
/// bus error shows as `err` in the last beat (whose length is then as ordered, its bytes anything).
module dingo_gather (
    input  logic     clk_i,
    input  logic     rst_ni,
    output logic     idle_o,       // no segment waits and every read has been answered
    input  logic     xl_flush_i,
    input  logic     seg_valid_i,
    output logic     seg_ready_o,
    input  rtl_pkg::seg_t     seg_i,
    output logic     beat_valid_o,
    input  logic     beat_ready_i,
    output rtl_pkg::beat_t    beat_o,
    // dingo_host
    output logic     read_valid_o,
    input  logic     read_ready_i,
    output rtl_pkg::dma_req_t read_o,
    input  logic     read_rsp_valid_i,
    output logic     read_rsp_ready_o,
    input  rtl_pkg::beat_t    read_rsp_i,
    output logic     line_valid_o,
    input  logic     line_ready_i,
    output rtl_pkg::rdl_req_t line_o,
    input  logic     line_rsp_valid_i,
    input  rtl_pkg::rdl_rsp_t line_rsp_i
);
endmodule
