// SPDX-License-Identifier: BSD-2-Clause

/// Finds MAC control frames among those that the MAC gives, and does what PFC frames say (IEEE 802.1Q clause 36, IEEE
/// 802.3 annex 31D): RoCE's priority stops for so many quanta of 512 bit times from the frame's end on; another frame
/// sets the time anew, 0 ends it. What the MAC found bad says nothing.
module dingo_mac_pfc_rx #(
    // cycles of clk_i a quantum: 1.65 of 322.265625 MHz are 5.12 ns
    parameter int unsigned Cycles = 33,
    parameter int unsigned Quanta = 20
) (
    input  logic           clk_i,
    input  logic           up_i,
    input  logic           on_i,
    input  logic [2:0]     prio_i,      // of RoCE frames
    input  logic           valid_i,
    input  mac_pkg::beat_t beat_i,
    output logic           control_o,   // with the last beat: it ends a MAC control frame
    output logic           stop_o,      // RoCE frames wait; a register
    output logic           seen_o,      // a MAC control frame came
    output logic           paused_o     // a PFC frame asked for a pause
);
  function automatic logic [15:0] be16(input logic [511:0] data, input int unsigned at);
    be16 = {data[8*at+:8], data[8*at+8+:8]};
  endfunction

  // ---- the first beat has it all
  logic first_q = 1'b1, control_q = 1'b0, ours_q = 1'b0, control, ours, is_control, is_ours;
  logic [15:0] time_q = '0, quanta;
  logic [7:0] enabled;

  assign is_control = be16(beat_i.data, 12) == mac_pkg::TYPE_CONTROL;
  assign enabled = beat_i.data[8*17+:8];
  assign is_ours = is_control && be16(beat_i.data, 14) == mac_pkg::OPCODE_PFC && beat_i.keep[33] &&
      {be16(beat_i.data, 0), be16(beat_i.data, 2), be16(beat_i.data, 4)} == mac_pkg::ADDRESS_PFC && enabled[prio_i];
  assign control = first_q ? is_control : control_q;
  assign ours = first_q ? is_ours : ours_q;
  assign quanta = first_q ? be16(beat_i.data, 18 + 2 * 32'(prio_i)) : time_q;
  assign control_o = control;

  // ---- the pause
  localparam int unsigned W = $clog2(Cycles + Quanta);
  logic [15:0] left_q = '0;                // quanta
  logic [W-1:0] part_q = '0, part;         // of a quantum, in 1/Cycles
  logic stop_q = 1'b0, seen_q = 1'b0, paused_q = 1'b0, apply;

  assign apply = valid_i && beat_i.last && !beat_i.user && ours && on_i;
  assign part = part_q + W'(Quanta);

  always_ff @(posedge clk_i) begin
    if (valid_i) begin
      first_q <= beat_i.last;
      control_q <= control;
      ours_q <= ours;
      time_q <= quanta;
    end
    seen_q <= up_i && valid_i && beat_i.last && !beat_i.user && control;
    paused_q <= up_i && apply && quanta != '0;
    stop_q <= left_q != '0;
    part_q <= part >= W'(Cycles) ? part - W'(Cycles) : part;
    if (part >= W'(Cycles) && left_q != '0) left_q <= left_q - 16'd1;
    if (apply) begin
      left_q <= quanta;
      part_q <= '0;
    end
    if (!up_i) begin
      first_q <= 1'b1;
      left_q <= '0;
      stop_q <= 1'b0;
    end
  end
  assign stop_o = stop_q;
  assign seen_o = seen_q;
  assign paused_o = paused_q;
endmodule
