// SPDX-License-Identifier: BSD-2-Clause

/// RX_DONE of dingo_rsp_receive: a packet whose orders are all given. The context moves on (PSN, message in progress,
/// slot of a READ), and the item gets what dingo_rsp_commit needs when the payload is in memory: for a completion the
/// fields of its CQE. Combinational.
module dingo_rsp_accept (
    input  rsp_pkg::rx_t      rx_i,
    output rsp_pkg::rx_t      rx_o,
    input  rtl_pkg::qp_cfg_t  cfg_i,
    input  rtl_pkg::rxh_t     h_i,
    input  rsp_pkg::request_t rq_i,
    input  logic [31:0]       taken_bytes_i   // bytes of the message before this packet
);
  rsp_pkg::rctx_t c;
  logic [31:0] payload;
  logic ud_imm;         // opcode UD_SEND_IMM, which differs from UD_SEND in this bit
  assign ud_imm = h_i.opcode[0];
  assign c = rx_i.c;
  assign payload = {19'd0, h_i.len};

  always_comb begin
    rx_o = rx_i;
    rx_o.state = rsp_pkg::RX_END;
    rx_o.item.kind = rq_i.fetch && rq_i.rc ? rsp_pkg::IT_READ : rsp_pkg::IT_DATA;
    rx_o.item.atomic = rq_i.atomic;
    rx_o.item.write = rq_i.write && !rq_i.ud;
    rx_o.item.first = rq_i.first || rq_i.ud;
    rx_o.item.last = rq_i.last && !rq_i.ud;
    rx_o.item.ack = h_i.ackreq && rq_i.rc;
    rx_o.item.imm = h_i.imm;
    rx_o.item.tag = c.held_tag;
    rx_o.item.rq_after = rq_i.write && !rq_i.ud && (rx_i.taken || c.held) ? c.held_index : c.rq_cons;
    rx_o.item.flags = h_i.se ? dingo_pkg::CQE_FLAGS_SOLICITED_MASK[7:0] : 8'd0;
    rx_o.item.opcode = dingo_pkg::WC_RECV[7:0];
    if (rq_i.ud) begin
      rx_o.item.cqe = 1'b1;
      rx_o.item.bytes = taken_bytes_i + payload;
      // SL is the VLAN tag's priority.
      rx_o.item.src_qpn = {h_i.has_vlan ? {1'b0, h_i.vlan[15:13]} : 4'd0, 4'd0, h_i.src_qpn};
      rx_o.item.vlan = h_i.has_vlan ? h_i.vlan : 16'd0;
      if (ud_imm) rx_o.item.opcode = dingo_pkg::WC_RECV_IMM[7:0];
      else rx_o.item.imm = '0;
      rx_o.item.flags = (h_i.se ? dingo_pkg::CQE_FLAGS_SOLICITED_MASK[7:0] : 8'd0)
                          | (ud_imm ? dingo_pkg::CQE_FLAGS_IMM_MASK[7:0] : 8'd0)
                          | (h_i.ipv4 ? dingo_pkg::CQE_FLAGS_IPV4_MASK[7:0] : 8'd0)
                          | (h_i.has_vlan ? dingo_pkg::CQE_FLAGS_VLAN_MASK[7:0] : 8'd0)
                                | dingo_pkg::CQE_FLAGS_GRH_MASK[7:0];
    end else if (rq_i.fetch) begin
      rx_o.item.tag = h_i.rkey;
      rx_o.item.va = h_i.va;
      rx_o.item.bytes = h_i.dma_len;
      rx_o.c.rd_inflight = c.rd_inflight + 5'd1;
      rx_o.c.rd_take = rsp_pkg::rd_behind(c.rd_take, cfg_i.max_dest_rd);
      rx_o.c.exp_psn = c.exp_psn + rsp_pkg::packets_of(h_i.dma_len, cfg_i.path_mtu);
    end else begin
      rx_o.c.exp_psn = h_i.psn + 24'd1;
      rx_o.item.cqe = rq_i.takes_rq && rq_i.last;
      rx_o.item.bytes = rq_i.send ? taken_bytes_i + payload : rq_i.first ? h_i.dma_len : c.bytes;
      if (rq_i.inv) begin
        rx_o.item.opcode = dingo_pkg::WC_RECV_INV[7:0];
        rx_o.item.imm = roce_pkg::be32(h_i.imm);
        rx_o.item.flags = (h_i.se ? dingo_pkg::CQE_FLAGS_SOLICITED_MASK[7:0] : 8'd0)
                            | dingo_pkg::CQE_FLAGS_INV_MASK[7:0];
      end else if (rq_i.imm) begin
        rx_o.item.opcode = rq_i.write ? dingo_pkg::WC_RECV_WRITE_IMM[7:0] : dingo_pkg::WC_RECV_IMM[7:0];
        rx_o.item.flags = (h_i.se ? dingo_pkg::CQE_FLAGS_SOLICITED_MASK[7:0] : 8'd0)
                            | dingo_pkg::CQE_FLAGS_IMM_MASK[7:0];
      end else rx_o.item.imm = '0;
      rx_o.c.message = rq_i.last ? rsp_pkg::MSG_NONE : rq_i.send ? rsp_pkg::MSG_SEND : rsp_pkg::MSG_WRITE;
      if (rq_i.takes_rq) rx_o.c.held = rq_i.send && !rq_i.last;
      rx_o.c.bytes = rq_i.send ? taken_bytes_i + payload : rq_i.first ? h_i.dma_len : c.bytes;
      if (rq_i.write) begin
        if (rq_i.first) rx_o.c.write_rkey = h_i.rkey;
        rx_o.c.write_va = (rq_i.first ? h_i.va : c.write_va) + {51'd0, h_i.len};
        rx_o.c.remaining = (rq_i.first ? h_i.dma_len : c.remaining) - payload;
      end
    end
  end

  wire unused_ok = &{1'b0, c, cfg_i, h_i, rq_i};
endmodule
