// SPDX-License-Identifier: BSD-2-Clause

/// Whether a MAC address is one of the card's: in the address table, or the source address of a valid GID entry.
/// Combinational.
module dingo_mac_match (
    input  logic [(1<<rtl_pkg::GID_LOG)*rtl_pkg::GID_W-1:0] gids_i,
    input  logic [(1<<rtl_pkg::MAC_LOG)-1:0]                mac_valid_i,
    input  logic [(1<<rtl_pkg::MAC_LOG)*48-1:0]             macs_i,     // first octet in bits 7:0 of each
    input  logic                                            valid_i,    // else a simulator skips the comparisons
    input  logic [47:0]                                     mac_i,      // first octet in bits 7:0
    output logic                                            table_o,    // in the address table
    output logic                                            ours_o      // in the address table or of a GID
);
  localparam int unsigned Gids = 1 << rtl_pkg::GID_LOG;
  localparam int unsigned Macs = 1 << rtl_pkg::MAC_LOG;
  rtl_pkg::gid_t entry;
  logic          gid_hit;

  always_comb begin
    table_o = 1'b0;
    gid_hit = 1'b0;
    entry = '0;
    if (valid_i) begin
      for (int unsigned i = 0; i < Macs; i++)
        if (mac_valid_i[i] && macs_i[i*48 +: 48] == mac_i) table_o = 1'b1;
      for (int unsigned i = 0; i < Gids; i++) begin
        entry = gids_i[i*rtl_pkg::GID_W +: rtl_pkg::GID_W];
        if (entry.valid && entry.mac == mac_i) gid_hit = 1'b1;
      end
    end
  end
  assign ours_o = table_o || gid_hit;
  wire unused_ok = &{1'b0, entry};
endmodule
