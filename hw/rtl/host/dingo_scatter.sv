// SPDX-License-Identifier: BSD-2-Clause

/// Writes payload into host memory by orders (scat_t) of the engine that has the packet: segments take the payload's
/// bytes in order, END ends the packet. The packet's item comes back, in order, when all its bytes are in host
/// memory, because completion and acknowledgement must follow the data. At most 64 orders, 64 writes and 32 packets
/// are in work; a piece that overlaps a word of an atomic stalls until that is written.
module dingo_scatter #(
    parameter bit Atomics = 1'b1     // 0: SCAT_ATOMIC is never ordered
) (
    input  logic     clk_i,
    input  logic     rst_ni,
    output logic     room_o,         // the next 22 orders are taken without stall; see its assignment
    output logic     idle_o,         // no order waits, all is written, all items were taken
    output logic     packet_done_o,  // pulse, not for `bare`: the oldest packet's bytes are in memory or dropped, its item is taken
    input  logic     xl_flush_i,
    input  logic     scat_valid_i,
    output logic     scat_ready_o,
    input  rtl_pkg::scat_t    scat_i,
    input  logic     payload_valid_i,
    output logic     payload_ready_o,
    input  rtl_pkg::beat_t    payload_i,
    output logic     req_valid_o,    // items for the requester
    input  logic     req_ready_i,
    output logic     rsp_valid_o,    // items for the responder
    input  logic     rsp_ready_i,
    output rtl_pkg::commit_t  commit_o,
    // dingo_host
    output logic     write_valid_o,
    input  logic     write_ready_i,
    output rtl_pkg::dma_req_t write_o,
    output logic     wdata_valid_o,
    input  logic     wdata_ready_i,
    output rtl_pkg::beat_t    wdata_o,
    input  logic     done_valid_i,
    input  logic     done_err_i,
    output logic     word_valid_o,   // LINE_ATOMIC
    input  logic     word_ready_i,
    output rtl_pkg::rdl_req_t word_o,
    input  logic     word_rsp_valid_i,
    output logic     line_valid_o,
    input  logic     line_ready_i,
    output rtl_pkg::rdl_req_t line_o,
    input  logic     line_rsp_valid_i,
    input  rtl_pkg::rdl_rsp_t line_rsp_i
);
  localparam int unsigned LogOrders = 6;
  localparam int unsigned LogPackets = 5;      // between END and the item's return
  localparam int unsigned LogWrites = 6;       // requested and not done
  localparam int unsigned SegW = 200;
  localparam int unsigned ItemW = rtl_pkg::ITEM_BITS;
  localparam int unsigned IdW = LogPackets + 1;

  // ---------------------------------------------------------------- orders
  // Segments are translated ahead of the other orders; `u_ops` keeps the order.
  logic op_ready, op_valid, op_pop, seg_ready, seg_valid, seg_take, item_ready, item_valid, item_pop;
  logic take, bare, no_item, to_rsp, has_payload, is_seg, is_grh, is_end, is_atomic;
  logic [1:0] op;
  logic [ItemW-1:0] item;
  rtl_pkg::seg_t seg;
  logic [LogOrders:0] op_count, seg_count, item_count;

  assign scat_ready_o = op_ready && seg_ready && item_ready;
  assign take = scat_valid_i && scat_ready_o;

  dingo_fifo #(.Width(6), .LogDepth(LogOrders)) u_ops (
      .clk_i, .rst_ni,
      .valid_i(take), .ready_o(op_ready),
      .data_i({scat_i.bare, scat_i.op, scat_i.no_item, scat_i.to_rsp, scat_i.has_payload}),
      .valid_o(op_valid), .ready_i(op_pop), .data_o({bare, op, no_item, to_rsp, has_payload}),
      .count_o(op_count)
  );
  dingo_fifo #(.Width(SegW), .LogDepth(LogOrders)) u_segs (
      .clk_i, .rst_ni,
      .valid_i(take && (scat_i.op == rtl_pkg::SCAT_SEG || scat_i.op == rtl_pkg::SCAT_ATOMIC)), .ready_o(seg_ready), .data_i(scat_i.seg),
      .valid_o(seg_valid), .ready_i(seg_take), .data_o(seg), .count_o(seg_count)
  );
  dingo_fifo #(.Width(ItemW), .LogDepth(LogOrders)) u_items (
      .clk_i, .rst_ni,
      .valid_i(take && scat_i.op != rtl_pkg::SCAT_SEG), .ready_o(item_ready), .data_i(scat_i.item),
      .valid_o(item_valid), .ready_i(item_pop), .data_o(item), .count_o(item_count)
  );
  // A packet of the responder has at most 17 orders (GRH, 15 segments, END). When the responder begins it by room_o,
  // one order and the END of the packet before and the END of an ACK (dingo_scat_mux) may still come: 20. The responder
  // must not stall within a packet, because commits wait behind it.
  assign room_o = op_count <= (LogOrders + 1)'((1 << LogOrders) - 22);

  // ---------------------------------------------------------------- pieces and their writes
  logic piece_valid, piece_pop, piece_err, piece_end, packet_last, pieces_idle;
  logic drop, bad_q, step_ready, grh_ready, data_idle;
  logic write_room, wait_room, write_push, end_room;
  rtl_pkg::dma_req_t piece;
  logic [1:0] write_count;

  dingo_pieces u_pieces (
      .clk_i, .rst_ni, .xl_flush_i, .idle_o(pieces_idle),
      .seg_valid_i(seg_valid), .seg_ready_o(seg_take), .seg_i(seg),
      .piece_valid_o(piece_valid), .piece_ready_i(piece_pop || atomic_pop), .piece_o(piece),
      .piece_err_o(piece_err), .piece_last_o(piece_end), .packet_last_o(packet_last),
      .line_valid_o, .line_ready_i, .line_o, .line_rsp_valid_i, .line_rsp_i
  );

  assign is_seg = op_valid && op == rtl_pkg::SCAT_SEG;
  assign is_grh = op_valid && op == rtl_pkg::SCAT_GRH;
  assign is_end = op_valid && op == rtl_pkg::SCAT_END;
  assign is_atomic = op_valid && op == rtl_pkg::SCAT_ATOMIC;
  assign drop = bad_q || piece_err;   // nothing is written from the packet's first failed translation on
  assign piece_pop = is_seg && piece_valid && step_ready && !change && (drop || (write_room && wait_room && !hit));
  assign write_push = (piece_pop && !drop) || changed;
  assign op_pop = ((piece_pop || atomic_pop) && piece_end) || (is_grh && grh_ready && step_ready && !change) ||
                  (is_end && step_ready && end_room && !change);
  assign item_pop = op_pop && !is_seg;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) bad_q <= 1'b0;
    else if ((piece_pop && piece_err) || (atomic_pop && !atomic_push)) bad_q <= 1'b1;
    else if (op_pop && is_end) bad_q <= 1'b0;
  end

  dingo_fifo #(.Width(rtl_pkg::DMA_REQ_W), .LogDepth(1)) u_write (
      .clk_i, .rst_ni,
      .valid_i(write_push), .ready_o(write_room), .data_i(change ? {13'd8, change_addr} : piece),
      .valid_o(write_valid_o), .ready_i(write_ready_i), .data_o(write_o), .count_o(write_count)
  );

  dingo_scatter_data u_data (
      .clk_i, .rst_ni, .idle_o(data_idle),
      .step_valid_i(piece_pop || changed || (op_pop && (is_grh || is_end))), .step_ready_o(step_ready),
      .step_op_i(change ? rtl_pkg::SCAT_ATOMIC : rtl_pkg::scat_op_t'(op)), .step_drop_i(drop), .step_payload_i(has_payload),
      .step_len_i(piece.len),
      .grh_valid_i(op_pop && is_grh), .grh_ready_o(grh_ready), .grh_i(item[319:0]),
      .word_valid_i(changed), .word_ready_o(word_room), .word_i(change_word),
      .payload_valid_i, .payload_ready_o, .payload_i, .wdata_valid_o, .wdata_ready_i, .wdata_o
  );

  // ---------------------------------------------------------------- atomics
  // The write of a changed word goes between pieces and before all other orders.
  rtl_pkg::scat_atomic_t operands;
  logic atomic_pop, atomic_push, atomic_ready, atomics_idle, atomic_q, hit, wait_other;
  logic change, changed, word_room, result_valid, result_err;
  logic [63:0] change_addr, change_word, result_word;
  logic [15:0] result_upto, result_age;
  logic [IdW-1:0] change_id;
  assign operands = item[rtl_pkg::SCAT_ATOMIC_W-1:0];
  assign atomic_pop = is_atomic && piece_valid && !change && (drop || piece.addr[2:0] != '0 || (atomic_ready && !wait_other));
  assign atomic_push = atomic_pop && !drop && piece.addr[2:0] == '0;
  assign changed = change && step_ready && write_room && wait_room && word_room;
  assign result_age = done_q - result_upto;

  if (Atomics) begin : unit
    dingo_atomics #(.IdW(IdW)) u_atomics (
        .clk_i, .rst_ni, .idle_o(atomics_idle),
        .valid_i(atomic_push), .ready_o(atomic_ready), .swap_i(operands.swap),
        .swap_add_i(operands.swap_add), .compare_i(operands.compare), .id_i(id_q), .asked_i(writes_q), .done_i(done_q),
        .piece_i(piece), .hit_o(hit), .wait_o(wait_other),
        .write_valid_o(change), .write_ready_i(changed), .write_addr_o(change_addr), .write_word_o(change_word),
        .write_id_o(change_id),
        .result_valid_o(result_valid), .result_ready_i(end_pop && end_atomic), .result_err_o(result_err),
        .result_word_o(result_word), .result_upto_o(result_upto),
        .line_valid_o(word_valid_o), .line_ready_i(word_ready_i), .line_o(word_o), .line_rsp_valid_i(word_rsp_valid_i), .line_rsp_i
    );
  end else begin : none
    assign {atomics_idle, atomic_ready, hit, wait_other, change, result_valid, result_err, word_valid_o} = 8'b1000_0000;
    assign {change_addr, change_word, change_id, result_word, result_upto, word_o} = '0;
    wire unused_ok = &{1'b0, word_ready_i, word_rsp_valid_i, operands};
  end

  // ---------------------------------------------------------------- packets whose writes are not all done
  // A write keeps its packet's number, so that a bus error marks the right packet. There are twice as many numbers as
  // entries of u_ends, because the packet without END has one, too.
  localparam int unsigned EndW = 16 + 5 + IdW + ItemW;
  logic [15:0] writes_q, done_q, age;      // free running
  logic [IdW-1:0] id_q, wait_id, end_id;
  logic [(1<<IdW)-1:0] failed_q;
  logic wait_valid;
  logic [LogWrites:0] wait_count;
  logic end_valid, end_pop, end_bare, end_bad, end_atomic, end_no_item, end_to_rsp, complete;
  logic [15:0] end_upto;                   // writes requested up to this packet's END
  logic [ItemW-1:0] end_item;
  logic [LogPackets:0] end_count;

  dingo_fifo #(.Width(IdW), .LogDepth(LogWrites)) u_wait (
      .clk_i, .rst_ni,
      .valid_i(write_push), .ready_o(wait_room), .data_i(change ? change_id : id_q),
      .valid_o(wait_valid), .ready_i(done_valid_i), .data_o(wait_id), .count_o(wait_count)
  );
  dingo_fifo #(.Width(EndW), .LogDepth(LogPackets)) u_ends (
      .clk_i, .rst_ni,
      .valid_i(op_pop && is_end), .ready_o(end_room),
      .data_i({writes_q, bare, bad_q, atomic_q, no_item, to_rsp, id_q, item}),
      .valid_o(end_valid), .ready_i(end_pop),
      .data_o({end_upto, end_bare, end_bad, end_atomic, end_no_item, end_to_rsp, end_id, end_item}), .count_o(end_count)
  );

  assign age = done_q - end_upto;
  assign complete = end_valid && !age[15] && (!end_atomic || (result_valid && !result_age[15]));
  assign req_valid_o = complete && !end_no_item && !end_to_rsp;
  assign rsp_valid_o = complete && !end_no_item && end_to_rsp;
  assign commit_o.err = end_bad || failed_q[end_id] || (end_atomic && result_err);
  assign commit_o.word = result_word;
  assign commit_o.item = end_item;
  assign packet_done_o = end_pop && !end_bare;
  assign end_pop = complete && (end_no_item || (end_to_rsp ? rsp_ready_i : req_ready_i));

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      writes_q <= '0;
      done_q <= '0;
      id_q <= '0;
      failed_q <= '0;
      atomic_q <= 1'b0;
    end else begin
      if (atomic_push) atomic_q <= 1'b1;
      else if (op_pop && is_end) atomic_q <= 1'b0;
      if (write_push) writes_q <= writes_q + 16'd1;
      if (done_valid_i) done_q <= done_q + 16'd1;
      if (op_pop && is_end) id_q <= id_q + 1'b1;
      if (end_pop) failed_q[end_id] <= 1'b0;
      if (done_valid_i && done_err_i) failed_q[wait_id] <= 1'b1;
    end
  end

  assign idle_o = !scat_valid_i && op_count == '0 && end_count == '0 && pieces_idle && data_idle &&
                  wait_count == '0 && atomics_idle;
  wire unused_ok = &{1'b0, scat_i.qp, scat_i.offset, seg_count, item_count, write_count, item_valid, packet_last, age[14:0], result_age[14:0]};

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      if (done_valid_i) awaited: assert (wait_valid);
      if (is_grh || is_end) item_there: assert (item_valid);
      if (atomic_push) one_a_packet: assert (!atomic_q && piece_end && item_valid);
    end
  end
endmodule
