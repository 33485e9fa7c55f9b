// SPDX-License-Identifier: BSD-2-Clause

/// What a request's headers say against the responder's context: the checks of RC and UC in the order of the
/// specification, each as one bit; dingo_rsp_receive acts on the first that fails. Combinational.
module dingo_rsp_check (
    input  rsp_pkg::rctx_t     ctx_i,
    input  rtl_pkg::qp_cfg_t   cfg_i,
    input  rtl_pkg::rxh_t      h_i,
    output rsp_pkg::request_t  rq_o
);
  logic [4:0] op;
  logic [23:0] distance;               // from the expected PSN
  logic [12:0] pmtu;
  logic [31:0] remaining, bytes;
  logic rc, uc, send, write, read, atomic, first, last, imm, inv;
  logic duplicate, order_ok, valid_ok, takes_rq, rd_ok, rd_cancel, fits;
  logic [3:0] rd_slot;

  assign op = h_i.opcode[4:0];
  assign rc = cfg_i.kind == dingo_pkg::QPT_RC[2:0];
  assign uc = cfg_i.kind == dingo_pkg::QPT_UC[2:0];
  assign send = op <= roce_pkg::OP_SEND_ONLY_IMM || inv;
  assign inv = op == roce_pkg::OP_SEND_LAST_INV || op == roce_pkg::OP_SEND_ONLY_INV;
  assign write = op >= roce_pkg::OP_WRITE_FIRST && op <= roce_pkg::OP_WRITE_ONLY_IMM;
  assign read = op == roce_pkg::OP_READ_REQUEST;
  assign atomic = op == roce_pkg::OP_COMPARE_SWAP || op == roce_pkg::OP_FETCH_ADD;
  assign first = op == roce_pkg::OP_SEND_FIRST || op == roce_pkg::OP_SEND_ONLY || op == roce_pkg::OP_SEND_ONLY_IMM
                 || op == roce_pkg::OP_WRITE_FIRST || op == roce_pkg::OP_WRITE_ONLY
                 || op == roce_pkg::OP_WRITE_ONLY_IMM || op == roce_pkg::OP_SEND_ONLY_INV || read || atomic;
  assign last = (op >= roce_pkg::OP_SEND_LAST && op <= roce_pkg::OP_SEND_ONLY_IMM)
                || (op >= roce_pkg::OP_WRITE_LAST && op <= roce_pkg::OP_WRITE_ONLY_IMM) || inv || read || atomic;
  assign imm = op == roce_pkg::OP_SEND_LAST_IMM || op == roce_pkg::OP_SEND_ONLY_IMM
                 || op == roce_pkg::OP_WRITE_LAST_IMM || op == roce_pkg::OP_WRITE_ONLY_IMM;

  assign distance = h_i.psn - ctx_i.exp_psn;
  assign duplicate = distance[23];

  always_comb begin
    case (ctx_i.message)
      rsp_pkg::MSG_SEND: order_ok = send && !first;
      rsp_pkg::MSG_WRITE: order_ok = write && !first;
      default: order_ok = first;
    endcase
  end
  assign valid_ok = (!atomic || (cfg_i.access & dingo_pkg::ACC_REMOTE_ATOMIC[4:0]) != '0)
                      && (!write || (cfg_i.access & dingo_pkg::ACC_REMOTE_WRITE[4:0]) != '0)
                      && (!read || (cfg_i.access & dingo_pkg::ACC_REMOTE_READ[4:0]) != '0);
  assign takes_rq = send || (imm && last);

  logic [7:0] slots;
  assign slots = cfg_i.max_dest_rd;
  assign rd_slot = ctx_i.rd_take;
  assign rd_cancel = ctx_i.rd_pending[rd_slot] && ctx_i.rd_answered[rd_slot];
  assign rd_ok = {3'b0, ctx_i.rd_inflight} < slots && (!ctx_i.rd_pending[rd_slot] || ctx_i.rd_answered[rd_slot]);

  assign pmtu = rtl_pkg::pmtu_bytes(cfg_i.path_mtu);
  assign bytes = {19'b0, h_i.len};
  assign remaining = first ? h_i.dma_len : ctx_i.remaining;
  always_comb begin
    if (send || write)
      fits = (last ? h_i.len <= pmtu && (first || h_i.len != '0) : h_i.len == pmtu)
               && (!write || ((last ? bytes == remaining : bytes < remaining) && remaining <= dingo_pkg::MAX_MSG));
    else fits = h_i.len == '0 && h_i.dma_len <= dingo_pkg::MAX_MSG && (!atomic || h_i.va[2:0] == '0);
  end

  assign rq_o.ud = !rc && !uc;
  assign rq_o.fetch = read || atomic;
  assign rq_o.ahead = !distance[23] && distance != '0;
  assign rq_o.rc = rc;
  assign rq_o.uc = uc;
  assign rq_o.send = send;
  assign rq_o.write = write;
  assign rq_o.read = read;
  assign rq_o.atomic = atomic;
  assign rq_o.first = first;
  assign rq_o.last = last;
  assign rq_o.imm = imm;
  assign rq_o.inv = inv;
  assign rq_o.duplicate = duplicate;
  assign rq_o.order_ok = order_ok;
  assign rq_o.valid_ok = valid_ok;
  assign rq_o.takes_rq = takes_rq;
  assign rq_o.rd_ok = rd_ok;
  assign rq_o.rd_cancel = rd_cancel;
  assign rq_o.rd_slot = rd_slot;
  assign rq_o.fits = fits;

  wire unused_ok = &{1'b0, ctx_i, cfg_i, h_i};
endmodule
