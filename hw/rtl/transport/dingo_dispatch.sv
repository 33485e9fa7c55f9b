// SPDX-License-Identifier: BSD-2-Clause

/// Finds the QP of a received packet, makes the checks that all transports share (a counter for each), and gives the
/// packet to an engine: responses to the requester, requests and datagrams to the responder. For a packet that is
/// dropped here it gives dingo_scatter the END. 3 cycles a packet, and 3 until it is offered to an engine.
/// Orders to dingo_scatter must be in the order of the packets. One engine may have several packets, but a packet for
/// the other engine, or one to drop, waits until that engine has ordered END for all of its packets. A bare ACK (no
/// payload) neither waits nor makes others wait.
module dingo_dispatch (
    input  logic   clk_i,
    input  logic   rst_ni,
    input  logic   halt_i,
    output logic   idle_o,
    input  logic [(1<<rtl_pkg::GID_LOG)*rtl_pkg::GID_W-1:0] gids_i,
    input  logic   rxh_valid_i,
    output logic   rxh_ready_o,
    output logic   rxh_bare_o,          // rxh_i is a bare ACK
    input  rtl_pkg::rxh_t   rxh_i,
    output logic   qp_re_o,
    output rtl_pkg::qpi_t   qp_raddr_o,
    input  rtl_pkg::qp_t    qp_rdata_i,
    output logic   req_valid_o,
    input  logic   req_ready_i,
    output logic   rsp_valid_o,
    input  logic   rsp_ready_i,
    output rtl_pkg::rxp_t   rxp_o,
    // orders to dingo_scatter: ENDs of dropped packets, and what the engines order
    output logic   scat_valid_o,
    input  logic   scat_ready_i,
    output rtl_pkg::scat_t  scat_o,
    input  logic   end_i,               // an engine's END was taken, one cycle or more after the engine took the packet
    input  logic   end_bare_i,          // with end_i: of a bare ACK
    output logic   stat_valid_o,
    input  logic   stat_ready_i,
    output rtl_pkg::stat_t  stat_o,
    output logic   qstat_valid_o,
    input  logic   qstat_ready_i,
    output rtl_pkg::qstat_t qstat_o
);

  typedef enum logic [2:0] {
    IDLE = 3'd0,
    LOAD = 3'd1,      // the QP comes from the table; addresses are compared
    CHECK = 3'd2,
    DROP = 3'd3,
    GIVE = 3'd4       // offered to the engine
  } state_t;
  localparam int unsigned GIDS = 1 << rtl_pkg::GID_LOG;

  state_t state_q;
  rtl_pkg::qp_t qp_q;
  rtl_pkg::rxh_t h_q;  // headers of the packet that is given or dropped; rxh_i has those of the next one
  logic response_q, bare_q;
  logic [3:0] owed_q;  // packets that were given and have no END yet, except bare ACKs
  logic [3:0] bare_owed_q;
  logic owner_q;       // engine that has them: 1 the responder
  logic given, free, mine, begins, next;

  // ---------------------------------------------------------------- counters, one a cycle, during the next packet
  logic count_packet_q, count_bytes_q, count_ecn_q, count_drop_q, count_qp_q, count_qp_bytes_q;
  logic [5:0] drop_q;
  logic [13:0] bytes_q, qp_bytes_q;
  rtl_pkg::qpi_t count_index_q;
  assign stat_valid_o = count_packet_q || count_bytes_q || count_ecn_q || count_drop_q;
  always_comb begin
    stat_o.by = 16'd1;
    if (count_packet_q) stat_o.idx = 6'(dingo_pkg::CARD_RDMA_RX_PACKETS);
    else if (count_bytes_q) begin
      stat_o.idx = 6'(dingo_pkg::CARD_RDMA_RX_BYTES);
      stat_o.by = {2'd0, bytes_q};
    end else if (count_ecn_q) stat_o.idx = 6'(dingo_pkg::CARD_NP_ECN_MARKED_ROCE_PACKETS);
    else stat_o.idx = drop_q;
  end
  assign qstat_valid_o = count_qp_q || count_qp_bytes_q;
  assign qstat_o.qp = count_index_q;
  assign qstat_o.idx = count_qp_q ? 4'(dingo_pkg::QP_RX_PACKETS) : 4'(dingo_pkg::QP_RX_BYTES);
  assign qstat_o.by = count_qp_q ? 16'd1 : {2'd0, qp_bytes_q};

  // ---------------------------------------------------------------- headers against the QP
  logic [4:0] op;
  logic is_rc_op, is_uc_op, is_ud_op, is_response, is_rc, is_uc, op_ok, known, open, pkey_ok;
  assign op = rxh_i.opcode[4:0];
  assign is_rc_op = rxh_i.opcode[7:5] == roce_pkg::TRANSPORT_RC && op <= roce_pkg::OP_SEND_ONLY_INV && op != roce_pkg::OP_RESERVED;
  assign is_uc_op = rxh_i.opcode[7:5] == roce_pkg::TRANSPORT_UC && op <= roce_pkg::OP_WRITE_ONLY_IMM;
  assign is_ud_op = rxh_i.opcode[7:1] == roce_pkg::UD_SEND[7:1];
  assign is_response = op >= roce_pkg::OP_READ_FIRST && op <= roce_pkg::OP_ATOMIC_ACK && is_rc_op;
  assign rxh_bare_o = rxh_i.opcode == roce_pkg::RC_ACK && rxh_i.len == '0;
  assign is_rc = qp_q.cfg.kind == dingo_pkg::QPT_RC[2:0];
  assign is_uc = qp_q.cfg.kind == dingo_pkg::QPT_UC[2:0];
  assign op_ok = is_rc ? is_rc_op : is_uc ? is_uc_op : is_ud_op;
  assign known = qp_q.cfg.valid && qp_q.cfg.tag == rxh_i.dqpn[23:16]
                 && rxh_i.dqpn[15:0] < 16'(1 << rtl_pkg::QP_LOG);
  always_comb begin
    case (qp_q.state)
      dingo_pkg::QPS_RTR[2:0], dingo_pkg::QPS_SQE[2:0]: open = !is_response;
      dingo_pkg::QPS_RTS[2:0], dingo_pkg::QPS_SQD[2:0]: open = 1'b1;
      default: open = 1'b0;
    endcase
  end
  // C9-42, C9-43: the only P_Key of the table is a full member's, which matches full and limited members
  assign pkey_ok = rxh_i.pkey[14:0] == dingo_pkg::PKEY_DEFAULT[14:0];

  // ---------------------------------------------------------------- addresses
  // A connected QP accepts only its own GID, a datagram QP any GID of the table.
  logic [GIDS-1:0] local_q;
  logic peer_q, multicast_q, address_ok;
  logic [11:0] vid;
  assign vid = rxh_i.has_vlan ? rxh_i.vlan[11:0] : 12'd0;   // id 0 is a priority tag: no VLAN
  logic [GIDS-1:0] match;
  for (genvar i = 0; i < GIDS; i++) begin : gids
    rtl_pkg::gid_t g;
    assign g = rtl_pkg::gid_t'(gids_i[i*rtl_pkg::GID_W +: rtl_pkg::GID_W]);
    assign match[i] = g.valid && g.gid == rxh_i.dgid
                      && vid == (g.vlan == dingo_pkg::VLAN_NONE[15:0] ? 12'd0 : g.vlan[11:0]);
    wire unused_ok = &{1'b0, g};
  end
  assign address_ok = is_rc || is_uc ? local_q[qp_q.cfg.sgid] && peer_q : multicast_q || local_q != '0;

  assign free = owed_q == '0;
  assign mine = free || bare_q || owner_q == !response_q;
  assign given = (req_valid_o && req_ready_i) || (rsp_valid_o && rsp_ready_i);
  assign idle_o = state_q == IDLE && !stat_valid_o && !qstat_valid_o && free && bare_owed_q == '0;
  // The next packet's QP is read while the current packet is given, and again in each cycle until that is taken.
  assign qp_re_o = (state_q == IDLE || state_q == GIVE) && rxh_valid_i && !halt_i && !stat_valid_o;
  assign next = state_q == IDLE || given;
  assign begins = qp_re_o && next;
  assign qp_raddr_o = rxh_i.dqpn[rtl_pkg::QP_LOG-1:0];
  assign rxh_ready_o = state_q == CHECK && !qstat_valid_o;
  assign rxp_o.qp = h_q.dqpn[rtl_pkg::QP_LOG-1:0];
  assign rxp_o.ctx = qp_q;
  assign rxp_o.h = h_q;
  assign req_valid_o = state_q == GIVE && response_q && mine;
  assign rsp_valid_o = state_q == GIVE && !response_q && mine;
  assign scat_valid_o = state_q == DROP && free;
  always_comb begin
    scat_o = '0;
    scat_o.bare = bare_q;
    scat_o.op = rtl_pkg::SCAT_END;
    scat_o.no_item = 1'b1;
    scat_o.has_payload = h_q.len != '0;
  end

  always_ff @(posedge clk_i) begin
    if (stat_ready_i) begin
      if (count_packet_q) count_packet_q <= 1'b0;
      else if (count_bytes_q) count_bytes_q <= 1'b0;
      else if (count_ecn_q) count_ecn_q <= 1'b0;
      else count_drop_q <= 1'b0;
    end
    if (qstat_ready_i) begin
      if (count_qp_q) count_qp_q <= 1'b0;
      else count_qp_bytes_q <= 1'b0;
    end
    owed_q <= owed_q + {3'd0, given && !bare_q} - {3'd0, end_i && !end_bare_i};
    bare_owed_q <= bare_owed_q + {3'd0, given && bare_q} - {3'd0, end_i && end_bare_i};

    case (state_q)
      IDLE, GIVE: begin
        if (given) begin
          if (!bare_q) owner_q <= !response_q;
          state_q <= IDLE;
        end
        if (begins) begin
          count_packet_q <= 1'b1;
          count_bytes_q <= 1'b1;
          count_ecn_q <= rxh_i.ce;
          bytes_q <= rxh_i.frame_bytes;
          state_q <= LOAD;
        end
      end
      LOAD: begin
        qp_q <= qp_rdata_i;
        multicast_q <= rxh_i.dgid[7:0] == 8'hff
                       || (rxh_i.dgid[95:0] == {16'hffff, 80'd0} && rxh_i.dgid[103:100] == 4'he);
        local_q <= match;
        peer_q <= rxh_i.sgid == qp_rdata_i.cfg.dgid;
        state_q <= CHECK;
      end
      CHECK:
      if (!qstat_valid_o) begin  // the QP counters of the previous packet have left
        h_q <= rxh_i;
        response_q <= is_response;
        bare_q <= rxh_bare_o;
        state_q <= DROP;
        count_drop_q <= 1'b1;
        if (rxh_i.opcode == roce_pkg::CNP) drop_q <= 6'(dingo_pkg::CARD_RP_CNP_IGNORED);
        else if (!known) drop_q <= 6'(dingo_pkg::CARD_RX_DROP_BAD_QPN);
        else if (!op_ok) drop_q <= 6'(dingo_pkg::CARD_RX_DROP_OPCODE);
        else if (!open) drop_q <= 6'(dingo_pkg::CARD_RX_DROP_QP_STATE);
        else if (!pkey_ok) drop_q <= 6'(dingo_pkg::CARD_BAD_PKEY);
        else if (!address_ok) drop_q <= 6'(dingo_pkg::CARD_RX_DROP_ADDRESS);
        else begin
          count_drop_q <= 1'b0;
          count_qp_q <= 1'b1;
          count_qp_bytes_q <= 1'b1;
          count_index_q <= rxh_i.dqpn[rtl_pkg::QP_LOG-1:0];
          qp_bytes_q <= bytes_q;
          state_q <= GIVE;
        end
      end
      DROP: if (scat_valid_o && scat_ready_i) state_q <= IDLE;
      default: state_q <= IDLE;
    endcase

    if (!rst_ni) begin
      state_q <= IDLE;
      owed_q <= '0;
      bare_owed_q <= '0;
      count_packet_q <= 1'b0;
      count_bytes_q <= 1'b0;
      count_ecn_q <= 1'b0;
      count_drop_q <= 1'b0;
      count_qp_q <= 1'b0;
      count_qp_bytes_q <= 1'b0;
    end else assert (!(end_i && (end_bare_i ? bare_owed_q == '0 : free)) && !(given && (bare_q ? bare_owed_q : owed_q) == '1));
  end
endmodule
