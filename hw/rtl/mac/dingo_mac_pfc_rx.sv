// SPDX-License-Identifier: BSD-2-Clause

/// Finds MAC control frames among the frames of the MAC and obeys PFC frames (IEEE 802.1Q clause 36, IEEE 802.3 annex
/// 31D): a class that has PFC stops for so many quanta of 512 bit times, counted from the frame's last beat; another
/// PFC frame sets a new time, 0 ends the pause. Frames that the MAC found bad are ignored. stop_o is 3 cycles behind
/// the frame's last beat.
module dingo_mac_pfc_rx #(
    // Quanta / Cycles: quanta per cycle of clk_i. 512 bit times are 5.12 ns at 100 Gb/s, 1.65 cycles of 322.265625
    // MHz.
    parameter int unsigned Cycles = 33,
    parameter int unsigned Quanta = 20
) (
    input  logic           clk_i,
    input  logic           up_i,
    input  logic           link_i,      // without a link all pauses end
    input  logic [7:0]     enabled_i,   // classes that have PFC
    input  logic           valid_i,
    input  mac_pkg::beat_t beat_i,
    input  logic           type_i,      // bytes 12 and 13 of the beat are TYPE_CONTROL
    output logic           control_o,   // the frame is a MAC control frame: valid from its first beat
    output logic [7:0]     stop_o,      // frames of the class must wait; registers
    output logic           seen_o,      // a good MAC control frame ended
    output logic           paused_o     // a PFC frame asked for a pause
);
  function automatic logic [15:0] be16(input logic [511:0] data, input int unsigned at);
    be16 = {data[8*at+:8], data[8*at+8+:8]};
  endfunction

  // ---- all fields are in the first beat
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
    logic [15:0] left_q = '0;                // quanta of the pause left
    logic [W-1:0] part_q = '0, part;         // part of a quantum, in 1/Cycles
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
