// SPDX-License-Identifier: BSD-2-Clause

/// Frames from the cable, and those that turned round: parses, checks lengths, IPv4 checksum and ICRC,
/// and gives RoCE packets of ours as headers and payload, everything else as whole frames to the
/// Ethernet function. Counts what it drops. The MAC is never held up: what finds no room is dropped
/// (a simulation looks at tready and holds the frame back instead).
module dingo_wire_rx (
    input  logic   clk_i,
    input  logic   rst_ni,
    output logic   idle_o,
    input  rtl_pkg::port_t  port_i,
    input  logic   link_i,
    input  logic [(1<<rtl_pkg::GID_LOG)*rtl_pkg::GID_W-1:0] gids_i,
    input  logic [(1<<rtl_pkg::MAC_LOG)-1:0]              mac_valid_i,
    input  logic [(1<<rtl_pkg::MAC_LOG)*48-1:0]           macs_i,
    input  logic   loop_valid_i,
    output logic   loop_ready_o,
    input  rtl_pkg::beat_t  loop_i,
    output logic   rxh_valid_o,
    input  logic   rxh_ready_i,
    output rtl_pkg::rxh_t   rxh_o,
    output logic   payload_valid_o,   // beats of packets with len != 0, in the order of the headers, without padding
    input  logic   payload_ready_i,
    output rtl_pkg::beat_t  payload_o,
    output logic   eth_valid_o,       // whole frames that the Ethernet function may want
    input  logic   eth_ready_i,
    output rtl_pkg::beat_t  eth_o,
    output logic   stat_valid_o,
    input  logic   stat_ready_i,
    output rtl_pkg::stat_t  stat_o,
    // AXI-Stream from the MAC
    input  logic         s_axis_tvalid_i,
    output logic         s_axis_tready_o,
    input  logic [511:0] s_axis_tdata_i,
    input  logic [ 63:0] s_axis_tkeep_i,
    input  logic         s_axis_tlast_i,
    input  logic         s_axis_tuser_i   // with tlast: the frame is bad (FCS)
);
endmodule
