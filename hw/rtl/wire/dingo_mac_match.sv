// SPDX-License-Identifier: BSD-2-Clause

/// Whose a MAC address is: in the address table, or a source address of a valid GID entry.
module dingo_mac_match (
    input  logic [(1<<rtl_pkg::GID_LOG)*rtl_pkg::GID_W-1:0] gids_i,
    input  logic [(1<<rtl_pkg::MAC_LOG)-1:0]                mac_valid_i,
    input  logic [(1<<rtl_pkg::MAC_LOG)*48-1:0]             macs_i,     // first octet in bits 7:0 of each
    input  logic [47:0]                                     mac_i,      // first octet in bits 7:0
    output logic                                            table_o,
    output logic                                            ours_o      // the table's or a GID's
);
  localparam int unsigned Gids = 1 << rtl_pkg::GID_LOG;
  localparam int unsigned Macs = 1 << rtl_pkg::MAC_LOG;
  logic [Gids-1:0] gid_hit;
  logic [Macs-1:0] mac_hit;

  for (genvar g = 0; g < Gids; g++) begin : gen_gid
    rtl_pkg::gid_t entry;
    assign entry = gids_i[g*rtl_pkg::GID_W +: rtl_pkg::GID_W];
    assign gid_hit[g] = entry.valid && entry.mac == mac_i;
    wire unused_ok = &{1'b0, entry};
  end
  for (genvar g = 0; g < Macs; g++) begin : gen_mac
    assign mac_hit[g] = mac_valid_i[g] && macs_i[g*48 +: 48] == mac_i;
  end
  assign table_o = mac_hit != '0;
  assign ours_o = table_o || gid_hit != '0;
endmodule
