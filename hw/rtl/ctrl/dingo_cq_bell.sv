// SPDX-License-Identifier: BSD-2-Clause

/// A doorbell of a CQ, in two cycles: check of the consumer index; then its effect on arming and event. The host can
/// consume an entry before the response of its write reaches the card. Such a doorbell waits until the entries in
/// flight are done, so that events are in the host's order.
module dingo_cq_bell (
    input  logic                      clk_i,
    input  logic                      rst_ni,
    input  logic                      db_valid_i,
    output logic                      db_ready_o,
    input  rtl_pkg::db_t              db_i,
    output logic                      full_o,     // holds a doorbell
    output logic                      waits_o,    // it may begin
    output rtl_pkg::cqi_t             cq_o,       // its CQ
    input  cq_pkg::work_t             work_i,     // OP_DB: first cycle, with cfg_i and dyn_i of its CQ
    input  cq_pkg::cfg_t              cfg_i,
    input  cq_pkg::dyn_t              dyn_i,
    input  logic [cq_pkg::LOG_FLIGHT:0] flight_i, // entries on their way to host memory
    input  logic                      done_i,     // one of them is done in this cycle
    output logic                      busy_o,     // second cycle: outcome_o is valid
    output logic                      drop_o,     // dropped: bad CQ, page or index
    output cq_pkg::outcome_t          outcome_o
);
  localparam int unsigned IdxW = rtl_pkg::CQ_LOG;
  localparam int unsigned FlightW = cq_pkg::LOG_FLIGHT + 1;

  logic db_full_q, db_final_q;
  logic [FlightW-1:0] db_wait_q;  // entries in flight that must be done before the doorbell begins again
  rtl_pkg::db_t db_q;
  rtl_pkg::db_word_t db_word;
  cq_pkg::dyn_t c_dyn_q, c_new;
  cq_pkg::cfg_t c_cfg_q;
  logic c_valid_q, c_known_q, c_in_ring_q, c_in_flight_q;
  rtl_pkg::cqi_t c_cq_q;
  logic begins, hold, index_ok;
  logic [31:0] ahead;
  assign db_word = db_q.word0;
  assign db_ready_o = !db_full_q;
  assign full_o = db_full_q;
  assign waits_o = db_full_q && !hold;
  assign cq_o = db_word.object[IdxW-1:0];
  assign begins = work_i.valid && work_i.op == cq_pkg::OP_DB;
  assign index_ok = db_word.object[23:IdxW] == '0;
  assign ahead = db_q.index - dyn_i.consumer;

  logic c_take, c_drop, c_hold, c_fired, c_fires, c_enough, c_pending, c_arm_new, c_solicited;
  logic [31:0] c_index, c_counted;
  assign c_index = db_q.index;
  assign c_take = c_valid_q && c_known_q && c_in_ring_q;
  assign hold = db_wait_q != '0;
  assign c_hold = c_valid_q && c_known_q && !c_in_ring_q && c_in_flight_q && !db_final_q && flight_i != '0;
  assign c_drop = c_valid_q && !c_take && !c_hold;
  assign c_arm_new = db_word.arm_sn != c_dyn_q.arm_sn;
  assign c_solicited = db_word.arm && (!c_dyn_q.armed || c_dyn_q.armed_solicited);
  // For timing, comparisons are made with both possible values of `notified` in parallel to the choice between them.
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
  assign busy_o = c_valid_q;
  assign drop_o = c_drop;
  assign outcome_o.we = c_take;
  assign outcome_o.fired = c_fired;
  assign outcome_o.waited = c_dyn_q.waits;
  assign outcome_o.cq = c_cq_q;
  assign outcome_o.eq = c_cfg_q.eq;
  assign outcome_o.period = c_cfg_q.period;
  assign outcome_o.dyn = c_new;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      db_full_q <= 1'b0;
      db_final_q <= 1'b0;
      db_wait_q <= '0;
      c_valid_q <= 1'b0;
    end else begin
      if (db_valid_i && db_ready_o) db_full_q <= 1'b1;
      else if (c_take || c_drop) db_full_q <= 1'b0;
      if (c_hold) begin
        db_wait_q <= flight_i - FlightW'(done_i);
        db_final_q <= 1'b1;
      end else if (done_i && hold) begin
        db_wait_q <= db_wait_q - 1'b1;
      end
      if (c_take || c_drop) db_final_q <= 1'b0;
      c_valid_q <= begins;
    end
    if (db_valid_i && db_ready_o) db_q <= db_i;
    if (begins) begin
      c_cq_q <= work_i.cq;
      c_dyn_q <= dyn_i;
      c_known_q <= index_ok && cfg_i.on && cfg_i.db_page == db_q.page;
      c_in_ring_q <= ahead <= dyn_i.producer - dyn_i.consumer;
      c_in_flight_q <= ahead <= dyn_i.head - dyn_i.consumer;
      c_cfg_q <= cfg_i;
    end
  end

  wire unused_ok = &{1'b0, work_i, c_cfg_q, db_word};
endmodule
