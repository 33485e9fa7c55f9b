// SPDX-License-Identifier: BSD-2-Clause

/// State of the SRQs. A step of the responder that may take an entry, a doorbell's or a command's step loads the state
/// of its SRQ and writes it at its end; such steps do not overlap. An entry stays taken even when its QP fails, since
/// other QPs may have taken later ones.
module dingo_rsp_srq (
    input  logic                clk_i,
    input  logic                load_i,
    input  rtl_pkg::srqi_t      srq_i,         // stable until write_i
    output rsp_pkg::srq_t       state_o,       // from the cycle after load_i until the next load_i
    // at the end of a step:
    input  logic                write_i,
    input  rsp_pkg::step_t      step_i,        // RXP, SRQ_DB or SRQA
    input  logic [31:0]         cons_i,        // RXP: new consumer index
    input  logic                bus_i,         // RXP: the entry that was taken could not be read
    input  logic [31:0]         db_index_i,
    input  rtl_pkg::srqa_req_t  srqa_i,
    output rsp_pkg::emit_t      emit_o,
    output logic                db_bad_o,      // the index is impossible for the ring, or the SRQ failed
    output rtl_pkg::srq_info_t  info_o         // SRQA: state before the command
);
  rsp_pkg::srq_t state, state_d;
  logic [rsp_pkg::SRQ_W-1:0] state_bits;
  dingo_ram #(
      .Width(rsp_pkg::SRQ_W),
      .LogDepth(rtl_pkg::SRQ_LOG)
  ) u_states (
      .clk_i, .we_i(write_i), .waddr_i(srq_i), .wdata_i(state_d), .re_i(load_i), .raddr_i(srq_i), .rdata_o(state_bits)
  );
  assign state = rsp_pkg::srq_t'(state_bits);
  assign state_o = state;

  logic [31:0] held, db_held, left;
  logic db_bad, few;
  assign held = state.prod - state.cons;
  assign db_held = db_index_i - state.cons;
  assign db_bad = state.error || db_held > 32'd1 << state.log_size || db_held < held;
  assign db_bad_o = step_i == rsp_pkg::STEP_SRQ_DB && db_bad;
  assign info_o.limit = state.limit;
  assign info_o.available = held;

  // The limit's event fires once: when an entry is taken, or at once when a MODIFY sets a limit above the entries left.
  assign left = step_i == rsp_pkg::STEP_RXP ? state.prod - cons_i : held;
  always_comb begin
    state_d = state;
    few = 1'b0;
    emit_o = '0;
    case (step_i)
      rsp_pkg::STEP_SRQ_DB: begin
        if (!db_bad) state_d.prod = db_index_i;
        emit_o.stat = db_bad;
        emit_o.stat_idx = 6'(dingo_pkg::CARD_DB_DROPPED);
      end
      rsp_pkg::STEP_SRQA:
      case (srqa_i.op)
        rtl_pkg::SRQA_CREATE: begin
          state_d = '0;
          state_d.log_size = srqa_i.log_size;
          state_d.limit = srqa_i.limit;
        end
        rtl_pkg::SRQA_MODIFY: begin
          state_d.limit = srqa_i.limit;
          few = 1'b1;
        end
        default: ;
      endcase
      default: begin
        state_d.cons = cons_i;
        state_d.error = state.error || bus_i;
        few = cons_i != state.cons;
      end
    endcase
    if (few && left < 32'(state_d.limit)) begin
      state_d.limit = '0;
      emit_o.ev = 1'b1;
      emit_o.ev_kind = dingo_pkg::EV_SRQ_LIMIT[7:0];
    end
  end

  wire unused_ok = &{1'b0, srqa_i};
endmodule
