// SPDX-License-Identifier: BSD-2-Clause

/// The card's frames to the MAC. RoCE frames and the others have a FIFO each, so that a pause of RoCE's class stops
/// no other frames. Whole frames take turns; PFC frames go first. No frame begins whose class is paused: a RoCE frame
/// waits; another one waits while its FIFO has room, then it is dropped. `roce_stop_o` asks the card for no more RoCE
/// frames while those that it has begun still find room. If the link is lost or the FIFOs are emptied while the MAC
/// takes a frame, the frame ends with tuser. A frame is stored whole; dingo_mac_fifo has the latency, 1 cycle more
/// lies before the MAC.
module dingo_mac_tx #(
    parameter int unsigned LogRoce = 10,       // log2 of the RoCE FIFO's beats
    parameter int unsigned LogEthernet = 8,    // log2 of the other FIFO's beats
    parameter int unsigned MaxBeats = 145,
    parameter int unsigned RoceHigh = 128,     // RoCE beats that wait: roce_stop_o
    parameter int unsigned EthernetHigh = 96   // other beats that wait: a frame of a paused class is dropped
) (
    input  logic           clk_i,
    input  logic           up_i,
    input  logic [2:0]     untagged_i,         // class of RoCE frames without a tag
    input  logic           valid_i,
    output logic           ready_o,
    input  mac_pkg::beat_t beat_i,
    input  logic           roce_i,             // a RoCE frame
    output logic           roce_stop_o,
    output logic           void_o,             // a frame was dropped: tuser, too long, cut by a reset
    output logic           away_o,             // a frame came while the FIFOs were being emptied
    input  logic           mac_clk_i,
    input  logic           mac_up_i,
    input  logic           mac_link_i,
    output logic           m_valid_o,
    input  logic           m_ready_i,
    output mac_pkg::beat_t m_beat_o,
    input  logic [7:0]     stop_i,             // of mac_clk_i: frames of the class must wait
    input  logic           pfc_valid_i,
    output logic           pfc_taken_o,
    input  mac_pkg::beat_t pfc_beat_i,
    output logic [1:0]     lost_o              // of mac_clk_i: dropped a RoCE frame (0), another one (1)
);
  localparam int unsigned W = mac_pkg::BEAT_W + 3;  // class, beat

  logic run, clear, mac_run, mac_clear;
  dingo_mac_flush i_flush (
      .a_clk_i(mac_clk_i), .a_up_i(mac_up_i), .a_run_o(mac_run), .a_clear_o(mac_clear), .b_clk_i(clk_i), .b_up_i(up_i),
      .b_run_o(run), .b_clear_o(clear)
  );

  // ---- from the card
  logic [1:0] ready, unused_no_room, w_void, w_lost, push, rollback, room;
  logic [LogRoce:0] roce_held;
  logic [LogEthernet:0] ethernet_held;
  logic stop_q = 1'b0, full_q = 1'b0, full;
  logic first_q = 1'b1;
  logic [2:0] class_q = '0, class_in;

  assign ready_o = roce_i ? ready[0] : ready[1];
  always_comb begin
    class_in = class_q;
    if (first_q) begin
      if ({beat_i.data[8*12+:8], beat_i.data[8*13+:8]} == mac_pkg::TYPE_VLAN) class_in = beat_i.data[8*14+5+:3];
      else class_in = roce_i ? untagged_i : 3'd0;
    end
  end
  always_ff @(posedge clk_i) begin
    stop_q <= roce_held >= (LogRoce+1)'(RoceHigh);
    full_q <= ethernet_held >= (LogEthernet+1)'(EthernetHigh);
    if (valid_i && ready_o) begin
      first_q <= beat_i.last;
      class_q <= class_in;
    end
    if (!up_i) first_q <= 1'b1;
  end
  assign roce_stop_o = stop_q;
  dingo_mac_sync i_full (.clk_i(mac_clk_i), .bit_i(full_q), .bit_o(full));
  assign void_o = |w_void;                     // both writers share a stream: one at a time
  assign away_o = |w_lost;

  // ---- to the MAC
  logic [1:0] f_valid, f_ready, f_last, r_valid, r_ready, drop;
  logic pass;
  logic [2:0] roce_class, ethernet_class;
  mac_pkg::beat_t roce, ethernet;

  assign pass = mac_run && mac_link_i && mac_up_i;
  for (genvar i = 0; i < 2; i++) begin : gen_writer
    dingo_mac_writer #(.Waits(1), .MaxBeats(MaxBeats)) i_writer (
        .clk_i, .up_i, .run_i(run), .valid_i(valid_i && roce_i == (i == 0)), .ready_o(ready[i]), .last_i(beat_i.last),
        .user_i(beat_i.user), .unwanted_i(1'b0), .no_room_o(unused_no_room[i]), .bad_o(w_void[i]), .lost_o(w_lost[i]),
        .push_o(push[i]), .rollback_o(rollback[i]), .room_i(room[i])
    );
    dingo_mac_reader i_reader (
        .clk_i(mac_clk_i), .run_i(mac_run), .drop_i(drop[i]), .valid_i(f_valid[i]), .ready_o(f_ready[i]), .last_i(f_last[i]),
        .valid_o(r_valid[i]), .ready_i(r_ready[i]), .dropped_o(lost_o[i])
    );
  end
  dingo_mac_fifo #(.Width(W), .LogDepth(LogRoce)) i_roce (
      .wr_clk_i(clk_i), .wr_clear_i(clear), .push_i(push[0]), .last_i(beat_i.last), .data_i({class_in, beat_i}),
      .rollback_i(rollback[0]), .room_o(room[0]), .held_o(roce_held), .rd_clk_i(mac_clk_i), .rd_run_i(mac_run),
      .rd_clear_i(mac_clear), .rd_drop_i(!mac_run), .valid_o(f_valid[0]), .ready_i(f_ready[0]), .last_o(f_last[0]), .data_o({roce_class, roce})
  );
  dingo_mac_fifo #(.Width(W), .LogDepth(LogEthernet)) i_ethernet (
      .wr_clk_i(clk_i), .wr_clear_i(clear), .push_i(push[1]), .last_i(beat_i.last), .data_i({class_in, beat_i}),
      .rollback_i(rollback[1]), .room_o(room[1]), .held_o(ethernet_held), .rd_clk_i(mac_clk_i), .rd_run_i(mac_run),
      .rd_clear_i(mac_clear), .rd_drop_i(!mac_run), .valid_o(f_valid[1]), .ready_i(f_ready[1]), .last_o(f_last[1]), .data_o({ethernet_class, ethernet})
  );

  mac_pkg::sender_e who_q = mac_pkg::NOBODY, who;
  logic turn_q = 1'b0;                         // the last frame was a RoCE frame
  logic cut_q = 1'b0, cut;                     // the rest of the frame that has begun is lost
  logic valid_q = 1'b0, out_room, take, roce_wants, ethernet_wants;
  mac_pkg::beat_t beat, beat_q;

  assign out_room = !valid_q || m_ready_i;
  assign roce_wants = r_valid[0] && !stop_i[roce_class];
  assign ethernet_wants = r_valid[1] && !stop_i[ethernet_class];
  assign drop[0] = !pass;
  assign drop[1] = !pass || (full && stop_i[ethernet_class] && who_q != mac_pkg::ETHERNET);
  assign cut = who_q != mac_pkg::NOBODY && (cut_q || !pass);
  always_comb begin
    who = who_q;
    if (who_q == mac_pkg::NOBODY) begin
      if (pfc_valid_i) who = mac_pkg::PFC;
      else if (roce_wants && !(ethernet_wants && turn_q)) who = mac_pkg::ROCE;
      else if (ethernet_wants) who = mac_pkg::ETHERNET;
    end
    case (who)
      mac_pkg::PFC: beat = pfc_beat_i;
      mac_pkg::ROCE: beat = roce;
      default: beat = ethernet;
    endcase
    beat.user = 1'b0;
    if (cut) beat = mac_pkg::VOID_END;
  end
  assign r_ready = {out_room && !cut && who == mac_pkg::ETHERNET, out_room && !cut && who == mac_pkg::ROCE};
  assign pfc_taken_o = out_room && pass && who == mac_pkg::PFC;
  assign take = pfc_taken_o || |(r_valid & r_ready) || (cut && out_room);

  always_ff @(posedge mac_clk_i) begin
    cut_q <= cut && !out_room;
    if (take) beat_q <= beat;
    if (take) who_q <= beat.last ? mac_pkg::NOBODY : who;
    if (take && beat.last) turn_q <= who == mac_pkg::ROCE;
    valid_q <= take || (valid_q && !m_ready_i);
    if (!mac_up_i) begin
      who_q <= mac_pkg::NOBODY;
      valid_q <= 1'b0;
      cut_q <= 1'b0;
    end
  end
  assign m_valid_o = valid_q;
  assign m_beat_o = beat_q;
  wire unused_ok = &{1'b0, unused_no_room};
endmodule
