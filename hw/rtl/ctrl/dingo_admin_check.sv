// SPDX-License-Identifier: BSD-2-Clause

/// Checks of an admin command that need no table: opcode, capability, reserved fields, ranges. detail_o is the byte
/// offset of the first wrong field in the contract's order. Combinational, a multicycle path of 8 cycles. MODIFY_QP is
/// checked in dingo_admin_modify because its checks depend on the QP.
module dingo_admin_check (
    input  logic            judge_i,    // the result is used; saves simulation time when 0
    input  logic [1023:0]   cmd_i,
    input  rtl_pkg::strap_t strap_i,
    output logic [31:0]     status_o,   // enum st
    output logic [31:0]     detail_o,
    output logic            halt_o      // the command needs the card at rest
);
  localparam int unsigned QP_MOST = (1 << rtl_pkg::QP_LOG) - 2;
  localparam int unsigned CQ_MOST = 1 << rtl_pkg::CQ_LOG;
  localparam int unsigned MR_MOST = 1 << rtl_pkg::MR_LOG;
  localparam int unsigned SRQ_MOST = 1 << rtl_pkg::SRQ_LOG;

  function automatic logic access_ok(input logic [31:0] access);
    access_ok = (access & ~32'h1f) == 32'd0 && ((access & 32'ha) == 32'd0 || access[0]);
  endfunction

  dingo_pkg::admin_hdr_t hdr;
  dingo_pkg::cmd_query_device_t qd;
  dingo_pkg::cmd_query_stats_t qs;
  dingo_pkg::cmd_set_port_t sp;
  dingo_pkg::cmd_set_mac_t sm;
  dingo_pkg::cmd_set_gid_t sg;
  dingo_pkg::cmd_create_eq_t eq;
  dingo_pkg::cmd_destroy_t destroy;
  dingo_pkg::cmd_create_cq_t cq;
  dingo_pkg::cmd_modify_cq_t mod;
  dingo_pkg::cmd_create_mr_t mr;
  dingo_pkg::cmd_create_qp_t qp;
  dingo_pkg::cmd_query_qp_t qq;
  dingo_pkg::cmd_create_srq_t srq;
  dingo_pkg::cmd_create_eth_t eth;
  dingo_pkg::cmd_set_rss_t rss;
  dingo_pkg::cmd_set_compute_t sc;
  assign hdr = cmd_i[dingo_pkg::ADMIN_HDR_W-1:0];
  assign qd = cmd_i[dingo_pkg::CMD_QUERY_DEVICE_W-1:0];
  assign qs = cmd_i[dingo_pkg::CMD_QUERY_STATS_W-1:0];
  assign sp = cmd_i[dingo_pkg::CMD_SET_PORT_W-1:0];
  assign sm = cmd_i[dingo_pkg::CMD_SET_MAC_W-1:0];
  assign sg = cmd_i[dingo_pkg::CMD_SET_GID_W-1:0];
  assign eq = cmd_i[dingo_pkg::CMD_CREATE_EQ_W-1:0];
  assign destroy = cmd_i[dingo_pkg::CMD_DESTROY_W-1:0];
  assign cq = cmd_i[dingo_pkg::CMD_CREATE_CQ_W-1:0];
  assign mod = cmd_i[dingo_pkg::CMD_MODIFY_CQ_W-1:0];
  assign mr = cmd_i[dingo_pkg::CMD_CREATE_MR_W-1:0];
  assign qp = cmd_i[dingo_pkg::CMD_CREATE_QP_W-1:0];
  assign qq = cmd_i[dingo_pkg::CMD_QUERY_QP_W-1:0];
  assign srq = cmd_i[dingo_pkg::CMD_CREATE_SRQ_W-1:0];
  assign eth = cmd_i[dingo_pkg::CMD_CREATE_ETH_W-1:0];
  assign rss = cmd_i[dingo_pkg::CMD_SET_RSS_W-1:0];
  assign sc = cmd_i[dingo_pkg::CMD_SET_COMPUTE_W-1:0];

  logic kernel_known;
  logic [31:0] smallest_param, largest_param;
  logic [319:0] unused_result;
  dingo_compute_info i_kernel (
      .index_i(sc.kernel), .known_o(kernel_known), .smallest_o(smallest_param), .largest_o(largest_param),
      .result_o(unused_result)
  );

  logic known, qpn_ok;
  logic [31:0] needs;    // capabilities; all ones: not implemented
  logic [7:0] size;      // bytes of the command's structure
  logic bad;
  logic [31:0] at, op;
  logic gid_zero;
  logic length_ok, resize, rereg;
  logic receives;        // SET_COMPUTE for the receive side, which is not withheld

  assign resize = op == dingo_pkg::OP_RESIZE_CQ;
  assign rereg = op == dingo_pkg::OP_REREG_MR;
  assign receives = sc.direction == dingo_pkg::COMPUTE_RECEIVE && (strap_i.withheld & dingo_pkg::CAP_COMPUTE_RX) == '0;
  assign gid_zero = sg.gid == '0;
  assign length_ok = mr.length != '0 && mr.length <= 64'h1_0000_0000_0000;
  assign qpn_ok = qp.kind == 8'(dingo_pkg::QPT_GSI) ? qp.qpn == dingo_pkg::QPN_GSI
      : qp.qpn < 32'h100_0000 && qp.qpn[15:0] >= 16'd2 && 32'(qp.qpn[15:0]) - 32'd2 < strap_i.max_qp
        && 32'(qp.qpn[15:0]) - 32'd2 < QP_MOST;

  assign op = 32'(hdr.opcode);
  dingo_admin_kind i_kind (
      .op_i(op), .known_o(known), .needs_o(needs), .size_o(size), .halt_o
  );

  // Memory of the command; CREATE_QP has a second one, rq.
  dingo_pkg::mem_t mem;
  logic mem_none, mem_ring, mem_bad, rq_bad;
  logic [63:0] mem_bytes;
  logic [31:0] mem_at, rq_at;
  always_comb begin
    mem_none = 1'b0;
    mem_ring = 1'b1;
    case (op)
      dingo_pkg::OP_CREATE_EQ: begin mem = eq.ring; mem_bytes = 64'd16 << eq.log_size[4:0]; end
      dingo_pkg::OP_CREATE_QP: begin mem = qp.sq; mem_bytes = 64'd64 << qp.log_sq[4:0]; end
      dingo_pkg::OP_CREATE_SRQ: begin mem = srq.ring; mem_bytes = 64'd1 << (6'(srq.log_size[3:0]) + 6'(srq.log_stride[3:0])); end
      dingo_pkg::OP_CREATE_ETH: begin mem = eth.mem; mem_bytes = 64'd16 << eth.log_size[4:0]; end
      dingo_pkg::OP_CREATE_MR, dingo_pkg::OP_REREG_MR: begin
        mem = mr.mem;
        mem_bytes = mr.length;
        mem_ring = 1'b0;
        mem_none = mr.kind != 8'(dingo_pkg::MRT_MR);
      end
      default: begin mem = cq.ring; mem_bytes = 64'd32 << cq.log_size[4:0]; end
    endcase
  end
  dingo_admin_mem i_mem (
      .mem_i(mem), .none_i(mem_none), .ring_i(mem_ring), .bytes_i(mem_bytes), .bad_o(mem_bad), .at_o(mem_at)
  );
  dingo_admin_mem i_rq (
      .mem_i(qp.rq), .none_i(qp.srqn != dingo_pkg::INVALID_ID), .ring_i(qp.srqn == dingo_pkg::INVALID_ID),
      .bytes_i(64'd1 << (6'(qp.log_rq[3:0]) + 6'(qp.log_rq_stride[3:0]))), .bad_o(rq_bad), .at_o(rq_at)
  );

`define BAD(condition, offset) if (!bad && (condition)) begin bad = 1'b1; at = (offset); end

  always_comb begin
    bad = 1'b0;
    at = '0;
    `BAD(hdr.rsvd != '0, dingo_pkg::ADMIN_HDR_RSVD_AT)
    if (judge_i && !bad) begin
      for (int i = 127; i >= 8; i--)
        if (8'(i) >= size && cmd_i[i*8+:8] != 8'd0) begin
          bad = 1'b1;
          at = i;
        end
    end
    case (op)
      dingo_pkg::OP_QUERY_DEVICE: begin
        `BAD(qd.out_addr[2:0] != '0, dingo_pkg::CMD_QUERY_DEVICE_OUT_ADDR_AT)
        `BAD(qd.rsvd != '0, dingo_pkg::CMD_QUERY_DEVICE_RSVD_AT)
      end
      dingo_pkg::OP_QUERY_STATS: begin
        `BAD(qs.out_addr[2:0] != '0, dingo_pkg::CMD_QUERY_STATS_OUT_ADDR_AT)
        `BAD(qs.out_len[2:0] != '0, dingo_pkg::CMD_QUERY_STATS_OUT_LEN_AT)
        `BAD(qs.scope > 32'd1, dingo_pkg::CMD_QUERY_STATS_SCOPE_AT)
        `BAD(qs.scope == '0 && qs.id != '0, dingo_pkg::CMD_QUERY_STATS_ID_AT)
        `BAD(qs.rsvd != '0, dingo_pkg::CMD_QUERY_STATS_RSVD_AT)
      end
      dingo_pkg::OP_QUERY_COMPUTE: begin
        `BAD(destroy.rsvd != '0, dingo_pkg::CMD_DESTROY_RSVD_AT)
      end
      dingo_pkg::OP_SET_COMPUTE: begin
        `BAD(sc.qpn == dingo_pkg::QPN_GSI, dingo_pkg::CMD_SET_COMPUTE_QPN_AT)
        `BAD(!kernel_known, dingo_pkg::CMD_SET_COMPUTE_KERNEL_AT)
        `BAD(sc.param < smallest_param || sc.param > largest_param, dingo_pkg::CMD_SET_COMPUTE_PARAM_AT)
        `BAD(sc.direction != dingo_pkg::COMPUTE_SEND && !receives, dingo_pkg::CMD_SET_COMPUTE_DIRECTION_AT)
        `BAD(sc.rsvd1 != '0, dingo_pkg::CMD_SET_COMPUTE_RSVD1_AT)
      end
      dingo_pkg::OP_SET_PORT: begin
        `BAD((sp.flags & ~32'd7) != '0, dingo_pkg::CMD_SET_PORT_FLAGS_AT)
        `BAD(sp.mtu < dingo_pkg::MIN_MTU || sp.mtu > dingo_pkg::MAX_MTU, dingo_pkg::CMD_SET_PORT_MTU_AT)
      end
      dingo_pkg::OP_SET_MAC: begin
        `BAD(sm.index >= 32'd1 << rtl_pkg::MAC_LOG, dingo_pkg::CMD_SET_MAC_INDEX_AT)
        `BAD(sm.valid > 8'd1, dingo_pkg::CMD_SET_MAC_VALID_AT)
        `BAD(sm.rsvd0 != '0, dingo_pkg::CMD_SET_MAC_RSVD0_AT)
        `BAD(sm.valid[0] && (sm.mac == '0 || (sm.index == '0 && sm.mac[0])), dingo_pkg::CMD_SET_MAC_MAC_AT)
        `BAD(sm.rsvd1 != '0, dingo_pkg::CMD_SET_MAC_RSVD1_AT)
      end
      dingo_pkg::OP_SET_GID: begin
        `BAD(sg.index >= 32'd1 << rtl_pkg::GID_LOG, dingo_pkg::CMD_SET_GID_INDEX_AT)
        `BAD(sg.valid > 8'd1, dingo_pkg::CMD_SET_GID_VALID_AT)
        `BAD(sg.rsvd0 != '0, dingo_pkg::CMD_SET_GID_RSVD0_AT)
        `BAD(sg.valid[0] && (sg.mac == '0 || sg.mac[0]), dingo_pkg::CMD_SET_GID_MAC_AT)
        `BAD(sg.valid[0] && sg.vlan > 16'd4094 && sg.vlan != 16'(dingo_pkg::VLAN_NONE), dingo_pkg::CMD_SET_GID_VLAN_AT)
        `BAD(sg.domain != '0, dingo_pkg::CMD_SET_GID_DOMAIN_AT) // no capability GID_DOMAINS
        `BAD(sg.valid[0] && gid_zero, dingo_pkg::CMD_SET_GID_GID_AT)
      end
      dingo_pkg::OP_CREATE_EQ: begin
        `BAD(eq.eqn >= 32'd1 << rtl_pkg::EQ_LOG, dingo_pkg::CMD_CREATE_EQ_EQN_AT)
        `BAD(eq.vector >= 16'(dingo_pkg::MSIX_MAX), dingo_pkg::CMD_CREATE_EQ_VECTOR_AT)
        `BAD(eq.log_size > 8'(dingo_pkg::MAX_LOG_EQ), dingo_pkg::CMD_CREATE_EQ_LOG_SIZE_AT)
        `BAD(eq.flags > 8'd1, dingo_pkg::CMD_CREATE_EQ_FLAGS_AT)
        `BAD(mem_bad, dingo_pkg::CMD_CREATE_EQ_RING_AT + mem_at)
        `BAD(eq.rsvd != '0, dingo_pkg::CMD_CREATE_EQ_RSVD_AT)
      end
      dingo_pkg::OP_CREATE_CQ, dingo_pkg::OP_RESIZE_CQ: begin
        if (resize) begin
          `BAD(cq.eqn != '0, dingo_pkg::CMD_CREATE_CQ_EQN_AT)
          `BAD(cq.db_page != '0, dingo_pkg::CMD_CREATE_CQ_DB_PAGE_AT)
        end else begin
          `BAD(cq.cqn >= strap_i.max_cq || cq.cqn >= CQ_MOST, dingo_pkg::CMD_CREATE_CQ_CQN_AT)
          `BAD(cq.db_page >= 32'd1 << rtl_pkg::DB_PAGE_LOG, dingo_pkg::CMD_CREATE_CQ_DB_PAGE_AT)
        end
        `BAD(cq.log_size > 8'(dingo_pkg::MAX_LOG_CQ), dingo_pkg::CMD_CREATE_CQ_LOG_SIZE_AT)
        `BAD(cq.flags != '0, dingo_pkg::CMD_CREATE_CQ_FLAGS_AT)
        `BAD(cq.rsvd0 != '0, dingo_pkg::CMD_CREATE_CQ_RSVD0_AT)
        `BAD(mem_bad, dingo_pkg::CMD_CREATE_CQ_RING_AT + mem_at)
        `BAD(cq.rsvd1 != '0, dingo_pkg::CMD_CREATE_CQ_RSVD1_AT)
      end
      dingo_pkg::OP_MODIFY_CQ: begin
        `BAD(mod.rsvd != '0, dingo_pkg::CMD_MODIFY_CQ_RSVD_AT)
      end
      dingo_pkg::OP_CREATE_MR, dingo_pkg::OP_REREG_MR: begin
        `BAD(rereg ? mr.key[31:16] != mr.old_key[31:16] : 32'(mr.key[31:16]) >= strap_i.max_mr || 32'(mr.key[31:16]) >= MR_MOST, dingo_pkg::CMD_CREATE_MR_KEY_AT)
        `BAD(mr.pdn >= 32'd65536, dingo_pkg::CMD_CREATE_MR_PDN_AT)
        `BAD(rereg ? mr.kind != 8'(dingo_pkg::MRT_MR) : mr.kind > 8'(dingo_pkg::MRT_MW2), dingo_pkg::CMD_CREATE_MR_KIND_AT)
        `BAD(mr.rsvd0 != '0, dingo_pkg::CMD_CREATE_MR_RSVD0_AT)
        if (mr.kind == 8'(dingo_pkg::MRT_MR)) begin
          `BAD(!access_ok(mr.access), dingo_pkg::CMD_CREATE_MR_ACCESS_AT)
          `BAD(!length_ok, dingo_pkg::CMD_CREATE_MR_LENGTH_AT)
          `BAD(mr.length - 64'd1 > ~mr.iova, dingo_pkg::CMD_CREATE_MR_IOVA_AT)
          `BAD(mem_bad, dingo_pkg::CMD_CREATE_MR_MEM_AT + mem_at)
        end else if (mr.kind <= 8'(dingo_pkg::MRT_FRWR)) begin
          `BAD(!access_ok(mr.access), dingo_pkg::CMD_CREATE_MR_ACCESS_AT)
          `BAD(mem_bad, dingo_pkg::CMD_CREATE_MR_MEM_AT + mem_at)
          `BAD(mr.iova != '0, dingo_pkg::CMD_CREATE_MR_IOVA_AT)
          `BAD(mr.length == '0 || (mr.kind == 8'(dingo_pkg::MRT_FRWR) && (mr.length[11:0] != '0 || mr.length > 64'h20_0000)), dingo_pkg::CMD_CREATE_MR_LENGTH_AT)
        end else begin
          `BAD(mr.access != '0, dingo_pkg::CMD_CREATE_MR_ACCESS_AT)
          `BAD(mem_bad, dingo_pkg::CMD_CREATE_MR_MEM_AT + mem_at)
          `BAD(mr.iova != '0, dingo_pkg::CMD_CREATE_MR_IOVA_AT)
          `BAD(mr.length != '0, dingo_pkg::CMD_CREATE_MR_LENGTH_AT)
        end
        `BAD(!rereg && mr.old_key != '0, dingo_pkg::CMD_CREATE_MR_OLD_KEY_AT)
        `BAD(mr.rsvd1 != '0, dingo_pkg::CMD_CREATE_MR_RSVD1_AT)
      end
      dingo_pkg::OP_DESTROY_EQ, dingo_pkg::OP_DESTROY_CQ, dingo_pkg::OP_DESTROY_MR, dingo_pkg::OP_DESTROY_QP,
      dingo_pkg::OP_DESTROY_SRQ, dingo_pkg::OP_QUERY_SRQ, dingo_pkg::OP_DESTROY_ETH, dingo_pkg::OP_PAUSE_MR: begin
        `BAD(destroy.rsvd != '0, dingo_pkg::CMD_DESTROY_RSVD_AT)
      end
      dingo_pkg::OP_CREATE_QP: begin
        `BAD(qp.kind < 8'(dingo_pkg::QPT_GSI) || qp.kind > 8'(dingo_pkg::QPT_UD), dingo_pkg::CMD_CREATE_QP_KIND_AT)
        `BAD(!qpn_ok, dingo_pkg::CMD_CREATE_QP_QPN_AT)
        `BAD(qp.pdn >= 32'd65536, dingo_pkg::CMD_CREATE_QP_PDN_AT)
        `BAD(qp.db_page >= 32'd1 << rtl_pkg::DB_PAGE_LOG, dingo_pkg::CMD_CREATE_QP_DB_PAGE_AT)
        `BAD(qp.flags > 8'd3, dingo_pkg::CMD_CREATE_QP_FLAGS_AT)
        `BAD(qp.log_sq > 8'(dingo_pkg::MAX_LOG_SQ), dingo_pkg::CMD_CREATE_QP_LOG_SQ_AT)
        `BAD(qp.rsvd0 != '0, dingo_pkg::CMD_CREATE_QP_RSVD0_AT)
        `BAD(mem_bad, dingo_pkg::CMD_CREATE_QP_SQ_AT + mem_at)
        if (qp.srqn != dingo_pkg::INVALID_ID) begin
          `BAD(qp.log_rq != '0, dingo_pkg::CMD_CREATE_QP_LOG_RQ_AT)
          `BAD(qp.log_rq_stride != '0, dingo_pkg::CMD_CREATE_QP_LOG_RQ_STRIDE_AT)
          `BAD(rq_bad, dingo_pkg::CMD_CREATE_QP_RQ_AT + rq_at)
        end else begin
          `BAD(qp.log_rq > 8'(dingo_pkg::MAX_LOG_RQ), dingo_pkg::CMD_CREATE_QP_LOG_RQ_AT)
          `BAD(qp.log_rq_stride < 8'd5 || qp.log_rq_stride > 8'd8, dingo_pkg::CMD_CREATE_QP_LOG_RQ_STRIDE_AT)
          `BAD(rq_bad, dingo_pkg::CMD_CREATE_QP_RQ_AT + rq_at)
        end
        `BAD(qp.share != '0, dingo_pkg::CMD_CREATE_QP_SHARE_AT) // no capability SHARES
        `BAD(qp.domain != '0, dingo_pkg::CMD_CREATE_QP_DOMAIN_AT) // no capability GID_DOMAINS
        `BAD(qp.rsvd1 != '0, dingo_pkg::CMD_CREATE_QP_RSVD1_AT)
      end
      dingo_pkg::OP_QUERY_QP: begin
        `BAD(qq.out_addr[2:0] != '0, dingo_pkg::CMD_QUERY_QP_OUT_ADDR_AT)
        `BAD(qq.rsvd != '0, dingo_pkg::CMD_QUERY_QP_RSVD_AT)
      end
      dingo_pkg::OP_CREATE_SRQ: begin
        `BAD(srq.srqn >= strap_i.max_srq || srq.srqn >= SRQ_MOST, dingo_pkg::CMD_CREATE_SRQ_SRQN_AT)
        `BAD(srq.pdn >= 32'd65536, dingo_pkg::CMD_CREATE_SRQ_PDN_AT)
        `BAD(srq.db_page >= 32'd1 << rtl_pkg::DB_PAGE_LOG, dingo_pkg::CMD_CREATE_SRQ_DB_PAGE_AT)
        `BAD(srq.log_size > 8'(dingo_pkg::MAX_LOG_RQ), dingo_pkg::CMD_CREATE_SRQ_LOG_SIZE_AT)
        `BAD(srq.log_stride < 8'd5 || srq.log_stride > 8'd8, dingo_pkg::CMD_CREATE_SRQ_LOG_STRIDE_AT)
        `BAD(srq.rsvd0 != '0, dingo_pkg::CMD_CREATE_SRQ_RSVD0_AT)
        `BAD(mem_bad, dingo_pkg::CMD_CREATE_SRQ_RING_AT + mem_at)
        `BAD(srq.limit > 32'd1 << srq.log_size[3:0], dingo_pkg::CMD_CREATE_SRQ_LIMIT_AT)
        `BAD(srq.rsvd1 != '0, dingo_pkg::CMD_CREATE_SRQ_RSVD1_AT)
      end
      dingo_pkg::OP_CREATE_ETH: begin
        `BAD(eth.kind != 8'(dingo_pkg::ETH_TX) && eth.kind != 8'(dingo_pkg::ETH_RX), dingo_pkg::CMD_CREATE_ETH_KIND_AT)
        `BAD(eth.ring >= 8'd1 << rtl_pkg::ETH_LOG, dingo_pkg::CMD_CREATE_ETH_RING_AT)
        `BAD(eth.log_size > 8'(dingo_pkg::MAX_LOG_ETH), dingo_pkg::CMD_CREATE_ETH_LOG_SIZE_AT)
        `BAD(eth.rsvd0 != '0, dingo_pkg::CMD_CREATE_ETH_RSVD0_AT)
        `BAD(mem_bad, dingo_pkg::CMD_CREATE_ETH_MEM_AT + mem_at)
        `BAD(eth.rsvd1 != '0, dingo_pkg::CMD_CREATE_ETH_RSVD1_AT)
      end
      dingo_pkg::OP_SET_RSS: begin
        `BAD(rss.enable > 8'd1, dingo_pkg::CMD_SET_RSS_ENABLE_AT)
        `BAD(rss.rsvd != '0, dingo_pkg::CMD_SET_RSS_RSVD_AT)
        `BAD(!rss.enable[0] && rss.key != '0, dingo_pkg::CMD_SET_RSS_KEY_AT)
        if (judge_i && !bad) begin
          for (int i = 63; i >= 0; i--)
            if (rss.rings[i*8+:8] >= (rss.enable[0] ? 8'd1 << rtl_pkg::ETH_LOG : 8'd1)) begin
              bad = 1'b1;
              at = dingo_pkg::CMD_SET_RSS_RINGS_AT + i;
            end
        end
      end
      default: ;
    endcase

    status_o = dingo_pkg::ST_OK;
    detail_o = '0;
    if (!known) status_o = dingo_pkg::ST_BAD_OPCODE;
    else if (needs == '1 || (needs & strap_i.withheld) != '0) status_o = dingo_pkg::ST_UNSUPPORTED;
    else if (bad) begin
      status_o = dingo_pkg::ST_BAD_FIELD;
      detail_o = at;
    end
  end
`undef BAD

  wire unused_ok = &{1'b0, strap_i, sm.hdr, sg.hdr, eq.hdr, cq.hdr, mod, sc.hdr, unused_result, mr.hdr, qp.hdr, qq.hdr, srq.hdr, eth.hdr, rss.hdr, qd.hdr, qs.hdr, sp.hdr,
      destroy.hdr, hdr.cmd_id, qd.out_len, qq.qpn, eth.cqn, destroy.id, qp.send_cqn, qp.recv_cqn, qd.out_addr,
      qq.out_addr, qs.out_addr, qs.out_len};
endmodule
