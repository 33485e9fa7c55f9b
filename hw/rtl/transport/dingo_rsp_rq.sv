// SPDX-License-Identifier: BSD-2-Clause

/// Access of the responder's step to receive WQEs: for dingo_rsp_receive, and for dingo_rsp_turn, which needs the tag
/// for a flush. Lines come from dingo_rq_cache, which also fetches ahead. With an SRQ, other QPs' entries may complete
/// first, so the host may reuse the slot of an entry during its message: the lines that OPEN read are kept here for the
/// later packets (4 lines a QP, a look-up takes 2 cycles).
module dingo_rsp_rq (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    output logic                 idle_o,         // no read of a line is pending
    input  logic                 flush_i,        // lines of qp_i are void
    input  logic                 xl_flush_i,
    input  rtl_pkg::qpi_t        qp_i,           // of the step
    input  rtl_pkg::qp_cfg_t     cfg_i,
    input  rtl_pkg::rqi_t        rq_i,           // its RQ or SRQ
    // see dingo_rsp_wqe
    input  logic                 open_i,
    input  logic                 head_only_i,
    input  logic                 scatter_i,
    input  logic                 again_i,
    input  logic [31:0]          index_i,
    input  logic [12:0]          bytes_i,
    input  logic [3:0]           sge_i,
    input  logic [31:0]          off_i,
    input  logic [3:0]           nsge_i,
    output logic                 done_o,         // stays until taken_i
    input  logic                 taken_i,
    output rsp_pkg::rwqe_t       wqe_o,
    output logic                 seg_valid_o,
    input  logic                 seg_ready_i,
    output rtl_pkg::seg_t        seg_o,
    output logic                 mr_valid_o,
    output rtl_pkg::mr_req_t     mr_o,
    input  logic                 mr_rsp_valid_i,
    input  rtl_pkg::mr_rsp_t     mr_rsp_i,
    // one cycle: fetch ahead, from entry prefetch_index_i on
    input  logic                 prefetch_i,
    input  logic [31:0]          prefetch_index_i,
    input  logic [31:0]          prod_i,         // producer index of the receive queue
    // dingo_rsp_ahead
    input  logic                 look_valid_i,
    output logic                 look_ready_o,
    input  rsp_pkg::look_t       look_i,
    output logic                 look_here_o,
    output logic                 look_coming_o,
    output logic                 look_err_o,
    output logic [255:0]         look_data_o,
    // dingo_host
    output logic                 rwqe_valid_o,   // LINE_RQ
    input  logic                 rwqe_ready_i,
    output rtl_pkg::rdl_req_t    rwqe_o,
    input  logic                 rwqe_rsp_valid_i,
    output logic                 line_valid_o,   // LINE_XL_RQ
    input  logic                 line_ready_i,
    output rtl_pkg::rdl_req_t    line_o,
    input  logic                 line_rsp_valid_i,
    input  rtl_pkg::rdl_rsp_t    line_rsp_i      // of both
);
  logic done, done_q, ask_valid, line_valid, line_err;
  logic [31:0] ask_index;
  logic [1:0] ask_part;
  logic [511:0] line_data, cache_data, kept_data;
  logic cache_valid, cache_err, keep, kept_valid_q, kept_q, scatter_q;

  // ---------------------------------------------------------------- entries of SRQs in progress
  assign keep = cfg_i.has_srq && scatter_q;      // the requested line is one of these
  dingo_ram #(
      .Width(512),
      .LogDepth(rtl_pkg::QP_LOG + 2)
  ) u_kept (
      .clk_i, .we_i(cfg_i.has_srq && cache_valid), .waddr_i({qp_i, ask_part}), .wdata_i(cache_data),
      .re_i(keep && ask_valid && !kept_valid_q), .raddr_i({qp_i, ask_part}), .rdata_o(kept_data)
  );
  assign line_valid = cache_valid || kept_valid_q;
  assign line_err = cache_valid && cache_err;
  assign line_data = kept_q ? kept_data : cache_data;
  always_ff @(posedge clk_i) begin
    kept_valid_q <= rst_ni && keep && ask_valid && !kept_valid_q;
    if (ask_valid) kept_q <= keep;               // line_data stays until the next request
    if (open_i || scatter_i) scatter_q <= scatter_i;
  end

  assign done_o = done_q;
  always_ff @(posedge clk_i) begin
    if (done) done_q <= 1'b1;
    else if (taken_i) done_q <= 1'b0;
    if (!rst_ni) done_q <= 1'b0;
  end

  dingo_rsp_wqe u_wqe (
      .clk_i, .rst_ni, .open_i, .head_only_i, .scatter_i, .again_i, .index_i, .log_stride_i(cfg_i.log_rq_stride), .bytes_i,
      .sge_i, .off_i, .nsge_i, .done_o(done), .bad_o(wqe_o.bad), .bus_o(wqe_o.bus), .paused_o(wqe_o.paused), .verr_o(wqe_o.verr), .tag_o(wqe_o.tag),
      .nsge_o(wqe_o.nsge), .cap_o(wqe_o.cap), .sge_o(wqe_o.sge), .off_o(wqe_o.off), .line_valid_o(ask_valid),
      .line_index_o(ask_index), .line_part_o(ask_part), .line_rsp_valid_i(line_valid), .line_err_i(line_err),
      .line_data_i(line_data), .mr_valid_o, .mr_o, .mr_rsp_valid_i, .mr_rsp_i, .seg_valid_o, .seg_ready_i, .seg_o
  );
  dingo_rq_cache u_cache (
      .clk_i, .rst_ni, .idle_o, .flush_i, .xl_flush_i, .qp_i(rq_i), .mem_i(cfg_i.rq), .log_rq_i(cfg_i.log_rq),
      .log_stride_i(cfg_i.log_rq_stride), .req_valid_i(ask_valid && !keep), .req_index_i(ask_index), .req_part_i(ask_part),
      .rsp_valid_o(cache_valid), .rsp_err_o(cache_err), .rsp_data_o(cache_data), .pf_valid_i(prefetch_i),
      .pf_index_i(prefetch_index_i), .end_i(prod_i), .look_valid_i, .look_ready_o, .look_i,
      .look_here_o, .look_coming_o, .look_err_o, .look_data_o, .line_valid_o(rwqe_valid_o), .line_ready_i(rwqe_ready_i),
      .line_o(rwqe_o), .line_rsp_valid_i(rwqe_rsp_valid_i), .xl_line_valid_o(line_valid_o), .xl_line_ready_i(line_ready_i),
      .xl_line_o(line_o), .xl_line_rsp_valid_i(line_rsp_valid_i), .rsp_i(line_rsp_i)
  );

  wire unused_ok = &{1'b0, cfg_i};
endmodule
