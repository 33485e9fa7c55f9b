// SPDX-License-Identifier: BSD-2-Clause

/// A new WQE that is not plain: loaded (TN_NEW), allowed to begin (TN_BEGIN), what it asks of a key (TN_KEY), its
/// SGEs (TN_CHECK), and its record (TN_PUSH, or TN_REFUSE for one that fails before its first packet). A message of
/// one packet whose segments are known goes to TN_EMIT, others to TN_PACKET (dingo_req_packet). Combinational;
/// TN_NEW, TN_KEY and TN_CHECK wait for their answers, TN_PUSH and TN_REFUSE for the memory of records.
module dingo_req_new (
    input  req_pkg::turn_t       turn_i,
    output req_pkg::turn_t       turn_o,
    input  rtl_pkg::qpi_t        qp_i,
    input  rtl_pkg::qp_cfg_t     cfg_i,
    input  req_pkg::window_t     window_i,
    input  logic [15:0]          port_mtu_i,
    input  logic                 own_gid_i,     // of a connected QP: its source address is there
    input  logic                 gid_ok_i,      // the packet's source address is there
    input  logic                 run_i,
    input  logic                 loaded_i,      // answer_i has the WQE
    input  logic                 walked_i,      // answer_i has its SGEs
    input  req_pkg::wqe_answer_t answer_i,
    output logic                 may_check_o,   // TN_BEGIN: the SGEs are to be looked up
    input  logic                 rec_we_ok_i,
    output rtl_pkg::mrw_req_t    mrw_o,
    input  logic                 mrw_done_i,
    input  rtl_pkg::mrw_rsp_t    mrw_rsp_i,
    input  req_pkg::settle_t     settle_i,
    output logic                 settle_push_o  // the QP waits in dingo_req_settle
);
  req_pkg::ctx_t c;
  req_pkg::rec_t r;
  logic datagram, connected, r_read, r_local, no_reads, on_key, key_wait, must_wait, may_check, settle_push;
  logic [12:0] pmtu;
  logic [32:0] wqe_round;
  logic [31:0] wqe_packets;
  logic [31:0] longest;                // datagram: largest IB MTU whose packet fits the port's MTU
  assign c = turn_i.c;
  assign r = turn_i.r;
  assign datagram = !connected;
  assign connected = cfg_i.kind != dingo_pkg::QPT_UD[2:0] && cfg_i.kind != dingo_pkg::QPT_GSI[2:0];
  assign r_read = r.fetch;
  assign r_local = answer_i.wqe.local_op;
  assign pmtu = rtl_pkg::pmtu_bytes(cfg_i.path_mtu);
  assign wqe_round = ({1'b0, answer_i.wqe.length} + {20'd0, pmtu} - 33'd1) >> (4'd7 + {1'b0, cfg_i.path_mtu});
  assign wqe_packets = datagram || answer_i.wqe.length == 32'd0 ? 32'd1 : wqe_round[31:0];
  always_comb begin
    if (port_mtu_i >= 16'd4192) longest = 32'd4096;
    else if (port_mtu_i >= 16'd2144) longest = 32'd2048;
    else if (port_mtu_i >= 16'd1120) longest = 32'd1024;
    else if (port_mtu_i >= 16'd608) longest = 32'd512;
    else longest = 32'd256;
  end

  assign no_reads = r_read && connected && cfg_i.max_rd == 8'd0;
  assign on_key = r_local && r.opcode != dingo_pkg::WR_NOP[7:0];
  // LOCAL_INV waits for all messages before it: one of them may have to be read again through the key.
  assign key_wait = on_key && ((r.opcode == dingo_pkg::WR_LOCAL_INV[7:0] && c.head != c.tail) ||
                               (c.settles ? settle_i.waits : !settle_i.room));
  assign must_wait = (answer_i.wqe.fence && c.reads != 5'd0) || key_wait ||
                     (connected && !r_local && !no_reads &&
                      ((r_read && (c.reads >= window_i.max_reads ||
                                   (c.reads != 5'd0 && $signed({9'd0, r.packets}) > $signed(window_i.left_reads)))) ||
                       $signed({9'd0, r.packets}) > $signed(window_i.left)));
  assign may_check = connected && !must_wait && !r_local && !no_reads && own_gid_i && !answer_i.wqe.inl &&
                     answer_i.wqe.num_sge != 4'd0;
  assign may_check_o = may_check;
  assign settle_push = turn_i.state == req_pkg::TN_KEY && run_i && mrw_done_i && mrw_rsp_i.verr == 8'd0 &&
                       mrw_rsp_i.under_way;
  assign settle_push_o = settle_push;
  always_comb begin
    mrw_o.op = rtl_pkg::MRW_INVALIDATE;
    if (r.opcode == dingo_pkg::WR_BIND_MW[7:0]) mrw_o.op = rtl_pkg::MRW_BIND;
    if (r.opcode == dingo_pkg::WR_REG_MR[7:0]) mrw_o.op = rtl_pkg::MRW_REGISTER;
    mrw_o.qp = qp_i;
    mrw_o.pdn = cfg_i.pdn;
    mrw_o.privileged = cfg_i.privileged;
    mrw_o.key = answer_i.wqe.imm;
    mrw_o.body = answer_i.head;
  end

  always_comb begin
    turn_o = turn_i;
    case (turn_i.state)
      req_pkg::TN_NEW:
      if (loaded_i) begin
        turn_o.status = answer_i.wqe.status;
        turn_o.verr = answer_i.wqe.verr;
        turn_o.r.index = c.next_index;
        turn_o.r.first = c.new_psn;
        turn_o.r.packets = wqe_packets[23:0];
        turn_o.r.length = answer_i.wqe.length;
        turn_o.r.received = '0;
        turn_o.r.opcode = answer_i.wqe.opcode;
        turn_o.r.blocks = answer_i.wqe.blocks;
        turn_o.r.status = '0;
        turn_o.r.verr = '0;
        turn_o.r.fetch = answer_i.wqe.fetch;
        turn_o.r.kept = answer_i.wqe.opcode == dingo_pkg::WR_READ[7:0] && answer_i.wqe.num_sge == 4'd1 &&
                        answer_i.wqe.length != 32'd0;
        turn_o.r.signaled = answer_i.wqe.signaled || cfg_i.signal_all;
        if (answer_i.load_miss) begin
          turn_o.wake = !answer_i.load_asked;
          turn_o.c.fetching = answer_i.load_asked;
          turn_o.state = req_pkg::TN_BACK;
        end else turn_o.state = answer_i.wqe.status != 8'd0 ? req_pkg::TN_REFUSE : req_pkg::TN_BEGIN;
      end

      req_pkg::TN_BEGIN: begin
        if (!must_wait) turn_o.c.settles = 1'b0;
        turn_o.off = '0;
        turn_o.sge = answer_i.head[req_pkg::HEAD_SGE +: dingo_pkg::SGE_W];
        turn_o.bytes = r.length[12:0];
        {turn_o.status, turn_o.verr} = {dingo_pkg::WCS_LOC_QP_OP_ERR[7:0], dingo_pkg::VERR_GID[7:0]};
        turn_o.state = req_pkg::TN_PUSH;
        if (must_wait) begin
          turn_o.state = req_pkg::TN_BACK;
          if (on_key && !c.settles && !settle_i.room) turn_o.wake = 1'b1;
        end else if (r_local) begin
          turn_o.r.packets = '0;
          if (on_key && !c.settles) turn_o.state = req_pkg::TN_KEY;
        end else if (datagram && r.length > longest) begin
          {turn_o.status, turn_o.verr} = {dingo_pkg::WCS_LOC_LEN_ERR[7:0], dingo_pkg::VERR_MSG_TOO_LONG[7:0]};
          turn_o.state = req_pkg::TN_REFUSE;
        end else if (no_reads) begin
          turn_o.verr = dingo_pkg::VERR_RD_ATOMIC[7:0];
          turn_o.state = req_pkg::TN_REFUSE;
        end else if (!gid_ok_i) turn_o.state = req_pkg::TN_REFUSE;
        else if (may_check) turn_o.state = req_pkg::TN_CHECK;
      end

      req_pkg::TN_KEY:
      if (mrw_done_i) begin
        turn_o.status = dingo_pkg::WCS_MW_BIND_ERR[7:0];
        turn_o.verr = mrw_rsp_i.verr;
        turn_o.c.settles = settle_push;
        turn_o.state = mrw_rsp_i.verr != 8'd0 ? req_pkg::TN_REFUSE : settle_push ? req_pkg::TN_BACK : req_pkg::TN_PUSH;
      end

      req_pkg::TN_CHECK:
      if (walked_i) begin
        turn_o.status = dingo_pkg::WCS_LOC_PROT_ERR[7:0];
        turn_o.verr = answer_i.walk_verr;
        turn_o.placed = !r_read && r.packets == 24'd1;
        turn_o.checked = 1'b1;
        turn_o.state = answer_i.walk_verr != 8'd0 ? req_pkg::TN_REFUSE
                       : answer_i.walk_paused ? req_pkg::TN_BACK : req_pkg::TN_PUSH;
      end

      req_pkg::TN_PUSH:
      if (rec_we_ok_i) begin
        turn_o.c.tail = c.tail + 8'd1;
        turn_o.c.next_index = c.next_index + {28'd0, r.blocks};
        turn_o.c.new_psn = c.new_psn + {8'd0, r.packets};
        turn_o.last = 1'b1;              // as TN_PACKET finds for a message of one packet
        turn_o.next_psn = c.send + 32'd1;
        turn_o.state = turn_i.placed ? req_pkg::TN_EMIT : req_pkg::TN_PACKET;
        if (r_local) begin
          turn_o.c.cursor = c.cursor + 8'd1;
          turn_o.used = turn_i.used + 5'd1;
          turn_o.ack = 1'b1;
          turn_o.wake = 1'b1;
          turn_o.c.odd = 1'b1;
          turn_o.state = req_pkg::TN_BACK;
        end
        if (r_read) turn_o.c.reads = c.reads + 5'd1;
      end

      req_pkg::TN_REFUSE:  // completes when all messages before it have
      if (rec_we_ok_i) begin
        turn_o.c.tail = c.tail + 8'd1;
        turn_o.c.next_index = c.next_index + {28'd0, r.blocks};
        turn_o.c.halted = 1'b1;
        turn_o.c.odd = 1'b1;
        turn_o.ack = 1'b1;
        turn_o.state = req_pkg::TN_BACK;
      end

      default: ;
    endcase
  end

  wire unused_ok = &{1'b0, c, r, cfg_i, window_i, answer_i, wqe_round[32], wqe_packets[31:24]};
endmodule
