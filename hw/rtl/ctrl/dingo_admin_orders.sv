// SPDX-License-Identifier: BSD-2-Clause

/// Orders of an admin command to tables and engines, by the step of dingo_admin_seq. Combinational.
module dingo_admin_orders (
    input  admin_pkg::state_t  state_i,
    input  logic               again_i,       // the second cycle of FORGET
    input  logic [1023:0]      cmd_i,
    input  rtl_pkg::qpi_t      qp_i,          // QP of the command,
    input  rtl_pkg::qp_t       qp_ctx_i,      // its present context,
    input  rtl_pkg::qp_t       modified_i,    // its context after MODIFY_QP
    input  rtl_pkg::cqi_t      cqi_i,         // CQ, EQ, Ethernet ring of the command
    input  rtl_pkg::eqi_t      eqi_i,
    input  rtl_pkg::eqi_t      cq_eq_i,
    input  logic               eth_tx_i,
    input  rtl_pkg::ethi_t     eth_ring_i,
    input  rtl_pkg::srq_cfg_t  srq_entry_i,   // CREATE_QP: entry of its SRQ
    input  logic               srq_valid_i,   // srq_i is written
    input  rtl_pkg::srq_cfg_t  srq_i,
    input  rtl_pkg::srqa_req_t srqa_i,
    output rtl_pkg::mr_t       mr_o,          // CREATE_MR, REREG_MR
    output logic               to_reset_o,    // MODIFY_QP to RESET
    output rtl_pkg::orders_t   orders_o
);
  logic [31:0] op;
  dingo_pkg::admin_hdr_t hdr;
  dingo_pkg::cmd_set_mac_t sm;
  dingo_pkg::cmd_set_gid_t sg;
  dingo_pkg::cmd_destroy_t destroy;
  dingo_pkg::cmd_modify_qp_t mq;
  assign hdr = cmd_i[dingo_pkg::ADMIN_HDR_W-1:0];
  assign sm = cmd_i[dingo_pkg::CMD_SET_MAC_W-1:0];
  assign sg = cmd_i[dingo_pkg::CMD_SET_GID_W-1:0];
  assign destroy = cmd_i[dingo_pkg::CMD_DESTROY_W-1:0];
  assign mq = cmd_i[dingo_pkg::CMD_MODIFY_QP_W-1:0];
  assign op = 32'(hdr.opcode);

  rtl_pkg::qp_cfg_t created;
  rtl_pkg::port_t port;
  rtl_pkg::gid_t gid;
  rtl_pkg::cq_cfg_t cq;
  rtl_pkg::eq_cfg_t eq;
  rtl_pkg::eth_cfg_t eth;
  rtl_pkg::rss_t rss;
  dingo_admin_entries i_entries (
      .cmd_i, .cqi_i, .eqi_i, .cq_eq_i, .eth_ring_i, .srq_i(srq_entry_i), .mr_o, .qp_o(created), .port_o(port), .gid_o(gid),
      .cq_o(cq), .eq_o(eq), .eth_o(eth), .rss_o(rss)
  );

  // Kind of command
  logic write, creates_qp, modifies_qp, destroys_qp, about_cq, about_eq, about_eth, about_srq, to_reset;
  assign write = state_i == admin_pkg::WRITE;
  assign creates_qp = op == dingo_pkg::OP_CREATE_QP;
  assign modifies_qp = op == dingo_pkg::OP_MODIFY_QP;
  assign destroys_qp = op == dingo_pkg::OP_DESTROY_QP;
  assign about_cq = op == dingo_pkg::OP_CREATE_CQ || op == dingo_pkg::OP_DESTROY_CQ || op == dingo_pkg::OP_RESIZE_CQ
      || op == dingo_pkg::OP_MODIFY_CQ;
  assign about_eq = op == dingo_pkg::OP_CREATE_EQ || op == dingo_pkg::OP_DESTROY_EQ;
  assign about_eth = op == dingo_pkg::OP_CREATE_ETH || op == dingo_pkg::OP_DESTROY_ETH;
  assign about_srq = op == dingo_pkg::OP_CREATE_SRQ || op == dingo_pkg::OP_DESTROY_SRQ || op == dingo_pkg::OP_MODIFY_SRQ
      || op == dingo_pkg::OP_QUERY_SRQ;
  assign to_reset = modifies_qp && modified_i.state == 3'(dingo_pkg::QPS_RESET);
  assign to_reset_o = to_reset;

  rtl_pkg::qpa_req_t qpa;
  always_comb begin
    qpa = '0;
    qpa.op = op == dingo_pkg::OP_QUERY_QP ? rtl_pkg::QPA_QUERY
        : modifies_qp && !to_reset ? rtl_pkg::QPA_MODIFY : rtl_pkg::QPA_CLEAR;
    qpa.destroy = destroys_qp;
    qpa.old_state = qp_ctx_i.state;
    qpa.mask = modifies_qp ? mq.mask[20:0] : '0;
    // The responder clears its slots when their number changes; the peer may repeat what is in them.
    if (modified_i.cfg.max_dest_rd == qp_ctx_i.cfg.max_dest_rd) qpa.mask &= ~dingo_pkg::QPM_MAX_DEST_RD_ATOMIC[20:0];
    qpa.qp = qp_i;
    qpa.ctx = modifies_qp ? modified_i : creates_qp ? {3'(dingo_pkg::QPS_RESET), created} : qp_ctx_i;
  end

  rtl_pkg::ev_t forget;
  assign forget.kind = destroys_qp ? 8'(dingo_pkg::EV_QP_FATAL)
      : op == dingo_pkg::OP_DESTROY_SRQ ? (again_i ? 8'(dingo_pkg::EV_SRQ_LIMIT) : 8'(dingo_pkg::EV_SRQ_ERR))
      : again_i ? 8'(dingo_pkg::EV_CQ_ERR) : 8'(dingo_pkg::EV_COMPLETION);
  assign forget.id = destroy.id;
  assign forget.data = '0;

  assign orders_o.xl_flush = state_i == admin_pkg::FORGET || (state_i == admin_pkg::AFTER && (to_reset
      || op == dingo_pkg::OP_DESTROY_MR || op == dingo_pkg::OP_REREG_MR || op == dingo_pkg::OP_RESIZE_CQ
      || op == dingo_pkg::OP_DESTROY_EQ || op == dingo_pkg::OP_DESTROY_ETH));
  assign orders_o.resume = state_i == admin_pkg::AFTER && (op == dingo_pkg::OP_DESTROY_MR || op == dingo_pkg::OP_REREG_MR);
  assign orders_o.qp_we = (write && (creates_qp || modifies_qp)) || (state_i == admin_pkg::AFTER && destroys_qp);
  assign orders_o.qp = qp_i;
  assign orders_o.qp_cfg = creates_qp ? created : modifies_qp ? modified_i.cfg : '0;
  assign orders_o.qp_state = modifies_qp ? modified_i.state : 3'(dingo_pkg::QPS_RESET);
  assign orders_o.port_we = write && op == dingo_pkg::OP_SET_PORT;
  assign orders_o.port = port;
  assign orders_o.gid_we = write && op == dingo_pkg::OP_SET_GID;
  assign orders_o.gid_index = sg.index[rtl_pkg::GID_LOG-1:0];
  assign orders_o.gid = gid;
  assign orders_o.mac_we = write && op == dingo_pkg::OP_SET_MAC;
  assign orders_o.mac_index = sm.index[rtl_pkg::MAC_LOG-1:0];
  assign orders_o.mac_valid = sm.valid[0];
  assign orders_o.mac = sm.mac;
  assign orders_o.cq_valid = write && about_cq;
  assign orders_o.cq = cq;
  assign orders_o.eq_valid = write && about_eq;
  assign orders_o.eq = eq;
  assign orders_o.srq_valid = srq_valid_i;
  assign orders_o.srq = srq_i;
  assign orders_o.forget_valid = state_i == admin_pkg::FORGET;
  assign orders_o.forget = forget;
  assign orders_o.etx_valid = write && about_eth && eth_tx_i;
  assign orders_o.erx_valid = write && about_eth && !eth_tx_i;
  assign orders_o.eth = eth;
  assign orders_o.rss_valid = write && op == dingo_pkg::OP_SET_RSS;
  assign orders_o.rss = rss;
  assign orders_o.qpa_valid = write && (creates_qp || modifies_qp || destroys_qp || op == dingo_pkg::OP_QUERY_QP);
  assign orders_o.qpa = qpa;
  assign orders_o.srqa_valid = write && about_srq;
  assign orders_o.srqa = srqa_i;

  wire unused_ok = &{1'b0, hdr, sm, sg, destroy, mq};
endmodule
