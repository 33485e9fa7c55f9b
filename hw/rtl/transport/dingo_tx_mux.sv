// SPDX-License-Identifier: BSD-2-Clause

/// Packets of requester (0) and responder (1) in one order for headers and payload: a packet's segments
/// follow its descriptor. An engine starts a packet only while its `room` is set: then
/// descriptor, 16 segments and 8 inline beats are taken without waiting.
module dingo_tx_mux (
    input  logic       clk_i,
    input  logic       rst_ni,
    output logic       idle_o,
    output logic [1:0] room_o,
    input  logic [1:0] txd_valid_i,
    output logic [1:0] txd_ready_o,
    input  rtl_pkg::txd_t       req_txd_i,
    input  rtl_pkg::txd_t       rsp_txd_i,
    input  logic [1:0] seg_valid_i,
    output logic [1:0] seg_ready_o,
    input  rtl_pkg::seg_t       req_seg_i,
    input  rtl_pkg::seg_t       rsp_seg_i,
    input  logic       inl_valid_i,    // of the requester
    output logic       inl_ready_o,
    input  rtl_pkg::beat_t      inl_i,
    output logic       txd_valid_o,
    input  logic       txd_ready_i,
    output rtl_pkg::txd_t       txd_o,
    output logic       seg_valid_o,
    input  logic       seg_ready_i,
    output rtl_pkg::seg_t       seg_o,
    output logic       inl_valid_o,
    input  logic       inl_ready_i,
    output rtl_pkg::beat_t      inl_o
);
endmodule
