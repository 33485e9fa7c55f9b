// SPDX-License-Identifier: BSD-2-Clause

/// Event queues. Events that find no room wait, each (kind, object) once, and hold up nobody: a bit per
/// CQ for completion events, a small table for the others (eq_overflow counts what waited). The interrupt follows when the
/// event is in host memory. Also the one place where MSI-X messages are sent.
module dingo_eq (
    input  logic        clk_i,
    input  logic        rst_ni,
    output logic        idle_o,          // nothing to write; events without room may wait
    input  logic        xl_flush_i,
    input  logic        cfg_valid_i,
    input  rtl_pkg::eq_cfg_t     cfg_i,
    input  logic        forget_valid_i,  // the object is gone: its waiting events, too. kind COMPLETION: of CQ id;
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
    input  logic        fatal_valid_i,   // event DEVICE_FATAL, then none any more
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
  localparam int unsigned EvW = rtl_pkg::EV_W;
  localparam int unsigned Eqs = 1 << EqW;
  localparam int unsigned CfgW = 114;  // msix, log_size, mem

  // One operation after the other; an event is in host memory before the next one begins.
  typedef enum logic [3:0] {
    CLEAR   = 4'd0,   // after reset
    IDLE    = 4'd1,
    POST    = 4'd2,   // an event: write it or let it wait
    PEND    = 4'd3,   // does an event of this CQ wait already
    ADD     = 4'd4,   // the same for an asynchronous event
    WRITE   = 4'd5,
    WRITING = 4'd6,
    IRQ     = 4'd7,
    BELL    = 4'd8,   // a doorbell
    DRAIN   = 4'd9,   // events that waited, while there is room
    SCAN    = 4'd10,  // which CQ
    FORGET  = 4'd11,
    FORGOT  = 4'd12,
    COUNT   = 4'd13
  } state_t;
  state_t state_q;
  rtl_pkg::db_word_t db_word;
  assign db_word = db_i.word0;

  // ---------------------------------------------------------------------------------- event queues
  logic [CfgW-1:0] cfg_mem[0:Eqs-1];
  logic [31:0] producer_mem[0:Eqs-1];
  logic [31:0] consumer_mem[0:Eqs-1];
  logic [CqW:0] waiting_mem[0:Eqs-1];  // CQs with a waiting event
  logic [Eqs-1:0] on_q, armed_q, error_q;
  logic async_on_q;
  rtl_pkg::eqi_t async_eq_q;

  rtl_pkg::eqi_t eq_q;        // of the operation
  rtl_pkg::ev_t ev_q;
  logic draining_q;           // the event waited
  logic [5:0] stat_q;
  logic [5:0] vector;
  logic [4:0] log_size;
  rtl_pkg::xmem_t mem;
  logic [31:0] producer, consumer, size;
  logic [CqW:0] waiting;
  logic full, none_waits, is_async;

  assign {vector, log_size, mem} = cfg_mem[eq_q];
  assign producer = producer_mem[eq_q];
  assign consumer = consumer_mem[eq_q];
  assign waiting = waiting_mem[eq_q];
  assign size = 32'd1 << log_size;
  assign full = producer - consumer == size;
  assign is_async = async_on_q && async_eq_q == eq_q;

  // ---------------------------------------------------------------------------------- what waits
  logic ready;
  logic pend_we, pend_re, pend_set, pend_rd, pend_bit, pend_written;
  rtl_pkg::cqi_t pend_waddr, pend_raddr, scan_q;
  rtl_pkg::eqi_t pend_eq, pend_weq;
  assign pend_rd = pend_bit && pend_written;
  dingo_marked_ram #(
      .Width(EqW + 1),
      .LogDepth(CqW)
  ) u_pending (
      .clk_i,
      .rst_ni,
      .ready_o(ready),
      .we_i(pend_we),
      .waddr_i(pend_waddr),
      .wdata_i({pend_set, pend_weq}),
      .re_i(pend_re),
      .raddr_i(pend_raddr),
      .rdata_o({pend_bit, pend_eq}),
      .written_o(pend_written)
  );

  logic tab_busy, tab_empty, tab_added, tab_lost, tab_head, tab_pop, tab_add, tab_forget, tab_clear;
  rtl_pkg::ev_t tab_ev;
  dingo_eq_wait u_wait (
      .clk_i,
      .rst_ni,
      .clear_i(tab_clear),
      .busy_o(tab_busy),
      .empty_o(tab_empty),
      .add_i(tab_add),
      .forget_i(tab_forget),
      .ev_i(ev_q),
      .added_o(tab_added),
      .lost_o(tab_lost),
      .head_valid_o(tab_head),
      .head_o(tab_ev),
      .pop_i(tab_pop)
  );
  assign none_waits = waiting == '0 && (!is_async || tab_empty);

  // ---------------------------------------------------------------------------------- what comes in
  logic forget_valid, forget_take, forget_room;
  rtl_pkg::ev_t forget;
  wire [2:0] unused_count;
  dingo_fifo #(
      .Width(EvW),
      .LogDepth(2)
  ) u_forget (
      .clk_i,
      .rst_ni,
      .valid_i(forget_valid_i),
      .ready_o(forget_room),
      .data_i(forget_i),
      .valid_o(forget_valid),
      .ready_i(forget_take),
      .data_o(forget),
      .count_o(unused_count)
  );

  logic cfg_full_q;
  rtl_pkg::eq_cfg_t cfg_q;
  logic dead_q, fatal_q;  // no events any more; DEVICE_FATAL is still to be told
  logic [31:0] fatal_code_q;
  logic [3:0] ev_grant;
  logic [EvW-1:0] ev_bits;
  logic idle, take_forget, take_cfg, take_fatal, take_db, take_ev, take_comp;

  assign idle = state_q == IDLE;
  assign take_forget = idle && forget_valid;
  assign take_cfg = idle && !forget_valid && cfg_full_q;
  assign take_fatal = idle && !forget_valid && !cfg_full_q && fatal_q;
  assign take_db = idle && !forget_valid && !cfg_full_q && !fatal_q && db_valid_i;
  assign take_ev = idle && !forget_valid && !cfg_full_q && !fatal_q && !db_valid_i && ev_valid_i != '0;
  assign take_comp = idle && !forget_valid && !cfg_full_q && !fatal_q && !db_valid_i && ev_valid_i == '0 && comp_valid_i;
  assign forget_take = take_forget;
  assign db_ready_o = take_db;
  assign ev_ready_o = take_ev ? ev_grant : '0;
  assign comp_ready_o = take_comp;
  dingo_arb #(
      .N(4)
  ) u_arb (
      .clk_i,
      .rst_ni,
      .req_i(ev_valid_i),
      .take_i(take_ev),
      .grant_o(ev_grant)
  );
  always_comb begin
    ev_bits = '0;
    for (int i = 0; i < 4; i++) if (ev_grant[i]) ev_bits = ev_bits | ev_i[i*EvW +: EvW];
  end

  // ---------------------------------------------------------------------------------- entries
  logic ring_ready, ring_done, ring_err;
  dingo_pkg::eqe_t entry;
  always_comb begin
    entry = '0;
    entry.kind = ev_q.kind;
    entry.id = ev_q.id;
    entry.data = ev_q.data;
    entry.owner[0] = (producer & size) == '0;
  end
  dingo_ring_write #(
      .Bytes(16),
      .LogDepth(1)
  ) u_ring (
      .clk_i,
      .rst_ni,
      .xl_flush_i,
      .valid_i(state_q == WRITE),
      .ready_o(ring_ready),
      .mem_i(mem),
      .off_i((producer & (size - 32'd1)) << 4),
      .data_i(entry),
      .done_valid_o(ring_done),
      .done_ready_i(state_q == WRITING),
      .done_err_o(ring_err),
      .write_valid_o,
      .write_ready_i,
      .write_o,
      .wdata_valid_o,
      .wdata_ready_i,
      .wdata_o,
      .done_valid_i,
      .done_err_i,
      .line_valid_o,
      .line_ready_i,
      .line_o,
      .line_rsp_valid_i,
      .line_rsp_i
  );

  // ---------------------------------------------------------------------------------- doorbell
  logic [31:0] bell_index_q;
  logic bell_arm_q, bell_known_q;
  logic bell_ok;
  assign bell_ok = bell_known_q && on_q[eq_q] && bell_index_q - consumer <= producer - consumer;

  // ---------------------------------------------------------------------------------- the operation
  logic first_q;  // first cycle of ADD or FORGET
  logic scan_hit;
  assign scan_hit = pend_rd && pend_eq == eq_q;
  assign tab_add = state_q == ADD && first_q;
  assign tab_forget = state_q == FORGET && first_q && ev_q.kind != dingo_pkg::EV_COMPLETION[7:0];
  assign tab_pop = state_q == DRAIN && !full && is_async && tab_head;
  assign tab_clear = take_cfg && async_on_q && async_eq_q == cfg_q.eq;

  always_comb begin
    pend_re = 1'b0;
    pend_raddr = ev_q.id[CqW-1:0];
    pend_we = 1'b0;
    pend_set = 1'b0;
    pend_waddr = ev_q.id[CqW-1:0];
    pend_weq = eq_q;
    case (state_q)
      POST: pend_re = 1'b1;
      FORGET: pend_re = 1'b1;
      PEND: begin
        pend_we = !pend_rd;
        pend_set = 1'b1;
      end
      FORGOT: pend_we = pend_rd;
      DRAIN: begin
        pend_re = 1'b1;
        pend_raddr = scan_q;
      end
      SCAN: begin
        pend_we = scan_hit;
        pend_waddr = scan_q;
      end
      default: ;
    endcase
  end

  logic irq_load, irq_wants;
  assign irq_wants = state_q == IRQ && armed_q[eq_q];

  always_ff @(posedge clk_i) begin : control
    if (!rst_ni) begin
      state_q <= CLEAR;
      on_q <= '0;
      async_on_q <= 1'b0;
      scan_q <= '0;
      first_q <= 1'b0;
    end else begin
      first_q <= idle;
      case (state_q)
        CLEAR: begin
          if (ready) state_q <= IDLE;
        end
        IDLE: begin
          draining_q <= 1'b0;
          if (take_forget) begin
            ev_q <= forget;
            state_q <= FORGET;
          end else if (take_cfg) begin
            on_q[cfg_q.eq] <= cfg_q.on;
            if (cfg_q.on && cfg_q.is_async) begin
              async_on_q <= 1'b1;
              async_eq_q <= cfg_q.eq;
            end else if (async_eq_q == cfg_q.eq) begin
              async_on_q <= 1'b0;
            end
          end else if (take_fatal) begin
            eq_q <= async_eq_q;
            ev_q.kind <= dingo_pkg::EV_DEVICE_FATAL[7:0];
            ev_q.id <= '0;
            ev_q.data <= fatal_code_q;
            if (async_on_q) state_q <= POST;
          end else if (take_db) begin
            eq_q <= db_word.object[EqW-1:0];
            bell_known_q <= db_word.object[23:EqW] == '0;
            bell_index_q <= db_i.index;
            bell_arm_q <= db_word.arm;
            state_q <= BELL;
          end else if (take_ev) begin
            eq_q <= async_eq_q;
            ev_q <= ev_bits;
            if (async_on_q && !dead_q) state_q <= POST;
          end else if (take_comp) begin
            eq_q <= comp_eq_i;
            ev_q.kind <= dingo_pkg::EV_COMPLETION[7:0];
            ev_q.id <= 32'(comp_cq_i);
            ev_q.data <= '0;
            if (on_q[comp_eq_i] && !dead_q) state_q <= POST;
          end
        end
        POST: begin
          first_q <= 1'b1;
          if (!full && none_waits) state_q <= error_q[eq_q] ? IRQ : WRITE;
          else state_q <= ev_q.kind == dingo_pkg::EV_COMPLETION[7:0] ? PEND : ADD;
        end
        PEND: begin
          stat_q <= 6'(dingo_pkg::CARD_EQ_OVERFLOW);
          state_q <= pend_rd ? IDLE : COUNT;
        end
        ADD: begin
          stat_q <= 6'(dingo_pkg::CARD_EQ_OVERFLOW);
          if (!first_q && tab_added) state_q <= COUNT;
          else if (!first_q && !tab_busy) state_q <= IDLE;
        end
        WRITE: if (ring_ready) state_q <= WRITING;
        WRITING: if (ring_done) state_q <= draining_q ? DRAIN : IRQ;
        IRQ: if (!irq_wants || irq_load) state_q <= IDLE;
        BELL: begin
          stat_q <= 6'(dingo_pkg::CARD_DB_DROPPED);
          draining_q <= 1'b1;
          state_q <= bell_ok ? DRAIN : COUNT;
        end
        DRAIN: begin
          if (full || none_waits) begin
            state_q <= producer != consumer ? IRQ : IDLE;
          end else if (is_async && !tab_empty) begin
            ev_q <= tab_ev;
            if (tab_head && !error_q[eq_q]) state_q <= WRITE;
          end else begin
            state_q <= SCAN;
          end
        end
        SCAN: begin
          scan_q <= scan_q + 1'b1;
          ev_q.kind <= dingo_pkg::EV_COMPLETION[7:0];
          ev_q.id <= 32'(scan_q);
          ev_q.data <= '0;
          state_q <= scan_hit && !error_q[eq_q] ? WRITE : DRAIN;
        end
        FORGET: begin
          if (ev_q.kind == dingo_pkg::EV_COMPLETION[7:0]) state_q <= FORGOT;
          else if (!first_q && !tab_busy) state_q <= IDLE;
          eq_q <= '0;
        end
        FORGOT: state_q <= IDLE;
        default: if (stat_ready_i) state_q <= IDLE;
      endcase
    end
  end

  // EQ contexts
  logic [CqW:0] forgot_waiting;
  assign forgot_waiting = waiting_mem[pend_eq] - 1'b1;
  always_ff @(posedge clk_i) begin : contexts
    if (take_cfg) begin
      cfg_mem[cfg_q.eq] <= {cfg_q.msix, cfg_q.log_size, cfg_q.mem};
      producer_mem[cfg_q.eq] <= '0;
      consumer_mem[cfg_q.eq] <= '0;
      waiting_mem[cfg_q.eq] <= '0;
      armed_q[cfg_q.eq] <= 1'b0;
      error_q[cfg_q.eq] <= 1'b0;
    end
    if (state_q == WRITING && ring_done) begin
      if (ring_err) error_q[eq_q] <= 1'b1;
      else producer_mem[eq_q] <= producer + 32'd1;
    end
    if (state_q == BELL && bell_ok) begin
      consumer_mem[eq_q] <= bell_index_q;
      if (bell_arm_q) armed_q[eq_q] <= 1'b1;
    end
    if (irq_load) armed_q[eq_q] <= 1'b0;
    if (state_q == PEND && !pend_rd) waiting_mem[eq_q] <= waiting + 1'b1;
    if (state_q == SCAN && scan_hit) waiting_mem[eq_q] <= waiting - 1'b1;
    if (state_q == FORGOT && pend_rd) waiting_mem[pend_eq] <= forgot_waiting;
  end

  always_ff @(posedge clk_i) begin : inputs
    if (!rst_ni) begin
      cfg_full_q <= 1'b0;
      dead_q <= 1'b0;
      fatal_q <= 1'b0;
    end else begin
      if (cfg_valid_i) cfg_full_q <= 1'b1;
      else if (take_cfg) cfg_full_q <= 1'b0;
      if (fatal_valid_i && !dead_q) begin
        dead_q <= 1'b1;
        fatal_q <= 1'b1;
      end else if (take_fatal) begin
        fatal_q <= 1'b0;
      end
    end
    if (cfg_valid_i) cfg_q <= cfg_i;
    if (fatal_valid_i && !dead_q) fatal_code_q <= fatal_code_i;
  end

  // ---------------------------------------------------------------------------------- interrupts
  // Admin completions whose message has not left yet share one: all of them are in host memory.
  logic admin_q, msix_valid_q, admin_load;
  logic [5:0] msix_vector_q;
  assign admin_load = !msix_valid_q && admin_q;
  assign irq_load = !msix_valid_q && !admin_q && irq_wants;
  assign msix_valid_o = msix_valid_q;
  assign msix_vector_o = msix_vector_q;
  always_ff @(posedge clk_i) begin : messages
    if (!rst_ni) begin
      admin_q <= 1'b0;
      msix_valid_q <= 1'b0;
    end else begin
      if (admin_irq_i) admin_q <= 1'b1;
      else if (admin_load) admin_q <= 1'b0;
      msix_valid_q <= msix_valid_q ? !msix_ready_i : admin_load || irq_load;
    end
    if (admin_load) msix_vector_q <= '0;
    else if (irq_load) msix_vector_q <= vector;
  end

  assign stat_valid_o = state_q == COUNT;
  assign stat_o.idx = stat_q;
  assign stat_o.by = 16'd1;
  assign idle_o = idle && !forget_valid && !cfg_full_q && !fatal_q && !db_valid_i && ev_valid_i == '0 &&
                  !comp_valid_i && !msix_valid_q && !admin_q;

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      forget_fits: assert (!forget_valid_i || forget_room);
      commands_one_by_one: assert (!cfg_valid_i || !cfg_full_q);
      kernel_page: assert (!take_db || db_i.page == dingo_pkg::DB_PAGE_KERNEL[rtl_pkg::DB_PAGE_LOG-1:0]);
      ring_bound: assert (state_q != WRITE || producer - consumer < size);
      count_is_right: assert (!(state_q == SCAN && scan_hit) || waiting != '0);
    end
  end

  wire unused_ok = &{1'b0, tab_lost, db_word};
endmodule
