// SPDX-License-Identifier: BSD-2-Clause

/// Table of SRQs for commands: existence, the fixed fields of CREATE_SRQ, and the number of QPs that use each, which
/// prevents DESTROY_SRQ. Producer, consumer and limit are in the responder (dingo_rsp_srq).
module dingo_admin_srqs (
    input  logic              clk_i,
    input  logic              rst_ni,
    input  logic [1023:0]     cmd_i,
    input  rtl_pkg::qp_cfg_t  cfg_i,         // the command's QP
    input  logic              lookup_i,      // one cycle; entry_o and limit_ok_o are valid in the next
    input  logic              write_i,       // one cycle: execute the command
    output logic              there_o,       // the command's SRQ exists
    output logic              used_o,        // a QP uses it
    output logic              limit_ok_o,    // MODIFY_SRQ: the limit is not above its number of entries
    output rtl_pkg::srq_cfg_t entry_o,       // CREATE_QP: entry of its SRQ
    output logic              valid_o,       // srq_o is written: CREATE_SRQ or DESTROY_SRQ, with write_i
    output rtl_pkg::srq_cfg_t srq_o,         // new entry
    output rtl_pkg::srqa_req_t srqa_o        // order to the responder
);
  localparam int unsigned Srqs = 1 << rtl_pkg::SRQ_LOG;
  localparam int unsigned EntryW = rtl_pkg::PD_BITS + 8 + 103;

  logic [31:0] op, asked;
  dingo_pkg::admin_hdr_t hdr;
  dingo_pkg::cmd_create_srq_t create;
  dingo_pkg::mem_t ring;
  dingo_pkg::cmd_modify_srq_t modify;
  dingo_pkg::cmd_create_qp_t qp;
  dingo_pkg::cmd_destroy_t destroy;
  assign hdr = cmd_i[dingo_pkg::ADMIN_HDR_W-1:0];
  assign create = cmd_i[dingo_pkg::CMD_CREATE_SRQ_W-1:0];
  assign ring = create.ring;
  assign modify = cmd_i[dingo_pkg::CMD_MODIFY_SRQ_W-1:0];
  assign qp = cmd_i[dingo_pkg::CMD_CREATE_QP_W-1:0];
  assign destroy = cmd_i[dingo_pkg::CMD_DESTROY_W-1:0];
  assign op = 32'(hdr.opcode);

  always_comb
    case (op)
      dingo_pkg::OP_CREATE_SRQ: asked = create.srqn;
      dingo_pkg::OP_MODIFY_SRQ: asked = modify.srqn;
      dingo_pkg::OP_CREATE_QP: asked = qp.srqn;
      dingo_pkg::OP_DESTROY_QP: asked = cfg_i.has_srq ? 32'(cfg_i.srq) : dingo_pkg::INVALID_ID;
      default: asked = destroy.id;
    endcase

  logic [Srqs-1:0] there_q;
  logic [15:0] users_q[0:Srqs-1];
  logic [15:0] users;
  rtl_pkg::srqi_t srqi;
  assign srqi = asked[rtl_pkg::SRQ_LOG-1:0];
  assign there_o = asked < Srqs && there_q[srqi];
  assign users = users_q[srqi];
  assign used_o = users != '0;

  always_comb begin
    srq_o = '0;
    srq_o.srq = srqi;
    if (op == dingo_pkg::OP_CREATE_SRQ) begin
      srq_o.on = 1'b1;
      srq_o.db_page = create.db_page[rtl_pkg::DB_PAGE_LOG-1:0];
      srq_o.pdn = create.pdn[rtl_pkg::PD_BITS-1:0];
      srq_o.log_size = create.log_size[3:0];
      srq_o.log_stride = create.log_stride[3:0];
      srq_o.mem = {ring.levels[1:0], ring.page_shift[4:0], ring.offset, ring.addr};
    end
  end
  assign valid_o = write_i && (op == dingo_pkg::OP_CREATE_SRQ || op == dingo_pkg::OP_DESTROY_SRQ);

  always_comb begin
    srqa_o.op = op == dingo_pkg::OP_CREATE_SRQ ? rtl_pkg::SRQA_CREATE : op == dingo_pkg::OP_MODIFY_SRQ ? rtl_pkg::SRQA_MODIFY
        : op == dingo_pkg::OP_DESTROY_SRQ ? rtl_pkg::SRQA_DESTROY : rtl_pkg::SRQA_QUERY;
    srqa_o.srq = srqi;
    srqa_o.log_size = create.log_size[3:0];
    srqa_o.limit = op == dingo_pkg::OP_CREATE_SRQ ? create.limit[15:0] : modify.limit[15:0];
  end

  logic [EntryW-1:0] entry;
  dingo_ram #(
      .Width(EntryW),
      .LogDepth(rtl_pkg::SRQ_LOG)
  ) u_entries (
      .clk_i, .we_i(valid_o), .waddr_i(srqi), .wdata_i({srq_o.pdn, srq_o.log_size, srq_o.log_stride, srq_o.mem}),
      .re_i(lookup_i), .raddr_i(srqi), .rdata_o(entry)
  );
  always_comb begin
    entry_o = '0;
    entry_o.on = 1'b1;
    entry_o.srq = srqi;
    entry_o.pdn = entry[111 +: rtl_pkg::PD_BITS];
    entry_o.log_size = entry[107 +: 4];
    entry_o.log_stride = entry[103 +: 4];
    entry_o.mem = entry[102:0];
  end
  assign limit_ok_o = modify.limit <= 32'd1 << entry_o.log_size;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) there_q <= '0;
    else if (valid_o) there_q[srqi] <= srq_o.on;
    if (valid_o) users_q[srqi] <= '0;
    else if (write_i && there_o && op == dingo_pkg::OP_CREATE_QP) users_q[srqi] <= users + 1'b1;
    else if (write_i && there_o && op == dingo_pkg::OP_DESTROY_QP) users_q[srqi] <= users - 1'b1;
    if (rst_ni) a_users: assert (!(write_i && there_o && op == dingo_pkg::OP_DESTROY_QP) || used_o);
  end

  wire unused_ok = &{1'b0, cmd_i, cfg_i, hdr, create, modify, ring, qp, destroy, srq_o};
endmodule
