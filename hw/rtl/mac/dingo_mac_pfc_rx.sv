// SPDX-License-Identifier: BSD-2-Clause

/// Finds MAC control frames among those that the MAC gives, and does what PFC frames say (IEEE 802.1Q clause 36, IEEE
/// 802.3 annex 31D): a class that has PFC stops for so many quanta of 512 bit times from the frame's end on; another frame
/// sets the time anew, 0 ends it. What the MAC found bad says nothing.
module dingo_mac_pfc_rx #(
    // cycles of clk_i a quantum: 1.65 of 322.265625 MHz are 5.12 ns
    parameter int unsigned Cycles = 33,
    parameter int unsigned Quanta = 20
) (
    input  logic           clk_i,
    input  logic           up_i,
    input  logic           link_i,      // else nobody is there who could want a pause
    input  logic [7:0]     enabled_i,
    input  logic           valid_i,
    input  mac_pkg::beat_t beat_i,
    input  logic           type_i,      // bytes 12 and 13 of the beat are TYPE_CONTROL
    output logic           control_o,   // with the last beat: it ends a MAC control frame
    output logic [7:0]     stop_o,      // frames of the class wait; registers
    output logic           seen_o,      // a MAC control frame came
    output logic           paused_o     // a PFC frame asked for a pause
);
  function automatic logic [15:0] be16(input logic [511:0] data, input int unsigned at);
    be16 = {data[8*at+:8], data[8*at+8+:8]};
  endfunction

  // ---- the first beat has it all
  logic first_q = 1'b1, control_q = 1'b0, control, ours;
  logic seen_q = 1'b0, paused_q = 1'b0, apply_q = 1'b0;
  logic [7:0] classes_q = '0, some;
  logic [15:0] time_q[0:7];

  assign ours = type_i && be16(beat_i.data, 14) == mac_pkg::OPCODE_PFC && beat_i.keep[33] &&
      {be16(beat_i.data, 0), be16(beat_i.data, 2), be16(beat_i.data, 4)} == mac_pkg::ADDRESS_PFC;
  assign control = first_q ? type_i : control_q;
  assign control_o = control;

  always_ff @(posedge clk_i) begin
    if (valid_i) begin
      first_q <= beat_i.last;
      control_q <= control;
      if (first_q) classes_q <= ours ? beat_i.data[8*17+:8] & enabled_i : '0;
      for (int unsigned i = 0; i < 8; i++) if (first_q) time_q[i] <= be16(beat_i.data, 18 + 2 * i);
    end
    apply_q <= up_i && valid_i && beat_i.last && !beat_i.user;
    seen_q <= up_i && valid_i && beat_i.last && !beat_i.user && control;
    paused_q <= apply_q && some != '0;
    if (!up_i) first_q <= 1'b1;
  end
  assign seen_o = seen_q;
  assign paused_o = paused_q;

  // ---- the pauses
  localparam int unsigned W = $clog2(Cycles + Quanta);
  for (genvar i = 0; i < 8; i++) begin : gen_class
    logic [15:0] left_q = '0;                // quanta
    logic [W-1:0] part_q = '0, part;         // of a quantum, in 1/Cycles
    logic stop_q = 1'b0;

    assign some[i] = classes_q[i] && time_q[i] != '0;
    assign part = part_q + W'(Quanta);
    always_ff @(posedge clk_i) begin
      stop_q <= left_q != '0;
      part_q <= part >= W'(Cycles) ? part - W'(Cycles) : part;
      if (part >= W'(Cycles) && left_q != '0) left_q <= left_q - 16'd1;
      if (apply_q && classes_q[i]) begin
        left_q <= time_q[i];
        part_q <= '0;
      end
      if (!up_i || !link_i) begin
        left_q <= '0;
        stop_q <= 1'b0;
      end
    end
    assign stop_o[i] = stop_q;
  end
endmodule
