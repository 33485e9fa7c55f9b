// SPDX-License-Identifier: BSD-2-Clause

/// Payload into host memory, by the orders of the engine that holds the packet (scat_t): segments take
/// the payload's bytes in order, END ends the packet. Its item comes back in order, when all
/// bytes of the packet are in host memory: memory first, then completion, then acknowledgement.
module dingo_scatter (
    input  logic     clk_i,
    input  logic     rst_ni,
    output logic     room_o,         // 20 orders are taken without waiting
    output logic     idle_o,         // no order waits, nothing to be written, no item that was not taken
    input  logic     xl_flush_i,
    input  logic     scat_valid_i,
    output logic     scat_ready_o,
    input  rtl_pkg::scat_t    scat_i,
    input  logic     payload_valid_i,
    output logic     payload_ready_o,
    input  rtl_pkg::beat_t    payload_i,
    output logic     req_valid_o,    // items for the requester
    input  logic     req_ready_i,
    output logic     rsp_valid_o,    // items for the responder
    input  logic     rsp_ready_i,
    output rtl_pkg::commit_t  commit_o,
    // dingo_host
    output logic     write_valid_o,
    input  logic     write_ready_i,
    output rtl_pkg::dma_req_t write_o,
    output logic     wdata_valid_o,
    input  logic     wdata_ready_i,
    output rtl_pkg::beat_t    wdata_o,
    input  logic     done_valid_i,
    input  logic     done_err_i,
    output logic     line_valid_o,
    input  logic     line_ready_i,
    output rtl_pkg::rdl_req_t line_o,
    input  logic     line_rsp_valid_i,
    input  rtl_pkg::rdl_rsp_t line_rsp_i
);
endmodule
