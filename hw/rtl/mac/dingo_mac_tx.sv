// SPDX-License-Identifier: BSD-2-Clause

/// The card's frames to the MAC. RoCE frames and the others have a FIFO each, so that a pause of RoCE's priority holds up no
/// other frame; whole frames take turns, PFC frames go first. `roce_stop_o` asks the card for no more RoCE frames
/// while those that it has begun still find room.
module dingo_mac_tx #(
    parameter int unsigned LogRoce = 10,       // beats
    parameter int unsigned LogEthernet = 8,
    parameter int unsigned MaxBeats = 145,
    parameter int unsigned RoceHigh = 128      // beats of RoCE from which on the card begins no more
) (
    input  logic           clk_i,
    input  logic           up_i,
    input  logic           valid_i,
    output logic           ready_o,
    input  mac_pkg::beat_t beat_i,
    input  logic           roce_i,             // a RoCE frame
    output logic           roce_stop_o,
    output logic           void_o,
    input  logic           mac_clk_i,
    input  logic           mac_up_i,
    output logic           m_valid_o,
    input  logic           m_ready_i,
    output mac_pkg::beat_t m_beat_o,
    input  logic           stop_i,             // of mac_clk_i: RoCE frames wait
    input  logic           pfc_valid_i,
    output logic           pfc_taken_o,
    input  mac_pkg::beat_t pfc_beat_i,
    output logic [1:0]     lost_o              // of mac_clk_i: a RoCE frame, another one
);
  localparam int unsigned BEAT_W = mac_pkg::BEAT_W;

  // ---- from the card
  logic [1:0] ready, unused_no_room, w_void, push, rollback, room;
  logic [LogRoce:0] roce_held;
  logic [LogEthernet:0] unused_held;
  assign ready_o = roce_i ? ready[0] : ready[1];
  logic stop_q = 1'b0;
  always_ff @(posedge clk_i) stop_q <= roce_held >= (LogRoce+1)'(RoceHigh);
  assign roce_stop_o = stop_q;
  wire unused_ok = &{1'b0, unused_no_room, unused_held};
  assign void_o = |w_void;                     // of one stream: one of them at a time

  // ---- to the MAC
  logic [1:0] f_valid, f_ready, f_last, r_valid, r_ready;
  mac_pkg::beat_t roce, ethernet;

  for (genvar i = 0; i < 2; i++) begin : gen_writer
    dingo_mac_writer #(.Waits(1), .MaxBeats(MaxBeats)) i_writer (
        .clk_i, .up_i, .valid_i(valid_i && roce_i == (i == 0)), .ready_o(ready[i]), .last_i(beat_i.last),
        .user_i(beat_i.user), .unwanted_i(1'b0), .no_room_o(unused_no_room[i]), .bad_o(w_void[i]),
        .push_o(push[i]), .rollback_o(rollback[i]), .room_i(room[i])
    );
    dingo_mac_reader i_reader (
        .clk_i(mac_clk_i), .up_i(mac_up_i), .valid_i(f_valid[i]), .ready_o(f_ready[i]), .last_i(f_last[i]),
        .valid_o(r_valid[i]), .ready_i(r_ready[i]), .dropped_o(lost_o[i])
    );
  end
  dingo_mac_fifo #(.Width(BEAT_W), .LogDepth(LogRoce)) i_roce (
      .wr_clk_i(clk_i), .push_i(push[0]), .last_i(beat_i.last), .data_i(beat_i), .rollback_i(rollback[0]), .room_o(room[0]),
      .held_o(roce_held), .rd_clk_i(mac_clk_i), .valid_o(f_valid[0]), .ready_i(f_ready[0]), .last_o(f_last[0]), .data_o(roce)
  );
  dingo_mac_fifo #(.Width(BEAT_W), .LogDepth(LogEthernet)) i_ethernet (
      .wr_clk_i(clk_i), .push_i(push[1]), .last_i(beat_i.last), .data_i(beat_i), .rollback_i(rollback[1]), .room_o(room[1]),
      .held_o(unused_held), .rd_clk_i(mac_clk_i), .valid_o(f_valid[1]), .ready_i(f_ready[1]), .last_o(f_last[1]),
      .data_o(ethernet)
  );

  mac_pkg::sender_e who_q = mac_pkg::NOBODY, who;
  logic turn_q = 1'b0;                         // the last one was RoCE
  logic valid_q = 1'b0, out_room, take, roce_wants;
  mac_pkg::beat_t beat, beat_q;

  assign out_room = !valid_q || m_ready_i;
  assign roce_wants = r_valid[0] && !stop_i;
  always_comb begin
    who = who_q;
    if (who_q == mac_pkg::NOBODY) begin
      if (pfc_valid_i) who = mac_pkg::PFC;
      else if (roce_wants && !(r_valid[1] && turn_q)) who = mac_pkg::ROCE;
      else if (r_valid[1]) who = mac_pkg::ETHERNET;
    end
    case (who)
      mac_pkg::PFC: beat = pfc_beat_i;
      mac_pkg::ROCE: beat = roce;
      default: beat = ethernet;
    endcase
  end
  assign r_ready = {out_room && who == mac_pkg::ETHERNET, out_room && who == mac_pkg::ROCE};
  assign pfc_taken_o = out_room && mac_up_i && who == mac_pkg::PFC;
  assign take = pfc_taken_o || |(r_valid & r_ready);

  always_ff @(posedge mac_clk_i) begin
    if (take) beat_q <= beat;
    if (take) who_q <= beat.last ? mac_pkg::NOBODY : who;
    if (take && beat.last) turn_q <= who == mac_pkg::ROCE;
    valid_q <= take || (valid_q && !m_ready_i);
    if (!mac_up_i) begin
      who_q <= mac_pkg::NOBODY;
      valid_q <= 1'b0;
    end
  end
  assign m_valid_o = valid_q;
  assign m_beat_o = beat_q;
endmodule
