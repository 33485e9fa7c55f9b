// SPDX-License-Identifier: BSD-2-Clause

/// Event queues: writes completion events and asynchronous events into rings in host memory, then sends the EQ's MSI-X
/// message; also the admin queue's. Events without room in their EQ wait without a stall, each (kind, object) once: a
/// bit per CQ for completion events (dingo_eq_pending), a table for the others (dingo_eq_wait); eq_overflow counts
/// them. One event at a time, 4 states, of which WRITING lasts until the write's response.
module dingo_eq (
    input  logic        clk_i,
    input  logic        rst_ni,
    output logic        idle_o,          // nothing to write; events may wait for room
    input  logic        xl_flush_i,
    input  logic        cfg_valid_i,
    input  rtl_pkg::eq_cfg_t     cfg_i,
    input  logic        forget_valid_i,  // object destroyed: drop its waiting events. kind COMPLETION: of CQ id;
    input  rtl_pkg::ev_t         forget_i,        // kind QP_FATAL: every QP event of QPN id; CQ_ERR: of CQ id
    input  logic        db_valid_i,
    output logic        db_ready_o,
    input  rtl_pkg::db_t         db_i,
    input  logic        comp_valid_i,
    output logic        comp_ready_o,
    input  rtl_pkg::eqi_t        comp_eq_i,
    input  rtl_pkg::cqi_t        comp_cq_i,
    // asynchronous events: 0 requester, 1 responder, 2 CQ, 3 port
    input  logic [3:0]  ev_valid_i,
    output logic [3:0]  ev_ready_o,
    input  logic [4*rtl_pkg::EV_W-1:0] ev_i,
    input  logic        fatal_valid_i,   // give event DEVICE_FATAL, then no more events
    input  logic [31:0] fatal_code_i,
    input  logic        admin_irq_i,     // pulse: an admin completion is in host memory, send vector 0
    output logic        msix_valid_o,
    input  logic        msix_ready_i,
    output logic [5:0]  msix_vector_o,
    output logic        stat_valid_o,
    input  logic        stat_ready_i,
    output rtl_pkg::stat_t       stat_o,
    // dingo_host
    output logic        write_valid_o,
    input  logic        write_ready_i,
    output rtl_pkg::dma_req_t    write_o,
    output logic        wdata_valid_o,
    input  logic        wdata_ready_i,
    output rtl_pkg::beat_t       wdata_o,
    input  logic        done_valid_i,
    input  logic        done_err_i,
    output logic        line_valid_o,
    input  logic        line_ready_i,
    output rtl_pkg::rdl_req_t    line_o,
    input  logic        line_rsp_valid_i,
    input  rtl_pkg::rdl_rsp_t    line_rsp_i
);
  localparam int unsigned EqW = rtl_pkg::EQ_LOG;
  localparam int unsigned CqW = rtl_pkg::CQ_LOG;

  eq_pkg::state_t state_q;
  logic idle;
  assign idle = state_q == eq_pkg::IDLE;

  // ---------------------------------------------------------------------------------- the next operation
  eq_pkg::take_t take;
  rtl_pkg::ev_t forget, ev_new;
  rtl_pkg::eq_cfg_t cfg;
  logic none, dead;
  logic [31:0] fatal_code;
  rtl_pkg::db_word_t db_word;
  assign db_word = db_i.word0;
  dingo_eq_take i_take (
      .clk_i, .rst_ni, .idle_i(idle), .none_o(none), .take_o(take), .forget_valid_i, .forget_i, .forget_o(forget), .cfg_valid_i,
      .cfg_i, .cfg_o(cfg), .fatal_valid_i, .fatal_code_i, .fatal_code_o(fatal_code), .dead_o(dead), .db_valid_i, .db_ready_o,
      .ev_valid_i, .ev_ready_o, .ev_i, .ev_o(ev_new), .comp_valid_i, .comp_ready_o
  );

  // ---------------------------------------------------------------------------------- its EQ and event
  rtl_pkg::eqi_t eq_q, async_eq, pend_eq;
  rtl_pkg::ev_t ev_q;
  logic draining_q;           // the event comes from the waiting ones
  logic [5:0] stat_q;
  eq_pkg::ctx_t eq;
  eq_pkg::change_t change;
  logic async_on, comp_on, full, none_waits;
  logic [31:0] size;
  dingo_eq_table i_table (
      .clk_i, .rst_ni, .cfg_we_i(take.cfg), .cfg_i(cfg), .eq_i(eq_q), .ctx_o(eq), .change_i(change),
      .forgot_i(state_q == eq_pkg::FORGOT && pend_rd), .forgot_eq_i(pend_eq), .comp_eq_i, .comp_on_o(comp_on),
      .async_on_o(async_on), .async_eq_o(async_eq)
  );
  assign size = 32'd1 << eq.log_size;
  assign full = eq.producer - eq.consumer == size;
  assign none_waits = eq.waiting == '0 && (!eq.is_async || tab_empty);

  // ---------------------------------------------------------------------------------- waiting events
  logic ready, pend_rd, scan_hit;
  rtl_pkg::cqi_t scan_q;
  dingo_eq_pending i_pending (
      .clk_i, .rst_ni, .ready_o(ready), .state_i(state_q), .eq_i(eq_q), .cq_i(ev_q.id[CqW-1:0]), .scan_cq_i(scan_q),
      .waits_o(pend_rd), .eq_o(pend_eq), .hit_o(scan_hit)
  );
  logic first_q;              // first cycle of ADD or FORGET
  logic tab_busy, tab_empty, tab_added, tab_lost, tab_head, tab_pop, tab_add, tab_forget, tab_clear;
  rtl_pkg::ev_t tab_ev;
  assign tab_add = state_q == eq_pkg::ADD && first_q;
  assign tab_forget = state_q == eq_pkg::FORGET && first_q && ev_q.kind != dingo_pkg::EV_COMPLETION[7:0];
  assign tab_pop = state_q == eq_pkg::DRAIN && !full && eq.is_async && tab_head;
  assign tab_clear = take.cfg && async_on && async_eq == cfg.eq;
  dingo_eq_wait u_wait (
      .clk_i, .rst_ni, .clear_i(tab_clear), .busy_o(tab_busy), .empty_o(tab_empty), .add_i(tab_add), .forget_i(tab_forget),
      .ev_i(ev_q), .added_o(tab_added), .lost_o(tab_lost), .head_valid_o(tab_head), .head_o(tab_ev), .pop_i(tab_pop)
  );

  // ---------------------------------------------------------------------------------- entries
  logic ring_ready, ring_done, ring_err;
  dingo_pkg::eqe_t entry;
  always_comb begin
    entry = '0;
    entry.kind = ev_q.kind;
    entry.id = ev_q.id;
    entry.data = ev_q.data;
    entry.owner[0] = (eq.producer & size) == '0;
  end
  dingo_ring_write #(
      .Bytes(16),
      .LogDepth(1)
  ) u_ring (
      .clk_i, .rst_ni, .xl_flush_i, .valid_i(state_q == eq_pkg::WRITE), .ready_o(ring_ready), .mem_i(eq.mem),
      .off_i((eq.producer & (size - 32'd1)) << 4), .data_i(entry), .done_valid_o(ring_done),
      .done_ready_i(state_q == eq_pkg::WRITING), .done_err_o(ring_err), .write_valid_o, .write_ready_i, .write_o,
      .wdata_valid_o, .wdata_ready_i, .wdata_o, .done_valid_i, .done_err_i, .line_valid_o, .line_ready_i, .line_o,
      .line_rsp_valid_i, .line_rsp_i
  );

  logic irq_wants, irq_load, irq_idle;
  assign irq_wants = state_q == eq_pkg::IRQ && eq.armed;
  dingo_eq_irq i_irq (
      .clk_i, .rst_ni, .idle_o(irq_idle), .admin_i(admin_irq_i), .valid_i(irq_wants), .taken_o(irq_load), .vector_i(eq.msix),
      .msix_valid_o, .msix_ready_i, .msix_vector_o
  );

  // ---------------------------------------------------------------------------------- the operation
  logic [31:0] bell_index_q;
  logic bell_arm_q, bell_known_q, bell_ok;
  assign bell_ok = bell_known_q && eq.on && bell_index_q - eq.consumer <= eq.producer - eq.consumer;
  assign change.written = state_q == eq_pkg::WRITING && ring_done && !ring_err;
  assign change.refused = state_q == eq_pkg::WRITING && ring_done && ring_err;
  assign change.bell = state_q == eq_pkg::BELL && bell_ok;
  assign change.index = bell_index_q;
  assign change.arm = bell_arm_q;
  assign change.disarm = irq_load;
  assign change.more = state_q == eq_pkg::PEND && !pend_rd;
  assign change.fewer = state_q == eq_pkg::SCAN && scan_hit;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= eq_pkg::CLEAR;
      scan_q <= '0;
      first_q <= 1'b0;
    end else begin
      first_q <= idle;
      case (state_q)
        eq_pkg::CLEAR: begin
          if (ready) state_q <= eq_pkg::IDLE;
        end
        eq_pkg::IDLE: begin
          draining_q <= 1'b0;
          if (take.forget) begin
            ev_q <= forget;
            state_q <= eq_pkg::FORGET;
          end else if (take.fatal) begin
            eq_q <= async_eq;
            ev_q.kind <= dingo_pkg::EV_DEVICE_FATAL[7:0];
            ev_q.id <= '0;
            ev_q.data <= fatal_code;
            if (async_on) state_q <= eq_pkg::POST;
          end else if (take.db) begin
            eq_q <= db_word.object[EqW-1:0];
            bell_known_q <= db_word.object[23:EqW] == '0;
            bell_index_q <= db_i.index;
            bell_arm_q <= db_word.arm;
            state_q <= eq_pkg::BELL;
          end else if (take.ev) begin
            eq_q <= async_eq;
            ev_q <= ev_new;
            if (async_on && !dead) state_q <= eq_pkg::POST;
          end else if (take.comp) begin
            eq_q <= comp_eq_i;
            ev_q.kind <= dingo_pkg::EV_COMPLETION[7:0];
            ev_q.id <= 32'(comp_cq_i);
            ev_q.data <= '0;
            if (comp_on && !dead) state_q <= eq_pkg::POST;
          end
        end
        eq_pkg::POST: begin
          first_q <= 1'b1;
          if (!full && none_waits) state_q <= eq.error ? eq_pkg::IRQ : eq_pkg::WRITE;
          else state_q <= ev_q.kind == dingo_pkg::EV_COMPLETION[7:0] ? eq_pkg::PEND : eq_pkg::ADD;
        end
        eq_pkg::PEND: begin
          stat_q <= 6'(dingo_pkg::CARD_EQ_OVERFLOW);
          state_q <= pend_rd ? eq_pkg::IDLE : eq_pkg::COUNT;
        end
        eq_pkg::ADD: begin
          stat_q <= 6'(dingo_pkg::CARD_EQ_OVERFLOW);
          if (!first_q && tab_added) state_q <= eq_pkg::COUNT;
          else if (!first_q && !tab_busy) state_q <= eq_pkg::IDLE;
        end
        eq_pkg::WRITE: if (ring_ready) state_q <= eq_pkg::WRITING;
        eq_pkg::WRITING: if (ring_done) state_q <= draining_q ? eq_pkg::DRAIN : eq_pkg::IRQ;
        eq_pkg::IRQ: if (!irq_wants || irq_load) state_q <= eq_pkg::IDLE;
        eq_pkg::BELL: begin
          stat_q <= 6'(dingo_pkg::CARD_DB_DROPPED);
          draining_q <= 1'b1;
          state_q <= bell_ok ? eq_pkg::DRAIN : eq_pkg::COUNT;
        end
        eq_pkg::DRAIN: begin
          if (full || none_waits) begin
            state_q <= eq.producer != eq.consumer ? eq_pkg::IRQ : eq_pkg::IDLE;
          end else if (eq.is_async && !tab_empty) begin
            ev_q <= tab_ev;
            if (tab_head && !eq.error) state_q <= eq_pkg::WRITE;
          end else begin
            state_q <= eq_pkg::SCAN;
          end
        end
        eq_pkg::SCAN: begin
          scan_q <= scan_q + 1'b1;
          ev_q.kind <= dingo_pkg::EV_COMPLETION[7:0];
          ev_q.id <= 32'(scan_q);
          ev_q.data <= '0;
          state_q <= scan_hit && !eq.error ? eq_pkg::WRITE : eq_pkg::DRAIN;
        end
        eq_pkg::FORGET: begin
          if (ev_q.kind == dingo_pkg::EV_COMPLETION[7:0]) state_q <= eq_pkg::FORGOT;
          else if (!first_q && !tab_busy) state_q <= eq_pkg::IDLE;
          eq_q <= '0;
        end
        eq_pkg::FORGOT: state_q <= eq_pkg::IDLE;
        default: if (stat_ready_i) state_q <= eq_pkg::IDLE;
      endcase
    end
  end

  assign stat_valid_o = state_q == eq_pkg::COUNT;
  assign stat_o.idx = stat_q;
  assign stat_o.by = 16'd1;
  assign idle_o = idle && none && irq_idle;

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      kernel_page: assert (!take.db || db_i.page == dingo_pkg::DB_PAGE_KERNEL[rtl_pkg::DB_PAGE_LOG-1:0]);
      ring_bound: assert (state_q != eq_pkg::WRITE || eq.producer - eq.consumer < size);
    end
  end

  wire unused_ok = &{1'b0, tab_lost, db_word};
endmodule
