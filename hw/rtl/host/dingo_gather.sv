// SPDX-License-Identifier: BSD-2-Clause

/// Reads payload from host memory: the segments of a packet become one stream of beats without holes. A bus or
/// translation error sets `err` in the last beat; the stream then has the ordered length and undefined bytes.
/// Stalls when 128 pieces are outstanding, or the reader's tags are in use.
module dingo_gather (
    input  logic     clk_i,
    input  logic     rst_ni,
    output logic     idle_o,       // no segment waits and all reads have been answered
    output logic     packet_read_o,  // for one cycle: all of the oldest packet has been read
    input  logic     xl_flush_i,
    input  logic     seg_valid_i,
    output logic     seg_ready_o,
    input  rtl_pkg::seg_t     seg_i,
    output logic     beat_valid_o,
    input  logic     beat_ready_i,
    output rtl_pkg::beat_t    beat_o,
    // dingo_host
    output logic     read_valid_o,
    input  logic     read_ready_i,
    output rtl_pkg::dma_req_t read_o,
    input  logic     read_rsp_valid_i,
    output logic     read_rsp_ready_o,
    input  rtl_pkg::beat_t    read_rsp_i,
    output logic     line_valid_o,
    input  logic     line_ready_i,
    output rtl_pkg::rdl_req_t line_o,
    input  logic     line_rsp_valid_i,
    input  rtl_pkg::rdl_rsp_t line_rsp_i
);
  localparam int unsigned LogOrders = 7;  // pieces whose bytes have not come; more than the reader has tags

  // ---------------------------------------------------------------- requests
  logic piece_valid, piece_err, piece_end, packet_last, pieces_idle;
  logic order_ready, order_push;

  dingo_pieces u_pieces (
      .clk_i, .rst_ni, .xl_flush_i, .idle_o(pieces_idle),
      .seg_valid_i, .seg_ready_o, .seg_i,
      .piece_valid_o(piece_valid), .piece_ready_i(order_push), .piece_o(read_o),
      .piece_err_o(piece_err), .piece_last_o(piece_end), .packet_last_o(packet_last),
      .line_valid_o, .line_ready_i, .line_o, .line_rsp_valid_i, .line_rsp_i
  );

  assign read_valid_o = piece_valid && !piece_err && order_ready;
  assign order_push = piece_valid && order_ready && (piece_err || read_ready_i);

  // ---------------------------------------------------------------- answers, in order
  logic order_valid, order_pop, order_err, order_last;
  logic [12:0] order_len, left_q, left;
  logic [LogOrders:0] order_count;
  logic begun_q;              // within a piece that could not be translated; left_q counts
  logic pack_valid, pack_ready, piece_done, pack_idle;
  logic [6:0] bytes;
  logic [5:0] low;

  dingo_fifo #(.Width(15), .LogDepth(LogOrders)) u_orders (
      .clk_i, .rst_ni,
      .valid_i(order_push), .ready_o(order_ready), .data_i({piece_err, packet_last, read_o.len}),
      .valid_o(order_valid), .ready_i(order_pop), .data_o({order_err, order_last, order_len}),
      .count_o(order_count)
  );

  // A piece that could not be translated is not read; undefined bytes of its length replace it.
  assign left = begun_q ? left_q : order_len;
  assign bytes = !order_err ? read_rsp_i.bytes : left > 13'd64 ? 7'd64 : left[6:0];
  assign piece_done = order_err ? left <= 13'd64 : read_rsp_i.last;
  assign pack_valid = order_valid && (order_err || read_rsp_valid_i);
  assign read_rsp_ready_o = order_valid && !order_err && pack_ready;
  assign order_pop = pack_valid && pack_ready && piece_done;
  assign packet_read_o = order_pop && order_last;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      begun_q <= 1'b0;
    end else if (pack_valid && pack_ready && order_err) begin
      begun_q <= !piece_done;
      left_q <= left - 13'd64;
    end
  end

  dingo_pack u_pack (
      .clk_i, .rst_ni, .idle_o(pack_idle),
      .valid_i(pack_valid), .ready_o(pack_ready), .data_i(read_rsp_i.data), .skip_i(6'd0),
      .bytes_i(bytes), .first_i(1'b0), .start_i(6'd0), .end_i(order_last && piece_done),
      .err_i(order_err || (read_rsp_i.last && read_rsp_i.err)),
      .valid_o(beat_valid_o), .ready_i(beat_ready_i), .beat_o, .low_o(low)
  );

  assign idle_o = !seg_valid_i && pieces_idle && order_count == '0;
  wire unused_ok = &{1'b0, piece_end, pack_idle, low};

  always_ff @(posedge clk_i) begin
    if (rst_ni) ordered: assert (!read_rsp_valid_i || order_valid);
  end
endmodule
