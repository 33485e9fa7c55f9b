// SPDX-License-Identifier: BSD-2-Clause

/// Frames of the MAC to the card. The MAC does not wait: a frame that finds no room is dropped whole, one in which the MAC
/// found an error too. MAC control frames end here. From a high-water mark on to a low one the peer is asked to pause.
module dingo_mac_rx #(
    parameter int unsigned LogDepth = 11,      // beats
    parameter int unsigned MaxBeats = 145,
    parameter int unsigned High = 512,
    parameter int unsigned Low = 256,
    parameter int unsigned Cycles = 33,
    parameter int unsigned Quanta = 20
) (
    input  logic           mac_clk_i,
    input  logic           mac_up_i,
    input  logic           on_i,               // PFC
    input  logic [2:0]     prio_i,
    input  logic           s_valid_i,
    input  mac_pkg::beat_t s_beat_i,
    // of mac_clk_i; levels are registers
    output logic           stop_o,             // a PFC frame stops RoCE frames
    output logic           high_o,
    output logic           control_o,
    output logic           paused_o,
    output logic           no_room_o,
    output logic           bad_o,
    input  logic           clk_i,
    input  logic           up_i,
    output logic           valid_o,
    input  logic           ready_i,
    output mac_pkg::beat_t beat_o,
    output logic           lost_o
);
  logic control, push, rollback, room, f_valid, f_ready, f_last, unused_ready;
  logic [LogDepth:0] held;

  dingo_mac_pfc_rx #(.Cycles(Cycles), .Quanta(Quanta)) i_pfc (
      .clk_i(mac_clk_i), .up_i(mac_up_i), .on_i, .prio_i, .valid_i(s_valid_i), .beat_i(s_beat_i),
      .control_o(control), .stop_o, .seen_o(control_o), .paused_o
  );
  dingo_mac_writer #(.Waits(0), .MaxBeats(MaxBeats)) i_writer (
      .clk_i(mac_clk_i), .up_i(mac_up_i), .valid_i(s_valid_i), .ready_o(unused_ready), .last_i(s_beat_i.last),
      .user_i(s_beat_i.user), .unwanted_i(control), .no_room_o, .bad_o, .push_o(push), .rollback_o(rollback), .room_i(room)
  );
  dingo_mac_fifo #(.Width(mac_pkg::BEAT_W), .LogDepth(LogDepth)) i_fifo (
      .wr_clk_i(mac_clk_i), .push_i(push), .last_i(s_beat_i.last), .data_i(s_beat_i), .rollback_i(rollback), .room_o(room),
      .held_o(held), .rd_clk_i(clk_i), .valid_o(f_valid), .ready_i(f_ready), .last_o(f_last), .data_o(beat_o)
  );
  dingo_mac_reader i_reader (
      .clk_i, .up_i, .valid_i(f_valid), .ready_o(f_ready), .last_i(f_last), .valid_o, .ready_i, .dropped_o(lost_o)
  );

  logic high_q = 1'b0;
  always_ff @(posedge mac_clk_i) begin
    if (held >= (LogDepth+1)'(High)) high_q <= 1'b1;
    else if (held <= (LogDepth+1)'(Low)) high_q <= 1'b0;
  end
  assign high_o = high_q;
  wire unused_ok = &{1'b0, unused_ready};
endmodule
