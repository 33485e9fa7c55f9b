// SPDX-License-Identifier: BSD-2-Clause

/// Checks the ICRC of each frame as it passes (InfiniBand specification, annex A17). The IP header says where the
/// packet ends; Ethernet padding may follow. The CRC runs over the ICRC, too, so a good packet leaves a constant. The
/// result comes 9 cycles after the frame's last beat. Never stalls.
module dingo_rx_icrc (
    input  logic         clk_i,
    input  logic         rst_ni,
    output logic         idle_o,
    input  logic         valid_i,
    input  logic         first_i,
    input  logic         second_i,
    input  logic         last_i,
    input  logic [511:0] data_i,
    output logic         valid_o,     // one result a frame; meaningless if the frame's lengths are bad
    output logic         good_o
);
  localparam logic [31:0] Residue = 32'hdebb20e3;

  // ---- 1: where the packet ends
  logic        vlan, ipv6, vlan1_q, ipv6_1_q, valid1_q, first1_q, second1_q, last1_q;
  logic [15:0] ether_type, ip_length;
  logic [16:0] left, left1_q;         // from the start of the beat to the end of the packet
  logic [511:0] data1_q;

  assign vlan = data_i[111:96] == roce_pkg::WIRE_VLAN;
  assign ether_type = vlan ? data_i[143:128] : data_i[111:96];
  assign ipv6 = ether_type == roce_pkg::WIRE_IPV6;
  always_comb begin
    case ({ipv6, vlan})
      2'b00: ip_length = data_i[143:128];
      2'b01: ip_length = data_i[175:160];
      2'b10: ip_length = data_i[159:144];
      default: ip_length = data_i[191:176];
    endcase
    if (first_i)
      left = {1'b0, roce_pkg::be16(ip_length)} + (ipv6 ? 17'd54 : 17'd14) + (vlan ? 17'd4 : 17'd0);
    else left = left1_q < 17'd64 ? '0 : left1_q - 17'd64;
  end

  always_ff @(posedge clk_i) begin
    valid1_q <= valid_i && rst_ni;
    if (valid_i) begin
      data1_q <= data_i;
      first1_q <= first_i;
      second1_q <= second_i;
      last1_q <= last_i;
      left1_q <= left;
      if (first_i) begin
        vlan1_q <= vlan;
        ipv6_1_q <= ipv6;
      end
    end
  end

  // ---- 2: fields masked, bytes after the end zeroed
  logic [511:0] masked, data2_q;
  logic         valid2_q, first2_q, last2_q;
  logic [6:0]   bytes2_q;
  logic [31:0]  part;

  dingo_icrc_mask u_mask (
      .first_i(valid1_q && first1_q), .second_i(valid1_q && second1_q), .ipv6_i(ipv6_1_q), .vlan_i(vlan1_q),
      .data_i(data1_q), .data_o(masked)
  );

  assign part = left1_q[1] ? 32'h0000ffff : 32'd0;

  always_ff @(posedge clk_i) begin
    valid2_q <= valid1_q && rst_ni;
    if (valid1_q) begin
      first2_q <= first1_q;
      last2_q <= last1_q;
      if (left1_q >= 17'd64) begin
        bytes2_q <= 7'd64;
        data2_q <= masked;
      end else begin
        bytes2_q <= {1'b0, left1_q[5:1], 1'b0};
        for (int w = 0; w < 16; w++) begin
          if (4'(w) < left1_q[5:2]) data2_q[w*32 +: 32] <= masked[w*32 +: 32];
          else if (4'(w) == left1_q[5:2]) data2_q[w*32 +: 32] <= masked[w*32 +: 32] & part;
          else data2_q[w*32 +: 32] <= '0;
        end
      end
    end
  end

  // ---- sum
  logic        crc_valid, unused_tag;
  logic [31:0] crc;

  dingo_crc u_crc (
      .clk_i, .rst_ni, .valid_i(valid2_q), .first_i(first2_q), .last_i(last2_q), .bytes_i(bytes2_q),
      .data_i(data2_q), .tag_i(1'b0), .valid_o(crc_valid), .crc_o(crc), .tag_o(unused_tag)
  );
  assign valid_o = crc_valid;
  assign good_o = crc == Residue;
  assign idle_o = !valid1_q && !valid2_q;
  wire unused_ok = &{1'b0, unused_tag};
endmodule
