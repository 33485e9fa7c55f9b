// SPDX-License-Identifier: BSD-2-Clause

/// Frames of the Ethernet function on their way out: each is stored whole, and its length, destination and checksum
/// (if asked for) are noted; the checksum is written into the beats as they leave. A beat a cycle; 3 cycles after its
/// last beat a frame may leave. After a frame with a checksum the next one waits until the sum is known (7 cycles
/// more).
module dingo_tx_eth #(
    parameter int unsigned LogBeats = 9
) (
    input  logic           clk_i,
    input  logic           rst_ni,
    output logic           idle_o,         // no frame is being stored or waits to leave
    input  logic [(1<<rtl_pkg::GID_LOG)*rtl_pkg::GID_W-1:0] gids_i,
    input  logic [(1<<rtl_pkg::MAC_LOG)-1:0]                mac_valid_i,
    input  logic [(1<<rtl_pkg::MAC_LOG)*48-1:0]             macs_i,
    input  logic           valid_i,
    output logic           ready_o,
    input  rtl_pkg::beat_t beat_i,
    input  rtl_pkg::eth_csum_t csum_i,     // the same with every beat of a frame
    // the oldest whole frame; frame_ready_i with send_i: its beats come out, without: it is discarded
    output logic           frame_valid_o,
    input  logic           frame_ready_i,
    input  logic           send_i,
    output logic           cmd_ready_o,    // frame_ready_i may be set
    output logic           err_o,          // the frame must not be sent
    output logic           ours_o,         // it goes to a MAC address of the card
    output logic [7:0]     beats_o,
    output logic [6:0]     bytes_o,        // of the last beat
    output logic           valid_o,
    input  logic           ready_i,
    output logic [511:0]   data_o,
    output logic           buf_idle_o
);
  logic [LogBeats:0] free;
  logic              take, notes_ready, first_q, busy_q, was_ours_q, ours, in_table;
  logic              valid1_q, last1_q, err1_q, first1_q;
  logic [6:0]        bytes1_q;
  logic [511:0]      data1_q;
  logic [7:0]        n_q, beats_q;
  logic [2:0]        held;
  logic              out_last, wait_q, sum_done, whole, note;
  rtl_pkg::eth_csum_t csum1_q;
  logic [15:0]       sum, csum;
  logic              e_csum, out_csum;
  logic [13:0]       e_at, out_at;
  logic [15:0]       e_value, out_value;
  logic [7:0]        out_n_q;
  logic [511:0]      b_data;

  // The first stage may hold a last beat that `held` does not count yet, so keep one place free.
  assign ready_o = free != '0 && notes_ready && !(held[1:0] == 2'd3 && valid1_q) && !wait_q && !(whole && csum1_q.on);
  assign take = valid_i && ready_o;
  assign idle_o = !busy_q && !valid1_q && !wait_q && held == '0;
  assign whole = valid1_q && last1_q;
  assign note = wait_q ? sum_done : whole && !csum1_q.on;

  always_ff @(posedge clk_i) begin
    valid1_q <= take && rst_ni;
    if (take) begin
      data1_q <= beat_i.data;
      bytes1_q <= beat_i.bytes;
      last1_q <= beat_i.last;
      err1_q <= beat_i.err;
      first1_q <= first_q;
      csum1_q <= csum_i;
      first_q <= beat_i.last;
      busy_q <= !beat_i.last;
    end
    if (valid1_q) begin
      n_q <= last1_q ? '0 : n_q + 8'd1;
      if (first1_q) was_ours_q <= ours && !data1_q[0];
    end
    if (whole && csum1_q.on) begin
      wait_q <= 1'b1;
      beats_q <= n_q + 8'd1;
    end else if (sum_done) wait_q <= 1'b0;
    if (!rst_ni) begin
      wait_q <= 1'b0;
      first_q <= 1'b1;
      busy_q <= 1'b0;
      n_q <= '0;
    end
  end

  dingo_mac_match u_match (
      .gids_i, .mac_valid_i, .macs_i, .valid_i(valid1_q && first1_q), .mac_i(data1_q[47:0]), .table_o(in_table), .ours_o(ours)
  );

  // ---- the frame's checksum: csum1_q stays until the frame's note is written
  dingo_eth_sum u_sum (
      .clk_i, .rst_ni, .valid_i(valid1_q && csum1_q.on), .last_i(last1_q), .data_i(data1_q), .from_i(csum1_q.from), .to_i(csum1_q.length),
      .done_o(sum_done), .sum_o(sum)
  );
  assign csum = sum == '1 && csum1_q.nonzero ? '1 : ~sum;

  dingo_fifo #(.Width(48), .LogDepth(2)) u_notes (
      .clk_i, .rst_ni, .valid_i(note), .ready_o(notes_ready),
      .data_i({csum1_q.on, csum1_q.at, csum, err1_q, !wait_q && first1_q ? ours && !data1_q[0] : was_ours_q,
               wait_q ? beats_q : n_q + 8'd1, bytes1_q}),
      .valid_o(frame_valid_o), .ready_i(frame_ready_i),
      .data_o({e_csum, e_at, e_value, err_o, ours_o, beats_o, bytes_o}),
      .count_o(held)
  );

  dingo_frame_buf #(.LogBeats(LogBeats), .TagWidth(31)) u_buf (
      .clk_i, .rst_ni, .alloc_i(take), .room_o(free), .we_i(valid1_q), .data_i(data1_q),
      .cmd_valid_i(frame_ready_i), .cmd_ready_o, .cmd_beats_i(beats_o), .cmd_first_i(8'd0),
      .cmd_count_i(send_i ? beats_o : 8'd0), .cmd_tag_i({e_csum, e_at, e_value}),
      .valid_o, .ready_i, .data_o(b_data), .last_o(out_last), .tag_o({out_csum, out_at, out_value}), .idle_o(buf_idle_o)
  );
  always_ff @(posedge clk_i) begin
    if (valid_o && ready_i) out_n_q <= out_last ? '0 : out_n_q + 8'd1;
    if (!rst_ni) out_n_q <= '0;
  end
  logic [13:0] low_at;                     // place of the checksum's second byte
  assign low_at = out_at + 14'd1;
  always_comb begin
    data_o = b_data;
    for (int i = 0; i < 64; i++) begin
      if (out_csum && out_at == {out_n_q, 6'(i)}) data_o[i*8 +: 8] = out_value[15:8];
      if (out_csum && low_at == {out_n_q, 6'(i)}) data_o[i*8 +: 8] = out_value[7:0];
    end
  end

  wire unused_ok = &{1'b0, in_table};
endmodule
