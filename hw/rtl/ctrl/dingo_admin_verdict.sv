// SPDX-License-Identifier: BSD-2-Clause

/// Checks a command against the tables: existence, state and users of its objects. Combinational; dingo_admin_seq reads
/// the result after 8 cycles.
module dingo_admin_verdict (
    input  logic [1023:0]   cmd_i,
    input  rtl_pkg::qp_t    qp_i,              // table entry of the command's QP
    input  logic            qp_found_i,        // the command's QPN is that of an existing QP
    input  rtl_pkg::mr_t    mr_i,
    input  logic [31:0]     modify_status_i,   // dingo_admin_modify
    input  logic            kernel_known_i,    // QUERY_COMPUTE: the kernel exists
    input  logic            cq_there_i,        // from dingo_admin_users, up to eth_there_i
    input  logic            cq_used_i,
    input  logic            eq_there_i,
    input  logic            eq_used_i,
    input  logic            send_cq_there_i,
    input  logic            recv_cq_there_i,
    input  logic            async_i,
    input  logic            eth_there_i,
    input  logic            srq_there_i,       // from dingo_admin_srqs, up to srq_limit_ok_i
    input  logic            srq_used_i,
    input  logic            srq_limit_ok_i,
    output logic [31:0]     status_o           // enum st
);
  logic [31:0] op;
  logic eq_async, mr_windows, mr_owned;
  dingo_pkg::admin_hdr_t hdr;
  dingo_pkg::cmd_create_eq_t eq;
  dingo_pkg::cmd_query_stats_t qs;
  dingo_pkg::cmd_destroy_t destroy;
  dingo_pkg::cmd_create_mr_t mr;
  dingo_pkg::cmd_create_qp_t qp;
  dingo_pkg::cmd_set_compute_t sc;
  assign hdr = cmd_i[dingo_pkg::ADMIN_HDR_W-1:0];
  assign eq = cmd_i[dingo_pkg::CMD_CREATE_EQ_W-1:0];
  assign qs = cmd_i[dingo_pkg::CMD_QUERY_STATS_W-1:0];
  assign destroy = cmd_i[dingo_pkg::CMD_DESTROY_W-1:0];
  assign mr = cmd_i[dingo_pkg::CMD_CREATE_MR_W-1:0];
  assign qp = cmd_i[dingo_pkg::CMD_CREATE_QP_W-1:0];
  assign sc = cmd_i[dingo_pkg::CMD_SET_COMPUTE_W-1:0];
  assign op = 32'(hdr.opcode);
  // the low 8 bits of a key belong to the consumer and are not compared
  assign mr_owned = 32'(destroy.id[31:16]) < 32'd1 << rtl_pkg::MR_LOG && mr_i.valid && mr_i.tag[15:8] == destroy.id[15:8];
  assign mr_windows = mr_i.kind == dingo_pkg::MRT_MR[2:0] && mr_i.more != '0;  // windows are bound to the region
  assign eq_async = (eq.flags & 8'(dingo_pkg::CMD_CREATE_EQ_FLAGS_ASYNC_MASK)) != '0;

  always_comb begin
    status_o = dingo_pkg::ST_OK;
    case (op)
      dingo_pkg::OP_CREATE_EQ: if (eq_there_i || (eq_async && async_i)) status_o = dingo_pkg::ST_IN_USE;
      dingo_pkg::OP_DESTROY_EQ:
        if (!eq_there_i) status_o = dingo_pkg::ST_BAD_ID;
        else if (eq_used_i) status_o = dingo_pkg::ST_BUSY;
      dingo_pkg::OP_CREATE_CQ:
        if (cq_there_i) status_o = dingo_pkg::ST_IN_USE;
        else if (!eq_there_i) status_o = dingo_pkg::ST_BAD_ID;
      dingo_pkg::OP_DESTROY_CQ:
        if (!cq_there_i) status_o = dingo_pkg::ST_BAD_ID;
        else if (cq_used_i) status_o = dingo_pkg::ST_BUSY;
      dingo_pkg::OP_RESIZE_CQ, dingo_pkg::OP_MODIFY_CQ: if (!cq_there_i) status_o = dingo_pkg::ST_BAD_ID;
      dingo_pkg::OP_REREG_MR:          // compares the whole key
        if (32'(mr.old_key[31:16]) >= 32'd1 << rtl_pkg::MR_LOG || !mr_i.valid || mr_i.tag != mr.old_key[15:0]) status_o = dingo_pkg::ST_BAD_ID;
        else if (mr_i.kind != dingo_pkg::MRT_MR[2:0]) status_o = dingo_pkg::ST_BAD_STATE;
        else if (mr_windows) status_o = dingo_pkg::ST_BUSY;
      dingo_pkg::OP_CREATE_MR: if (mr_i.valid) status_o = dingo_pkg::ST_IN_USE;
      dingo_pkg::OP_DESTROY_MR:
        if (!mr_owned) status_o = dingo_pkg::ST_BAD_ID;
        else if (mr_windows) status_o = dingo_pkg::ST_BUSY;
      dingo_pkg::OP_PAUSE_MR:
        if (!mr_owned) status_o = dingo_pkg::ST_BAD_ID;
        else if (mr_i.kind != dingo_pkg::MRT_MR[2:0]) status_o = dingo_pkg::ST_BAD_STATE;
      dingo_pkg::OP_CREATE_QP:
        if (qp_i.cfg.valid) status_o = dingo_pkg::ST_IN_USE;
        else if (!send_cq_there_i || !recv_cq_there_i || (qp.srqn != dingo_pkg::INVALID_ID && !srq_there_i)) status_o = dingo_pkg::ST_BAD_ID;
      dingo_pkg::OP_DESTROY_QP, dingo_pkg::OP_QUERY_QP: if (!qp_found_i) status_o = dingo_pkg::ST_BAD_ID;
      dingo_pkg::OP_MODIFY_QP: status_o = qp_found_i ? modify_status_i : dingo_pkg::ST_BAD_ID;
      dingo_pkg::OP_SET_COMPUTE:  // only before the QP can send, or receive
        if (!qp_found_i) status_o = dingo_pkg::ST_BAD_ID;
        else if (qp_i.state > (sc.direction == dingo_pkg::COMPUTE_RECEIVE ? 3'(dingo_pkg::QPS_INIT) : 3'(dingo_pkg::QPS_RTR)))
          status_o = dingo_pkg::ST_BAD_STATE;
      dingo_pkg::OP_QUERY_COMPUTE: if (!kernel_known_i) status_o = dingo_pkg::ST_BAD_ID;
      dingo_pkg::OP_QUERY_STATS: if (qs.scope[0] && !qp_found_i) status_o = dingo_pkg::ST_BAD_ID;
      dingo_pkg::OP_CREATE_SRQ: if (srq_there_i) status_o = dingo_pkg::ST_IN_USE;
      dingo_pkg::OP_DESTROY_SRQ:
        if (!srq_there_i) status_o = dingo_pkg::ST_BAD_ID;
        else if (srq_used_i) status_o = dingo_pkg::ST_BUSY;
      dingo_pkg::OP_MODIFY_SRQ:
        if (!srq_there_i) status_o = dingo_pkg::ST_BAD_ID;
        else if (!srq_limit_ok_i) status_o = dingo_pkg::ST_BAD_FIELD;
      dingo_pkg::OP_QUERY_SRQ: if (!srq_there_i) status_o = dingo_pkg::ST_BAD_ID;
      dingo_pkg::OP_CREATE_ETH:
        if (eth_there_i) status_o = dingo_pkg::ST_IN_USE;
        else if (!cq_there_i) status_o = dingo_pkg::ST_BAD_ID;
      dingo_pkg::OP_DESTROY_ETH: if (!eth_there_i) status_o = dingo_pkg::ST_BAD_ID;
      default: ;
    endcase
  end

  wire unused_ok = &{1'b0, cmd_i, hdr, eq, qs, destroy, mr, qp, sc, qp_i, mr_i};
endmodule
