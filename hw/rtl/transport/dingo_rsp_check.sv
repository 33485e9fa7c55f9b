// SPDX-License-Identifier: BSD-2-Clause

/// Checks a request's headers against the responder's context: the checks of RC and UC in the order of the
/// specification, a bit for each; the responder acts on the first that fails. Combinational.
module dingo_rsp_check (
    input  rsp_pkg::rctx_t     ctx_i,
    input  rtl_pkg::qp_cfg_t   cfg_i,
    input  rtl_pkg::rxh_t      h_i,
    output logic send_o,
    output logic write_o,
    output logic read_o,
    output logic atomic_o,
    output logic first_o,
    output logic last_o,
    output logic imm_o,
    output logic inv_o,             // invalidates a key
    output logic duplicate_o,       // PSN before the expected one
    output logic ahead_o,           // PSN after the expected one
    output logic order_ok_o,        // the opcode may follow in the message in progress, or begins one
    output logic valid_ok_o,        // the QP's access flags allow the operation
    output logic takes_rq_o,        // needs a receive WQE
    output logic rd_ok_o,           // READ, atomic: its slot is free
    output logic rd_cancel_o,       // its slot holds a repetition, which is cancelled
    output logic [3:0] rd_slot_o,
    output logic fits_o             // payload length (atomic: also alignment) is right
);
  logic [4:0] op;
  logic [23:0] ahead;
  logic [12:0] pmtu;
  logic [31:0] remaining, bytes;
  logic invalidate;

  assign op = h_i.opcode[4:0];
  assign send_o = op <= roce_pkg::OP_SEND_ONLY_IMM || invalidate;
  assign invalidate = op == roce_pkg::OP_SEND_LAST_INV || op == roce_pkg::OP_SEND_ONLY_INV;
  assign write_o = op >= roce_pkg::OP_WRITE_FIRST && op <= roce_pkg::OP_WRITE_ONLY_IMM;
  assign read_o = op == roce_pkg::OP_READ_REQUEST;
  assign atomic_o = op == roce_pkg::OP_COMPARE_SWAP || op == roce_pkg::OP_FETCH_ADD;
  assign first_o = op == roce_pkg::OP_SEND_FIRST || op == roce_pkg::OP_SEND_ONLY || op == roce_pkg::OP_SEND_ONLY_IMM
                   || op == roce_pkg::OP_WRITE_FIRST || op == roce_pkg::OP_WRITE_ONLY || op == roce_pkg::OP_WRITE_ONLY_IMM
                   || op == roce_pkg::OP_SEND_ONLY_INV || read_o || atomic_o;
  assign last_o = (op >= roce_pkg::OP_SEND_LAST && op <= roce_pkg::OP_SEND_ONLY_IMM)
                  || (op >= roce_pkg::OP_WRITE_LAST && op <= roce_pkg::OP_WRITE_ONLY_IMM) || invalidate || read_o || atomic_o;
  assign imm_o = op == roce_pkg::OP_SEND_LAST_IMM || op == roce_pkg::OP_SEND_ONLY_IMM
                 || op == roce_pkg::OP_WRITE_LAST_IMM || op == roce_pkg::OP_WRITE_ONLY_IMM;

  assign ahead = h_i.psn - ctx_i.exp_psn;
  assign duplicate_o = ahead[23];
  assign ahead_o = !ahead[23] && ahead != '0;

  always_comb begin
    case (ctx_i.message)
      rsp_pkg::MSG_SEND: order_ok_o = send_o && !first_o;
      rsp_pkg::MSG_WRITE: order_ok_o = write_o && !first_o;
      default: order_ok_o = first_o;
    endcase
  end
  assign inv_o = invalidate;
  assign valid_ok_o = (!atomic_o || (cfg_i.access & dingo_pkg::ACC_REMOTE_ATOMIC[4:0]) != '0)
                      && (!write_o || (cfg_i.access & dingo_pkg::ACC_REMOTE_WRITE[4:0]) != '0)
                      && (!read_o || (cfg_i.access & dingo_pkg::ACC_REMOTE_READ[4:0]) != '0);
  assign takes_rq_o = send_o || (imm_o && last_o);

  logic [7:0] slots;
  assign slots = cfg_i.max_dest_rd;
  assign rd_slot_o = ctx_i.rd_take;
  assign rd_cancel_o = ctx_i.rd_pending[rd_slot_o] && ctx_i.rd_answered[rd_slot_o];
  assign rd_ok_o = {3'b0, ctx_i.rd_inflight} < slots && (!ctx_i.rd_pending[rd_slot_o] || ctx_i.rd_answered[rd_slot_o]);

  assign pmtu = rtl_pkg::pmtu_bytes(cfg_i.path_mtu);
  assign bytes = {19'b0, h_i.len};
  assign remaining = first_o ? h_i.dma_len : ctx_i.remaining;
  always_comb begin
    if (send_o || write_o)
      fits_o = (last_o ? h_i.len <= pmtu && (first_o || h_i.len != '0) : h_i.len == pmtu)
               && (!write_o || ((last_o ? bytes == remaining : bytes < remaining) && remaining <= dingo_pkg::MAX_MSG));
    else fits_o = h_i.len == '0 && h_i.dma_len <= dingo_pkg::MAX_MSG && (!atomic_o || h_i.va[2:0] == '0);
  end

  wire unused_ok = &{1'b0, ctx_i, cfg_i, h_i};
endmodule
