// SPDX-License-Identifier: BSD-2-Clause

/// Answers of QUERY_DEVICE and QUERY_QP. Combinational.
module dingo_admin_answers (
    input  rtl_pkg::strap_t    strap_i,
    input  rtl_pkg::qp_t       qp_i,
    input  rtl_pkg::req_info_t req_info_i,
    input  rtl_pkg::rsp_info_t rsp_info_i,
    output logic [1023:0]      limits_o,   // struct limits
    output logic [1023:0]      qp_info_o   // struct qp_info
);
  dingo_pkg::limits_t limits;
  dingo_pkg::qp_info_t info;
  dingo_pkg::qp_attr_t attr;
  logic [31:0] most_qp, most_cq, most_mr, most_srq;
  logic [63:0] mac;
  assign most_qp = strap_i.max_qp < (32'd1 << rtl_pkg::QP_LOG) - 32'd2 ? strap_i.max_qp : (32'd1 << rtl_pkg::QP_LOG) - 32'd2;
  assign most_cq = strap_i.max_cq < 32'd1 << rtl_pkg::CQ_LOG ? strap_i.max_cq : 32'd1 << rtl_pkg::CQ_LOG;
  assign most_mr = strap_i.max_mr < 32'd1 << rtl_pkg::MR_LOG ? strap_i.max_mr : 32'd1 << rtl_pkg::MR_LOG;
  assign most_srq = strap_i.max_srq < 32'd1 << rtl_pkg::SRQ_LOG ? strap_i.max_srq : 32'd1 << rtl_pkg::SRQ_LOG;
  assign mac = {16'd0, strap_i.mac};

  always_comb begin
    limits = '0;
    limits.max_qp = most_qp;
    limits.max_cq = most_cq;
    limits.max_mr = most_mr;
    limits.max_srq = most_srq;
    limits.max_eq = 32'd1 << rtl_pkg::EQ_LOG;
    limits.max_gid = 32'd1 << rtl_pkg::GID_LOG;
    limits.max_pd = 32'd65536;
    limits.max_mac = 32'd1 << rtl_pkg::MAC_LOG;
    limits.log_max_sq = 8'(dingo_pkg::MAX_LOG_SQ);
    limits.log_max_rq = 8'(dingo_pkg::MAX_LOG_RQ);
    limits.log_max_cq = 8'(dingo_pkg::MAX_LOG_CQ);
    limits.log_max_eq = 8'(dingo_pkg::MAX_LOG_EQ);
    limits.max_send_sge = 8'(dingo_pkg::SQ_MAX_SGE);
    limits.max_recv_sge = 8'(dingo_pkg::RQ_MAX_SGE);
    limits.max_rd_atomic = 8'd1 << rtl_pkg::RD_LOG;
    limits.max_dest_rd_atomic = 8'd1 << rtl_pkg::RD_LOG;
    limits.max_mr_size = 64'h1_0000_0000_0000;
    limits.page_sizes = 64'h7fff_f000;  // 4 KiB to 1 GiB
    limits.max_msg = dingo_pkg::MAX_MSG;
    limits.max_inline = dingo_pkg::MAX_INLINE;
    limits.max_frwr_pages = 32'd512;
    limits.card_counters = dingo_pkg::CARD_COUNTERS;
    limits.qp_counters = dingo_pkg::QP_COUNTERS;
    limits.max_eth_rings = 32'd1 << rtl_pkg::ETH_LOG;
    limits.log_max_eth = 8'(dingo_pkg::MAX_LOG_ETH);
    limits.ack_delay = 8'd15;
    limits.serial = mac;

    attr = '0;
    attr.qkey = qp_i.cfg.qkey;
    attr.rq_psn = {8'd0, rsp_info_i.rq_psn};
    attr.sq_psn = {8'd0, req_info_i.sq_psn};
    attr.dest_qpn = {8'd0, qp_i.cfg.dest_qpn};
    attr.access = {27'd0, qp_i.cfg.access};
    attr.path_mtu = {5'd0, qp_i.cfg.path_mtu};
    attr.max_rd_atomic = qp_i.cfg.max_rd;
    attr.max_dest_rd_atomic = qp_i.cfg.max_dest_rd;
    attr.min_rnr_timer = {3'd0, qp_i.cfg.min_rnr_timer};
    attr.timeout = {3'd0, qp_i.cfg.timeout};
    attr.retry_cnt = {5'd0, qp_i.cfg.retry_cnt};
    attr.rnr_retry = {5'd0, qp_i.cfg.rnr_retry};
    attr.port = {7'd0, qp_i.cfg.port};
    attr.sqd_notify = {7'd0, qp_i.cfg.sqd_notify};
    attr.dgid = qp_i.cfg.dgid;
    attr.dmac = qp_i.cfg.dmac;
    attr.sgid_index = 16'(qp_i.cfg.sgid);
    attr.flow_label = {12'd0, qp_i.cfg.flow_label};
    attr.udp_sport = qp_i.cfg.udp_sport;
    attr.hop_limit = qp_i.cfg.hop_limit;
    attr.tclass = qp_i.cfg.tclass;
    attr.sl = {4'd0, qp_i.cfg.sl};
    info = '0;
    info.attr = attr;
    info.state = {5'd0, qp_i.state};
    info.sq_draining = {7'd0, req_info_i.draining};
    info.sq_producer = req_info_i.sq_producer;
    info.sq_consumer = req_info_i.sq_consumer;
    info.rq_producer = rsp_info_i.rq_producer;
    info.rq_consumer = rsp_info_i.rq_consumer;
    info.oldest_psn = {8'd0, req_info_i.oldest_psn};
    info.retries_left = {5'd0, req_info_i.retries_left};
    info.rnr_left = {5'd0, req_info_i.rnr_left};
    info.msn = {8'd0, rsp_info_i.msn};
  end
  assign limits_o = limits;
  assign qp_info_o = info;

  wire unused_ok = &{1'b0, strap_i, qp_i};
endmodule
