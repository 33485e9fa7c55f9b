// SPDX-License-Identifier: BSD-2-Clause

/// Merges two streams of frames, from the MAC and from loopback, frame by frame. A frame begins only when there is
/// room for the longest one (start_i); else both streams stall. The length of a longer frame is counted, but beats
/// after the first MaxBeats are not kept. 1 cycle.
module dingo_rx_input #(
    parameter int unsigned MaxBeats = 145
) (
    input  logic           clk_i,
    input  logic           rst_ni,
    output logic           idle_o,       // no frame has begun and not ended
    input  logic           start_i,      // there is room for a frame
    output logic           begin_o,      // a frame begins
    output logic           alloc_o,      // a beat is taken that will be kept
    input  logic           up_i,         // the port is enabled and has a link
    input  logic           mac_valid_i,
    output logic           mac_ready_o,
    input  logic [511:0]   mac_data_i,
    input  logic [6:0]     mac_bytes_i,
    input  logic           mac_last_i,
    input  logic           mac_bad_i,
    input  logic           loop_valid_i,
    output logic           loop_ready_o,
    input  rtl_pkg::beat_t loop_i,
    output logic           valid_o,
    output logic [511:0]   data_o,
    output logic           keep_o,       // the beat is among the first MaxBeats
    output logic           first_o,
    output logic           second_o,
    output logic           last_o,
    output logic [15:0]    len_o,        // bytes of the frame so far; stays at 65535
    output logic [7:0]     beats_o,      // beats of the frame kept so far
    output logic           bad_o,        // with last_o: the frame has an error
    output logic           down_o        // the port was down when the frame began
);
  logic         inside_q, from_loop_q, turn_q, sel_loop, go, take, last, bad;
  logic [6:0]   bytes;
  logic [7:0]   n_q;
  logic [15:0]  len_q;
  logic [16:0]  len;
  logic         down_q;

  assign sel_loop = inside_q ? from_loop_q : loop_valid_i && !(mac_valid_i && turn_q);
  assign go = inside_q || start_i;
  assign loop_ready_o = go && sel_loop;
  assign mac_ready_o = go && !sel_loop;
  assign take = go && (sel_loop ? loop_valid_i : mac_valid_i);
  assign begin_o = take && !inside_q;
  assign alloc_o = take && n_q != 8'(MaxBeats);
  assign last = sel_loop ? loop_i.last : mac_last_i;
  assign bad = sel_loop ? loop_i.err : mac_bad_i;
  assign bytes = !last ? 7'd64 : sel_loop ? loop_i.bytes : mac_bytes_i;
  assign len = {1'b0, inside_q ? len_q : 16'd0} + 17'(bytes);
  assign idle_o = !inside_q && !valid_o;

  always_ff @(posedge clk_i) begin
    valid_o <= take && rst_ni;
    if (take) begin
      if (sel_loop) data_o <= loop_i.data;
      else data_o <= mac_data_i;
      keep_o <= alloc_o;
      first_o <= !inside_q;
      second_o <= n_q == 8'd1;
      last_o <= last;
      bad_o <= bad;
      len_o <= len[16] ? '1 : len[15:0];
      len_q <= len[16] ? '1 : len[15:0];
      beats_o <= alloc_o ? n_q + 8'd1 : n_q;
      down_o <= inside_q ? down_q : !up_i;
      if (!inside_q) begin
        down_q <= !up_i;
        from_loop_q <= sel_loop;
        turn_q <= sel_loop;
      end
      inside_q <= !last;
      if (last) n_q <= '0;
      else if (alloc_o) n_q <= n_q + 8'd1;
    end
    if (!rst_ni) begin
      inside_q <= 1'b0;
      turn_q <= 1'b0;
      n_q <= '0;
    end
  end
endmodule
