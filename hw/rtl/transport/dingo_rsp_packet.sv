// SPDX-License-Identifier: BSD-2-Clause

/// Descriptor of a packet that the responder sends: the next one of a READ response, the only one of a READ or atomic
/// whose item came back, or the ACK or NAK that is owed. Combinational.
module dingo_rsp_packet (
    input  rtl_pkg::qpi_t    qp_i,
    input  rtl_pkg::qp_cfg_t cfg_i,
    input  rsp_pkg::rctx_t   ctx_i,
    input  rsp_pkg::rres_t   res_i,
    input  logic             read_i,       // READ response of res_i
    input  logic             refuse_i,     // RNR NAK instead of it
    input  logic             single_i,     // response to item_i, an atomic's word is word_i; neither: ACK or NAK
    input  rsp_pkg::item_t   item_i,
    input  logic [63:0]      word_i,
    output rtl_pkg::txd_t    txd_o,
    output logic [31:0]      offset_o,     // READ: the packet's first byte in the READ
    output logic [12:0]      bytes_o,
    output logic             last_o        // the last packet of this response
);

  logic first;
  logic [31:0] rest;
  logic [12:0] pmtu;
  assign pmtu = rtl_pkg::pmtu_bytes(cfg_i.path_mtu);
  assign first = res_i.next == res_i.start;
  assign last_o = res_i.next + 24'd1 == res_i.stop;
  assign offset_o = {8'd0, res_i.next} << (4'd7 + {1'b0, cfg_i.path_mtu});
  assign rest = res_i.finish - offset_o;
  assign bytes_o = res_i.atomic ? '0 : rest < {19'd0, pmtu} ? rest[12:0] : pmtu;

  always_comb begin
    txd_o = '0;
    txd_o.from_rsp = 1'b1;
    txd_o.gen = ctx_i.gen;
    txd_o.qp = qp_i;
    txd_o.sgid = cfg_i.sgid;
    txd_o.dgid = cfg_i.dgid;
    txd_o.dmac = cfg_i.dmac;
    txd_o.udp_sport = cfg_i.udp_sport;
    txd_o.flow_label = cfg_i.flow_label;
    txd_o.hop_limit = cfg_i.hop_limit == '0 ? roce_pkg::DEFAULT_HOP_LIMIT : cfg_i.hop_limit;
    txd_o.tclass = cfg_i.tclass;
    txd_o.sl = cfg_i.sl;
    txd_o.dqpn = cfg_i.dest_qpn;
    if (read_i) begin
      txd_o.opcode = first ? (last_o ? roce_pkg::RC_READ_ONLY : roce_pkg::RC_READ_FIRST) : (last_o ? roce_pkg::RC_READ_LAST : roce_pkg::RC_READ_MIDDLE);
      txd_o.psn = res_i.first_psn + res_i.next;
      txd_o.syndrome = roce_pkg::SYN_ACK;
      txd_o.msn = res_i.msn;
      txd_o.len = bytes_o;
      if (res_i.atomic) begin
        txd_o.opcode = roce_pkg::RC_ATOMIC_ACK;
        txd_o.swap_add = res_i.va;
      end
    end else if (refuse_i) begin
      txd_o.opcode = roce_pkg::RC_ACK;
      txd_o.psn = res_i.first_psn + res_i.next;
      txd_o.syndrome = roce_pkg::SYN_RNR | {3'd0, cfg_i.min_rnr_timer};
      txd_o.msn = res_i.msn - 24'd1;
    end else if (single_i) begin
      txd_o.opcode = item_i.atomic ? roce_pkg::RC_ATOMIC_ACK : roce_pkg::RC_READ_ONLY;
      txd_o.psn = item_i.psn;
      txd_o.syndrome = roce_pkg::SYN_ACK;
      txd_o.msn = ctx_i.msn;
      txd_o.len = item_i.atomic ? '0 : item_i.bytes[12:0];
      txd_o.swap_add = item_i.atomic ? word_i : '0;
    end else begin
      txd_o.opcode = roce_pkg::RC_ACK;
      txd_o.psn = ctx_i.reply_psn;
      txd_o.syndrome = ctx_i.reply_syn;
      txd_o.msn = ctx_i.msn;
    end
  end
  wire unused_ok = &{1'b0, cfg_i, ctx_i, res_i, item_i};
endmodule
