// SPDX-License-Identifier: BSD-2-Clause

/// The port: settings, GID table, MAC address table; PORT_UP and PORT_DOWN events.
module dingo_port (
    input  logic    clk_i,
    input  logic    rst_ni,
    input  rtl_pkg::strap_t  strap_i,   // reset writes the factory MAC to entry 0 of the address table
    input  logic    wire_up_i,
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
    output logic    link_o,              // cable connected and port enabled
    output logic [(1<<rtl_pkg::GID_LOG)*rtl_pkg::GID_W-1:0] gids_o,
    output logic [(1<<rtl_pkg::GID_LOG)-1:0]      gid_valid_o,
    output logic [(1<<rtl_pkg::MAC_LOG)-1:0]      mac_valid_o,
    output logic [(1<<rtl_pkg::MAC_LOG)*48-1:0]   macs_o,
    output logic    ev_valid_o,
    input  logic    ev_ready_i,
    output rtl_pkg::ev_t     ev_o
);
  localparam int unsigned Gids = 1 << rtl_pkg::GID_LOG;
  localparam int unsigned Macs = 1 << rtl_pkg::MAC_LOG;
  localparam int unsigned GidW = rtl_pkg::GID_W;
  localparam logic [15:0] DefaultMtu = 16'd1500;

  rtl_pkg::port_t port_q;
  logic [Gids*GidW-1:0] gids_q;
  logic [Gids-1:0] gid_valid_q;
  logic [Macs*48-1:0] macs_q;
  logic [Macs-1:0] mac_valid_q;
  logic [47:0] factory;  // first octet in bits 7:0, as in all of the card
  logic told_q;          // state of the link in the last event
  logic ev_valid_q, ev_up_q;

  always_comb begin
    for (int i = 0; i < 6; i++) factory[8*i +: 8] = strap_i.mac[40-8*i +: 8];
  end

  assign port_o = port_q;
  assign link_o = wire_up_i && port_q.enabled;
  assign gids_o = gids_q;
  assign gid_valid_o = gid_valid_q;
  assign macs_o = macs_q;
  assign mac_valid_o = mac_valid_q;

  always_ff @(posedge clk_i) begin : settings
    if (!rst_ni) begin
      port_q <= {3'b000, DefaultMtu};
      gid_valid_q <= '0;
      for (int i = 0; i < Gids; i++) gids_q[i*GidW +: GidW] <= '0;
      mac_valid_q <= {{Macs-1{1'b0}}, 1'b1};
      macs_q <= {{(Macs-1)*48{1'b0}}, factory};
    end else begin
      if (port_we_i) port_q <= port_i;
      // A comparison for each entry: an indexed write would make a shifter as wide as the table.
      if (gid_we_i) begin
        for (int i = 0; i < Gids; i++) begin
          if (32'(gid_index_i) == i) begin
            gids_q[i*GidW +: GidW] <= gid_i;
            gid_valid_q[i] <= gid_i.valid;
          end
        end
      end
      if (mac_we_i) begin
        for (int i = 0; i < Macs; i++) begin
          if (32'(mac_index_i) == i) begin
            macs_q[i*48 +: 48] <= mac_i;
            mac_valid_q[i] <= mac_valid_i;
          end
        end
      end
    end
  end

  // One event at a time; changes of the link while it waits are reported only if the last state differs.
  assign ev_valid_o = ev_valid_q;
  always_comb begin
    ev_o = '0;
    ev_o.kind = ev_up_q ? dingo_pkg::EV_PORT_UP[7:0] : dingo_pkg::EV_PORT_DOWN[7:0];
    ev_o.id = 32'd1;
  end
  always_ff @(posedge clk_i) begin : events
    if (!rst_ni) begin
      told_q <= 1'b0;
      ev_valid_q <= 1'b0;
      ev_up_q <= 1'b0;
    end else if (ev_valid_q) begin
      if (ev_ready_i) ev_valid_q <= 1'b0;
    end else if (link_o != told_q) begin
      told_q <= link_o;
      ev_valid_q <= 1'b1;
      ev_up_q <= link_o;
    end
  end

  wire unused_ok = &{1'b0, strap_i.withheld, strap_i.db_memory, strap_i.max_qp, strap_i.max_cq, strap_i.max_mr, strap_i.max_srq,
                     strap_i.link_mbps, strap_i.engine};
endmodule
