// SPDX-License-Identifier: BSD-2-Clause

/// A beat of a RoCE frame as the ICRC covers it (InfiniBand specification, annex A17): the Ethernet header is zero,
/// fields that routers may change are ones, and the CRC of the eight bytes of ones that stand for the LRH is XORed
/// into the first four bytes of the IP header (the register starts at 0). All of that lies in the first two beats.
/// Combinational.
module dingo_icrc_mask (
    input  logic         first_i,    // beat 0
    input  logic         second_i,   // beat 1
    input  logic         ipv6_i,
    input  logic         vlan_i,
    input  logic [511:0] data_i,
    output logic [511:0] data_o
);
  typedef logic [511:0] beat_t;

  // Mask of beat 0 (base 0) or 1 (base 64): the bits that are replaced by ones
  function automatic beat_t ones(input int unsigned l3, input logic ipv6, input int unsigned base);
    logic [1023:0] m;
    int unsigned   udp;
    m = '0;
    udp = l3 + (ipv6 ? 40 : 20);
    if (ipv6) begin
      m[l3*8 +: 32] = 32'hffffff0f;                    // traffic class, flow label
      m[(l3+7)*8 +: 8] = '1;                           // hop limit
    end else begin
      m[(l3+1)*8 +: 8] = '1;                           // type of service
      m[(l3+8)*8 +: 8] = '1;                           // time to live
      m[(l3+10)*8 +: 16] = '1;                         // header checksum
    end
    m[(udp+6)*8 +: 16] = '1;                           // UDP checksum
    m[(udp+12)*8 +: 8] = '1;                           // BTH: FECN, BECN, reserved
    ones = m[base*8 +: 512];
  endfunction

  function automatic logic [31:0] after_lrh();
    logic [31:0] crc;
    crc = '1;
    for (int i = 0; i < 64; i++)
      crc = {1'b0, crc[31:1]} ^ (crc[0] ^ 1'b1 ? 32'hedb88320 : 32'd0);
    after_lrh = crc;
  endfunction

  localparam beat_t Ones4 = ones(14, 1'b0, 0);
  localparam beat_t Ones4Vlan = ones(18, 1'b0, 0);
  localparam beat_t Ones6 = ones(14, 1'b1, 0);
  localparam beat_t Ones6Vlan = ones(18, 1'b1, 0);
  localparam beat_t Ones6Next = ones(14, 1'b1, 64);
  localparam beat_t Ones6VlanNext = ones(18, 1'b1, 64);
  localparam logic [31:0] Lrh = after_lrh();

  beat_t marked;
  wire unused_ok = &{1'b0, marked[111:0]};  // the Ethernet header

  always_comb begin
    data_o = data_i;
    marked = data_i;
    if (first_i) begin
      case ({ipv6_i, vlan_i})
        2'b00: marked = data_i | Ones4;
        2'b01: marked = data_i | Ones4Vlan;
        2'b10: marked = data_i | Ones6;
        default: marked = data_i | Ones6Vlan;
      endcase
      data_o = vlan_i ? {marked[511:144], 144'd0} ^ {336'd0, Lrh, 144'd0}
                      : {marked[511:112], 112'd0} ^ {368'd0, Lrh, 112'd0};
    end else if (second_i && ipv6_i) begin
      data_o = vlan_i ? data_i | Ones6VlanNext : data_i | Ones6Next;
    end
  end
endmodule
