// SPDX-License-Identifier: BSD-2-Clause

/// The requester's access to send queues: loads WQEs from the cache into buffers and checks them (dingo_wqe_load,
/// dingo_wqe_quick), walks their SGEs (dingo_sge_walk), gives inline data by blocks. Arbitrates for dingo_wqe_cache and
/// the memory table.
module dingo_req_wqes (
    input  logic        clk_i,
    input  logic        rst_ni,
    output logic        idle_o,        // no fill in work
    input  logic        xl_flush_i,
    input  logic        forget_i,
    // load and walk; see req_pkg
    input  rtl_pkg::qpi_t        qp_i,
    input  rtl_pkg::qp_cfg_t     cfg_i,
    input  req_pkg::wqe_ask_t    ask_i,
    output req_pkg::wqe_answer_t answer_o,
    input  logic        sel_i,
    // fetch ahead; see req_pkg
    input  req_pkg::ahead_t      ahead_i,
    input  rtl_pkg::qpi_t        ahead_qp_i,
    input  rtl_pkg::qp_cfg_t     ahead_cfg_i,
    output logic        ahead_ok_o,    // the request is taken in this cycle
    output logic        fetch_ok_o,    // there is room for a request with wake
    // see dingo_wqe_quick
    input  req_pkg::quick_ask_t    quick_i,
    output req_pkg::quick_answer_t quick_o,
    output rtl_pkg::seg_t        quick_seg_o,
    // segments of the last walk
    input  logic [3:0]  seg_index_i,
    output rtl_pkg::seg_t        seg_o,
    // blocks of the loaded WQE, in the next cycle
    input  logic        inl_re_i,
    input  logic [2:0]  inl_block_i,
    output logic [511:0] block_o,
    // QPs whose WQEs have arrived
    output logic        wake_valid_o,
    input  logic        wake_ready_i,
    output rtl_pkg::qpi_t        wake_qp_o,
    output logic        mr_valid_o,
    output rtl_pkg::mr_req_t     mr_o,
    input  logic        mr_rsp_valid_i,
    input  rtl_pkg::mr_rsp_t     mr_rsp_i,
    // dingo_req_reads: lowest priority
    input  logic        reads_mr_valid_i,
    output logic        reads_mr_ready_o,
    input  rtl_pkg::mr_req_t     reads_mr_i,
    output logic        reads_mr_rsp_valid_o,
    input  logic        push_valid_i,  // pushed blocks
    output logic        push_ready_o,
    input  rtl_pkg::push_t       push_i,
    output logic        line_wqe_valid_o,
    input  logic        line_wqe_ready_i,
    output rtl_pkg::rdl_req_t    line_wqe_o,
    input  logic        line_wqe_rsp_valid_i,
    output logic        line_valid_o,
    input  logic        line_ready_i,
    output rtl_pkg::rdl_req_t    line_o,
    input  logic        line_rsp_valid_i,
    input  rtl_pkg::rdl_rsp_t    line_rsp_i
);
  logic [511:0] cache_data;
  logic block_re, walk_re;
  logic [2:0] block_index, walk_block;
  logic cache_re, cache_hit, cache_err, fill_valid, fill_ready, fill_wake, fill_force;
  logic [31:0] cache_index, fill_index;
  logic [3:0] fill_limit, quick_fill_limit;
  logic load_re, quick_re, quick_fill, load_fill, quick_mr_valid, walk_mr_valid;
  logic probe, probe_hit;
  logic [31:0] probe_index, load_index, quick_look, quick_fill_index;
  rtl_pkg::mr_req_t quick_mr, walk_mr;
  logic ahead, any_fill, spare;

  // Priority of fills: a WQE that a turn or response needs, then a doorbell's blocks, then blocks further ahead.
  assign load_fill = fill_valid;
  assign ahead = ahead_i.valid && !load_fill;
  assign spare = quick_fill && !load_fill && !ahead_i.valid;
  assign any_fill = load_fill || ahead || spare;
  assign ahead_ok_o = ahead && fill_ready;
  assign cache_re = load_re || quick_re;
  assign cache_index = quick_re ? quick_look : load_index;
  assign mr_valid_o = walk_mr_valid || quick_mr_valid || reads_mr_valid_i;
  assign mr_o = quick_mr_valid ? quick_mr : walk_mr_valid ? walk_mr : reads_mr_i;
  assign reads_mr_ready_o = !walk_mr_valid && !quick_mr_valid;
  // Requester of each look-up in the memory table, in order: 1 dingo_req_reads
  logic asked_ready, asked_valid, asked_reads, mr_rsp_valid;
  logic [3:0] asked_count;
  dingo_fifo #(.Width(1), .LogDepth(3)) u_asked (
      .clk_i, .rst_ni, .valid_i(mr_valid_o), .ready_o(asked_ready), .data_i(reads_mr_ready_o),
      .valid_o(asked_valid), .ready_i(mr_rsp_valid_i), .data_o(asked_reads), .count_o(asked_count));
  assign reads_mr_rsp_valid_o = mr_rsp_valid_i && asked_reads;
  assign mr_rsp_valid = mr_rsp_valid_i && !asked_reads;
  assign block_re = walk_re || inl_re_i;
  assign block_index = walk_re ? walk_block : inl_block_i;

  dingo_wqe_load u_load (
      .clk_i,
      .rst_ni,
      .forget_i,
      .start_i(ask_i.load),
      .sel_i,
      .qp_i,
      .index_i(ask_i.index),
      .producer_i(ask_i.producer),
      .wake_i(ask_i.wake),
      .datagram_i(ask_i.datagram),
      .uc_i(ask_i.uc),
      .privileged_i(cfg_i.privileged),
      .done_o(answer_o.load_done),
      .miss_o(answer_o.load_miss),
      .asked_o(answer_o.load_asked),
      .wqe_o(answer_o.wqe),
      .head_o(answer_o.head),
      .re_i(block_re),
      .block_i(block_index),
      .block_o,
      .cache_re_o(load_re),
      .cache_index_o(load_index),
      .cache_hit_i(cache_hit),
      .cache_err_i(cache_err),
      .cache_data_i(cache_data),
      .fill_valid_o(fill_valid),
      .fill_ready_i(fill_ready),
      .fill_index_o(fill_index),
      .fill_limit_o(fill_limit),
      .fill_wake_o(fill_wake),
      .fill_force_o(fill_force)
  );
  dingo_wqe_quick u_quick (
      .clk_i,
      .rst_ni,
      .rest_o(quick_o.rest),
      .on_o(quick_o.on),
      .may_start_i(quick_i.may_start),
      .start_i(quick_i.start),
      .stop_i(quick_i.stop),
      .index_i(quick_i.index),
      .producer_i(ask_i.producer),
      .path_mtu_i(cfg_i.path_mtu),
      .pdn_i(cfg_i.pdn),
      .privileged_i(cfg_i.privileged),
      .valid_o(quick_o.valid),
      .plain_o(quick_o.plain),
      .missed_o(quick_o.missed),
      .take_i(quick_i.take),
      .wqe_o(quick_o.wqe),
      .head_o(quick_o.head),
      .data_o(quick_o.data),
      .seg_o(quick_seg_o),
      .cache_re_o(quick_re),
      .cache_index_o(quick_look),
      .cache_hit_i(cache_hit),
      .cache_err_i(cache_err),
      .cache_data_i(cache_data),
      .probe_o(probe),
      .probe_index_o(probe_index),
      .probe_hit_i(probe_hit),
      .fill_valid_o(quick_fill),
      .fill_index_o(quick_fill_index),
      .fill_limit_o(quick_fill_limit),
      .mr_valid_o(quick_mr_valid),
      .mr_o(quick_mr),
      .mr_rsp_valid_i(mr_rsp_valid),
      .mr_rsp_i
  );
  dingo_wqe_cache u_cache (
      .clk_i,
      .rst_ni,
      .idle_o,
      .xl_flush_i,
      .clear_i(forget_i),
      .re_i(cache_re),
      .qp_i,
      .index_i(cache_index),
      .hit_o(cache_hit),
      .err_o(cache_err),
      .data_o(cache_data),
      .probe_i(probe),
      .probe_index_i(probe_index),
      .probe_hit_o(probe_hit),
      .fill_valid_i(any_fill),
      .fill_go_i(ahead_i.go || !ahead),
      .fill_ready_o(fill_ready),
      .fill_qp_i(ahead ? ahead_qp_i : qp_i),
      .fill_index_i(ahead ? ahead_i.index : spare ? quick_fill_index : fill_index),
      .fill_limit_i(ahead ? ahead_i.limit : spare ? quick_fill_limit : fill_limit),
      .fill_wake_i(ahead ? ahead_i.wake : fill_wake && load_fill),
      .fill_force_i(fill_force && load_fill),
      .fill_spare_i(!load_fill),
      .spare_o(fetch_ok_o),
      .fill_log_sq_i(ahead ? ahead_cfg_i.log_sq : cfg_i.log_sq),
      .fill_sq_i(ahead ? ahead_cfg_i.sq : cfg_i.sq),
      .wake_valid_o,
      .wake_ready_i,
      .wake_qp_o,
      .push_valid_i,
      .push_ready_o,
      .push_i,
      .wqe_valid_o(line_wqe_valid_o),
      .wqe_ready_i(line_wqe_ready_i),
      .wqe_o(line_wqe_o),
      .wqe_rsp_valid_i(line_wqe_rsp_valid_i),
      .line_valid_o,
      .line_ready_i,
      .line_o,
      .line_rsp_valid_i,
      .line_rsp_i
  );
  dingo_sge_walk u_walk (
      .clk_i,
      .rst_ni,
      .start_i(ask_i.walk),
      .whole_i(ask_i.whole),
      .offset_i(ask_i.offset),
      .bytes_i(ask_i.bytes),
      .access_i(answer_o.wqe.fetch ? dingo_pkg::ACC_LOCAL_WRITE[5:0] : 6'd0),
      .pdn_i(cfg_i.pdn),
      .privileged_i(cfg_i.privileged),
      .datagram_i(ask_i.datagram),
      .atomic_i(answer_o.wqe.atomic),
      .num_sge_i(answer_o.wqe.num_sge),
      .done_o(answer_o.walk_done),
      .verr_o(answer_o.walk_verr),
      .paused_o(answer_o.walk_paused),
      .seg_index_i,
      .seg_o,
      .re_o(walk_re),
      .block_o(walk_block),
      .block_i(block_o),
      .mr_valid_o(walk_mr_valid),
      .mr_o(walk_mr),
      .mr_rsp_valid_i(mr_rsp_valid && quick_o.rest),  // else the answer is for u_quick
      .mr_rsp_i
  );

  rtl_pkg::qpi_t qp_q;
  always_ff @(posedge clk_i) begin
    qp_q <= qp_i;
    if (rst_ni) begin
      // A fill that is requested a cycle late still belongs to the same turn.
      a_same: assert (!(spare || (load_fill && !fill_wake && !fill_force)) || qp_i == qp_q);
      a_asked: assert ((asked_ready || !mr_valid_o) && (asked_valid || !mr_rsp_valid_i));
      a_look: assert (!(load_re && quick_re));
      a_key: assert (!(walk_mr_valid && quick_mr_valid));
    end
  end
  wire unused_ok = &{1'b0, cfg_i, ahead_cfg_i, asked_count};
endmodule
