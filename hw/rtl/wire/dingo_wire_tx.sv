// SPDX-License-Identifier: BSD-2-Clause

/// From packet descriptors and payload to frames on the cable: headers, padding, ICRC; frames of the
/// Ethernet function join here. A frame leaves when all of it is there, so that it has no gaps, and a
/// packet whose payload could not be read is not sent (txerr); one with `tell` is reported when it could
/// (a datagram completes only then: nobody acknowledges it, and its buffer may change afterwards). RoCE frames for a MAC address of the
/// card itself turn round (loop_*), with their ICRC. With the link down frames vanish.
module dingo_wire_tx (
    input  logic   clk_i,
    input  logic   rst_ni,
    output logic   idle_o,
    input  logic   link_i,                                  // cable plugged and port enabled
    input  logic [(1<<rtl_pkg::GID_LOG)*rtl_pkg::GID_W-1:0] gids_i,
    input  logic [(1<<rtl_pkg::MAC_LOG)-1:0]              mac_valid_i,
    input  logic [(1<<rtl_pkg::MAC_LOG)*48-1:0]           macs_i,     // first octet in bits 7:0 of each
    input  logic   txd_valid_i,
    output logic   txd_ready_o,
    input  rtl_pkg::txd_t   txd_i,
    input  logic   gather_valid_i,                          // payload of packets with !inl && len != 0
    output logic   gather_ready_o,
    input  rtl_pkg::beat_t  gather_i,
    input  logic   inl_valid_i,                             // payload of packets with inl && len != 0
    output logic   inl_ready_o,
    input  rtl_pkg::beat_t  inl_i,
    input  logic   eth_valid_i,                             // whole frames
    output logic   eth_ready_o,
    input  rtl_pkg::beat_t  eth_i,
    output logic   req_err_valid_o,                         // to the requester, responder
    input  logic   req_err_ready_i,
    output logic   rsp_err_valid_o,
    input  logic   rsp_err_ready_i,
    output rtl_pkg::txerr_t err_o,
    output logic   loop_valid_o,
    input  logic   loop_ready_i,
    output rtl_pkg::beat_t  loop_o,
    output logic   stat_valid_o,
    input  logic   stat_ready_i,
    output rtl_pkg::stat_t  stat_o,
    output logic   qstat_valid_o,
    input  logic   qstat_ready_i,
    output rtl_pkg::qstat_t qstat_o,
    // AXI-Stream to the MAC
    output logic         m_axis_tvalid_o,
    input  logic         m_axis_tready_i,
    output logic [511:0] m_axis_tdata_o,
    output logic [ 63:0] m_axis_tkeep_o,
    output logic         m_axis_tlast_o
);
endmodule
