// SPDX-License-Identifier: BSD-2-Clause

/// Formats the reports of a step for completion queues, event queues and counters. Combinational.
module dingo_rsp_report (
    input  rsp_pkg::emit_t       own_i,          // report of dingo_responder itself; goes first
    input  rsp_pkg::emit_t       part_i,         // report of the part that executes the step
    input  rtl_pkg::qpi_t        qp_i,
    input  rtl_pkg::qp_cfg_t     cfg_i,
    input  rsp_pkg::item_t       item_i,         // the item of a completion with status SUCCESS
    output logic                 stat_valid_o,
    output rtl_pkg::stat_t       stat_o,
    output logic                 qstat_valid_o,
    output rtl_pkg::qstat_t      qstat_o,
    output logic                 ev_valid_o,
    output rtl_pkg::ev_t         ev_o,
    output logic                 cqe_valid_o,
    output rtl_pkg::cqe_req_t    cqe_o
);
  localparam logic [7:0] SrqKinds = dingo_pkg::EV_SRQ_ERR[7:0];  // kinds 0x30..0x3f are events of SRQs
  assign stat_valid_o = own_i.stat || part_i.stat;
  assign stat_o.idx = own_i.stat ? own_i.stat_idx : part_i.stat_idx;
  assign stat_o.by = 16'd1;
  assign qstat_valid_o = own_i.qstat || part_i.qstat;
  assign qstat_o.qp = qp_i;
  assign qstat_o.idx = own_i.qstat ? own_i.qstat_idx : part_i.qstat_idx;
  assign qstat_o.by = 16'd1;
  assign ev_valid_o = own_i.ev || part_i.ev;
  logic [7:0] ev_kind;
  assign ev_kind = own_i.ev ? own_i.ev_kind : part_i.ev_kind;
  assign ev_o.kind = ev_kind;
  assign ev_o.id = ev_kind[7:4] == SrqKinds[7:4] ? 32'(cfg_i.srq) : {8'd0, cfg_i.tag, 16'(qp_i)};
  assign ev_o.data = '0;
  assign cqe_valid_o = own_i.cqe || part_i.cqe;
  always_comb begin
    cqe_o = '0;
    cqe_o.cq = cfg_i.recv_cq;
    cqe_o.from_rsp = 1'b1;
    cqe_o.qp = qp_i;
    cqe_o.wqe_index = own_i.cqe ? own_i.cqe_tag : part_i.cqe_tag;
    cqe_o.qpn_op = {dingo_pkg::WC_RECV[7:0], cfg_i.tag, 16'(qp_i)};
    cqe_o.status = own_i.cqe ? own_i.cqe_status : part_i.cqe_status;
    cqe_o.verr = own_i.cqe ? own_i.cqe_verr : part_i.cqe_verr;
    if (cqe_o.status == dingo_pkg::WCS_SUCCESS[7:0]) begin
      cqe_o.qpn_op[31:24] = item_i.opcode;
      cqe_o.byte_len = item_i.bytes;
      cqe_o.imm = item_i.imm;
      cqe_o.src_qpn = item_i.src_qpn;
      cqe_o.vlan = item_i.vlan;
      cqe_o.flags = item_i.flags;
    end
  end

  wire unused_ok = &{1'b0, own_i, part_i, cfg_i, item_i};
endmodule
