// SPDX-License-Identifier: BSD-2-Clause

/// Joins headers and payload into the beats of a frame: the payload is rotated to where the headers end and padded
/// with zeros, and space for the ICRC follows it. 4 stages, a beat a cycle, also from frame to frame. A beat begins
/// only when the buffer behind has room for it (room_i), so the stages never stop.
module dingo_tx_concat (
    input  logic           clk_i,
    input  logic           rst_ni,
    output logic           idle_o,
    input  logic           valid_i,          // a frame
    output logic           ready_o,
    input  logic [847:0]   headers_i,
    input  logic [6:0]     header_bytes_i,
    input  logic [12:0]    frame_bytes_i,
    input  logic [12:0]    len_i,
    input  logic           ipv6_i,
    input  logic           vlan_i,
    input  logic           payload_valid_i,
    output logic           payload_ready_o,
    input  rtl_pkg::beat_t payload_i,
    input  logic           room_i,           // the buffer has room for one more beat
    output logic           alloc_o,          // a beat begins and takes its room
    output logic           valid_o,          // a beat comes out, 4 cycles after its alloc_o
    output logic [511:0]   data_o,
    output logic           first_o,
    output logic           second_o,
    output logic           last_o,
    output logic [6:0]     crc_bytes_o,      // bytes of this beat that the ICRC covers
    output logic           ipv6_o,
    output logic           vlan_o,
    output logic           err_o             // with last: some payload could not be read
);
  // ---- which beat is next
  logic [6:0]  j_q, beats, payload_beats, k, rest;
  logic [12:0] crc_left_q, crc_left, payload_left_q, payload_left;
  logic        first, last, two, take, go, err_q;

  assign two = header_bytes_i > 7'd64;        // the first beat has headers only
  assign beats = 7'((frame_bytes_i + 13'd63) >> 6);
  assign payload_beats = 7'((len_i + 13'd63) >> 6);
  assign first = j_q == '0;
  assign last = j_q + 7'd1 == beats;
  assign k = j_q - 7'(two);
  assign take = (!two || !first) && k < payload_beats;
  assign go = valid_i && room_i && (!take || payload_valid_i);
  assign payload_ready_o = go && take;
  assign alloc_o = go;
  assign ready_o = go && last;
  assign crc_left = first ? frame_bytes_i - 13'd4 : crc_left_q;
  assign payload_left = first ? len_i : payload_left_q;
  assign rest = crc_left >= 13'd64 ? 7'd64 : crc_left[6:0];

  // Keeps the first `bytes` bytes of a beat and zeroes the others, which are the pad. Works on words, as that is
  // faster to simulate.
  function automatic logic [511:0] cut(input logic [511:0] data, input logic [5:0] bytes);
    logic [511:0] d;
    logic [31:0]  part;
    part = ~(32'hffffffff << {bytes[1:0], 3'd0});
    for (int w = 0; w < 16; w++) begin
      if (4'(w) < bytes[5:2]) d[w*32 +: 32] = data[w*32 +: 32];
      else if (4'(w) == bytes[5:2]) d[w*32 +: 32] = data[w*32 +: 32] & part;
      else d[w*32 +: 32] = '0;
    end
    cut = d;
  endfunction

  // ---- 1: the payload's beat as it came, and the headers of its frame
  logic         valid1_q, first1_q, last1_q, take1_q, two1_q, err1_q, ipv6_1_q, vlan1_q;
  logic [6:0]   rest1_q;
  logic [5:0]   shift1_q;
  logic [511:0] data1_q;
  logic [847:0] headers1_q;

  always_ff @(posedge clk_i) begin
    valid1_q <= go && rst_ni;
    if (go) begin
      first1_q <= first;
      last1_q <= last;
      take1_q <= take;
      two1_q <= two;
      err1_q <= err_q && !first || take && payload_i.last && payload_i.err;
      ipv6_1_q <= ipv6_i;
      vlan1_q <= vlan_i;
      rest1_q <= rest;
      shift1_q <= header_bytes_i[5:0];
      if (take) begin
        if (payload_left < 13'd64) data1_q <= cut(payload_i.data, payload_left[5:0]);
        else data1_q <= payload_i.data;
      end
      if (first) headers1_q <= headers_i;
      j_q <= last ? '0 : j_q + 7'd1;
      crc_left_q <= crc_left - 13'(rest);
      if (take) payload_left_q <= payload_left - 13'd64;
      else payload_left_q <= payload_left;
      err_q <= err_q && !first || take && payload_i.last && payload_i.err;
      if (rst_ni) assert (header_bytes_i[1:0] == 2'd2);
      if (rst_ni && take) begin
        assert (payload_i.last == (k + 7'd1 == payload_beats));
        assert (payload_i.bytes == (payload_left < 13'd64 ? payload_left[6:0] : 7'd64));
      end
    end
    if (!rst_ni) j_q <= '0;
  end

  // ---- 2, 3: payload rotated
  logic         valid2_q, first2_q, last2_q, take2_q, two2_q, err2_q, ipv6_2_q, vlan2_q;
  logic [6:0]   rest2_q;
  logic [5:0]   shift2_q;
  logic         valid3_q, first3_q, last3_q, take3_q, two3_q, err3_q, ipv6_3_q, vlan3_q;
  logic [6:0]   rest3_q;
  logic [5:0]   shift3_q;
  logic [511:0] turned;
  logic [847:0] headers2_q, headers3_q;

  dingo_rotate u_rotate (
      .clk_i, .en_i(1'b1), .valid_i(valid1_q && take1_q), .steps_i(shift1_q[5:2]), .data_i(data1_q),
      .data_o(turned)
  );

  always_ff @(posedge clk_i) begin
    valid2_q <= valid1_q && rst_ni;
    valid3_q <= valid2_q && rst_ni;
    if (valid1_q) begin
      first2_q <= first1_q;
      last2_q <= last1_q;
      take2_q <= take1_q;
      two2_q <= two1_q;
      err2_q <= err1_q;
      ipv6_2_q <= ipv6_1_q;
      vlan2_q <= vlan1_q;
      rest2_q <= rest1_q;
      shift2_q <= shift1_q;
      if (first1_q) headers2_q <= headers1_q;
    end
    if (valid2_q) begin
      first3_q <= first2_q;
      last3_q <= last2_q;
      take3_q <= take2_q;
      two3_q <= two2_q;
      err3_q <= err2_q;
      ipv6_3_q <= ipv6_2_q;
      vlan3_q <= vlan2_q;
      rest3_q <= rest2_q;
      shift3_q <= shift2_q;
      if (first2_q) headers3_q <= headers2_q;
    end
  end

  // ---- 4: joined. A beat begins with headers or with the end of the payload beat before.
  logic [511:0] base, carry_q, data4_q;
  logic         valid4_q, first4_q, second4_q, last4_q, err4_q, ipv6_4_q, vlan4_q, second_q;
  logic [6:0]   rest4_q;

  assign base = first3_q ? headers3_q[511:0] : carry_q;

  always_ff @(posedge clk_i) begin
    valid4_q <= valid3_q && rst_ni;
    if (valid3_q) begin
      first4_q <= first3_q;
      second4_q <= second_q;
      second_q <= first3_q;
      last4_q <= last3_q;
      err4_q <= err3_q;
      ipv6_4_q <= ipv6_3_q;
      vlan4_q <= vlan3_q;
      rest4_q <= rest3_q;
      if (first3_q && two3_q) begin
        data4_q <= base;
      end else begin
        for (int w = 0; w < 16; w++) begin
          if (4'(w) < shift3_q[5:2]) data4_q[w*32 +: 32] <= base[w*32 +: 32];
          else if (4'(w) == shift3_q[5:2])
            data4_q[w*32 +: 32] <= {take3_q ? turned[w*32+16 +: 16] : 16'd0, base[w*32 +: 16]};
          else data4_q[w*32 +: 32] <= take3_q ? turned[w*32 +: 32] : '0;
        end
      end
      if (first3_q && two3_q) carry_q <= {176'd0, headers3_q[847:512]};
      else if (take3_q) carry_q <= turned;
      else carry_q <= '0;
    end
  end

  assign valid_o = valid4_q;
  assign data_o = data4_q;
  assign first_o = first4_q;
  assign second_o = second4_q;
  assign last_o = last4_q;
  assign crc_bytes_o = rest4_q;
  assign ipv6_o = ipv6_4_q;
  assign vlan_o = vlan4_q;
  assign err_o = err4_q;
  assign idle_o = !(valid_i || valid1_q || valid2_q || valid3_q || valid4_q);
  wire unused_ok = &{1'b0, shift3_q, payload_i};
endmodule
