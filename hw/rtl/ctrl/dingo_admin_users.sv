// SPDX-License-Identifier: BSD-2-Clause

/// Tables of CQs, EQs and Ethernet rings for commands: existence, and the number of users of each CQ and EQ, which
/// prevents its destruction. Look-ups are combinational. A command changes the tables in the cycle of write_i;
/// CREATE_QP and DESTROY_QP change the receive CQ's in the cycle of write_second_i.
module dingo_admin_users (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic [1023:0]    cmd_i,
    input  rtl_pkg::qp_t     qp_i,             // the command's QP
    input  logic             second_i,         // look up the receive CQ of a QP, else the send CQ
    input  logic             write_i,
    input  logic             write_second_i,
    output rtl_pkg::cqi_t    cqi_o,            // CQ and EQ of the command
    output rtl_pkg::eqi_t    eqi_o,
    output rtl_pkg::eqi_t    cq_eq_o,          // EQ of that CQ
    output logic             cq_there_o,
    output logic             cq_used_o,        // a QP or Ethernet ring uses the CQ
    output logic             eq_there_o,
    output logic             eq_used_o,
    output logic             send_cq_there_o,  // CREATE_QP
    output logic             recv_cq_there_o,
    output logic             async_o,          // an EQ for asynchronous events exists
    output logic             eth_tx_o,         // the command's Ethernet ring: transmit, else receive
    output rtl_pkg::ethi_t   eth_ring_o,       // its index
    output logic             eth_there_o
);
  logic [31:0] op;
  dingo_pkg::admin_hdr_t hdr;
  dingo_pkg::cmd_create_eq_t eq;
  dingo_pkg::cmd_create_cq_t cq;
  dingo_pkg::cmd_create_qp_t qp;
  dingo_pkg::cmd_create_eth_t eth;
  dingo_pkg::cmd_destroy_t destroy;
  assign hdr = cmd_i[dingo_pkg::ADMIN_HDR_W-1:0];
  assign eq = cmd_i[dingo_pkg::CMD_CREATE_EQ_W-1:0];
  assign cq = cmd_i[dingo_pkg::CMD_CREATE_CQ_W-1:0];
  assign qp = cmd_i[dingo_pkg::CMD_CREATE_QP_W-1:0];
  assign eth = cmd_i[dingo_pkg::CMD_CREATE_ETH_W-1:0];
  assign destroy = cmd_i[dingo_pkg::CMD_DESTROY_W-1:0];
  assign op = 32'(hdr.opcode);
  logic eq_async;
  assign eq_async = (eq.flags & 8'(dingo_pkg::CMD_CREATE_EQ_FLAGS_ASYNC_MASK)) != '0;

  logic [(1<<rtl_pkg::CQ_LOG)-1:0] cq_used_q;
  logic [(1<<rtl_pkg::EQ_LOG)-1:0] eq_used_q;
  logic [15:0] cq_users_q[0:(1<<rtl_pkg::CQ_LOG)-1];
  logic [15:0] eq_users_q[0:(1<<rtl_pkg::EQ_LOG)-1];
  rtl_pkg::eqi_t cq_eq_q[0:(1<<rtl_pkg::CQ_LOG)-1];
  logic [(1<<rtl_pkg::EQ_LOG)-1:0] eq_async_q;
  logic async_q;
  logic [(2<<rtl_pkg::ETH_LOG)-1:0] eth_on_q;             // Ethernet rings: receive (low half), transmit (high half)
  rtl_pkg::cqi_t eth_cq_q[0:(2<<rtl_pkg::ETH_LOG)-1];

  // The command's Ethernet ring. CREATE_ETH is checked before; the id of DESTROY_ETH may have any value.
  logic eth_tx, eth_there, eth_named;
  rtl_pkg::ethi_t eth_ring;
  logic [rtl_pkg::ETH_LOG:0] eth_at;
  logic [31:0] eth_id;
  assign eth_id = op == dingo_pkg::OP_CREATE_ETH ? {eth.kind, 16'd0, eth.ring} : destroy.id;
  assign eth_tx = eth_id[31:24] == 8'(dingo_pkg::ETH_TX);
  assign eth_ring = eth_id[rtl_pkg::ETH_LOG-1:0];
  assign eth_at = {eth_tx, eth_ring};
  assign eth_named = (eth_tx || eth_id[31:24] == 8'(dingo_pkg::ETH_RX)) && eth_id[23:0] < 24'd1 << rtl_pkg::ETH_LOG;
  assign eth_there = eth_named && eth_on_q[eth_at];

  // The CQ of the present step
  logic [31:0] cq_asked;
  always_comb
    case (op)
      dingo_pkg::OP_CREATE_CQ, dingo_pkg::OP_RESIZE_CQ: cq_asked = cq.cqn;
      dingo_pkg::OP_CREATE_QP: cq_asked = second_i ? qp.recv_cqn : qp.send_cqn;
      dingo_pkg::OP_DESTROY_QP: cq_asked = second_i ? 32'(qp_i.cfg.recv_cq) : 32'(qp_i.cfg.send_cq);
      dingo_pkg::OP_CREATE_ETH: cq_asked = eth.cqn;
      dingo_pkg::OP_DESTROY_ETH: cq_asked = 32'(eth_cq_q[eth_at]);
      default: cq_asked = destroy.id;
    endcase
  rtl_pkg::cqi_t cqi;
  rtl_pkg::eqi_t eqi, cq_eq;
  logic [15:0] cq_users, eq_users;
  logic cq_there, eq_there, send_cq_there, recv_cq_there;
  logic [31:0] eq_asked;
  assign eq_asked = op == dingo_pkg::OP_CREATE_CQ ? cq.eqn : op == dingo_pkg::OP_CREATE_EQ ? eq.eqn : destroy.id;
  assign cqi = cq_asked[rtl_pkg::CQ_LOG-1:0];
  assign eqi = eq_asked[rtl_pkg::EQ_LOG-1:0];
  assign cq_users = cq_users_q[cqi];
  assign cq_eq = cq_eq_q[cqi];
  assign eq_users = eq_users_q[op == dingo_pkg::OP_DESTROY_CQ ? cq_eq : eqi];
  assign cq_there = cq_asked < 32'd1 << rtl_pkg::CQ_LOG && cq_used_q[cqi];
  assign eq_there = eq_asked < 32'd1 << rtl_pkg::EQ_LOG && eq_used_q[eqi];
  assign send_cq_there = qp.send_cqn < 32'd1 << rtl_pkg::CQ_LOG && cq_used_q[qp.send_cqn[rtl_pkg::CQ_LOG-1:0]];
  assign recv_cq_there = qp.recv_cqn < 32'd1 << rtl_pkg::CQ_LOG && cq_used_q[qp.recv_cqn[rtl_pkg::CQ_LOG-1:0]];


  assign cqi_o = cqi;
  assign eqi_o = eqi;
  assign cq_eq_o = cq_eq;
  assign cq_there_o = cq_there;
  assign cq_used_o = cq_users != '0;
  assign eq_there_o = eq_there;
  assign eq_used_o = eq_users != '0;
  assign send_cq_there_o = send_cq_there;
  assign recv_cq_there_o = recv_cq_there;
  assign async_o = async_q;
  assign eth_tx_o = eth_tx;
  assign eth_ring_o = eth_ring;
  assign eth_there_o = eth_there;

  logic eth_on;
  assign eth_on = op == dingo_pkg::OP_CREATE_ETH;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      async_q <= 1'b0;
      eth_on_q <= '0;
      cq_used_q <= '0;
      eq_used_q <= '0;
      eq_async_q <= '0;
    end else if (write_i) begin
      case (op)
        dingo_pkg::OP_CREATE_EQ: begin
          eq_used_q[eqi]  <= 1'b1;
          eq_users_q[eqi] <= '0;
          eq_async_q[eqi] <= eq_async;
          if (eq_async) async_q <= 1'b1;
        end
        dingo_pkg::OP_DESTROY_EQ: begin
          eq_used_q[eqi] <= 1'b0;
          if (eq_async_q[eqi]) async_q <= 1'b0;
        end
        dingo_pkg::OP_CREATE_CQ: begin
          cq_used_q[cqi]  <= 1'b1;
          cq_users_q[cqi] <= '0;
          cq_eq_q[cqi]    <= eqi;
          eq_users_q[eqi] <= eq_users + 1'b1;
        end
        dingo_pkg::OP_DESTROY_CQ: begin
          cq_used_q[cqi]    <= 1'b0;
          eq_users_q[cq_eq] <= eq_users - 1'b1;
        end
        dingo_pkg::OP_CREATE_QP: cq_users_q[cqi] <= cq_users + 1'b1;
        dingo_pkg::OP_DESTROY_QP: cq_users_q[cqi] <= cq_users - 1'b1;
        dingo_pkg::OP_CREATE_ETH, dingo_pkg::OP_DESTROY_ETH: begin
          cq_users_q[cqi] <= eth_on ? cq_users + 1'b1 : cq_users - 1'b1;
          eth_on_q[eth_at] <= eth_on;
          if (eth_on) eth_cq_q[eth_at] <= cqi;
        end
        default: ;
      endcase
    end else if (write_second_i) cq_users_q[cqi] <= op == dingo_pkg::OP_CREATE_QP ? cq_users + 1'b1 : cq_users - 1'b1;
  end

  wire unused_ok = &{1'b0, cmd_i, hdr, eq, cq, qp, eth, destroy, qp_i};
endmodule
