// SPDX-License-Identifier: BSD-2-Clause

/// Completion queues: entries of four clients into rings in host memory; arming and events. The event
/// of an entry follows when the entry is in host memory. A CQ that overflows or cannot be written takes no
/// more entries (event CQ_ERR once) and every entry for it makes `fail` for the QP, or for the Ethernet ring.
/// With moderation (MODIFY_CQ) an event that is due waits for its number of entries, or for the end of a period.
module dingo_cq (
    input  logic        clk_i,
    input  logic        rst_ni,
    output logic        idle_o,
    input  logic        halt_i,          // no event that waits is given now, so that idle_o stays
    output logic        due_o,           // the time of one may have come
    output logic        timer_valid_o,   // some event may wait,
    output logic [63:0] timer_next_o,    // and for none the time comes before
    input  logic        xl_flush_i,
    input  logic [63:0] now_ns_i,
    input  logic        cfg_valid_i,     // create (index and phase start afresh), resize (likewise), moderate or destroy
    input  rtl_pkg::cq_cfg_t     cfg_i,
    output logic        info_valid_o,    // one cycle, of a resize
    output rtl_pkg::cq_info_t    info_o,
    input  logic        db_valid_i,
    output logic        db_ready_o,
    input  rtl_pkg::db_t         db_i,
    // entries: 0 requester, 1 responder, 2 Ethernet transmit, 3 receive
    input  logic [3:0]  cqe_valid_i,
    output logic [3:0]  cqe_ready_o,
    input  logic [4*rtl_pkg::CQE_REQ_W-1:0] cqe_i,
    output logic        req_fail_valid_o,   // always taken
    output logic        rsp_fail_valid_o,
    output rtl_pkg::qpi_t        fail_qp_o,
    output logic        etx_fail_o,         // the ring with that number
    output logic        erx_fail_o,
    output logic        rsp_done_o,      // one cycle: the responder's oldest entry is in host memory, or was refused
    output logic        comp_valid_o,    // completion events
    input  logic        comp_ready_i,
    output rtl_pkg::eqi_t        comp_eq_o,
    output rtl_pkg::cqi_t        comp_cq_o,
    output logic        ev_valid_o,
    input  logic        ev_ready_i,
    output rtl_pkg::ev_t         ev_o,
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
  localparam int unsigned IdxW = rtl_pkg::CQ_LOG;
  localparam int unsigned ReqW = rtl_pkg::CQE_REQ_W;
  localparam int unsigned PageW = rtl_pkg::DB_PAGE_LOG;
  localparam int unsigned LogFlight = 4;  // entries that are not yet in host memory

  // What commands say of a CQ, and what happens to it.
  typedef struct packed {
    logic                   on;
    rtl_pkg::eqi_t          eq;
    logic [PageW-1:0]       db_page;
    logic [4:0]             log_size;
    logic [15:0]            count;    // see rtl_pkg::cq_cfg_t
    logic [25:0]            period;
    rtl_pkg::xmem_t         mem;
  } cfg_t;
  typedef struct packed {
    logic        error;
    logic        armed;
    logic        armed_solicited;
    logic [1:0]  arm_sn;
    logic [31:0] head;            // behind the last entry that was given a slot
    logic [31:0] producer;        // behind the last entry that is in host memory
    logic [31:0] consumer;
    logic [31:0] notified;        // entries before it were consumed, or the last event told of them
    logic [31:0] last_solicited;  // behind the newest solicited or error entry
    logic        waits;           // an event is due and waits
    logic [31:0] counted_from;    // entries from here on count; arming after a long poll begins anew
    logic [63:0] first_at;        // when the entry at `notified` came, or before
  } dyn_t;
  localparam int unsigned CfgW = 161 + PageW - 10 + rtl_pkg::EQ_LOG;
  localparam int unsigned DynW = 262;

  typedef enum logic [2:0] {
    OP_CFG  = 3'd0,
    OP_DONE = 3'd1,  // an entry is in host memory
    OP_DUE  = 3'd2,  // the time of an event that waits may have come
    OP_DB   = 3'd3,
    OP_POST = 3'd4   // a new entry
  } op_t;

  // ---------------------------------------------------------------------------------- the next one
  logic ready, written;   // what was not written since reset is no CQ

  logic cfg_full_q;
  rtl_pkg::cq_cfg_t cfg_q;
  logic db_full_q, db_final_q, db_hold;
  logic [LogFlight:0] db_wait_q;  // entries that must arrive before the doorbell is judged
  rtl_pkg::db_t db_q;
  rtl_pkg::db_word_t db_word;
  assign db_word = db_q.word0;
  logic done_valid, done_err;
  logic [3:0] grant;
  logic [ReqW-1:0] granted_bits;
  rtl_pkg::cqe_req_t granted;

  logic room, can_cfg, can_done, can_due, can_db, can_post, due_valid;
  rtl_pkg::cqi_t due_cq;
  logic b_valid_q, c_valid_q;
  op_t b_op_q;
  logic meta_valid;
  logic [LogFlight:0] meta_count;
  logic [2:0] comp_count, ev_count, stat_count;

  // Nothing waits behind this point: two operations may be in work, each gives one of these at most.
  assign room = comp_count <= 3'd2 && ev_count <= 3'd2 && stat_count <= 3'd2 && ready && timers_ready &&
                !(b_valid_q && (b_op_q == OP_DB || b_op_q == OP_CFG));
  assign can_cfg = room && cfg_full_q;
  assign can_done = room && !cfg_full_q && done_valid;
  assign can_due = room && !cfg_full_q && !done_valid && due_valid && !halt_i;
  assign can_db = room && !cfg_full_q && !done_valid && !can_due && db_full_q && !db_hold && !c_valid_q;
  assign can_post = room && !cfg_full_q && !done_valid && !can_due && !(db_full_q && !db_hold) &&
                    meta_count + (LogFlight+1)'(b_valid_q && b_op_q == OP_POST) < (LogFlight+1)'(1 << LogFlight);
  assign cqe_ready_o = can_post ? grant : '0;
  assign db_ready_o = !db_full_q;
  dingo_arb #(
      .N(4)
  ) u_arb (
      .clk_i,
      .rst_ni,
      .req_i(cqe_valid_i),
      .take_i(can_post),
      .grant_o(grant)
  );
  always_comb begin
    granted_bits = '0;
    for (int i = 0; i < 4; i++) if (grant[i]) granted_bits = granted_bits | cqe_i[i*ReqW +: ReqW];
  end
  assign granted = granted_bits;

  // ---------------------------------------------------------------------------------- contexts
  logic issue;
  rtl_pkg::cqi_t a_cq, b_cq_q;
  rtl_pkg::cqi_t done_cq;
  assign issue = can_cfg || can_done || can_due || can_db || (can_post && grant != '0);
  assign a_cq = can_cfg ? cfg_q.cq : can_done ? done_cq : can_due ? due_cq : can_db ? db_word.object[IdxW-1:0] : granted.cq;

  logic cfg_we, dyn_we;
  rtl_pkg::cqi_t dyn_waddr;
  logic [CfgW-1:0] cfg_wbits, cfg_rbits;
  logic [DynW-1:0] dyn_wbits, dyn_rbits, last_q;
  logic last_valid_q;
  rtl_pkg::cqi_t last_cq_q;
  cfg_t cfg_new, cfg_ram, b_cfg;
  dyn_t b_dyn, dyn_d;
  dingo_marked_ram #(
      .Width(CfgW),
      .LogDepth(IdxW)
  ) u_cfg (
      .clk_i,
      .rst_ni,
      .ready_o(ready),
      .we_i(cfg_we),
      .waddr_i(cfg_q.cq),
      .wdata_i(cfg_wbits),
      .re_i(issue),
      .raddr_i(a_cq),
      .rdata_o(cfg_rbits),
      .written_o(written)
  );
  dingo_ram #(
      .Width(DynW),
      .LogDepth(IdxW)
  ) u_dyn (
      .clk_i,
      .we_i(dyn_we),
      .waddr_i(dyn_waddr),
      .wdata_i(dyn_wbits),
      .re_i(issue),
      .raddr_i(a_cq),
      .rdata_o(dyn_rbits)
  );
  // What keeps a part of the old entry is written when that has come.
  logic b_cfg_op, resizes, moderates;
  assign b_cfg_op = b_valid_q && b_op_q == OP_CFG;
  assign resizes = b_cfg_op && cfg_q.resize && !b_dyn.error;
  assign moderates = b_cfg_op && cfg_q.moderate;
  always_comb begin
    cfg_new = b_cfg;
    if (resizes || can_cfg) begin
      cfg_new.log_size = cfg_q.log_size;
      cfg_new.mem = cfg_q.mem;
    end
    if (moderates || can_cfg) begin
      cfg_new.count = cfg_q.count;
      cfg_new.period = cfg_q.period;
    end
    if (can_cfg) begin
      cfg_new.on = cfg_q.on;
      cfg_new.eq = cfg_q.eq;
      cfg_new.db_page = cfg_q.db_page;
    end
  end
  assign cfg_we = (can_cfg && !cfg_q.resize && !cfg_q.moderate) || resizes || moderates;
  assign info_valid_o = b_valid_q && b_op_q == OP_CFG && cfg_q.resize;
  assign info_o.error = b_dyn.error;
  assign info_o.producer = b_dyn.producer;
  assign cfg_wbits = cfg_new;
  assign cfg_ram = cfg_rbits;
  always_comb begin
    b_cfg = cfg_ram;
    b_cfg.on = cfg_ram.on && written;
  end
  // The operation before may have changed the context while this one was read.
  assign b_dyn = last_valid_q && last_cq_q == b_cq_q ? last_q : written ? dyn_rbits : '0;

  // ---------------------------------------------------------------------------------- entries on their way
  rtl_pkg::cqe_req_t b_req_q;
  logic [3:0] b_client_q;  // one-hot
  logic b_err_q;           // OP_DONE: host memory refused it
  logic b_meta_solicited_q;
  rtl_pkg::qpi_t b_qp_q;
  logic meta_push, b_solicited;
  logic meta_ready;
  rtl_pkg::qpi_t done_qp;
  logic [3:0] done_client;
  logic done_solicited;
  dingo_fifo #(
      .Width(IdxW + rtl_pkg::QP_LOG + 5),
      .LogDepth(LogFlight)
  ) u_meta (
      .clk_i,
      .rst_ni,
      .valid_i(meta_push),
      .ready_o(meta_ready),
      .data_i({b_cq_q, b_qp_q, b_client_q, b_solicited}),
      .valid_o(meta_valid),
      .ready_i(can_done),
      .data_o({done_cq, done_qp, done_client, done_solicited}),
      .count_o(meta_count)
  );

  logic ring_ready;
  dingo_pkg::cqe_t entry;
  logic [31:0] slot;
  dingo_ring_write #(
      .Bytes(32),
      .LogDepth(LogFlight)
  ) u_ring (
      .clk_i,
      .rst_ni,
      .xl_flush_i,
      .valid_i(meta_push),
      .ready_o(ring_ready),
      .mem_i(b_cfg.mem),
      .off_i(slot),
      .data_i(entry),
      .done_valid_o(done_valid),
      .done_ready_i(can_done),
      .done_err_o(done_err),
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

  // ---------------------------------------------------------------------------------- the operation
  logic [31:0] size;
  logic full, fired, err_event, overflowed, refused, b_we;
  logic wanted, b_enough;
  logic [15:0] b_count;
  logic [25:0] b_period;
  logic [31:0] b_producer;
  dyn_t b_new;
  assign size = 32'd1 << b_cfg.log_size;
  assign full = b_dyn.head - b_dyn.consumer == size;
  assign slot = (b_dyn.head & (size - 32'd1)) << 5;
  assign b_solicited = b_op_q == OP_POST
      ? (b_req_q.flags & dingo_pkg::CQE_FLAGS_SOLICITED_MASK[7:0]) != '0 ||
        b_req_q.status != dingo_pkg::WCS_SUCCESS[7:0]
      : b_meta_solicited_q;
  assign wanted = b_dyn.armed && (b_solicited || !b_dyn.armed_solicited);
  // So many entries that none more is waited for; with the one that is done in this cycle
  assign b_count = moderates ? cfg_q.count : b_cfg.count;
  assign b_period = moderates ? cfg_q.period : b_cfg.period;
  assign b_producer = b_dyn.producer + {31'd0, b_op_q == OP_DONE};
  assign b_enough = b_period == '0 || (b_count != '0 && b_producer - b_dyn.counted_from >= {16'd0, b_count});
  always_comb begin
    entry = '0;
    entry.wqe_index = b_req_q.wqe_index;
    entry.byte_len = b_req_q.byte_len;
    entry.imm = b_req_q.imm;
    entry.qpn_op = b_req_q.qpn_op;
    entry.src_qpn = b_req_q.src_qpn;
    entry.ts_lo = now_ns_i[31:0];
    entry.ts_hi = now_ns_i[47:32];
    entry.status = b_req_q.status;
    entry.vendor_err = b_req_q.verr;
    entry.vlan = b_req_q.vlan;
    entry.flags = b_req_q.flags;
    entry.owner[0] = (b_dyn.head & size) == '0;
  end

  always_comb begin
    b_new = b_dyn;
    b_we = 1'b0;
    meta_push = 1'b0;
    fired = 1'b0;
    err_event = 1'b0;
    overflowed = 1'b0;
    refused = 1'b0;
    if (b_valid_q) begin
      case (b_op_q)
        OP_CFG: begin
          b_we = !cfg_q.resize || resizes;
          if (cfg_q.moderate) begin
            if (b_cfg.period == '0) b_new.first_at = now_ns_i;
            fired = b_dyn.waits && b_enough;
          end else begin
            b_new = '0;
            if (cfg_q.resize) begin    // armed as it was, with what waits
              b_new.armed = b_dyn.armed;
              b_new.armed_solicited = b_dyn.armed_solicited;
              b_new.arm_sn = b_dyn.arm_sn;
              b_new.waits = b_dyn.waits;
              b_new.counted_from = b_dyn.counted_from - b_dyn.producer;
              b_new.first_at = b_dyn.first_at;
            end
          end
        end
        OP_POST: begin
          b_we = 1'b1;
          if (!b_cfg.on || b_dyn.error) begin
            refused = 1'b1;
          end else if (full) begin
            refused = 1'b1;
            overflowed = 1'b1;
            err_event = 1'b1;
            b_new.error = 1'b1;
            fired = b_dyn.waits;
          end else begin
            meta_push = 1'b1;
            b_new.head = b_dyn.head + 32'd1;
          end
        end
        OP_DONE: begin
          b_we = 1'b1;
          if (b_dyn.error || b_err_q) begin
            refused = 1'b1;
            err_event = !b_dyn.error;
            b_new.error = 1'b1;
            fired = b_dyn.waits || (wanted && !b_err_q);  // it is there, when others overflowed meanwhile
          end else begin
            b_new.producer = b_producer;
            if (b_solicited) b_new.last_solicited = b_producer;
            if (!b_dyn.waits && b_dyn.producer == b_dyn.notified) b_new.first_at = now_ns_i;
            fired = (b_dyn.waits || wanted) && b_enough;
            b_new.waits = b_dyn.waits || wanted;
          end
        end
        OP_DUE: begin
          b_we = b_dyn.waits;
          fired = b_dyn.waits && b_dyn.first_at + {38'd0, b_period} <= now_ns_i;
        end
        default: ;
      endcase
      if (fired) begin
        b_new.waits = 1'b0;
        b_new.armed = 1'b0;
        b_new.notified = b_new.producer;
        b_new.counted_from = b_new.producer;
      end
    end
  end

  // A doorbell takes two cycles: is the consumer index possible; then what it means for the event.
  // An entry can be consumed a moment before the card learns that it is in host memory: then
  // the doorbell waits until that entry is done, so that the order of events is that of the host.
  dyn_t c_dyn_q, c_new;
  cfg_t c_cfg_q;
  logic c_known_q, c_in_ring_q, c_in_flight_q;
  rtl_pkg::cqi_t c_cq_q;
  logic c_take, c_drop, c_fired, c_fires, c_enough, c_pending, c_arm_new, c_solicited;
  logic [31:0] c_index, c_counted;
  assign c_index = db_q.index;
  assign c_take = c_valid_q && c_known_q && c_in_ring_q;
  assign db_hold = db_wait_q != '0;
  logic c_hold;
  assign c_hold = c_valid_q && c_known_q && !c_in_ring_q && c_in_flight_q && !db_final_q && meta_count != '0;
  assign c_drop = c_valid_q && !c_take && !c_hold;
  assign c_arm_new = db_word.arm_sn != c_dyn_q.arm_sn;
  assign c_solicited = db_word.arm && (!c_dyn_q.armed || c_dyn_q.armed_solicited);
  // Every comparison is made with both values that `notified` may get, beside the one that says which.
  logic c_moves, c_caught_up;
  logic [31:0] c_notified;
  assign c_moves = rtl_pkg::idx_before(c_dyn_q.notified, c_index);
  assign c_notified = c_moves ? c_index : c_dyn_q.notified;
  assign c_caught_up = c_moves ? rtl_pkg::idx_before(c_dyn_q.last_solicited, c_index) :
      rtl_pkg::idx_before(c_dyn_q.last_solicited, c_dyn_q.notified);
  logic c_enough_kept, c_enough_new, c_enough_old;
  assign c_enough_kept = c_dyn_q.producer - c_dyn_q.counted_from >= {16'd0, c_cfg_q.count};
  assign c_enough_new = c_dyn_q.producer - c_index >= {16'd0, c_cfg_q.count};
  assign c_enough_old = c_dyn_q.producer - c_dyn_q.notified >= {16'd0, c_cfg_q.count};
  always_comb begin
    c_new = c_dyn_q;
    c_new.consumer = c_index;
    c_new.notified = c_notified;
    if (c_caught_up) c_new.last_solicited = c_notified;
    if (c_solicited)
      c_pending = !c_caught_up && (c_moves ? c_dyn_q.last_solicited != c_index : c_dyn_q.last_solicited != c_dyn_q.notified);
    else c_pending = c_moves ? c_dyn_q.producer != c_index : c_dyn_q.producer != c_dyn_q.notified;
    c_counted = c_dyn_q.armed ? c_dyn_q.counted_from : c_notified;
    c_enough = c_cfg_q.period == '0 || c_dyn_q.error
        || (c_cfg_q.count != '0 && (c_dyn_q.armed ? c_enough_kept : c_moves ? c_enough_new : c_enough_old));
    c_fires = c_pending && !c_dyn_q.waits && c_enough;
    c_fired = c_take && c_arm_new && c_fires;
    if (c_arm_new) begin
      c_new.arm_sn = db_word.arm_sn;
      c_new.armed_solicited = c_solicited;
      c_new.counted_from = c_counted;
      c_new.armed = !c_fires;
      c_new.waits = c_dyn_q.waits || (c_pending && !c_fires);
      if (c_fires) begin
        c_new.notified = c_dyn_q.producer;
        c_new.counted_from = c_dyn_q.producer;
      end
    end
  end

  // ---------------------------------------------------------------------------------- deadlines
  // Set one cycle after its CQ changed: for an event that waits when it is due, else never.
  logic set_q, set_never_q, timers_ready;
  rtl_pkg::cqi_t set_cq_q;
  logic [63:0] set_from_q;
  logic [25:0] set_period_q;
  always_ff @(posedge clk_i) begin
    set_q <= rst_ni && (b_we || c_take) && (dyn_d.waits || (c_valid_q ? c_dyn_q.waits : b_dyn.waits));
    set_never_q <= !dyn_d.waits;
    set_cq_q <= dyn_waddr;
    set_from_q <= dyn_d.first_at;
    set_period_q <= c_valid_q ? c_cfg_q.period : b_period;
  end
  dingo_timers #(.Log(IdxW)) u_timers (
      .clk_i, .rst_ni, .ready_o(timers_ready), .now_ns_i, .set_i(set_q), .set_index_i(set_cq_q),
      .set_ns_i(set_never_q ? '1 : set_from_q + {38'd0, set_period_q}), .valid_o(timer_valid_o), .next_o(timer_next_o),
      .due_valid_o(due_valid), .due_ready_i(can_due), .due_index_o(due_cq)
  );

  assign dyn_d = c_valid_q ? c_new : b_new;
  assign dyn_we = b_we || c_take;
  assign dyn_waddr = c_valid_q ? c_cq_q : b_cq_q;
  assign dyn_wbits = dyn_d;

  logic index_ok;
  assign index_ok = db_word.object[23:IdxW] == '0;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      cfg_full_q <= 1'b0;
      db_full_q <= 1'b0;
      db_final_q <= 1'b0;
      db_wait_q <= '0;
      b_valid_q <= 1'b0;
      c_valid_q <= 1'b0;
      last_valid_q <= 1'b0;
    end else begin
      if (cfg_valid_i) cfg_full_q <= 1'b1;
      else if (can_cfg) cfg_full_q <= 1'b0;
      if (db_valid_i && db_ready_o) db_full_q <= 1'b1;
      else if (c_take || c_drop) db_full_q <= 1'b0;
      if (c_hold) begin
        db_wait_q <= meta_count - (LogFlight+1)'(can_done);
        db_final_q <= 1'b1;
      end else if (can_done && db_hold) begin
        db_wait_q <= db_wait_q - 1'b1;
      end
      if (c_take || c_drop) db_final_q <= 1'b0;
      b_valid_q <= issue;
      c_valid_q <= b_valid_q && b_op_q == OP_DB;
      last_valid_q <= b_we || c_take;
    end
    if (cfg_valid_i) cfg_q <= cfg_i;
    if (db_valid_i && db_ready_o) db_q <= db_i;
    if (issue) begin
      b_op_q <= can_cfg ? OP_CFG : can_done ? OP_DONE : can_due ? OP_DUE : can_db ? OP_DB : OP_POST;
      b_cq_q <= a_cq;
      b_err_q <= done_err;
      b_client_q <= can_done ? done_client : grant;
      b_meta_solicited_q <= done_solicited;
      b_qp_q <= can_done ? done_qp : granted.qp;
    end
    if (can_post && grant != '0) b_req_q <= granted;
    if (b_valid_q && b_op_q == OP_DB) begin
      c_cq_q <= b_cq_q;
      c_dyn_q <= b_dyn;
      c_known_q <= index_ok && b_cfg.on && b_cfg.db_page == db_q.page;
      c_in_ring_q <= c_ahead <= b_dyn.producer - b_dyn.consumer;
      c_in_flight_q <= c_ahead <= b_dyn.head - b_dyn.consumer;
      c_cfg_q <= b_cfg;
    end
    if (b_we || c_take) begin
      last_q <= dyn_d;
      last_cq_q <= dyn_waddr;
    end
  end
  logic [31:0] c_ahead;
  assign c_ahead = db_q.index - b_dyn.consumer;

  // ---------------------------------------------------------------------------------- what comes out
  logic req_fail_q, rsp_fail_q, etx_fail_q, erx_fail_q;
  rtl_pkg::qpi_t fail_qp_q;
  assign req_fail_valid_o = req_fail_q;
  assign rsp_fail_valid_o = rsp_fail_q;
  assign etx_fail_o = etx_fail_q;
  assign erx_fail_o = erx_fail_q;
  assign fail_qp_o = fail_qp_q;
  always_ff @(posedge clk_i) begin
    req_fail_q <= rst_ni && refused && b_client_q[0];
    rsp_fail_q <= rst_ni && refused && b_client_q[1];
    etx_fail_q <= rst_ni && refused && b_client_q[2];
    erx_fail_q <= rst_ni && refused && b_client_q[3];
    if (refused) fail_qp_q <= b_qp_q;
  end

  assign rsp_done_o = b_valid_q && b_client_q[1] && (b_op_q == OP_DONE || (b_op_q == OP_POST && refused));

  logic comp_ready, ev_ready, stat_ready;
  rtl_pkg::eqi_t comp_eq;
  rtl_pkg::cqi_t comp_cq, ev_cq;
  assign comp_eq = c_valid_q ? c_cfg_q.eq : b_cfg.eq;
  dingo_fifo #(
      .Width(rtl_pkg::EQ_LOG + IdxW),
      .LogDepth(2)
  ) u_comp (
      .clk_i,
      .rst_ni,
      .valid_i(fired || c_fired),
      .ready_o(comp_ready),
      .data_i({comp_eq, dyn_waddr}),
      .valid_o(comp_valid_o),
      .ready_i(comp_ready_i),
      .data_o({comp_eq_o, comp_cq}),
      .count_o(comp_count)
  );
  assign comp_cq_o = comp_cq;
  dingo_fifo #(
      .Width(IdxW),
      .LogDepth(2)
  ) u_ev (
      .clk_i,
      .rst_ni,
      .valid_i(err_event),
      .ready_o(ev_ready),
      .data_i(b_cq_q),
      .valid_o(ev_valid_o),
      .ready_i(ev_ready_i),
      .data_o(ev_cq),
      .count_o(ev_count)
  );
  assign ev_o.kind = dingo_pkg::EV_CQ_ERR[7:0];
  assign ev_o.id = 32'(ev_cq);
  assign ev_o.data = '0;
  dingo_fifo #(
      .Width(6),
      .LogDepth(2)
  ) u_stat (
      .clk_i,
      .rst_ni,
      .valid_i(overflowed || c_drop),
      .ready_o(stat_ready),
      .data_i(c_drop ? 6'(dingo_pkg::CARD_DB_DROPPED) : 6'(dingo_pkg::CARD_CQ_OVERFLOW)),
      .valid_o(stat_valid_o),
      .ready_i(stat_ready_i),
      .data_o(stat_idx),
      .count_o(stat_count)
  );
  logic [5:0] stat_idx;
  assign stat_o.idx = stat_idx;
  assign stat_o.by = 16'd1;

  assign due_o = due_valid || (timer_valid_o && timer_next_o <= now_ns_i);
  assign idle_o = !cfg_full_q && !db_full_q && !b_valid_q && !c_valid_q && meta_count == '0 && !set_q &&
                  comp_count == '0 && ev_count == '0 && stat_count == '0 && cqe_valid_i == '0;

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      nothing_lost: assert ((comp_ready || !(fired || c_fired)) && (ev_ready || !err_event) &&
          (stat_ready || !(overflowed || c_drop)) && (!meta_push || (meta_ready && ring_ready)));
      one_at_a_time: assert (!(b_valid_q && c_valid_q && b_we && c_take));
      done_is_known: assert (!done_valid || meta_valid);
      from_its_client: assert (!b_valid_q || b_op_q != OP_POST || !(b_client_q[0] || b_client_q[1]) ||
          b_req_q.from_rsp == b_client_q[1]);
      ring_bound: assert (!meta_push || b_dyn.head - b_dyn.consumer < size);
      commands_one_by_one: assert (!cfg_valid_i || !(cfg_full_q || (b_valid_q && b_op_q == OP_CFG)));
      resized_at_rest: assert (!resizes || (meta_count == '0 && b_dyn.head == b_dyn.producer));
    end
  end

  wire unused_ok = &{1'b0, b_req_q.cq, b_req_q.qp, c_cfg_q, now_ns_i[63:48], db_word};
endmodule
