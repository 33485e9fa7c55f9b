// SPDX-License-Identifier: BSD-2-Clause

/// dingo_requester and dingo_tx_mux, with the fields of their structures as ports for a C++ bench.
module requester_bench (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        halt_tx_i,
    output logic        tx_idle_o,
    output logic        mux_idle_o,
    output logic        idle_o,
    output logic        due_o,
    output logic        work_o,
    output logic        timer_valid_o,
    output logic [63:0] timer_next_o,
    input  logic [63:0] now_ns_i,
    input  logic [15:0] port_mtu_i,
    input  logic [(1<<rtl_pkg::GID_LOG)-1:0] gid_valid_i,
    input  logic        db_valid_i,
    output logic        db_ready_o,
    input  logic [15:0] db_qp_i,
    input  logic [31:0] db_index_i,
    output logic        db_bad_o,
    input  logic        rxp_valid_i,
    output logic        rxp_ready_o,
    input  logic [15:0] rxp_qp_i,
    input  logic [7:0]  rxp_opcode_i,
    input  logic [23:0] rxp_psn_i,
    input  logic [7:0]  rxp_syndrome_i,
    input  logic [63:0] rxp_word_i,
    input  logic [12:0] rxp_len_i,
    input  logic        commit_valid_i,
    output logic        commit_ready_o,
    input  logic        commit_err_i,
    input  logic [383:0] commit_item_i,
    input  logic        txerr_valid_i,
    output logic        txerr_ready_o,
    input  logic        txerr_ok_i,
    input  logic [15:0] txerr_qp_i,
    input  logic [23:0] txerr_psn_i,
    input  logic [5:0]  txerr_gen_i,
    input  logic        cq_fail_valid_i,
    input  logic [15:0] cq_fail_qp_i,
    input  logic        fail_valid_i,
    input  logic [15:0] fail_qp_i,
    output logic        fail_valid_o,
    output logic [15:0] fail_qp_o,
    input  logic        qpa_valid_i,
    input  logic [1:0]  qpa_op_i,
    input  logic [2:0]  qpa_old_i,
    input  logic [20:0] qpa_mask_i,
    input  logic [15:0] qpa_qp_i,
    output logic        qpa_done_o,
    output logic [31:0] info_producer_o,
    output logic [31:0] info_consumer_o,
    output logic [23:0] info_oldest_o,
    output logic [23:0] info_psn_o,
    output logic [2:0]  info_retries_o,
    output logic [2:0]  info_rnr_o,
    output logic        info_draining_o,
    // context of the QP that qp_re_o asked for, or of the command's QP
    output logic        qp_re_o,
    output logic [15:0] qp_raddr_o,
    input  logic [2:0]  qp_state_i,
    input  logic [2:0]  qp_kind_i,
    input  logic        qp_signal_all_i,
    input  logic        qp_privileged_i,
    input  logic [4:0]  qp_log_sq_i,
    input  logic [1:0]  qp_levels_i,
    input  logic [63:0] qp_sq_i,
    input  logic [31:0] qp_offset_i,
    input  logic [2:0]  qp_mtu_i,
    input  logic [7:0]  qp_max_rd_i,
    input  logic [4:0]  qp_timeout_i,
    input  logic [2:0]  qp_retry_i,
    input  logic [2:0]  qp_rnr_i,
    input  logic        qp_notify_i,
    input  logic [23:0] qp_sq_psn_i,
    input  logic [23:0] qp_dest_i,
    input  logic [31:0] qp_qkey_i,
    output logic        state_we_o,
    output logic [15:0] state_index_o,
    output logic [2:0]  state_o,
    output logic        mr_valid_o,
    output logic [31:0] mr_key_o,
    output logic [63:0] mr_va_o,
    output logic [31:0] mr_len_o,
    output logic [5:0]  mr_access_o,
    output logic [15:0] mr_pdn_o,
    input  logic        mr_rsp_valid_i,
    input  logic        mr_ok_i,
    input  logic        mr_paused_i,
    input  logic        resume_i,
    input  logic [7:0]  mr_verr_i,
    input  logic [63:0] mr_off_i,
    input  logic [63:0] mr_addr_i,
    // requests to dingo_mr_work
    output logic        mrw_valid_o,
    output logic [2:0]  mrw_op_o,
    output logic [15:0] mrw_qp_o,
    output logic [15:0] mrw_pdn_o,
    output logic        mrw_privileged_o,
    output logic [31:0] mrw_key_o,
    output logic [383:0] mrw_body_o,
    input  logic        mrw_done_i,
    input  logic [7:0]  mrw_verr_i,
    input  logic        mrw_under_way_i,
    input  logic        flow_rx_in_i,
    input  logic        flow_rx_out_i,
    input  logic        flow_tx_open_i,
    input  logic        flow_tx_in_i,
    input  logic        flow_tx_out_i,
    // packets, from dingo_tx_mux
    output logic        txd_valid_o,
    input  logic        txd_ready_i,
    output logic [15:0] txd_qp_o,
    output logic [7:0]  txd_opcode_o,
    output logic [23:0] txd_psn_o,
    output logic [23:0] txd_dqpn_o,
    output logic        txd_se_o,
    output logic        txd_ackreq_o,
    output logic        txd_tell_o,
    output logic        txd_from_rsp_o,
    output logic        txd_inl_o,
    output logic [12:0] txd_len_o,
    output logic [63:0] txd_va_o,
    output logic [5:0]  txd_gen_o,
    output logic [63:0] txd_swap_add_o,
    output logic [63:0] txd_compare_o,
    output logic [31:0] txd_rkey_o,
    output logic [31:0] txd_dma_len_o,
    output logic [31:0] txd_imm_o,
    output logic [31:0] txd_qkey_o,
    output logic [23:0] txd_src_qpn_o,
    output logic [7:0]  txd_hop_o,
    output logic [127:0] txd_dgid_o,
    output logic        seg_valid_o,
    input  logic        seg_ready_i,
    output logic        seg_last_o,
    output logic [31:0] seg_len_o,
    output logic [63:0] seg_off_o,
    output logic [63:0] seg_addr_o,
    output logic        inl_valid_o,
    input  logic        inl_ready_i,
    output logic        inl_last_o,
    output logic [6:0]  inl_bytes_o,
    output logic [511:0] inl_data_o,
    // packets of the responder
    output logic        rsp_room_o,
    input  logic        rsp_txd_valid_i,
    input  logic [12:0] rsp_len_i,
    input  logic [23:0] rsp_psn_i,
    input  logic        rsp_seg_valid_i,
    input  logic        rsp_seg_last_i,
    input  logic [31:0] rsp_seg_len_i,
    output logic [1:0]  rsp_ready_o,
    input  logic        scat_room_i,
    output logic        scat_valid_o,
    input  logic        scat_ready_i,
    output logic [1:0]  scat_op_o,
    output logic        scat_payload_o,
    output logic [383:0] scat_item_o,
    output logic [31:0] scat_len_o,
    output logic [63:0] scat_off_o,
    output logic [63:0] scat_addr_o,
    output logic        scat_last_o,
    output logic        cqe_valid_o,
    input  logic        cqe_ready_i,
    output logic [15:0] cqe_cq_o,
    output logic [15:0] cqe_qp_o,
    output logic [31:0] cqe_index_o,
    output logic [31:0] cqe_byte_len_o,
    output logic [31:0] cqe_qpn_op_o,
    output logic [7:0]  cqe_status_o,
    output logic [7:0]  cqe_verr_o,
    output logic        ev_valid_o,
    input  logic        ev_ready_i,
    output logic [7:0]  ev_kind_o,
    output logic [31:0] ev_id_o,
    output logic        stat_valid_o,
    input  logic        stat_ready_i,
    output logic [5:0]  stat_idx_o,
    output logic        qstat_valid_o,
    input  logic        qstat_ready_i,
    output logic [3:0]  qstat_idx_o,
    output logic        wqe_valid_o,
    input  logic        wqe_ready_i,
    output logic [3:0]  wqe_lines_o,
    output logic [57:0] wqe_addr_o,
    input  logic        wqe_rsp_valid_i,
    output logic        line_valid_o,
    input  logic        line_ready_i,
    output logic [57:0] line_addr_o,
    output logic [3:0]  line_lines_o,
    input  logic        line_rsp_valid_i,
    input  logic        rsp_err_i,
    input  logic        rsp_last_i,
    input  logic [511:0] rsp_data_i
);
  rtl_pkg::qdb_t db;
  rtl_pkg::rxp_t rxp;
  rtl_pkg::commit_t commit;
  rtl_pkg::txerr_t txerr;
  rtl_pkg::qpa_req_t qpa;
  rtl_pkg::req_info_t info;
  rtl_pkg::qp_t qp_d, qp_q;
  rtl_pkg::qpi_t raddr, sindex, fqp;
  rtl_pkg::mr_req_t mr;
  rtl_pkg::mr_rsp_t mr_rsp;
  rtl_pkg::mrw_req_t mrw;
  rtl_pkg::mrw_rsp_t mrw_rsp;
  rtl_pkg::flow_t flow;
  rtl_pkg::txd_t req_txd, rsp_txd, txd;
  rtl_pkg::seg_t req_seg, rsp_seg, seg;
  rtl_pkg::beat_t req_inl, inl;
  rtl_pkg::scat_t scat;
  rtl_pkg::cqe_req_t cqe;
  rtl_pkg::ev_t ev;
  rtl_pkg::stat_t stat;
  rtl_pkg::qstat_t qstat;
  rtl_pkg::rdl_req_t wqe, line;
  rtl_pkg::rdl_rsp_t rsp;
  logic [1:0] room, txd_ready, seg_ready;
  logic req_txd_valid, req_seg_valid, req_inl_valid, req_inl_ready;

  always_comb begin
    db.qp = db_qp_i[rtl_pkg::QP_LOG-1:0];
    db.index = db_index_i;
    rxp = '0;
    rxp.qp = rxp_qp_i[rtl_pkg::QP_LOG-1:0];
    rxp.h.opcode = rxp_opcode_i;
    rxp.h.psn = rxp_psn_i;
    rxp.h.syndrome = rxp_syndrome_i;
    rxp.h.swap_add = rxp_word_i;
    rxp.h.len = rxp_len_i;
    commit.err = commit_err_i;
    commit.item = commit_item_i;
    txerr.ok = txerr_ok_i;
    txerr.qp = txerr_qp_i[rtl_pkg::QP_LOG-1:0];
    txerr.psn = txerr_psn_i;
    txerr.gen = txerr_gen_i;
    qp_d = '0;
    qp_d.state = qp_state_i;
    qp_d.cfg.valid = 1'b1;
    qp_d.cfg.tag = 8'h5a;
    qp_d.cfg.kind = qp_kind_i;
    qp_d.cfg.pdn = 16'd7;
    qp_d.cfg.send_cq = rtl_pkg::cqi_t'(11'd33);
    qp_d.cfg.signal_all = qp_signal_all_i;
    qp_d.cfg.privileged = qp_privileged_i;
    qp_d.cfg.log_sq = qp_log_sq_i;
    qp_d.cfg.sq.levels = qp_levels_i;
    qp_d.cfg.sq.shift = 5'd12;
    qp_d.cfg.sq.addr = qp_sq_i;
    qp_d.cfg.sq.offset = qp_offset_i;
    qp_d.cfg.path_mtu = qp_mtu_i;
    qp_d.cfg.max_rd = qp_max_rd_i;
    qp_d.cfg.timeout = qp_timeout_i;
    qp_d.cfg.retry_cnt = qp_retry_i;
    qp_d.cfg.rnr_retry = qp_rnr_i;
    qp_d.cfg.sqd_notify = qp_notify_i;
    qp_d.cfg.sq_psn = qp_sq_psn_i;
    qp_d.cfg.dest_qpn = qp_dest_i;
    qp_d.cfg.qkey = qp_qkey_i;
    qp_d.cfg.sgid = rtl_pkg::gidi_t'(2);
    qpa = '0;
    qpa.op = rtl_pkg::qpa_op_t'(qpa_op_i);
    qpa.old_state = qpa_old_i;
    qpa.mask = qpa_mask_i;
    qpa.qp = qpa_qp_i[rtl_pkg::QP_LOG-1:0];
    qpa.ctx = qp_d;
    mr_rsp.ok = mr_ok_i;
    mr_rsp.paused = mr_paused_i;
    mr_rsp.verr = mr_verr_i;
    mr_rsp.off = mr_off_i;
    mr_rsp.mem = '0;
    mr_rsp.mem.addr = mr_addr_i;
    mrw_rsp.verr = mrw_verr_i;
    mrw_rsp.under_way = mrw_under_way_i;
    flow.rx_in = flow_rx_in_i;
    flow.rx_out = flow_rx_out_i;
    flow.tx_open = flow_tx_open_i;
    flow.tx_in = flow_tx_in_i;
    flow.tx_order = flow_tx_in_i;      // as if the payload were read at once
    flow.tx_order_rsp = 1'b1;
    flow.tx_out = flow_tx_out_i;
    rsp_txd = '0;
    rsp_txd.from_rsp = 1'b1;
    rsp_txd.len = rsp_len_i;
    rsp_txd.psn = rsp_psn_i;
    rsp_seg = '0;
    rsp_seg.last = rsp_seg_last_i;
    rsp_seg.len = rsp_seg_len_i;
    rsp.err = rsp_err_i;
    rsp.last = rsp_last_i;
    rsp.data = rsp_data_i;
  end
  // the context stays until the next qp_re_o
  logic re_q;
  always_ff @(posedge clk_i) begin
    re_q <= qp_re_o;
    if (re_q) qp_q <= qp_d;
  end

  dingo_requester u_requester (
      .clk_i, .rst_ni, .halt_tx_i, .tx_idle_o, .idle_o, .due_o, .work_o, .timer_valid_o, .timer_next_o, .now_ns_i,
      .xl_flush_i(1'b0), .resume_i, .port_mtu_i, .gid_valid_i,
      .db_valid_i, .db_ready_o, .db_i(db), .db_bad_o,
      .rxp_valid_i, .rxp_ready_o, .rxp_i(rxp),
      .commit_valid_i, .commit_ready_o, .commit_i(commit),
      .txerr_valid_i, .txerr_ready_o, .txerr_i(txerr),
      .cq_fail_valid_i, .cq_fail_qp_i(cq_fail_qp_i[rtl_pkg::QP_LOG-1:0]),
      .fail_valid_i, .fail_qp_i(fail_qp_i[rtl_pkg::QP_LOG-1:0]), .fail_valid_o, .fail_qp_o(fqp),
      .qpa_valid_i, .qpa_i(qpa), .qpa_done_o, .qpa_info_o(info),
      .qp_re_o, .qp_raddr_o(raddr), .qp_rdata_i(re_q ? qp_d : qp_q),
      .state_we_o, .state_index_o(sindex), .state_o,
      .mr_valid_o, .mr_o(mr), .mr_rsp_valid_i, .mr_rsp_i(mr_rsp),
      .mrw_valid_o, .mrw_o(mrw), .mrw_done_i, .mrw_rsp_i(mrw_rsp), .flow_i(flow),
      .tx_room_i(room[0]), .txd_valid_o(req_txd_valid), .txd_ready_i(txd_ready[0]), .txd_o(req_txd),
      .seg_valid_o(req_seg_valid), .seg_ready_i(seg_ready[0]), .seg_o(req_seg),
      .inl_valid_o(req_inl_valid), .inl_ready_i(req_inl_ready), .inl_o(req_inl),
      .scat_room_i, .scat_valid_o, .scat_ready_i, .scat_o(scat),
      .cqe_valid_o, .cqe_ready_i, .cqe_o(cqe), .ev_valid_o, .ev_ready_i, .ev_o(ev),
      .stat_valid_o, .stat_ready_i, .stat_o(stat), .qstat_valid_o, .qstat_ready_i, .qstat_o(qstat),
      .wqe_valid_o, .wqe_ready_i, .wqe_o(wqe), .wqe_rsp_valid_i,
      .line_valid_o, .line_ready_i, .line_o(line), .line_rsp_valid_i, .line_rsp_i(rsp));
  dingo_tx_mux u_mux (
      .clk_i, .rst_ni, .idle_o(mux_idle_o), .room_o(room),
      .txd_valid_i({rsp_txd_valid_i, req_txd_valid}), .txd_ready_o(txd_ready), .req_txd_i(req_txd), .rsp_txd_i(rsp_txd),
      .seg_valid_i({rsp_seg_valid_i, req_seg_valid}), .seg_ready_o(seg_ready), .req_seg_i(req_seg), .rsp_seg_i(rsp_seg),
      .inl_valid_i(req_inl_valid), .inl_ready_o(req_inl_ready), .inl_i(req_inl),
      .txd_valid_o, .txd_ready_i, .txd_o(txd), .seg_valid_o, .seg_ready_i, .seg_o(seg), .seg_rsp_o(),
      .inl_valid_o, .inl_ready_i, .inl_o(inl));

  assign fail_qp_o = 16'(fqp);
  assign qp_raddr_o = 16'(raddr);
  assign state_index_o = 16'(sindex);
  assign info_producer_o = info.sq_producer;
  assign info_consumer_o = info.sq_consumer;
  assign info_oldest_o = info.oldest_psn;
  assign info_psn_o = info.sq_psn;
  assign info_retries_o = info.retries_left;
  assign info_rnr_o = info.rnr_left;
  assign info_draining_o = info.draining;
  assign mr_key_o = mr.key;
  assign mr_va_o = mr.va;
  assign mr_len_o = mr.len;
  assign mr_access_o = mr.access;
  assign mr_pdn_o = mr.pdn;
  assign mrw_op_o = mrw.op;
  assign mrw_qp_o = 16'(mrw.qp);
  assign mrw_pdn_o = mrw.pdn;
  assign mrw_privileged_o = mrw.privileged;
  assign mrw_key_o = mrw.key;
  assign mrw_body_o = mrw.body;
  assign txd_qp_o = 16'(txd.qp);
  assign txd_opcode_o = txd.opcode;
  assign txd_psn_o = txd.psn;
  assign txd_dqpn_o = txd.dqpn;
  assign txd_se_o = txd.se;
  assign txd_ackreq_o = txd.ackreq;
  assign txd_tell_o = txd.tell;
  assign txd_from_rsp_o = txd.from_rsp;
  assign txd_inl_o = txd.inl;
  assign txd_len_o = txd.len;
  assign txd_va_o = txd.va;
  assign txd_gen_o = txd.gen;
  assign txd_swap_add_o = txd.swap_add;
  assign txd_compare_o = txd.compare;
  assign txd_rkey_o = txd.rkey;
  assign txd_dma_len_o = txd.dma_len;
  assign txd_imm_o = txd.imm;
  assign txd_qkey_o = txd.qkey;
  assign txd_src_qpn_o = txd.src_qpn;
  assign txd_hop_o = txd.hop_limit;
  assign txd_dgid_o = txd.dgid;
  assign seg_last_o = seg.last;
  assign seg_len_o = seg.len;
  assign seg_off_o = seg.off;
  assign seg_addr_o = seg.mem.addr;
  assign inl_last_o = inl.last;
  assign inl_bytes_o = inl.bytes;
  assign inl_data_o = inl.data;
  assign rsp_room_o = room[1];
  assign rsp_ready_o = {seg_ready[1], txd_ready[1]};
  assign scat_op_o = scat.op;
  assign scat_payload_o = scat.has_payload;
  assign scat_item_o = scat.item;
  assign scat_len_o = scat.seg.len;
  assign scat_off_o = scat.seg.off;
  assign scat_addr_o = scat.seg.mem.addr;
  assign scat_last_o = scat.seg.last;
  assign cqe_cq_o = 16'(cqe.cq);
  assign cqe_qp_o = 16'(cqe.qp);
  assign cqe_index_o = cqe.wqe_index;
  assign cqe_byte_len_o = cqe.byte_len;
  assign cqe_qpn_op_o = cqe.qpn_op;
  assign cqe_status_o = cqe.status;
  assign cqe_verr_o = cqe.verr;
  assign ev_kind_o = ev.kind;
  assign ev_id_o = ev.id;
  assign stat_idx_o = stat.idx;
  assign qstat_idx_o = qstat.idx;
  assign wqe_lines_o = wqe.lines;
  assign wqe_addr_o = wqe.addr;
  assign line_addr_o = line.addr;
  assign line_lines_o = line.lines;

  wire unused_ok = &{1'b0, txd, seg, inl, scat, cqe, ev, stat, qstat, db_qp_i, rxp_qp_i, txerr_qp_i, cq_fail_qp_i, fail_qp_i,
                     qpa_qp_i, mr};
endmodule
