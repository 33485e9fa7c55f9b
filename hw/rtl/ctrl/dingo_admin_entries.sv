// SPDX-License-Identifier: BSD-2-Clause

/// Converts the checked fields of a command into entries of the card's tables. Combinational.
module dingo_admin_entries (
    input  logic [1023:0]    cmd_i,
    input  rtl_pkg::cqi_t    cqi_i,        // CQ and EQ of the command
    input  rtl_pkg::eqi_t    eqi_i,
    input  rtl_pkg::eqi_t    cq_eq_i,      // EQ of that CQ
    input  rtl_pkg::ethi_t   eth_ring_i,
    input  rtl_pkg::srq_cfg_t srq_i,       // CREATE_QP: its SRQ, if it has one
    output rtl_pkg::mr_t     mr_o,         // CREATE_MR, REREG_MR; else invalid
    output rtl_pkg::qp_cfg_t qp_o,         // CREATE_QP
    output rtl_pkg::port_t   port_o,
    output rtl_pkg::gid_t    gid_o,
    output rtl_pkg::cq_cfg_t cq_o,
    output rtl_pkg::eq_cfg_t eq_o,
    output rtl_pkg::eth_cfg_t eth_o,       // CREATE_ETH, DESTROY_ETH
    output rtl_pkg::rss_t    rss_o
);
  dingo_pkg::admin_hdr_t hdr;
  dingo_pkg::cmd_set_port_t port;
  dingo_pkg::cmd_set_gid_t gid;
  dingo_pkg::cmd_create_eq_t eq;
  dingo_pkg::cmd_create_cq_t cq;
  dingo_pkg::cmd_modify_cq_t mod;
  dingo_pkg::cmd_create_mr_t mr;
  dingo_pkg::cmd_create_qp_t qp;
  dingo_pkg::cmd_create_eth_t eth;
  dingo_pkg::cmd_set_rss_t rss;
  logic [31:0] op;
  assign hdr = cmd_i[dingo_pkg::ADMIN_HDR_W-1:0];
  assign port = cmd_i[dingo_pkg::CMD_SET_PORT_W-1:0];
  assign gid = cmd_i[dingo_pkg::CMD_SET_GID_W-1:0];
  assign eq = cmd_i[dingo_pkg::CMD_CREATE_EQ_W-1:0];
  assign cq = cmd_i[dingo_pkg::CMD_CREATE_CQ_W-1:0];
  assign mod = cmd_i[dingo_pkg::CMD_MODIFY_CQ_W-1:0];
  assign mr = cmd_i[dingo_pkg::CMD_CREATE_MR_W-1:0];
  assign qp = cmd_i[dingo_pkg::CMD_CREATE_QP_W-1:0];
  assign eth = cmd_i[dingo_pkg::CMD_CREATE_ETH_W-1:0];
  assign rss = cmd_i[dingo_pkg::CMD_SET_RSS_W-1:0];
  assign op = 32'(hdr.opcode);

  /* verilator lint_off UNUSEDSIGNAL */  // reserved bits are checked in dingo_admin_mem
  // xmem_t of a mem_t of the contract: levels, page shift, offset, address
  function automatic logic [102:0] xmem(input dingo_pkg::mem_t mem);
    xmem = {mem.levels[1:0], mem.page_shift[4:0], mem.offset, mem.addr};
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */

  always_comb begin
    mr_o = '0;
    if (op == dingo_pkg::OP_CREATE_MR || op == dingo_pkg::OP_REREG_MR) begin
      mr_o.valid = 1'b1;
      mr_o.free = mr.kind > 8'(dingo_pkg::MRT_PHYS);   // windows, FRWR: no access before a work request
      mr_o.kind = mr.kind[2:0];
      mr_o.tag = mr.key[15:0];
      mr_o.pdn = mr.pdn[15:0];
      mr_o.access = mr.access[5:0];
      mr_o.iova = mr.iova;
      mr_o.length = mr.length;
      if (mr.kind == 8'(dingo_pkg::MRT_FRWR)) mr_o.more = mr.length[27:12];
      mr_o.mem = xmem(mr.mem);
    end
  end

  always_comb begin
    qp_o = '0;
    qp_o.valid = 1'b1;
    qp_o.tag = qp.qpn[23:16];
    qp_o.kind = qp.kind[2:0];
    qp_o.pdn = qp.pdn[15:0];
    qp_o.send_cq = qp.send_cqn[rtl_pkg::CQ_LOG-1:0];
    qp_o.recv_cq = qp.recv_cqn[rtl_pkg::CQ_LOG-1:0];
    qp_o.db_page = qp.db_page[rtl_pkg::DB_PAGE_LOG-1:0];
    qp_o.signal_all = (qp.flags & 8'(dingo_pkg::CMD_CREATE_QP_FLAGS_SIGNAL_ALL_MASK)) != '0;
    qp_o.privileged = (qp.flags & 8'(dingo_pkg::CMD_CREATE_QP_FLAGS_PRIVILEGED_MASK)) != '0;
    qp_o.log_sq = qp.log_sq[4:0];
    qp_o.log_rq = qp.log_rq[3:0];
    qp_o.log_rq_stride = qp.log_rq_stride[3:0];
    qp_o.sq = xmem(qp.sq);
    qp_o.rq = xmem(qp.rq);
    if (qp.srqn != dingo_pkg::INVALID_ID) begin  // a copy is enough: these fields do not change while a QP uses the SRQ
      qp_o.has_srq = 1'b1;
      qp_o.srq = srq_i.srq;
      qp_o.log_rq = srq_i.log_size;
      qp_o.log_rq_stride = srq_i.log_stride;
      qp_o.rq = srq_i.mem;
      qp_o.srq_pdn = srq_i.pdn;
    end
  end

  assign port_o.enabled = (port.flags & dingo_pkg::CMD_SET_PORT_FLAGS_ENABLE_MASK) != '0;
  assign port_o.promisc = (port.flags & dingo_pkg::CMD_SET_PORT_FLAGS_PROMISC_MASK) != '0;
  assign port_o.allmulti = (port.flags & dingo_pkg::CMD_SET_PORT_FLAGS_ALLMULTI_MASK) != '0;
  assign port_o.mtu = port.mtu[15:0];

  always_comb begin
    gid_o = '0;
    if (gid.valid[0]) begin
      gid_o.valid = 1'b1;
      gid_o.ipv4 = gid.gid[79:0] == '0 && gid.gid[95:80] == 16'hffff;
      gid_o.mac = gid.mac;
      gid_o.vlan = gid.vlan;
      gid_o.gid = gid.gid;
    end
  end

  always_comb begin
    cq_o = '0;
    cq_o.cq = cqi_i;
    cq_o.eq = cq_eq_i;
    cq_o.resize = op == dingo_pkg::OP_RESIZE_CQ;
    cq_o.moderate = op == dingo_pkg::OP_MODIFY_CQ;
    cq_o.count = cq_o.moderate ? mod.count : '0;
    cq_o.period = cq_o.moderate ? {10'd0, mod.period} * 26'd1000 : '0;
    if (op == dingo_pkg::OP_CREATE_CQ || op == dingo_pkg::OP_RESIZE_CQ) begin
      cq_o.on = 1'b1;
      if (op == dingo_pkg::OP_CREATE_CQ) cq_o.eq = eqi_i;
      cq_o.db_page = cq.db_page[rtl_pkg::DB_PAGE_LOG-1:0];
      cq_o.log_size = cq.log_size[4:0];
      cq_o.mem = xmem(cq.ring);
    end
  end

  always_comb begin
    eq_o = '0;
    eq_o.eq = eqi_i;
    if (op == dingo_pkg::OP_CREATE_EQ) begin
      eq_o.on = 1'b1;
      eq_o.is_async = (eq.flags & 8'(dingo_pkg::CMD_CREATE_EQ_FLAGS_ASYNC_MASK)) != '0;
      eq_o.msix = eq.vector[5:0];
      eq_o.log_size = eq.log_size[4:0];
      eq_o.mem = xmem(eq.ring);
    end
  end

  assign eth_o.on = op == dingo_pkg::OP_CREATE_ETH;
  assign eth_o.ring = eth_ring_i;
  assign eth_o.cq = cqi_i;
  assign eth_o.log_size = eth.log_size[3:0];
  assign eth_o.mem = xmem(eth.mem);
  assign rss_o.on = rss.enable[0];
  assign rss_o.key = rss.key;
  always_comb begin
    for (int i = 0; i < 64; i++) rss_o.rings[i*2 +: 2] = rss.rings[i*8 +: 2];
  end

  wire unused_ok = &{1'b0, cmd_i, hdr, port, gid, eq, cq, mod, mr, qp, eth, rss, srq_i};
endmodule
