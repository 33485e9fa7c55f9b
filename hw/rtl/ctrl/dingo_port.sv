// SPDX-License-Identifier: BSD-2-Clause

/// The port: settings, GID table, address table; events when the link comes and goes.
module dingo_port (
    input  logic    clk_i,
    input  logic    rst_ni,
    input  rtl_pkg::strap_t  strap_i,   // the factory MAC is entry 0 of the address table after reset
    input  logic    cable_i,
    input  logic    port_we_i,
    input  rtl_pkg::port_t   port_i,
    input  logic    gid_we_i,
    input  rtl_pkg::gidi_t   gid_index_i,
    input  rtl_pkg::gid_t    gid_i,
    input  logic    mac_we_i,
    input  logic [rtl_pkg::MAC_LOG-1:0] mac_index_i,
    input  logic    mac_valid_i,
    input  logic [47:0] mac_i,
    output rtl_pkg::port_t   port_o,
    output logic    link_o,              // cable plugged and port enabled
    output logic [(1<<rtl_pkg::GID_LOG)*rtl_pkg::GID_W-1:0] gids_o,
    output logic [(1<<rtl_pkg::GID_LOG)-1:0]      gid_valid_o,
    output logic [(1<<rtl_pkg::MAC_LOG)-1:0]      mac_valid_o,
    output logic [(1<<rtl_pkg::MAC_LOG)*48-1:0]   macs_o,
    output logic    ev_valid_o,
    input  logic    ev_ready_i,
    output rtl_pkg::ev_t     ev_o
);
endmodule
