// SPDX-License-Identifier: BSD-2-Clause

/// The responder's steps of several cycles: dingo_rsp_receive (a packet), dingo_rsp_commit (an item that came back)
/// and dingo_rsp_turn (what a QP sends), with what they share: slots of READs and atomics (dingo_rsp_reads), receive
/// WQEs (dingo_rsp_rq), keys (dingo_rsp_keys) and the packet that leaves (dingo_rsp_packet). One of the three works
/// at a time; step_i says which. It stands still while an output of the responder is taken (go_i).
module dingo_rsp_work (
    input  logic               clk_i,
    input  logic               rst_ni,
    input  logic               go_i,           // all outputs of the responder are free
    input  logic               busy_i,         // an output still holds something
    input  rsp_pkg::step_t     step_i,
    input  logic               start_i,        // one cycle, with ctx_i
    input  rsp_pkg::rctx_t     ctx_i,
    output rsp_pkg::part_t     part_o,         // of the one that works
    output rsp_pkg::emit_t     emit_o,
    input  rsp_pkg::emit_ready_t emit_ready_i,
    input  rtl_pkg::qpi_t      qp_i,           // from the cycle after start_i on
    input  rtl_pkg::qp_t       x_i,
    input  rsp_pkg::rctx_t     c_i,            // the context, while no part has it
    output logic               rq_idle_o,      // no receive WQE on its way
    // dingo_rsp_receive
    input  rtl_pkg::rxh_t      h_i,            // the packet's headers
    output logic               rx_end_o,       // the packet is not needed any more
    output logic               rx_bus_o,       // its receive WQE could not be read
    output logic               scat_valid_o,
    input  logic               scat_ready_i,
    output rtl_pkg::scat_t     scat_o,
    output logic               mrw_valid_o,
    output rtl_pkg::mrw_req_t  mrw_o,
    input  logic               mrw_done_i,
    input  rtl_pkg::mrw_rsp_t  mrw_rsp_i,
    // dingo_rsp_commit
    input  rsp_pkg::item_t     item_i,
    input  logic               item_err_i,
    input  logic [63:0]        item_word_i,    // result of an atomic
    // the step before, a plain one, puts a READ or atomic into its slot
    input  logic               put_i,
    input  logic [3:0]         put_slot_i,
    input  rsp_pkg::item_t     put_item_i,
    input  logic [63:0]        put_word_i,
    // dingo_rsp_turn
    input  logic               again_i,        // with start_i: the turn was cut short
    input  logic               path_ok_i,      // the QP's source address is there
    input  logic               tx_room_i,
    input  logic               cqes_done_i,    // all completions of the responder are in host memory
    output logic               pause_o,        // READ responses of the QP wait for a paused region
    // the packet that leaves: of the turn, or (quick) of a plain step
    input  logic               quick_send_i,
    input  logic               quick_data_i,   // response to put_item_i, else ACK or NAK
    output logic               send_o,         // the turn's packet leaves
    output logic               read_o,         // it is a READ response
    output rtl_pkg::txd_t      txd_o,
    output logic [12:0]        bytes_o,        // payload of a READ response
    output rtl_pkg::mr_rsp_t   key_o,          // the last answer: where that payload lies
    // receive WQEs
    input  logic               flush_i,        // those of qp_i are void
    input  logic               xl_flush_i,
    input  logic               prefetch_i,     // one cycle: the receive queue moved on
    input  logic               look_valid_i,   // dingo_rsp_ahead
    output logic               look_ready_o,
    input  rsp_pkg::look_t     look_i,
    output logic               look_here_o,
    output logic               look_coming_o,
    output logic               look_err_o,
    output logic [255:0]       look_data_o,
    output logic               rwqe_valid_o,   // LINE_RQ
    input  logic               rwqe_ready_i,
    output rtl_pkg::rdl_req_t  rwqe_o,
    input  logic               rwqe_rsp_valid_i,
    output logic               line_valid_o,   // LINE_XL_RQ
    input  logic               line_ready_i,
    output rtl_pkg::rdl_req_t  line_o,
    input  logic               line_rsp_valid_i,
    input  rtl_pkg::rdl_rsp_t  line_rsp_i,     // of both
    // the memory table
    input  logic               in_mr_valid_i,  // dingo_rsp_intake asks
    input  rtl_pkg::mr_req_t   in_mr_i,
    output logic               key_ask_o,      // a part asks: dingo_rsp_intake waits
    output logic               mr_valid_o,
    output rtl_pkg::mr_req_t   mr_o,
    input  logic               answer_i,       // mr_rsp_i is a part's
    input  rtl_pkg::mr_rsp_t   mr_rsp_i
);
  logic is_rx, is_commit, is_turn;
  assign is_rx = step_i == rsp_pkg::STEP_RXP;
  assign is_commit = step_i == rsp_pkg::STEP_COMMIT;
  assign is_turn = step_i == rsp_pkg::STEP_TURN;

  // ---------------------------------------------------------------- the parts
  logic rx_done, rx_prefetch, cm_done, cm_wake, tn_done, tn_wake, tn_again;
  rsp_pkg::exit_t cm_exit, tn_exit;
  rsp_pkg::rctx_t rx_ctx, cm_ctx, tn_ctx;
  rsp_pkg::nak_t cm_nak;
  rsp_pkg::emit_t rx_emit, cm_emit, tn_emit;

  logic rx_open, rx_scatter, rx_again, rx_wqe_taken, rx_seg_ready, rx_mr_valid;
  logic [12:0] rx_bytes;
  rtl_pkg::mr_req_t rx_mr;
  dingo_rsp_receive u_receive (
      .clk_i, .rst_ni, .go_i, .start_i(start_i && is_rx), .ctx_i, .done_o(rx_done), .ctx_o(rx_ctx), .x_i,
      .emit_o(rx_emit), .emit_ready_i, .qp_i, .h_i, .end_o(rx_end_o), .prefetch_o(rx_prefetch), .bus_o(rx_bus_o),
      .open_o(rx_open), .scatter_o(rx_scatter), .again_o(rx_again), .bytes_o(rx_bytes), .wqe_done_i(w_done),
      .wqe_taken_o(rx_wqe_taken), .wqe_i(w_wqe), .wqe_seg_valid_i(w_seg_valid), .wqe_seg_ready_o(rx_seg_ready),
      .wqe_seg_i(w_seg), .mr_valid_o(rx_mr_valid), .mr_o(rx_mr), .mr_done_i(key_have), .mr_rsp_i(key),
      .inv_valid_o(mrw_valid_o), .inv_done_i(mrw_done_i), .inv_rsp_i(mrw_rsp_i), .scat_valid_o, .scat_ready_i, .scat_o
  );
  always_comb begin
    mrw_o = '0;
    mrw_o.op = rtl_pkg::MRW_INVALIDATE;
    mrw_o.qp = qp_i;
    mrw_o.pdn = x_i.cfg.pdn;
    mrw_o.key = roce_pkg::be32(h_i.imm);
  end

  logic rd_new, rd_find, rd_get, rd_step, rd_done, rd_done_q, rd_hit;
  logic [3:0] rd_found, rd_slot;
  rsp_pkg::rres_t res;
  dingo_rsp_commit u_commit (
      .clk_i, .rst_ni, .go_i, .start_i(start_i && is_commit), .ctx_i, .done_o(cm_done), .ctx_o(cm_ctx),
      .wake_o(cm_wake), .x_i, .emit_o(cm_emit), .emit_ready_i, .exit_o(cm_exit), .nak_o(cm_nak), .item_i, .item_err_i,
      .rd_new_o(rd_new), .rd_find_o(rd_find), .rd_done_i(rd_done_q), .rd_hit_i(rd_hit), .rd_found_i(rd_found)
  );

  logic tn_refuse, tn_mr_valid, tn_open, tn_wqe_taken, res_last;
  logic [12:0] res_bytes;
  logic [31:0] res_offset;
  dingo_rsp_turn u_turn (
      .clk_i, .rst_ni, .go_i, .start_i(start_i && is_turn), .ctx_i, .done_o(tn_done), .ctx_o(tn_ctx), .wake_o(tn_wake),
      .again_o(tn_again), .again_i, .x_i, .emit_o(tn_emit), .emit_ready_i, .exit_o(tn_exit), .busy_i, .path_ok_i,
      .tx_room_i, .read_o, .refuse_o(tn_refuse), .send_o, .rd_get_o(rd_get), .rd_step_o(rd_step), .rd_slot_o(rd_slot),
      .rd_done_i(rd_done || rd_done_q), .res_bytes_i(res_bytes), .res_last_i(res_last), .mr_valid_o(tn_mr_valid),
      .mr_done_i(key_have), .mr_ok_i(key.ok), .mr_paused_i(key.paused), .pause_o, .open_o(tn_open), .wqe_done_i(w_done),
      .wqe_taken_o(tn_wqe_taken), .wqe_tag_i(w_wqe.tag), .cqes_done_i
  );

  assign emit_o = is_rx ? rx_emit : is_commit ? cm_emit : tn_emit;
  always_comb begin
    part_o.done = is_rx ? rx_done : is_commit ? cm_done : tn_done;
    part_o.ctx = is_rx ? rx_ctx : is_commit ? cm_ctx : tn_ctx;
    part_o.leave = is_rx ? rsp_pkg::EXIT_STORE : is_commit ? cm_exit : tn_exit;
    part_o.wake = is_commit ? cm_wake : is_turn && tn_wake;
    part_o.again = is_turn && tn_again;
    part_o.prefetch = is_rx && rx_prefetch;
    part_o.nak = cm_nak;
    if (!is_commit) begin               // a READ whose region has gone
      part_o.nak.syn = roce_pkg::SYN_NAK_ACCESS;
      part_o.nak.ev = dingo_pkg::EV_QP_ACCESS_ERR[7:0];
      part_o.nak.psn = res.first_psn + res.next;
    end
  end

  // ---------------------------------------------------------------- READs and what leaves
  // The READ or atomic of the commit in work, or of the plain step before, whose context is being stored
  rsp_pkg::item_t rd_item;
  logic [63:0] rd_word;
  assign rd_item = put_i ? put_item_i : item_i;
  assign rd_word = put_i ? put_word_i : item_word_i;
  dingo_rsp_reads u_reads (
      .clk_i, .rst_ni, .qp_i, .path_mtu_i(x_i.cfg.path_mtu), .new_i(rd_new || put_i), .find_i(rd_find), .get_i(rd_get),
      .step_i(rd_step), .slot_i(put_i ? put_slot_i : is_turn ? rd_slot : cm_ctx.rd_next), .used_i(cm_ctx.rd_used),
      .oldest_i(cm_ctx.rd_next), .psn_i(rd_item.psn), .atomic_i(rd_item.atomic),
      .va_i(rd_item.atomic ? rd_word : rd_item.va), .rkey_i(rd_item.tag), .length_i(rd_item.bytes),
      .msn_i(put_i ? c_i.msn : cm_ctx.msn + 24'd1), .done_o(rd_done), .hit_o(rd_hit), .slot_o(rd_found), .res_o(res)
  );
  always_ff @(posedge clk_i) begin
    if (rd_new || rd_find || rd_get) rd_done_q <= 1'b0;
    else if (rd_done) rd_done_q <= 1'b1;
    if (rst_ni) a_put: assert (!(put_i && (rd_new || rd_find || rd_get || rd_step)));
  end

  assign bytes_o = res_bytes;
  dingo_rsp_packet u_packet (
      .qp_i, .cfg_i(x_i.cfg), .ctx_i(is_turn && !quick_send_i ? tn_ctx : c_i), .res_i(res),
      .read_i(is_turn && read_o && !quick_send_i), .refuse_i(is_turn && tn_refuse && !quick_send_i), .single_i(quick_data_i), .item_i(put_item_i), .word_i(put_word_i),
      .txd_o, .offset_o(res_offset), .bytes_o(res_bytes), .last_o(res_last)
  );

  // ---------------------------------------------------------------- receive WQEs, keys
  logic w_done, w_mr_valid, w_seg_valid, key_have;
  rsp_pkg::rwqe_t w_wqe;
  rtl_pkg::mr_req_t w_mr;
  rtl_pkg::seg_t w_seg;
  rtl_pkg::mr_rsp_t key;
  assign key_o = key;
  dingo_rsp_rq u_rq (
      .clk_i, .rst_ni, .idle_o(rq_idle_o), .flush_i, .xl_flush_i, .qp_i,
      .rq_i({x_i.cfg.has_srq, x_i.cfg.has_srq ? rtl_pkg::QP_LOG'(x_i.cfg.srq) : qp_i}), .cfg_i(x_i.cfg),
      .open_i(rx_open || tn_open), .head_only_i(is_turn), .scatter_i(rx_scatter), .again_i(rx_again),
      .index_i(is_turn ? tn_ctx.held_index : rx_ctx.held_index), .bytes_i(rx_bytes), .sge_i(rx_ctx.held_sge),
      .off_i(rx_ctx.held_off), .nsge_i(rx_ctx.held_nsge), .done_o(w_done), .taken_i(rx_wqe_taken || tn_wqe_taken),
      .wqe_o(w_wqe), .seg_valid_o(w_seg_valid), .seg_ready_i(rx_seg_ready), .seg_o(w_seg), .mr_valid_o(w_mr_valid),
      .mr_o(w_mr), .mr_rsp_valid_i(answer_i), .mr_rsp_i, .prefetch_i, .prefetch_index_i(c_i.rq_cons),
      .prod_i(c_i.rq_prod), .look_valid_i, .look_ready_o, .look_i, .look_here_o, .look_coming_o, .look_err_o,
      .look_data_o, .rwqe_valid_o, .rwqe_ready_i, .rwqe_o, .rwqe_rsp_valid_i, .line_valid_o, .line_ready_i, .line_o,
      .line_rsp_valid_i, .line_rsp_i
  );
  dingo_rsp_keys u_keys (
      .clk_i, .rst_ni, .qp_i, .cfg_i(x_i.cfg), .receive_valid_i(rx_mr_valid), .receive_i(rx_mr),
      .turn_valid_i(tn_mr_valid), .turn_res_i(res), .turn_offset_i(res_offset), .turn_bytes_i(res_bytes),
      .wqe_valid_i(w_mr_valid), .wqe_i(w_mr), .ask_o(key_ask_o), .intake_valid_i(in_mr_valid_i), .intake_i(in_mr_i),
      .have_o(key_have), .rsp_o(key), .mr_valid_o, .mr_o, .answer_i, .mr_rsp_i
  );

  wire unused_ok = &{1'b0, c_i, h_i, put_item_i, rd_item, key};
endmodule
