// SPDX-License-Identifier: BSD-2-Clause

/// Writes whole, good frames into dingo_mac_fifo. A frame without room waits (Waits) or is dropped whole. A frame is
/// dropped whole, too, if it is void, too long or unwanted, or if a reset of this side or a flush cuts it. A reset of
/// this side also resets the source, so the next beat begins a new frame. When the FIFO is emptied because of the
/// other side, the rest of a frame still arrives and is dropped. 0 cycles.
module dingo_mac_writer #(
    parameter int unsigned Waits = 0,
    parameter int unsigned MaxBeats = 145   // beats of the longest frame; the FIFO must have more
) (
    input  logic           clk_i,
    input  logic           up_i,            // this side is not in reset
    input  logic           run_i,           // the FIFO takes frames (dingo_mac_flush)
    input  logic           valid_i,
    output logic           ready_o,
    input  logic           last_i,
    input  logic           user_i,          // with the last beat: the frame is void
    input  logic           unwanted_i,      // with the last beat: the frame is not for the card
    output logic           no_room_o,       // a frame was dropped for lack of room; register
    output logic           bad_o,           // a frame was bad, too long or cut by a reset
    output logic           lost_o,          // a frame was dropped because of a flush
    // the FIFO
    output logic           push_o,
    output logic           rollback_o,
    input  logic           room_i
);
  localparam int unsigned N = $clog2(MaxBeats + 1);

  logic [N-1:0] beats_q = '0;               // beats of the frame so far, at most MaxBeats
  mac_pkg::fate_e fate_q = mac_pkg::KEEP, fate;
  logic take, end_of_frame, good, cut, no_room_q = 1'b0, bad_q = 1'b0, lost_q = 1'b0;

  assign ready_o = Waits == 0 ? 1'b1 : up_i && (room_i || fate != mac_pkg::KEEP);
  assign take = valid_i && ready_o && up_i;
  assign end_of_frame = take && last_i;
  assign cut = !up_i && beats_q != '0;

  always_comb begin
    fate = fate_q;
    if (fate_q == mac_pkg::KEEP) begin
      if (!run_i) fate = mac_pkg::LOST;
      else if (beats_q == N'(MaxBeats)) fate = mac_pkg::BAD;
      else if (!room_i && Waits == 0) fate = mac_pkg::NO_ROOM;
    end
  end
  assign good = fate == mac_pkg::KEEP && !(last_i && (user_i || unwanted_i));
  assign push_o = take && good;
  assign rollback_o = !push_o && (!up_i || take);

  always_ff @(posedge clk_i) begin
    if ((take && last_i) || !up_i) begin
      fate_q <= mac_pkg::KEEP;
      beats_q <= '0;
    end else if (take || beats_q != '0) begin
      if (take || !run_i) fate_q <= fate;
      if (take && beats_q != N'(MaxBeats)) beats_q <= beats_q + N'(1);
    end
    // A frame in which the MAC found an error counts as bad and as nothing else, even without room or if it is a MAC
    // control frame.
    no_room_q <= end_of_frame && fate == mac_pkg::NO_ROOM && !user_i && !unwanted_i;
    lost_q <= end_of_frame && fate == mac_pkg::LOST && !user_i && !unwanted_i;
    bad_q <= cut || (end_of_frame && (user_i || (fate == mac_pkg::BAD && !unwanted_i)));
  end
  assign no_room_o = no_room_q;
  assign bad_o = bad_q;
  assign lost_o = lost_q;
endmodule
