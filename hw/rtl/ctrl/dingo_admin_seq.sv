// SPDX-License-Identifier: BSD-2-Clause

/// State machine of the admin queue: starts the parts in their order and collects the content of the completion.
module dingo_admin_seq (
    input  logic               clk_i,
    input  logic               rst_ni,
    output logic               idle_o,
    input  logic               aq_enable_i,
    input  logic [31:0]        asq_producer_i,
    output logic [31:0]        consumer_o,        // commands completed since enabling
    input  logic [31:0]        op_i,
    input  admin_pkg::needs_t  needs_i,
    output admin_pkg::state_t  state_o,
    output logic               again_o,           // the second cycle of FORGET
    output logic               cq_second_o,       // the receive CQ of a QP
    output admin_pkg::start_t  start_o,
    output admin_pkg::result_t result_o,
    output logic               irq_o,             // pulse: the completion is in host memory
    output logic               error_o,           // COUNT: counts the error; the command was counted before
    // the parts
    input  admin_pkg::ended_t  fetch_i,
    input  admin_pkg::judged_t check_i,
    input  logic               at_rest_i,
    input  logic [31:0]        verdict_i,
    input  logic [31:0]        modify_detail_i,
    input  logic               attach_done_i,
    input  admin_pkg::judged_t attach_i,
    input  logic               mrw_done_i,
    input  logic               qpa_valid_i,
    input  rtl_pkg::answers_t  answers_i,
    input  logic               clear_ready_i,
    input  logic               compute_ready_i,
    input  admin_pkg::ended_t  out_i,
    input  logic               stat_ready_i,
    input  admin_pkg::ended_t  reply_i
);
  admin_pkg::state_t state_q;
  admin_pkg::result_t result_q;
  admin_pkg::start_t start;
  logic [31:0] consumer_q;
  logic enable_q;
  logic [2:0] settle_q;               // counts the 8 cycles of the checks (multicycle paths)
  logic req_seen_q, rsp_seen_q;
  logic cq_second_q;                  // the receive CQ of a QP
  logic counted_q, forgot_q;
  logic counted_all;                  // the command is counted, and its error if it has one
  logic irq_q, decided;

  assign consumer_o = consumer_q;
  assign state_o = state_q;
  assign again_o = forgot_q;
  assign cq_second_o = cq_second_q;
  assign start_o = start;
  assign result_o = result_q;
  assign irq_o = irq_q;
  assign error_o = counted_q;
  assign counted_all = counted_q || result_q.status == dingo_pkg::ST_OK;
  assign idle_o = (state_q == admin_pkg::IDLE && !irq_q && !start.fetch && aq_enable_i == enable_q) || state_q == admin_pkg::DEAD;

  // Starts of the parts
  assign decided = state_q == admin_pkg::DECIDE && &settle_q && verdict_i == dingo_pkg::ST_OK;
  assign start.fetch = state_q == admin_pkg::IDLE && aq_enable_i && enable_q && asq_producer_i != consumer_q;
  assign start.halt = state_q == admin_pkg::CHECK && &settle_q && check_i.status == dingo_pkg::ST_OK
      && op_i != dingo_pkg::OP_NOP && needs_i.halt;
  assign start.attach = decided && needs_i.attach;
  assign start.out = (decided && needs_i.out)
      || (state_q == admin_pkg::ENGINE && req_seen_q && rsp_seen_q && op_i == dingo_pkg::OP_QUERY_QP);
  assign start.stats = decided && op_i == dingo_pkg::OP_QUERY_STATS && needs_i.stats_len != '0;
  assign start.reply = state_q == admin_pkg::COUNT && stat_ready_i && counted_all;

  always_ff @(posedge clk_i) begin
    irq_q <= 1'b0;
    if (!rst_ni) begin
      state_q      <= admin_pkg::IDLE;
      enable_q     <= 1'b0;
      consumer_q   <= '0;
      settle_q     <= '0;
    end else begin
      settle_q <= state_q == admin_pkg::CHECK || state_q == admin_pkg::DECIDE ? settle_q + 1'b1 : '0;
      // Enabling starts both rings at index 0.
      if (state_q == admin_pkg::IDLE) begin
        enable_q <= aq_enable_i;
        if (!aq_enable_i || !enable_q) consumer_q <= '0;
      end
      case (state_q)
        admin_pkg::IDLE:
        if (start.fetch) begin
          state_q  <= admin_pkg::FETCH;
          result_q.status <= dingo_pkg::ST_OK;
          result_q.detail <= '0;
          result_q.result <= '0;
          result_q.available <= '0;
          counted_q <= 1'b0;
          forgot_q <= 1'b0;
          cq_second_q <= 1'b0;
        end
        admin_pkg::FETCH: if (fetch_i.done) state_q <= fetch_i.failed ? admin_pkg::DEAD : admin_pkg::CHECK;
        admin_pkg::CHECK:
        if (&settle_q) begin
          result_q.status <= check_i.status;
          result_q.detail <= check_i.detail;
          if (check_i.status != dingo_pkg::ST_OK) state_q <= admin_pkg::COUNT;
          else if (op_i == dingo_pkg::OP_NOP) state_q <= admin_pkg::COUNT;
          else state_q <= needs_i.halt ? admin_pkg::HALT : admin_pkg::LOOKUP;
        end
        admin_pkg::HALT: if (at_rest_i) state_q <= admin_pkg::LOOKUP;
        admin_pkg::LOOKUP: state_q <= admin_pkg::LOOKED;
        admin_pkg::LOOKED: state_q <= admin_pkg::DECIDE;
        admin_pkg::DECIDE:
        if (&settle_q) begin
          result_q.status <= verdict_i;
          if (verdict_i == dingo_pkg::ST_BAD_FIELD)
            result_q.detail <= op_i == dingo_pkg::OP_MODIFY_SRQ ? dingo_pkg::CMD_MODIFY_SRQ_LIMIT_AT : modify_detail_i;
          req_seen_q   <= 1'b0;
          rsp_seen_q   <= 1'b0;
          if (verdict_i != dingo_pkg::ST_OK) state_q <= admin_pkg::COUNT;
          else if (op_i == dingo_pkg::OP_QUERY_STATS) begin
            result_q.result <= {32'd0, needs_i.stats_len};
            state_q  <= start.stats ? admin_pkg::OUT : admin_pkg::COUNT;
          end else if (op_i == dingo_pkg::OP_QUERY_DEVICE) state_q <= start.out ? admin_pkg::OUT : admin_pkg::COUNT;
          else state_q <= start.attach ? admin_pkg::ATTACH : admin_pkg::WRITE;
        end
        admin_pkg::ATTACH:
        if (attach_done_i) begin
          result_q.status <= attach_i.status;
          if (attach_i.status == dingo_pkg::ST_BAD_FIELD) result_q.detail <= attach_i.detail;
          state_q <= attach_i.status == dingo_pkg::ST_OK ? admin_pkg::WRITE : admin_pkg::COUNT;
        end
        admin_pkg::WRITE: begin
          if (op_i == dingo_pkg::OP_CREATE_QP || op_i == dingo_pkg::OP_DESTROY_QP) cq_second_q <= 1'b1;
          case (op_i)
            dingo_pkg::OP_DESTROY_CQ: state_q <= admin_pkg::FORGET;
            dingo_pkg::OP_DESTROY_EQ, dingo_pkg::OP_REREG_MR, dingo_pkg::OP_DESTROY_ETH: state_q <= admin_pkg::AFTER;
            dingo_pkg::OP_DESTROY_MR: state_q <= admin_pkg::DROP_MR;
            dingo_pkg::OP_RESIZE_CQ: state_q <= admin_pkg::RESIZE;
            dingo_pkg::OP_CREATE_SRQ, dingo_pkg::OP_DESTROY_SRQ, dingo_pkg::OP_MODIFY_SRQ, dingo_pkg::OP_QUERY_SRQ: state_q <= admin_pkg::SRQ;
            dingo_pkg::OP_SET_COMPUTE: state_q <= admin_pkg::COMPUTE;
            dingo_pkg::OP_CREATE_QP, dingo_pkg::OP_DESTROY_QP: state_q <= admin_pkg::USERS;
            dingo_pkg::OP_MODIFY_QP, dingo_pkg::OP_QUERY_QP: state_q <= admin_pkg::ENGINE;
            default: state_q <= admin_pkg::COUNT;
          endcase
        end
        admin_pkg::DROP_MR: if (mrw_done_i) state_q <= admin_pkg::AFTER;
        admin_pkg::UNBIND: if (mrw_done_i) state_q <= admin_pkg::COUNT;
        admin_pkg::RESIZE:
        if (answers_i.cq_valid) begin
          if (answers_i.cq.error) result_q.status <= dingo_pkg::ST_BAD_STATE;
          else result_q.result <= {32'd0, answers_i.cq.producer};
          state_q <= admin_pkg::AFTER;            // the host may free the old ring's page list
        end
        admin_pkg::SRQ:
        if (answers_i.srqa_done) begin
          if (op_i == dingo_pkg::OP_QUERY_SRQ) begin
            result_q.result <= {48'd0, answers_i.srq.limit};
            result_q.available <= answers_i.srq.available;
          end
          state_q <= op_i == dingo_pkg::OP_DESTROY_SRQ ? admin_pkg::FORGET : admin_pkg::COUNT;
        end
        admin_pkg::USERS: state_q <= admin_pkg::ENGINE;
        admin_pkg::ENGINE:
        if (req_seen_q && rsp_seen_q) begin
          if (op_i == dingo_pkg::OP_QUERY_QP) state_q <= admin_pkg::OUT;
          else if (op_i == dingo_pkg::OP_CREATE_QP) state_q <= admin_pkg::CLEARC;
          else state_q <= admin_pkg::AFTER;
        end
        admin_pkg::CLEARC: if (clear_ready_i) state_q <= admin_pkg::COMPUTE;
        admin_pkg::AFTER: state_q <= op_i == dingo_pkg::OP_DESTROY_QP ? admin_pkg::FORGET : needs_i.to_reset ? admin_pkg::COMPUTE : admin_pkg::COUNT;
        admin_pkg::COMPUTE: if (compute_ready_i) state_q <= needs_i.to_reset ? admin_pkg::UNBIND : admin_pkg::COUNT;
        admin_pkg::FORGET: begin
          forgot_q <= 1'b1;
          if (op_i == dingo_pkg::OP_DESTROY_QP) state_q <= admin_pkg::UNBIND;
          else if (forgot_q) state_q <= admin_pkg::COUNT;
        end
        admin_pkg::OUT:
        if (out_i.done) begin
          if (out_i.failed) begin
            result_q.status <= dingo_pkg::ST_BUS_ERROR;
            result_q.result <= '0;
          end
          state_q <= admin_pkg::COUNT;
        end
        admin_pkg::COUNT:
        if (stat_ready_i) begin
          counted_q <= 1'b1;
          if (counted_all) state_q <= admin_pkg::REPLY;
        end
        admin_pkg::REPLY:
        if (reply_i.done) begin
          consumer_q <= consumer_q + 1'b1;
          irq_q      <= !reply_i.failed;
          state_q    <= reply_i.failed ? admin_pkg::DEAD : admin_pkg::IDLE;
        end
        default: ;  // DEAD: until reset
      endcase
      if (qpa_valid_i) begin
        req_seen_q <= 1'b0;
        rsp_seen_q <= 1'b0;
      end
      if (answers_i.req_done) req_seen_q <= 1'b1;
      if (answers_i.rsp_done) rsp_seen_q <= 1'b1;
    end
  end

  wire unused_ok = &{1'b0, answers_i};
endmodule
