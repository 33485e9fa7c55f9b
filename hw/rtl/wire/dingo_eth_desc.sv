// SPDX-License-Identifier: BSD-2-Clause

/// Checks a transmit descriptor of the Ethernet function. The first one of a frame says what is done with the frame
/// (checksum, TSO). Outputs but eop_o and good_o are registers.
module dingo_eth_desc (
    input  logic                 clk_i,
    input  logic                 offloads_i,   // capability ETH_OFFLOAD
    input  dingo_pkg::eth_desc_t desc_i,
    input  logic                 first_i,      // the first one of a frame
    input  logic                 clear_i,      // a frame begins
    input  logic                 take_i,       // desc_i is read
    output logic                 eop_o,        // the last one of a frame
    output logic                 good_o,
    output logic                 csum_o,       // for the frame, from the cycle after its first descriptor
    output logic                 tso_o,
    output logic [8:0]           start_o,      // bytes, even: where the checksum or TCP header begins
    output logic [15:0]          arg_o         // checksum: its offset from start_o; TSO: the MSS
);
  localparam logic [7:0] EOP = 8'(dingo_pkg::ETH_DESC_FLAGS_EOP_MASK);
  localparam logic [7:0] CSUM = 8'(dingo_pkg::ETH_DESC_FLAGS_CSUM_MASK);
  localparam logic [7:0] TSO = 8'(dingo_pkg::ETH_DESC_FLAGS_TSO_MASK);
  logic        csum_q, tso_q, tso;
  logic [8:0]  start_q;
  logic [15:0] arg_q;
  logic [7:0]  asked;
  logic [31:0] longest;
  assign eop_o = (desc_i.flags & EOP) != '0;
  assign asked = desc_i.flags & (CSUM | TSO);
  assign tso = first_i ? (desc_i.flags & TSO) != '0 : tso_q;
  assign longest = tso ? dingo_pkg::MAX_TSO : dingo_pkg::MAX_FRAME;
  assign good_o = desc_i.length != '0 && desc_i.length <= longest && (desc_i.flags & ~(EOP | CSUM | TSO)) == '0 &&
                  (asked == '0 ? {desc_i.arg, desc_i.start} == '0 : first_i && offloads_i && asked != (CSUM | TSO));
  assign csum_o = csum_q;
  assign tso_o = tso_q;
  assign start_o = start_q;
  assign arg_o = arg_q;

  always_ff @(posedge clk_i) begin
    if (clear_i) csum_q <= 1'b0;
    if (take_i && first_i) begin
      csum_q <= (desc_i.flags & CSUM) != '0;
      tso_q <= (desc_i.flags & TSO) != '0;
      start_q <= {desc_i.start, 1'b0};
      arg_q <= desc_i.arg;
    end
  end

  wire unused_ok = &{1'b0, desc_i};
endmodule
