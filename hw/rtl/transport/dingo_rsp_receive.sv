// SPDX-License-Identifier: BSD-2-Clause

/// Phase 1 of a packet that is no plain step: the checks, in the order of the specification, and the orders for its
/// payload. PSN and message move on here; what the peer and the host hear of the packet follows when its item comes
/// back (dingo_rsp_commit). Registers and the order of states are here; what a state does is in dingo_rsp_admit,
/// _buffer, _payload and _accept, which are combinational. One cycle a state; it waits for a receive WQE, a key, an
/// invalidation, and while an output of the responder is taken (go_i). docs/reference/rtl/responder.md has the states
/// of each packet.
module dingo_rsp_receive (
    input  logic              clk_i,
    input  logic              rst_ni,
    input  logic              go_i,          // all outputs of the responder are free
    input  logic              start_i,       // one cycle, with ctx_i
    input  rsp_pkg::rctx_t    ctx_i,
    output logic              done_o,        // stays until the next start
    output rsp_pkg::rctx_t    ctx_o,         // the new context, valid during the work too
    input  rtl_pkg::qp_t      x_i,           // its QP, from the cycle after start_i on
    output rsp_pkg::emit_t    emit_o,
    input  rsp_pkg::emit_ready_t emit_ready_i,
    input  rtl_pkg::qpi_t     qp_i,
    input  rtl_pkg::rxh_t     h_i,           // stable until done_o
    output logic              end_o,         // one cycle: dingo_rsp_intake drops the packet
    output logic              prefetch_o,    // the packet took a receive WQE
    output logic              bus_o,         // that WQE could not be read
    // dingo_rsp_rq: entry, offsets and limits are those of ctx_o
    output logic              open_o,        // one cycle: read the WQE
    output logic              scatter_o,     // one cycle: give the pieces for bytes_o
    output logic              again_o,       // with scatter_o: open_o came for the same WQE just before
    output logic [12:0]       bytes_o,       // payload, and the GRH of a datagram
    input  logic              wqe_done_i,    // stays until wqe_taken_o
    output logic              wqe_taken_o,
    input  rsp_pkg::rwqe_t    wqe_i,
    input  logic              wqe_seg_valid_i,
    output logic              wqe_seg_ready_o,
    input  rtl_pkg::seg_t     wqe_seg_i,
    output logic              mr_valid_o,    // one cycle; PD and privilege are the QP's
    output rtl_pkg::mr_req_t  mr_o,
    input  logic              mr_done_i,     // answer to the last mr_valid_o
    input  rtl_pkg::mr_rsp_t  mr_rsp_i,
    output logic              inv_valid_o,   // dingo_mr_work invalidates the packet's key; stays until inv_done_i
    input  logic              inv_done_i,
    input  rtl_pkg::mrw_rsp_t inv_rsp_i,
    output logic              scat_valid_o,
    input  logic              scat_ready_i,
    output rtl_pkg::scat_t    scat_o
);
  rsp_pkg::rx_t rx_q, rx_now, rx_d, admit_rx, buffer_rx, payload_rx, accept_rx;
  rsp_pkg::emit_t emit, admit_emit, buffer_emit, payload_emit;
  rsp_pkg::request_t rq;
  rsp_pkg::rctx_t c;
  logic take;           // UC: a receive WQE is still to be taken
  logic key_needed;     // of a packet without payload only a first one can name memory
  logic [31:0] taken_bytes, payload;
  logic scat_valid, order;
  rtl_pkg::scat_t scat;

  dingo_rsp_check u_check (.ctx_i(c), .cfg_i(x_i.cfg), .h_i, .rq_o(rq));
  assign c = rx_q.c;
  assign take = rq.uc && rq.takes_rq && !c.held && !rx_q.taken;
  assign payload = {19'd0, h_i.len};
  assign taken_bytes = !rq.ud ? (rq.first ? 32'd0 : c.bytes) : 32'(rsp_pkg::GRH_BYTES);
  assign key_needed = rq.first ? h_i.dma_len != '0 : h_i.len != '0;

  assign done_o = rx_q.state == rsp_pkg::RX_IDLE;
  assign ctx_o = c;
  assign end_o = rx_q.state == rsp_pkg::RX_END && go_i;
  assign prefetch_o = rx_q.taken;
  assign bus_o = rx_q.bus;
  assign open_o = rx_q.open;
  assign scatter_o = rx_q.scatter;
  assign again_o = rx_q.taken;
  assign bytes_o = !rq.ud ? h_i.len : h_i.len + 13'(rsp_pkg::GRH_BYTES);
  assign wqe_taken_o = go_i && wqe_done_i
                       && (rx_q.state == rsp_pkg::RX_OPEN || (rx_q.state == rsp_pkg::RX_SCATTER && !wqe_seg_valid_i));
  assign wqe_seg_ready_o = rx_q.state == rsp_pkg::RX_SCATTER && go_i;

  assign inv_valid_o = rx_q.state == rsp_pkg::RX_INV;
  assign mr_valid_o = rx_q.state == rsp_pkg::RX_KEY && go_i;
  always_comb begin
    mr_o = '0;
    mr_o.key = rq.first ? h_i.rkey : c.write_rkey;
    mr_o.va = rq.first ? h_i.va : c.write_va;
    mr_o.len = rq.first ? h_i.dma_len : payload;   // the whole message with its first packet, then packet by packet
    mr_o.access = rq.read ? dingo_pkg::ACC_REMOTE_READ[5:0] : rq.atomic ? dingo_pkg::ACC_REMOTE_ATOMIC[5:0]
                  : dingo_pkg::ACC_REMOTE_WRITE[5:0];
  end

  // ---------------------------------------------------------------- what a state does
  always_comb begin
    rx_now = rx_q;
    rx_now.open = 1'b0;
    rx_now.scatter = 1'b0;
  end
  dingo_rsp_admit u_admit (.rx_i(rx_now), .rx_o(admit_rx), .emit_o(admit_emit), .qp_i, .x_i, .h_i, .rq_i(rq));
  dingo_rsp_buffer u_buffer (
      .rx_i(rx_now), .rx_o(buffer_rx), .emit_o(buffer_emit), .x_i, .h_i, .rq_i(rq), .take_i(take),
      .key_needed_i(key_needed), .taken_bytes_i(taken_bytes), .wqe_done_i, .wqe_i
  );
  dingo_rsp_payload u_payload (
      .rx_i(rx_now), .rx_o(payload_rx), .emit_o(payload_emit), .cfg_i(x_i.cfg), .h_i, .rq_i(rq), .take_i(take),
      .mr_done_i, .mr_rsp_i, .wqe_done_i, .wqe_i, .wqe_seg_valid_i, .wqe_seg_i, .inv_done_i, .inv_rsp_i,
      .scat_valid_o(scat_valid), .scat_o(scat)
  );
  dingo_rsp_accept u_accept (
      .rx_i(rx_now), .rx_o(accept_rx), .cfg_i(x_i.cfg), .h_i, .rq_i(rq), .taken_bytes_i(taken_bytes)
  );

  always_comb begin
    rx_d = rx_now;
    emit = '0;
    order = 1'b0;
    case (rx_q.state)
      rsp_pkg::RX_CHECK, rsp_pkg::RX_UC: begin
        rx_d = admit_rx;
        emit = admit_emit;
      end
      rsp_pkg::RX_OPEN, rsp_pkg::RX_LENGTH, rsp_pkg::RX_TAKE, rsp_pkg::RX_DROP: begin
        rx_d = buffer_rx;
        emit = buffer_emit;
      end
      rsp_pkg::RX_KEY, rsp_pkg::RX_KEY_WAIT, rsp_pkg::RX_GRH, rsp_pkg::RX_SCATTER, rsp_pkg::RX_PAUSED, rsp_pkg::RX_INV,
      rsp_pkg::RX_END: begin
        rx_d = payload_rx;
        emit = payload_emit;
        order = scat_valid;
      end
      rsp_pkg::RX_DONE: rx_d = accept_rx;
      default: rx_d.state = rsp_pkg::RX_IDLE;
    endcase
  end

  // ---------------------------------------------------------------- registers
  always_ff @(posedge clk_i) begin
    rx_q.open <= 1'b0;
    rx_q.scatter <= 1'b0;
    if (emit_ready_i.stat) emit_o.stat <= 1'b0;
    if (emit_ready_i.qstat) emit_o.qstat <= 1'b0;
    if (emit_ready_i.ev) emit_o.ev <= 1'b0;
    if (emit_ready_i.cqe) emit_o.cqe <= 1'b0;
    if (scat_ready_i) scat_valid_o <= 1'b0;
    if (start_i) begin
      rx_q.state <= rsp_pkg::RX_CHECK;
      rx_q.c <= ctx_i;
      rx_q.item <= '0;
      rx_q.no_item <= 1'b0;
      rx_q.taken <= 1'b0;
      rx_q.bus <= 1'b0;
    end else if (go_i) begin
      rx_q <= rx_d;
      if (emit.stat) begin
        emit_o.stat <= 1'b1;
        emit_o.stat_idx <= emit.stat_idx;
      end
      if (emit.qstat) begin
        emit_o.qstat <= 1'b1;
        emit_o.qstat_idx <= emit.qstat_idx;
      end
      if (emit.ev) begin
        emit_o.ev <= 1'b1;
        emit_o.ev_kind <= emit.ev_kind;
      end
      if (order) begin
        scat_valid_o <= 1'b1;
        scat_o <= scat;
      end
      a_items: assert (rx_q.state != rsp_pkg::RX_END || c.items != '1);
    end
    if (!rst_ni) begin
      rx_q.state <= rsp_pkg::RX_IDLE;
      rx_q.open <= 1'b0;
      rx_q.scatter <= 1'b0;
      scat_valid_o <= 1'b0;
      emit_o <= '0;
    end
  end
  wire unused_ok = &{1'b0, x_i, h_i, mr_rsp_i, inv_rsp_i, emit, rq};
endmodule
