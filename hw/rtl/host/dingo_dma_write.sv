// SPDX-License-Identifier: BSD-2-Clause

/// Writes of bytes: requests of clients are taken round-robin; their beats follow in that order, moved to their byte
/// lanes. One burst per request and one AXI ID for all, so that memory sees the writes, and the responses come, in the
/// order in which requests were taken. At most 2^LogOutstanding are outstanding.
module dingo_dma_write #(
    parameter int unsigned LogOutstanding = 5
) (
    input  logic clk_i,
    input  logic rst_ni,
    output logic idle_o,
    input  logic [rtl_pkg::WRITES-1:0]                    write_valid_i,
    output logic [rtl_pkg::WRITES-1:0]                    write_ready_o,
    input  logic [rtl_pkg::WRITES*rtl_pkg::DMA_REQ_W-1:0] write_i,
    input  logic [rtl_pkg::WRITES-1:0]                    wdata_valid_i,
    output logic [rtl_pkg::WRITES-1:0]                    wdata_ready_o,
    input  logic [rtl_pkg::WRITES*rtl_pkg::BEAT_W-1:0]    wdata_i,
    output logic [rtl_pkg::WRITES-1:0]                    done_valid_o,
    output logic                                          done_err_o,
    output logic                                          error_o,     // a request failed
    // write channels
    output logic         aw_valid_o,
    input  logic         aw_ready_i,
    output logic [ 57:0] aw_line_o,
    output logic [  5:0] aw_len_o,   // beats - 1
    output logic         w_valid_o,
    input  logic         w_ready_i,
    output logic [511:0] w_data_o,
    output logic [ 63:0] w_strb_o,
    output logic         w_last_o,
    input  logic         b_valid_i,
    input  logic         b_err_i
);
  localparam int unsigned N = rtl_pkg::WRITES;
  localparam int unsigned ReqW = rtl_pkg::DMA_REQ_W;
  localparam int unsigned BeatW = rtl_pkg::BEAT_W;

  // ---------------------------------------------------------------- requests
  logic [N-1:0] grant;
  logic can_take, taken, aw_room, order_room, wait_room;
  rtl_pkg::dma_req_t req;
  logic [12:0] final_byte;   // from the start of the first beat
  logic [2:0] aw_count, order_count;

  assign can_take = aw_room && order_room && wait_room;
  assign taken = can_take && write_valid_i != '0;
  assign write_ready_o = can_take ? grant : '0;
  assign final_byte = {7'b0, req.addr[5:0]} + req.len - 13'd1;

  dingo_arb #(.N(N)) u_arb (.clk_i, .rst_ni, .req_i(write_valid_i), .take_i(taken), .grant_o(grant));

  always_comb begin
    req = '0;
    for (int unsigned i = 0; i < N; i++) if (grant[i]) req = write_i[i*ReqW +: ReqW];
  end

  dingo_fifo #(.Width(64), .LogDepth(2)) u_aw (
      .clk_i, .rst_ni,
      .valid_i(taken), .ready_o(aw_room), .data_i({req.addr[63:6], final_byte[11:6]}),
      .valid_o(aw_valid_o), .ready_i(aw_ready_i), .data_o({aw_line_o, aw_len_o}), .count_o(aw_count)
  );

  // ---------------------------------------------------------------- their bytes
  logic order_valid, order_pop, begun_q, ends;
  logic [N-1:0] client;
  logic [5:0] start;
  logic [12:0] len, rest, rest_q;
  logic [6:0] bytes;
  logic pack_valid, pack_ready, pack_idle, from_err, from_last;
  rtl_pkg::beat_t from, lanes;
  logic [5:0] low;

  dingo_fifo #(.Width(N + 19), .LogDepth(2)) u_order (
      .clk_i, .rst_ni,
      .valid_i(taken), .ready_o(order_room), .data_i({grant, req.addr[5:0], req.len}),
      .valid_o(order_valid), .ready_i(order_pop), .data_o({client, start, len}), .count_o(order_count)
  );

  always_comb begin
    from = wdata_i[0 +: BeatW];
    if (order_valid)  // saves simulation time while no request waits
      for (int unsigned i = 1; i < N; i++) if (client[i]) from = wdata_i[i*BeatW +: BeatW];
  end

  assign rest = begun_q ? rest_q : len;
  assign ends = rest <= 13'd64;
  assign bytes = ends ? rest[6:0] : 7'd64;
  assign pack_valid = order_valid && (wdata_valid_i & client) != '0;
  assign wdata_ready_o = order_valid && pack_ready ? client : '0;
  assign order_pop = pack_valid && pack_ready && ends;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      begun_q <= 1'b0;
    end else if (pack_valid && pack_ready) begin
      begun_q <= !ends;
      rest_q <= rest - 13'd64;
    end
  end

  dingo_pack u_pack (
      .clk_i, .rst_ni, .idle_o(pack_idle),
      .valid_i(pack_valid), .ready_o(pack_ready), .data_i(from.data), .skip_i(6'd0),
      .bytes_i(bytes), .first_i(!begun_q), .start_i(start), .end_i(ends), .err_i(1'b0),
      .valid_o(w_valid_o), .ready_i(w_ready_i), .beat_o(lanes), .low_o(low)
  );

  assign w_data_o = lanes.data;
  assign w_last_o = lanes.last;
  assign w_strb_o = ({64{1'b1}} << low) & ~({64{1'b1}} << lanes.bytes);

  // ---------------------------------------------------------------- answers
  logic wait_valid;
  logic [N-1:0] wait_client;
  logic [LogOutstanding:0] wait_count;

  dingo_fifo #(.Width(N), .LogDepth(LogOutstanding)) u_wait (
      .clk_i, .rst_ni,
      .valid_i(taken), .ready_o(wait_room), .data_i(grant),
      .valid_o(wait_valid), .ready_i(b_valid_i), .data_o(wait_client), .count_o(wait_count)
  );

  assign done_valid_o = b_valid_i ? wait_client : '0;
  assign done_err_o = b_err_i;
  assign error_o = b_valid_i && b_err_i;
  assign idle_o = wait_count == '0;
  assign from_err = from.err;
  assign from_last = from.last;
  wire unused_ok = &{1'b0, from_err, from_last, from.bytes, lanes.err, final_byte, aw_count, order_count, pack_idle};

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      if (b_valid_i) awaited: assert (wait_valid);
      if (pack_valid) length_ordered: assert (from.last == ends && (!ends || from.bytes == bytes));
      if (taken) one_page: assert (req.len != '0 && {1'b0, req.addr[11:0]} + req.len <= 13'd4096);
    end
  end
endmodule
