// SPDX-License-Identifier: BSD-2-Clause

/// Completion queues: writes entries of four clients into rings in host memory, and gives completion events. The event
/// of an entry follows when the entry is in host memory. A CQ that overflows or cannot be written fails: it gives event
/// CQ_ERR once, and each later entry for it gives `fail` for its QP or Ethernet ring. With moderation (MODIFY_CQ) an
/// event waits for a number of entries or the end of a period. A pipeline of one operation a cycle (a doorbell takes
/// two); it stalls when the queues of dingo_cq_tell are full; new entries also when 16 are on their way to host memory.
module dingo_cq (
    input  logic        clk_i,
    input  logic        rst_ni,
    output logic        idle_o,
    input  logic        halt_i,          // give no waiting events, so that idle_o stays set
    output logic        due_o,           // the deadline of a waiting event may have passed
    output logic        timer_valid_o,   // a waiting event may have a deadline
    output logic [63:0] timer_next_o,    // no deadline is before this time
    input  logic        xl_flush_i,
    input  logic [63:0] now_ns_i,
    input  logic        cfg_valid_i,     // create or resize (index and phase start again), moderate or destroy
    input  rtl_pkg::cq_cfg_t     cfg_i,
    output logic        info_valid_o,    // one cycle: answer to a resize
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
    output logic        etx_fail_o,         // fail_qp_o is the ring's number
    output logic        erx_fail_o,
    output logic        rsp_done_o,      // one cycle: the responder's oldest entry is in host memory or was dropped
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
  localparam int unsigned FlightW = cq_pkg::LOG_FLIGHT + 1;

  // ---------------------------------------------------------------------------------- the next operation
  logic cfg_full_q;
  rtl_pkg::cq_cfg_t cfg_q;
  cq_pkg::work_t b_q;              // the operation in work
  rtl_pkg::cqe_req_t b_req_q;      // OP_POST
  cq_pkg::pick_t pick;
  logic issue, room, post_room, tell_room, table_ready, timers_ready;
  logic [cq_pkg::CLIENTS-1:0] grant;
  rtl_pkg::cqe_req_t granted;
  logic bell_full, bell_waits, bell_busy, bell_drop;
  rtl_pkg::cqi_t bell_cq, due_cq, next_cq;
  logic due_valid, due_idle, tell_idle;
  cq_pkg::cfg_t cfg;
  cq_pkg::dyn_t dyn;
  cq_pkg::outcome_t step, bell, outcome;
  cq_pkg::fate_t fate;

  // entries on their way to host memory
  logic [FlightW-1:0] flight;
  logic done_valid, done_err, done_known, done_solicited, meta_ready, ring_ready;
  rtl_pkg::cqi_t done_cq;
  rtl_pkg::qpi_t done_qp;
  logic [cq_pkg::CLIENTS-1:0] done_client;

  assign room = tell_room && table_ready && timers_ready &&
                !(b_q.valid && (b_q.op == cq_pkg::OP_DB || b_q.op == cq_pkg::OP_CFG));
  assign post_room = flight + FlightW'(b_q.valid && b_q.op == cq_pkg::OP_POST) < FlightW'(1 << cq_pkg::LOG_FLIGHT);
  dingo_cq_next i_next (
      .clk_i, .rst_ni, .room_i(room), .cfg_valid_i(cfg_full_q), .done_valid_i(done_valid), .due_valid_i(due_valid && !halt_i),
      .db_valid_i(bell_waits), .db_room_i(!bell_busy), .post_room_i(post_room), .cqe_valid_i, .cqe_ready_o, .cqe_i,
      .issue_o(issue), .pick_o(pick), .grant_o(grant), .granted_o(granted)
  );
  assign next_cq = pick.cfg ? cfg_q.cq : pick.done ? done_cq : pick.due ? due_cq : pick.db ? bell_cq : granted.cq;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) cfg_full_q <= 1'b0;
    else if (cfg_valid_i) cfg_full_q <= 1'b1;
    else if (pick.cfg) cfg_full_q <= 1'b0;
    if (cfg_valid_i) cfg_q <= cfg_i;
    b_q.valid <= rst_ni && issue;
    if (issue) begin
      b_q.op <= pick.cfg ? cq_pkg::OP_CFG : pick.done ? cq_pkg::OP_DONE : pick.due ? cq_pkg::OP_DUE
          : pick.db ? cq_pkg::OP_DB : cq_pkg::OP_POST;
      b_q.cq <= next_cq;
      b_q.refused <= done_err;
      b_q.solicited <= done_solicited;
      b_q.client <= pick.done ? done_client : grant;
      b_q.qp <= pick.done ? done_qp : granted.qp;
    end
    if (pick.post && grant != '0) b_req_q <= granted;
  end

  // ---------------------------------------------------------------------------------- the operation
  logic b_cfg_op, resizes, moderates, solicited;
  logic [31:0] slot;
  dingo_pkg::cqe_t entry;
  assign b_cfg_op = b_q.valid && b_q.op == cq_pkg::OP_CFG;
  assign resizes = b_cfg_op && cfg_q.resize && !dyn.error;
  assign moderates = b_cfg_op && cfg_q.moderate;
  assign info_valid_o = b_cfg_op && cfg_q.resize;
  assign info_o.error = dyn.error;
  assign info_o.producer = dyn.producer;
  assign rsp_done_o = b_q.valid && b_q.client[1] && (b_q.op == cq_pkg::OP_DONE || (b_q.op == cq_pkg::OP_POST && fate.refused));

  dingo_cq_table i_table (
      .clk_i, .rst_ni, .ready_o(table_ready), .re_i(issue), .cq_i(next_cq), .asked_i(b_q.cq), .cfg_o(cfg), .dyn_o(dyn),
      .cmd_i(cfg_q), .take_i(pick.cfg), .resizes_i(resizes), .moderates_i(moderates), .outcome_i(outcome)
  );
  dingo_cq_step i_step (
      .work_i(b_q), .req_i(b_req_q), .cmd_i(cfg_q), .resizes_i(resizes), .moderates_i(moderates), .cfg_i(cfg), .dyn_i(dyn),
      .now_ns_i, .solicited_o(solicited), .slot_o(slot), .entry_o(entry), .fate_o(fate), .outcome_o(step)
  );
  dingo_cq_bell i_bell (
      .clk_i, .rst_ni, .db_valid_i, .db_ready_o, .db_i, .full_o(bell_full), .waits_o(bell_waits), .cq_o(bell_cq), .work_i(b_q),
      .cfg_i(cfg), .dyn_i(dyn), .flight_i(flight), .done_i(pick.done), .busy_o(bell_busy), .drop_o(bell_drop), .outcome_o(bell)
  );
  always_comb begin
    outcome = bell_busy ? bell : step;
    outcome.we = step.we || bell.we;
    outcome.fired = step.fired || bell.fired;
  end
  dingo_cq_due i_due (
      .clk_i, .rst_ni, .ready_o(timers_ready), .idle_o(due_idle), .now_ns_i, .outcome_i(outcome), .timer_valid_o, .timer_next_o,
      .due_valid_o(due_valid), .due_ready_i(pick.due), .due_cq_o(due_cq)
  );

  // ---------------------------------------------------------------------------------- outputs
  logic [cq_pkg::CLIENTS-1:0] fail;
  assign {erx_fail_o, etx_fail_o, rsp_fail_valid_o, req_fail_valid_o} = fail;
  dingo_cq_tell i_tell (
      .clk_i, .rst_ni, .room_o(tell_room), .idle_o(tell_idle), .work_i(b_q), .fate_i(fate), .outcome_i(outcome), .drop_i(bell_drop),
      .fail_o(fail), .fail_qp_o, .comp_valid_o, .comp_ready_i, .comp_eq_o, .comp_cq_o, .ev_valid_o, .ev_ready_i, .ev_o,
      .stat_valid_o, .stat_ready_i, .stat_o
  );
  dingo_fifo #(
      .Width(rtl_pkg::CQ_LOG + rtl_pkg::QP_LOG + 5),
      .LogDepth(cq_pkg::LOG_FLIGHT)
  ) u_meta (
      .clk_i,
      .rst_ni,
      .valid_i(fate.push),
      .ready_o(meta_ready),
      .data_i({b_q.cq, b_q.qp, b_q.client, solicited}),
      .valid_o(done_known),
      .ready_i(pick.done),
      .data_o({done_cq, done_qp, done_client, done_solicited}),
      .count_o(flight)
  );
  dingo_ring_write #(
      .Bytes(32),
      .LogDepth(cq_pkg::LOG_FLIGHT)
  ) u_ring (
      .clk_i, .rst_ni, .xl_flush_i, .valid_i(fate.push), .ready_o(ring_ready), .mem_i(cfg.mem), .off_i(slot), .data_i(entry),
      .done_valid_o(done_valid), .done_ready_i(pick.done), .done_err_o(done_err), .write_valid_o, .write_ready_i, .write_o,
      .wdata_valid_o, .wdata_ready_i, .wdata_o, .done_valid_i, .done_err_i, .line_valid_o, .line_ready_i, .line_o,
      .line_rsp_valid_i, .line_rsp_i
  );

  assign due_o = due_valid || (timer_valid_o && timer_next_o <= now_ns_i);
  assign idle_o = !cfg_full_q && !bell_full && !b_q.valid && !bell_busy && flight == '0 && due_idle && tell_idle &&
                  cqe_valid_i == '0;

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      nothing_lost: assert (!fate.push || (meta_ready && ring_ready));
      one_at_a_time: assert (!(b_q.valid && bell_busy && step.we && bell.we));
      done_is_known: assert (!done_valid || done_known);
      from_its_client: assert (!b_q.valid || b_q.op != cq_pkg::OP_POST || !(b_q.client[0] || b_q.client[1]) ||
          b_req_q.from_rsp == b_q.client[1]);
      ring_bound: assert (!fate.push || dyn.head - dyn.consumer < 32'd1 << cfg.log_size);
      commands_one_by_one: assert (!cfg_valid_i || !(cfg_full_q || b_cfg_op));
      resized_at_rest: assert (!resizes || (flight == '0 && dyn.head == dyn.producer));
    end
  end

  wire unused_ok = &{1'b0, b_req_q.cq, b_req_q.qp};
endmodule
