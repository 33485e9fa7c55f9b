// SPDX-License-Identifier: BSD-2-Clause

/// The checks of an admin command that need no table: opcode, capability, reserved fields, ranges. The first
/// wrong field in the contract's order is named by its byte offset. Combinational; MODIFY_QP has its own
/// checks (dingo_admin_modify) because they depend on the QP.
module dingo_admin_check (
    input  logic            judge_i,    // the answer counts in this cycle
    input  logic [1023:0]   cmd_i,
    input  rtl_pkg::strap_t strap_i,
    output logic [31:0]     status_o,   // enum st
    output logic [31:0]     detail_o,
    output logic            halt_o      // the command finds everything at rest
);
  localparam int unsigned QP_MOST = (1 << rtl_pkg::QP_LOG) - 2;
  localparam int unsigned CQ_MOST = 1 << rtl_pkg::CQ_LOG;
  localparam int unsigned MR_MOST = 1 << rtl_pkg::MR_LOG;
  localparam int unsigned SRQ_MOST = 1 << rtl_pkg::SRQ_LOG;

  // {bad, byte offset within struct mem} of a ring or region of `bytes` bytes; align = required alignment - 1
  function automatic logic [4:0] bad_mem(input logic [127:0] mem, input logic [63:0] bytes, input logic [63:0] align);
    logic list;
    logic [63:0] addr_mask;
    list = mem[103:96] != 8'd0;
    addr_mask = list ? 64'd7 : align;
    if ((mem[63:0] & addr_mask) != 64'd0 || (!list && mem[63:0] > ~(bytes - 64'd1))) bad_mem = {1'b1, 4'd0};
    else if (mem[103:96] > 8'd2) bad_mem = {1'b1, 4'd12};
    else if (list ? (mem[111:104] < 8'd12 || mem[111:104] > 8'd30) : mem[111:104] != 8'd0) bad_mem = {1'b1, 4'd13};
    else if (mem[95:64] >= 32'd1 << mem[108:104]) bad_mem = {1'b1, 4'd8};
    else if (mem[127:112] != 16'd0) bad_mem = {1'b1, 4'd14};
    else bad_mem = 5'd0;
  endfunction

  // The same of a ring: 64-byte aligned, no offset
  function automatic logic [4:0] bad_ring(input logic [127:0] mem, input logic [63:0] bytes);
    logic [4:0] bad;
    bad = bad_mem(mem, bytes, 64'd63);
    if (!bad[4] && mem[95:64] != 32'd0) bad = {1'b1, 4'd8};
    bad_ring = bad;
  endfunction

  // No memory at all
  function automatic logic [4:0] bad_no_mem(input logic [127:0] mem);
    if (mem[63:0] != 64'd0) bad_no_mem = {1'b1, 4'd0};
    else if (mem[95:64] != 32'd0) bad_no_mem = {1'b1, 4'd8};
    else if (mem[103:96] != 8'd0) bad_no_mem = {1'b1, 4'd12};
    else if (mem[111:104] != 8'd0) bad_no_mem = {1'b1, 4'd13};
    else if (mem[127:112] != 16'd0) bad_no_mem = {1'b1, 4'd14};
    else bad_no_mem = 5'd0;
  endfunction

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
  assign hdr = cmd_i[63:0];
  assign qd = cmd_i[191:0];
  assign qs = cmd_i[255:0];
  assign sp = cmd_i[127:0];
  assign sm = cmd_i[191:0];
  assign sg = cmd_i[319:0];
  assign eq = cmd_i[319:0];
  assign destroy = cmd_i[127:0];
  assign cq = cmd_i[383:0];
  assign mod = cmd_i[191:0];
  assign mr = cmd_i[511:0];
  assign qp = cmd_i[639:0];
  assign qq = cmd_i[191:0];
  assign srq = cmd_i[383:0];
  assign eth = cmd_i[319:0];
  assign rss = cmd_i[959:0];
  assign sc = cmd_i[255:0];

  logic kernel_known;
  logic [31:0] smallest_param, largest_param;
  logic [319:0] unused_result;
  dingo_compute_info i_kernel (
      .index_i(sc.kernel), .known_o(kernel_known), .smallest_o(smallest_param), .largest_o(largest_param),
      .result_o(unused_result)
  );

  logic known, qpn_ok;
  logic [31:0] needs;    // capabilities; all ones: this card has none of these
  logic [7:0] size;      // bytes of the command's structure
  logic bad;
  logic [31:0] at;
  logic [4:0] m;
  logic gid_zero;
  logic length_ok, resize, rereg;

  assign resize = 32'(hdr.opcode) == dingo_pkg::OP_RESIZE_CQ;
  assign rereg = 32'(hdr.opcode) == dingo_pkg::OP_REREG_MR;
  assign gid_zero = sg.gid == '0;
  assign length_ok = mr.length != '0 && mr.length <= 64'h1_0000_0000_0000;
  assign qpn_ok = qp.kind == 8'(dingo_pkg::QPT_GSI) ? qp.qpn == dingo_pkg::QPN_GSI
      : qp.qpn < 32'h100_0000 && qp.qpn[15:0] >= 16'd2 && 32'(qp.qpn[15:0]) - 32'd2 < strap_i.max_qp
        && 32'(qp.qpn[15:0]) - 32'd2 < QP_MOST;

  always_comb begin
    known = 1'b1;
    needs = '0;
    halt_o = 1'b0;
    size = 8'd16;
    case (32'(hdr.opcode))
      dingo_pkg::OP_NOP: size = 8'd8;
      dingo_pkg::OP_QUERY_DEVICE: size = 8'd24;
      dingo_pkg::OP_QUERY_STATS: size = 8'd32;
      dingo_pkg::OP_QUERY_COMPUTE: needs = dingo_pkg::CAP_COMPUTE;
      dingo_pkg::OP_SET_COMPUTE: begin size = 8'd32; needs = dingo_pkg::CAP_COMPUTE; end  // nothing is sent before: no need to halt
      dingo_pkg::OP_SET_PORT: halt_o = 1'b1;
      dingo_pkg::OP_SET_MAC: begin size = 8'd24; halt_o = 1'b1; end
      dingo_pkg::OP_SET_GID: begin size = 8'd40; halt_o = 1'b1; end
      dingo_pkg::OP_CREATE_EQ: size = 8'd40;
      dingo_pkg::OP_CREATE_CQ: size = 8'd48;
      dingo_pkg::OP_CREATE_MR: size = 8'd64;
      dingo_pkg::OP_RESIZE_CQ: begin size = 8'd48; needs = dingo_pkg::CAP_RESIZE_CQ; halt_o = 1'b1; end
      dingo_pkg::OP_MODIFY_CQ: begin size = 8'd24; needs = dingo_pkg::CAP_CQ_MODERATION; end
      dingo_pkg::OP_REREG_MR: begin size = 8'd64; needs = dingo_pkg::CAP_REREG_MR; halt_o = 1'b1; end
      dingo_pkg::OP_PAUSE_MR: begin needs = dingo_pkg::CAP_PAUSE_MR; halt_o = 1'b1; end
      dingo_pkg::OP_DESTROY_EQ, dingo_pkg::OP_DESTROY_CQ, dingo_pkg::OP_DESTROY_MR, dingo_pkg::OP_DESTROY_QP: halt_o = 1'b1;
      dingo_pkg::OP_DESTROY_ETH: begin needs = dingo_pkg::CAP_ETH; halt_o = 1'b1; end
      dingo_pkg::OP_CREATE_QP: begin size = 8'd80; halt_o = 1'b1; end
      dingo_pkg::OP_MODIFY_QP: begin size = 8'd104; halt_o = 1'b1; end
      dingo_pkg::OP_QUERY_QP: begin size = 8'd24; halt_o = 1'b1; end
      dingo_pkg::OP_CREATE_SRQ: begin size = 8'd48; needs = dingo_pkg::CAP_SRQ; end
      // MODIFY and QUERY find every doorbell done that was rung before them.
      dingo_pkg::OP_DESTROY_SRQ, dingo_pkg::OP_MODIFY_SRQ, dingo_pkg::OP_QUERY_SRQ: begin needs = dingo_pkg::CAP_SRQ; halt_o = 1'b1; end
      dingo_pkg::OP_CREATE_ETH: begin size = 8'd40; needs = dingo_pkg::CAP_ETH; halt_o = 1'b1; end
      dingo_pkg::OP_SET_RSS: begin size = 8'd120; needs = dingo_pkg::CAP_ETH_RSS; halt_o = 1'b1; end
      dingo_pkg::OP_ATTACH_MCAST, dingo_pkg::OP_DETACH_MCAST: needs = '1;
      default: known = 1'b0;
    endcase
  end

`define BAD(condition, offset) if (!bad && (condition)) begin bad = 1'b1; at = (offset); end
`define BAD_MEM(result, offset) m = (result); if (!bad && m[4]) begin bad = 1'b1; at = 32'(offset) + 32'(m[3:0]); end

  always_comb begin
    bad = 1'b0;
    at = '0;
    m = '0;
    `BAD(hdr.rsvd != '0, 32'd4)
    if (judge_i && !bad) begin
      for (int i = 127; i >= 8; i--)
        if (8'(i) >= size && cmd_i[i*8+:8] != 8'd0) begin
          bad = 1'b1;
          at = i;
        end
    end
    case (32'(hdr.opcode))
      dingo_pkg::OP_QUERY_DEVICE: begin
        `BAD(qd.out_addr[2:0] != '0, 32'd8)
        `BAD(qd.rsvd != '0, 32'd20)
      end
      dingo_pkg::OP_QUERY_STATS: begin
        `BAD(qs.out_addr[2:0] != '0, 32'd8)
        `BAD(qs.out_len[2:0] != '0, 32'd16)
        `BAD(qs.scope > 32'd1, 32'd20)
        `BAD(qs.scope == '0 && qs.id != '0, 32'd24)
        `BAD(qs.rsvd != '0, 32'd28)
      end
      dingo_pkg::OP_QUERY_COMPUTE: begin
        `BAD(destroy.rsvd != '0, 32'd12)
      end
      dingo_pkg::OP_SET_COMPUTE: begin
        `BAD(sc.qpn == dingo_pkg::QPN_GSI, 32'd8)
        `BAD(!kernel_known, 32'd12)
        `BAD(sc.param < smallest_param || sc.param > largest_param, 32'd16)
        `BAD(sc.direction != dingo_pkg::COMPUTE_SEND, 32'd20)  // without COMPUTE_RX
        `BAD(sc.rsvd1 != '0, 32'd24)
      end
      dingo_pkg::OP_SET_PORT: begin
        `BAD((sp.flags & ~32'd7) != '0, 32'd8)
        `BAD(sp.mtu < dingo_pkg::MIN_MTU || sp.mtu > dingo_pkg::MAX_MTU, 32'd12)
      end
      dingo_pkg::OP_SET_MAC: begin
        `BAD(sm.index >= 32'd1 << rtl_pkg::MAC_LOG, 32'd8)
        `BAD(sm.valid > 8'd1, 32'd12)
        `BAD(sm.rsvd0 != '0, 32'd13)
        `BAD(sm.valid[0] && (sm.mac == '0 || (sm.index == '0 && sm.mac[0])), 32'd14)
        `BAD(sm.rsvd1 != '0, 32'd20)
      end
      dingo_pkg::OP_SET_GID: begin
        `BAD(sg.index >= 32'd1 << rtl_pkg::GID_LOG, 32'd8)
        `BAD(sg.valid > 8'd1, 32'd12)
        `BAD(sg.rsvd0 != '0, 32'd13)
        `BAD(sg.valid[0] && (sg.mac == '0 || sg.mac[0]), 32'd14)
        `BAD(sg.valid[0] && sg.vlan > 16'd4094 && sg.vlan != 16'(dingo_pkg::VLAN_NONE), 32'd20)
        `BAD(sg.domain != '0, 32'd22) // no capability GID_DOMAINS
        `BAD(sg.valid[0] && gid_zero, 32'd24)
      end
      dingo_pkg::OP_CREATE_EQ: begin
        `BAD(eq.eqn >= 32'd1 << rtl_pkg::EQ_LOG, 32'd8)
        `BAD(eq.vector >= 16'(dingo_pkg::MSIX_MAX), 32'd12)
        `BAD(eq.log_size > 8'(dingo_pkg::MAX_LOG_EQ), 32'd14)
        `BAD(eq.flags > 8'd1, 32'd15)
        `BAD_MEM(bad_ring(eq.ring, 64'd16 << eq.log_size[4:0]), 32'd16)
        `BAD(eq.rsvd != '0, 32'd32)
      end
      dingo_pkg::OP_CREATE_CQ, dingo_pkg::OP_RESIZE_CQ: begin
        if (resize) begin
          `BAD(cq.eqn != '0, 32'd12)
          `BAD(cq.db_page != '0, 32'd16)
        end else begin
          `BAD(cq.cqn >= strap_i.max_cq || cq.cqn >= CQ_MOST, 32'd8)
          `BAD(cq.db_page >= 32'd1 << rtl_pkg::DB_PAGE_LOG, 32'd16)
        end
        `BAD(cq.log_size > 8'(dingo_pkg::MAX_LOG_CQ), 32'd20)
        `BAD(cq.flags != '0, 32'd21)
        `BAD(cq.rsvd0 != '0, 32'd22)
        `BAD_MEM(bad_ring(cq.ring, 64'd32 << cq.log_size[4:0]), 32'd24)
        `BAD(cq.rsvd1 != '0, 32'd40)
      end
      dingo_pkg::OP_MODIFY_CQ: begin
        `BAD(mod.rsvd != '0, 32'd16)
      end
      dingo_pkg::OP_CREATE_MR, dingo_pkg::OP_REREG_MR: begin
        `BAD(rereg ? mr.key[31:16] != mr.old_key[31:16] : 32'(mr.key[31:16]) >= strap_i.max_mr || 32'(mr.key[31:16]) >= MR_MOST, 32'd8)
        `BAD(mr.pdn >= 32'd65536, 32'd12)
        `BAD(rereg ? mr.kind != 8'(dingo_pkg::MRT_MR) : mr.kind > 8'(dingo_pkg::MRT_MW2), 32'd20)
        `BAD(mr.rsvd0 != '0, 32'd21)
        if (mr.kind == 8'(dingo_pkg::MRT_MR)) begin
          `BAD(!access_ok(mr.access), 32'd16)
          `BAD(!length_ok, 32'd48)
          `BAD(mr.length - 64'd1 > ~mr.iova, 32'd40)
          `BAD_MEM(bad_mem(mr.mem, mr.length, 64'd0), 32'd24)
        end else if (mr.kind <= 8'(dingo_pkg::MRT_FRWR)) begin
          `BAD(!access_ok(mr.access), 32'd16)
          `BAD_MEM(bad_no_mem(mr.mem), 32'd24)
          `BAD(mr.iova != '0, 32'd40)
          `BAD(mr.length == '0 || (mr.kind == 8'(dingo_pkg::MRT_FRWR) && (mr.length[11:0] != '0 || mr.length > 64'h20_0000)), 32'd48)
        end else begin
          `BAD(mr.access != '0, 32'd16)
          `BAD_MEM(bad_no_mem(mr.mem), 32'd24)
          `BAD(mr.iova != '0, 32'd40)
          `BAD(mr.length != '0, 32'd48)
        end
        `BAD(!rereg && mr.old_key != '0, 32'd56)
        `BAD(mr.rsvd1 != '0, 32'd60)
      end
      dingo_pkg::OP_DESTROY_EQ, dingo_pkg::OP_DESTROY_CQ, dingo_pkg::OP_DESTROY_MR, dingo_pkg::OP_DESTROY_QP,
      dingo_pkg::OP_DESTROY_SRQ, dingo_pkg::OP_QUERY_SRQ, dingo_pkg::OP_DESTROY_ETH, dingo_pkg::OP_PAUSE_MR: begin
        `BAD(destroy.rsvd != '0, 32'd12)
      end
      dingo_pkg::OP_CREATE_QP: begin
        `BAD(qp.kind < 8'(dingo_pkg::QPT_GSI) || qp.kind > 8'(dingo_pkg::QPT_UD), 32'd32)
        `BAD(!qpn_ok, 32'd8)
        `BAD(qp.pdn >= 32'd65536, 32'd12)
        `BAD(qp.db_page >= 32'd1 << rtl_pkg::DB_PAGE_LOG, 32'd28)
        `BAD(qp.flags > 8'd3, 32'd33)
        `BAD(qp.log_sq > 8'(dingo_pkg::MAX_LOG_SQ), 32'd34)
        `BAD(qp.rsvd0 != '0, 32'd37)
        `BAD_MEM(bad_ring(qp.sq, 64'd64 << qp.log_sq[4:0]), 32'd40)
        if (qp.srqn != dingo_pkg::INVALID_ID) begin
          `BAD(qp.log_rq != '0, 32'd35)
          `BAD(qp.log_rq_stride != '0, 32'd36)
          `BAD_MEM(bad_no_mem(qp.rq), 32'd56)
        end else begin
          `BAD(qp.log_rq > 8'(dingo_pkg::MAX_LOG_RQ), 32'd35)
          `BAD(qp.log_rq_stride < 8'd5 || qp.log_rq_stride > 8'd8, 32'd36)
          `BAD_MEM(bad_ring(qp.rq, 64'd1 << (6'(qp.log_rq[3:0]) + 6'(qp.log_rq_stride[3:0]))), 32'd56)
        end
        `BAD(qp.share != '0, 32'd72) // no capability SHARES
        `BAD(qp.domain != '0, 32'd76) // no capability GID_DOMAINS
        `BAD(qp.rsvd1 != '0, 32'd78)
      end
      dingo_pkg::OP_QUERY_QP: begin
        `BAD(qq.out_addr[2:0] != '0, 32'd8)
        `BAD(qq.rsvd != '0, 32'd20)
      end
      dingo_pkg::OP_CREATE_SRQ: begin
        `BAD(srq.srqn >= strap_i.max_srq || srq.srqn >= SRQ_MOST, 32'd8)
        `BAD(srq.pdn >= 32'd65536, 32'd12)
        `BAD(srq.db_page >= 32'd1 << rtl_pkg::DB_PAGE_LOG, 32'd16)
        `BAD(srq.log_size > 8'(dingo_pkg::MAX_LOG_RQ), 32'd20)
        `BAD(srq.log_stride < 8'd5 || srq.log_stride > 8'd8, 32'd21)
        `BAD(srq.rsvd0 != '0, 32'd22)
        `BAD_MEM(bad_ring(srq.ring, 64'd1 << (6'(srq.log_size[3:0]) + 6'(srq.log_stride[3:0]))), 32'd24)
        `BAD(srq.limit > 32'd1 << srq.log_size[3:0], 32'd40)
        `BAD(srq.rsvd1 != '0, 32'd44)
      end
      dingo_pkg::OP_CREATE_ETH: begin
        `BAD(eth.kind != 8'(dingo_pkg::ETH_TX) && eth.kind != 8'(dingo_pkg::ETH_RX), 32'd8)
        `BAD(eth.ring >= 8'd1 << rtl_pkg::ETH_LOG, 32'd9)
        `BAD(eth.log_size > 8'(dingo_pkg::MAX_LOG_ETH), 32'd10)
        `BAD(eth.rsvd0 != '0, 32'd11)
        `BAD_MEM(bad_ring(eth.mem, 64'd16 << eth.log_size[4:0]), 32'd16)
        `BAD(eth.rsvd1 != '0, 32'd32)
      end
      dingo_pkg::OP_SET_RSS: begin
        `BAD(rss.enable > 8'd1, 32'd8)
        `BAD(rss.rsvd != '0, 32'd9)
        `BAD(!rss.enable[0] && rss.key != '0, 32'd16)
        if (judge_i && !bad) begin
          for (int i = 63; i >= 0; i--)
            if (rss.rings[i*8+:8] >= (rss.enable[0] ? 8'd1 << rtl_pkg::ETH_LOG : 8'd1)) begin
              bad = 1'b1;
              at = 32'd56 + i;
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
`undef BAD_MEM

  wire unused_ok = &{1'b0, strap_i, sm.hdr, sg.hdr, eq.hdr, cq.hdr, mod, sc.hdr, unused_result, mr.hdr, qp.hdr, qq.hdr, srq.hdr, eth.hdr, rss.hdr, qd.hdr, qs.hdr, sp.hdr,
      destroy.hdr, hdr.cmd_id, qd.out_len, qq.qpn, eth.cqn, destroy.id, qp.send_cqn, qp.recv_cqn, qd.out_addr,
      qq.out_addr, qs.out_addr, qs.out_len};
endmodule
