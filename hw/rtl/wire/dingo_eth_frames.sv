// SPDX-License-Identifier: BSD-2-Clause

/// Received frames that wait for dingo_eth_rx, 16 KiB, with the headers of the first four. A frame begins only when
/// there is room for the longest one. While there is none the stream stalls, or, with drop_i, the frame is dropped
/// and counted.
module dingo_eth_frames (
    input  logic           clk_i,
    input  logic           rst_ni,
    output logic           idle_o,         // no frame is stored
    input  logic           drop_i,         // drop frames that find no room
    input  logic           valid_i,
    output logic           ready_o,
    input  rtl_pkg::beat_t beat_i,
    output logic           lost_o,         // a dropped frame is to be counted
    input  logic           lost_ready_i,
    // the oldest frame; frame_ready_i with send_i: its beats come out, without: it is discarded
    output logic           frame_valid_o,
    input  logic           frame_ready_i,
    input  logic           send_i,
    output logic           cmd_ready_o,    // frame_ready_i may be set
    output logic [13:0]    len_o,          // bytes
    output logic [687:0]   head_o,         // first 86 bytes; undefined after len_o bytes
    output logic           valid_o,
    input  logic           ready_i,
    output rtl_pkg::beat_t beat_o
);
  localparam int unsigned LogBeats = 8;    // 16 KiB
  localparam int unsigned MaxBeats = 145;

  logic [LogBeats:0] room;
  logic              start_q, drop_q, lost_room, drop, take, keep, notes_ready, fits, buf_idle, out_last;
  logic [511:0]      low_q;
  logic [175:0]      high_q;
  logic [687:0]      head;
  logic [7:0]        n_q, beats;
  logic [13:0]       len;
  logic [6:0]        out_bytes;
  logic [511:0]      out_data;
  logic [15:0]       lost_q;
  logic [2:0]        held;

  assign fits = room >= (LogBeats+1)'(MaxBeats) && notes_ready;
  assign drop = start_q ? drop_i && !fits : drop_q;
  assign lost_room = lost_q != '1;
  // A frame that has begun has room for all of it.
  assign ready_o = drop ? lost_room : !start_q || fits;
  assign take = valid_i && ready_o;
  assign keep = take && !drop;
  assign head = {n_q == 8'd1 ? beat_i.data[175:0] : high_q, start_q ? beat_i.data : low_q};
  assign len = {n_q, 6'd0} + 14'(beat_i.bytes);

  always_ff @(posedge clk_i) begin
    if (take) begin
      start_q <= beat_i.last;
      drop_q <= drop;
      if (start_q) low_q <= beat_i.data;
      if (n_q == 8'd1) high_q <= beat_i.data[175:0];
      n_q <= beat_i.last ? '0 : n_q + 8'd1;
    end
    lost_q <= lost_q + 16'(take && drop && beat_i.last) - 16'(lost_o && lost_ready_i);
    if (!rst_ni) begin
      start_q <= 1'b1;
      n_q <= '0;
      lost_q <= '0;
    end else if (keep) begin
      assert (n_q < 8'(MaxBeats));
    end
  end

  assign lost_o = lost_q != '0;

  dingo_fifo #(.Width(702), .LogDepth(2)) u_notes (
      .clk_i, .rst_ni, .valid_i(keep && beat_i.last), .ready_o(notes_ready), .data_i({len, head}),
      .valid_o(frame_valid_o), .ready_i(frame_ready_i), .data_o({len_o, head_o}), .count_o(held)
  );

  assign beats = 8'((len_o + 14'd63) >> 6);

  dingo_frame_buf #(.LogBeats(LogBeats), .TagWidth(7)) u_buf (
      .clk_i, .rst_ni, .alloc_i(keep), .room_o(room), .we_i(keep), .data_i(beat_i.data),
      .cmd_valid_i(frame_ready_i), .cmd_ready_o, .cmd_beats_i(beats), .cmd_first_i(8'd0),
      .cmd_count_i(send_i ? beats : 8'd0), .cmd_tag_i(len_o[5:0] == '0 ? 7'd64 : {1'b0, len_o[5:0]}),
      .valid_o, .ready_i, .data_o(out_data), .last_o(out_last), .tag_o(out_bytes), .idle_o(buf_idle)
  );
  assign beat_o.err = 1'b0;
  assign beat_o.last = out_last;
  assign beat_o.bytes = out_last ? out_bytes : 7'd64;
  assign beat_o.data = out_data;
  assign idle_o = held == '0 && buf_idle && start_q;
  wire unused_ok = &{1'b0, beat_i.err};
endmodule
