// SPDX-License-Identifier: BSD-2-Clause

/// Frames of the MAC to the card. The MAC cannot wait: a frame that finds no room is dropped whole, and so is one in
/// which the MAC found an error. MAC control frames end here. From the high-water mark of the FIFO until the low one
/// the peer is asked to pause (high_o). A frame is stored whole; dingo_mac_fifo has the latency, 1 cycle more lies
/// before the writer.
module dingo_mac_rx #(
    parameter int unsigned LogDepth = 11,      // log2 of the FIFO's beats
    parameter int unsigned MaxBeats = 145,
    parameter int unsigned High = 512,         // beats that wait: high_o rises,
    parameter int unsigned Low = 256,          // and falls
    parameter int unsigned Cycles = 33,
    parameter int unsigned Quanta = 20
) (
    input  logic           mac_clk_i,
    input  logic           mac_up_i,
    input  logic           mac_link_i,
    input  logic [7:0]     enabled_i,          // classes that have PFC
    input  logic           s_valid_i,
    input  mac_pkg::beat_t s_beat_i,
    // these belong to mac_clk_i; stop_o, high_o are levels from registers, the others pulses
    output logic [7:0]     stop_o,             // frames of the class must wait
    output logic           high_o,
    output logic           control_o,
    output logic           paused_o,
    output logic           no_room_o,
    output logic           bad_o,
    output logic           lost_o,
    input  logic           clk_i,
    input  logic           up_i,
    output logic           valid_o,
    input  logic           ready_i,
    output mac_pkg::beat_t beat_o              // user: the frame's rest is lost
);
  logic control, push, rollback, room, f_valid, f_ready, f_last, unused_ready, mac_run, mac_clear, run, clear;
  logic [LogDepth:0] held;
  mac_pkg::beat_t f_beat;

  dingo_mac_flush i_flush (
      .a_clk_i(mac_clk_i), .a_up_i(mac_up_i), .a_run_o(mac_run), .a_clear_o(mac_clear), .b_clk_i(clk_i), .b_up_i(up_i),
      .b_run_o(run), .b_clear_o(clear)
  );

  // One cycle longer than the reset: the reader may have read the next beat in its first cycle.
  logic up_last_q = 1'b0, up;
  always_ff @(posedge clk_i) up_last_q <= up_i;
  assign up = up_i && up_last_q;

  // The EtherType is compared a cycle before the beat is written or not.
  logic up_q = 1'b0, valid_q = 1'b0, type_q = 1'b0;
  mac_pkg::beat_t beat_q;
  always_ff @(posedge mac_clk_i) begin
    up_q <= mac_up_i;
    valid_q <= s_valid_i && mac_up_i;
    beat_q <= s_beat_i;
    type_q <= {s_beat_i.data[8*12+:8], s_beat_i.data[8*13+:8]} == mac_pkg::TYPE_CONTROL;
  end

  dingo_mac_pfc_rx #(.Cycles(Cycles), .Quanta(Quanta)) i_pfc (
      .clk_i(mac_clk_i), .up_i(up_q), .link_i(mac_link_i), .enabled_i, .valid_i(valid_q), .beat_i(beat_q), .type_i(type_q),
      .control_o(control), .stop_o, .seen_o(control_o), .paused_o
  );
  dingo_mac_writer #(.Waits(0), .MaxBeats(MaxBeats)) i_writer (
      .clk_i(mac_clk_i), .up_i(up_q), .run_i(mac_run), .valid_i(valid_q), .ready_o(unused_ready), .last_i(beat_q.last),
      .user_i(beat_q.user), .unwanted_i(control), .no_room_o, .bad_o, .lost_o, .push_o(push), .rollback_o(rollback),
      .room_i(room)
  );
  dingo_mac_fifo #(.Width(mac_pkg::BEAT_W), .LogDepth(LogDepth)) i_fifo (
      .wr_clk_i(mac_clk_i), .wr_clear_i(mac_clear), .push_i(push), .last_i(beat_q.last), .data_i(beat_q), .rollback_i(rollback),
      .room_o(room), .held_o(held), .rd_clk_i(clk_i), .rd_run_i(run), .rd_clear_i(clear), .rd_drop_i(!up),
      .valid_o(f_valid), .ready_i(f_ready), .last_o(f_last), .data_o(f_beat)
  );
  dingo_mac_end i_end (
      .clk_i, .up_i(up), .run_i(run), .valid_i(f_valid && up), .ready_o(f_ready), .beat_i(f_beat), .valid_o, .ready_i, .beat_o
  );

  logic high_q = 1'b0;
  always_ff @(posedge mac_clk_i) begin
    if (held >= (LogDepth+1)'(High)) high_q <= 1'b1;
    else if (held <= (LogDepth+1)'(Low)) high_q <= 1'b0;
  end
  assign high_o = high_q;
  wire unused_ok = &{1'b0, unused_ready, f_last};
endmodule
