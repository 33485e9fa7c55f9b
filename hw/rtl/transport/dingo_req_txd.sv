// SPDX-License-Identifier: BSD-2-Clause

/// Descriptor of a request packet: opcode from the packet's position in the message; addresses from the QP or, for a
/// datagram, from its WQE. Combinational.
module dingo_req_txd (
    input  logic        en_i,          // the result is used; 0 saves simulation time
    input  rtl_pkg::qpi_t        qp_i,
    input  logic [31:0] qpn_i,
    input  rtl_pkg::qp_cfg_t     cfg_i,
    input  logic        datagram_i,
    input  logic        uc_i,
    input  req_pkg::wqe_t       wqe_i,
    input  logic [383:0] head_i,       // bytes 16..63 of the WQE
    input  logic [23:0] psn_i,
    input  rtl_pkg::gen_t        gen_i,
    input  logic [31:0] offset_i,      // of the packet in its message
    input  logic [12:0] bytes_i,
    input  logic        last_i,
    input  logic        ackreq_i,
    input  logic [(1<<rtl_pkg::GID_LOG)-1:0] gid_valid_i,
    input  logic        own_gid_i,     // cfg_i.sgid is one of these
    output logic        gid_ok_o,      // the source GID is valid
    output rtl_pkg::txd_t        txd_o
);
  dingo_pkg::wqe_ud_t ud;
  dingo_pkg::wqe_rdma_t rdma;
  dingo_pkg::wqe_atomic_t atomic;
  logic first, is_write, write_imm, send_imm, send_inv;

  assign ud = head_i;
  assign rdma = head_i[127:0];
  assign atomic = head_i[255:128];
  assign first = offset_i == 32'd0;
  assign write_imm = wqe_i.opcode == dingo_pkg::WR_WRITE_IMM[7:0];
  assign is_write = wqe_i.opcode == dingo_pkg::WR_WRITE[7:0] || write_imm;
  assign send_imm = wqe_i.opcode == dingo_pkg::WR_SEND_IMM[7:0];

  assign send_inv = wqe_i.opcode == dingo_pkg::WR_SEND_INV[7:0];

  assign gid_ok_o = datagram_i ? ud.sgid_index[15:rtl_pkg::GID_LOG] == '0 && gid_valid_i[ud.sgid_index[rtl_pkg::GID_LOG-1:0]]
                               : own_gid_i;

  always_comb begin
    txd_o = '0;
    if (en_i) begin
      txd_o.offset = offset_i;
      // UD and UC have no ACKs: a packet is done when its payload has been read. This is reported for each datagram and
      // for UC packets where RC would request an ACK.
      txd_o.tell = datagram_i || (uc_i && ackreq_i);
      txd_o.qp = qp_i;
      txd_o.psn = psn_i;
      txd_o.gen = gen_i;
      txd_o.imm = send_inv ? roce_pkg::be32(wqe_i.imm) : wqe_i.imm;   // an rkey is a number, immediate data are bytes
      txd_o.inl = wqe_i.inl;
      txd_o.len = bytes_i;
      txd_o.ackreq = ackreq_i && !uc_i;
      if (datagram_i) begin
        txd_o.sgid = ud.sgid_index[rtl_pkg::GID_LOG-1:0];
        txd_o.dgid = ud.dgid;
        txd_o.dmac = ud.dmac;
        txd_o.udp_sport = ud.udp_sport;
        txd_o.flow_label = ud.flow_label[19:0];
        txd_o.hop_limit = ud.hop_limit;
        txd_o.tclass = ud.tclass;
        txd_o.sl = ud.sl[3:0];
        txd_o.dqpn = ud.dest_qpn[23:0];
        txd_o.qkey = ud.qkey[31] ? cfg_i.qkey : ud.qkey;
        txd_o.src_qpn = qpn_i[23:0];
        txd_o.opcode = send_imm ? roce_pkg::UD_SEND_IMM : roce_pkg::UD_SEND;
        txd_o.se = wqe_i.solicited;
      end else begin
        txd_o.sgid = cfg_i.sgid;
        txd_o.dgid = cfg_i.dgid;
        txd_o.dmac = cfg_i.dmac;
        txd_o.udp_sport = cfg_i.udp_sport;
        txd_o.flow_label = cfg_i.flow_label;
        txd_o.hop_limit = cfg_i.hop_limit;
        txd_o.tclass = cfg_i.tclass;
        txd_o.sl = cfg_i.sl;
        txd_o.dqpn = cfg_i.dest_qpn;
        txd_o.rkey = rdma.rkey;
        txd_o.dma_len = wqe_i.length;
        txd_o.va = rdma.raddr;
        txd_o.se = last_i && wqe_i.solicited && !wqe_i.fetch && wqe_i.opcode != dingo_pkg::WR_WRITE[7:0];
        if (wqe_i.atomic) begin
          txd_o.opcode = roce_pkg::RC_FETCH_ADD;
          txd_o.swap_add = atomic.swap_add;
          if (wqe_i.opcode == dingo_pkg::WR_CMP_SWAP[7:0]) begin
            txd_o.opcode = roce_pkg::RC_COMPARE_SWAP;
            txd_o.compare = atomic.compare;
          end
        end else if (wqe_i.fetch) begin                // a repeated READ requests only the missing rest
          txd_o.opcode = roce_pkg::RC_READ_REQUEST;
          txd_o.va = rdma.raddr + {32'd0, offset_i};
          txd_o.dma_len = wqe_i.length - offset_i;
        end else begin
          txd_o.opcode = is_write ? roce_pkg::RC_WRITE_FIRST : roce_pkg::RC_SEND_FIRST;
          if (last_i) txd_o.opcode[3:0] = txd_o.opcode[3:0] + (first ? 4'd4 : 4'd2) + {3'd0, write_imm || send_imm};
          else if (!first) txd_o.opcode[3:0] = txd_o.opcode[3:0] + 4'd1;
          if (last_i && send_inv) txd_o.opcode = first ? roce_pkg::RC_SEND_ONLY_INV : roce_pkg::RC_SEND_LAST_INV;
        end
        if (uc_i) txd_o.opcode[7:5] = roce_pkg::TRANSPORT_UC;
      end
      if (txd_o.hop_limit == 8'd0) txd_o.hop_limit = roce_pkg::DEFAULT_HOP_LIMIT;
    end
  end

  wire unused_ok = &{1'b0, cfg_i, wqe_i, ud, rdma, qpn_i[31:24]};
endmodule
