// SPDX-License-Identifier: BSD-2-Clause

/// Pipeline for plain WQEs of a send queue: reads the next blocks from dingo_wqe_cache, checks them, looks up their
/// SGEs in the memory table, and queues up to 4 WQEs for the turn. Plain is: SEND or WRITE, with or without immediate
/// data, READ, atomic; one block, one SGE, one packet, no fence; for SEND and WRITE also two SGEs, or inline data of
/// one beat, in one block or two. One WQE a cycle, 2 cycles with a second block or SGE; 5 cycles from start_i to
/// valid_o (inline data 2 or 3). The first WQE that is not plain or not in the cache ends it: dingo_wqe_load and
/// dingo_sge_walk take that one.
module dingo_wqe_quick (
    input  logic        clk_i,
    input  logic        rst_ni,
    output logic        rest_o,        // no answer of the memory table and no segment is pending
    output logic        on_o,          // looks up blocks: started, not ended and not stopped
    input  logic        may_start_i,   // known early: reads block index_i unless on_o
    input  logic        start_i,       // with may_start_i and rest_o: starts at index_i, which is posted
    input  logic        stop_i,        // discards all WQEs that were looked up
    input  logic [31:0] index_i,       // SQ block
    input  logic [31:0] producer_i,    // blocks before it are posted
    input  logic [2:0]  path_mtu_i,
    input  logic [rtl_pkg::PD_BITS-1:0] pdn_i,
    input  logic        privileged_i,
    // the oldest WQE
    output logic        valid_o,
    output logic        plain_o,
    output logic        missed_o,      // not plain: one of its blocks is not in the cache
    input  logic        take_i,
    output req_pkg::wqe_t       wqe_o,
    output logic [255:0] head_o,       // bytes 16..47 of the WQE
    output logic [511:0] data_o,       // wqe_o.inl: the inline data; bytes after wqe_o.length are undefined
    output rtl_pkg::seg_t        seg_o,        // first segment; if not the last, the second one comes after take_i
    // dingo_wqe_cache
    output logic        cache_re_o,
    output logic [31:0] cache_index_o,
    input  logic        cache_hit_i,
    input  logic        cache_err_i,
    input  logic [511:0] cache_data_i,
    output logic        probe_o,       // with cache_re_o: checks whether the block AHEAD further on is in the cache
    output logic [31:0] probe_index_o,
    input  logic        probe_hit_i,
    output logic        fill_valid_o,  // one cycle: fetch blocks further on; may be refused
    output logic [31:0] fill_index_o,
    output logic [3:0]  fill_limit_o,
    output logic        mr_valid_o,
    output rtl_pkg::mr_req_t     mr_o,
    input  logic        mr_rsp_valid_i,
    input  rtl_pkg::mr_rsp_t     mr_rsp_i
);
  localparam int unsigned LOG = 2;     // log2 of the WQEs in the queue
  localparam logic [31:0] AHEAD = 32'd8;
  localparam logic [7:0] FLAGS = 8'(dingo_pkg::WQE_CTRL_FLAGS_SIGNALED_MASK | dingo_pkg::WQE_CTRL_FLAGS_SOLICITED_MASK);
  localparam logic [7:0] INLINE = 8'(dingo_pkg::WQE_CTRL_FLAGS_INLINE_MASK);
  localparam int unsigned INFO_W = 1 + 1 + 8 + 2 + 3 + 2 + 32 + 13 + 13 + 256;

  logic on_q, look_q, mr_valid_q;
  logic [31:0] index_q, probe_index_q;
  logic further, probed_q;             // the probed block is posted
  logic [LOG:0] held_q;                // WQEs that were looked up and not taken
  logic [3:0] asked_q;                 // pending answers of the memory table
  logic re, look, plain, push;
  logic fill_valid_q;
  logic [31:0] fill_index_q;
  logic [3:0] fill_limit_q;
  rtl_pkg::mr_req_t mr_q;
  dingo_pkg::wqe_ctrl_t ctrl;
  dingo_pkg::wqe_rdma_t rdma;
  dingo_pkg::sge_t sge, sge_0, sge_1;
  logic is_send, is_write, is_atomic, is_fetch, fetch, atomic;
  logic flag_inl, beat, two, fits, fits_2, gives, short_of;
  logic block2_q;                      // the next look-up is the second block of inline data
  logic [255:0] half_q;                // inline data of the first block
  logic push_info, push_data;
  logic pair, hold;
  logic [13:0] total;
  logic second_q, mr_last_q;           // the second SGE is to be looked up; mr_q is for the last SGE of its WQE
  dingo_pkg::sge_t second_sge_q;

  assign on_o = on_q;
  assign rest_o = asked_q == '0 && !mr_valid_q && !second_q && !pop_2_q;

  // ---------------------------------------------------------------- look-ups: the next block, and one further on
  assign re = on_q && !stop_i && index_q != producer_i && !held_q[LOG] && !hold;
  // start_i and stop_i are late, so cache_re_o does not depend on them; the result of a needless look-up is not used.
  assign cache_re_o = on_q ? index_q != producer_i && !held_q[LOG] : may_start_i;
  assign cache_index_o = on_q ? index_q : index_i;
  assign look = look_q;
  assign probe_o = cache_re_o;
  assign probe_index_o = cache_index_o + AHEAD;
  assign further = producer_i - cache_index_o > AHEAD;

  // ---------------------------------------------------------------- decoding of the block
  assign ctrl = cache_data_i[127:0];
  assign rdma = cache_data_i[255:128];
  assign sge_0 = cache_data_i[383:256];
  assign sge_1 = cache_data_i[511:384];
  assign sge = is_atomic ? sge_1 : sge_0;
  assign is_send = ctrl.opcode == dingo_pkg::WR_SEND[7:0] || ctrl.opcode == dingo_pkg::WR_SEND_IMM[7:0];
  assign is_write = ctrl.opcode == dingo_pkg::WR_WRITE[7:0] || ctrl.opcode == dingo_pkg::WR_WRITE_IMM[7:0];
  assign is_atomic = ctrl.opcode == dingo_pkg::WR_CMP_SWAP[7:0] || ctrl.opcode == dingo_pkg::WR_FETCH_ADD[7:0];
  assign is_fetch = is_atomic || ctrl.opcode == dingo_pkg::WR_READ[7:0];
  assign flag_inl = (ctrl.flags & INLINE) != 8'd0;
  // Inline data: 1 to 64 bytes, the first 32 of them in the first block. index_q is the block after this one.
  assign beat = ctrl.inline_len[15:7] == '0 && ctrl.inline_len[6:0] != '0 && !(ctrl.inline_len[6] && ctrl.inline_len[5:0] != '0);
  assign two = ctrl.inline_len[6] || (ctrl.inline_len[5] && ctrl.inline_len[4:0] != '0);
  assign short_of = index_q == producer_i;
  assign fits = is_atomic ? sge_1.length == 32'd8 : sge_0.length != 32'd0 && sge_0.length <= {19'd0, rtl_pkg::pmtu_bytes(path_mtu_i)};
  // Two SGEs take two cycles of the memory table, so the next look-up is repeated a cycle later (hold).
  assign pair = ctrl.num_sge == 8'd2;
  assign hold = look && !block2_q && ctrl.num_sge[1];
  assign total = {1'b0, sge_0.length[12:0]} + (ctrl.num_sge[1] ? {1'b0, sge_1.length[12:0]} : 14'd0);
  assign fits_2 = !is_fetch && sge_0.length != '0 && sge_1.length != '0 && sge_0.length[31:13] == '0 && sge_1.length[31:13] == '0 &&
                  total <= {1'b0, rtl_pkg::pmtu_bytes(path_mtu_i)};
  assign gives = flag_inl ? ctrl.num_sge == 8'd0 && beat && !is_fetch && ctrl.blocks == {6'd0, two, !two} && !(two && short_of)
                          : ctrl.inline_len == 16'd0 && ctrl.blocks == 8'd1 && (pair ? fits_2 : ctrl.num_sge == 8'd1 && fits);
  assign plain = cache_hit_i && !cache_err_i && (ctrl.flags & ~(FLAGS | INLINE)) == 8'd0 && ctrl.rsvd0 == 16'd0 &&
                 ctrl.rsvd1 == 32'd0 && ((is_send && rdma == '0) || ((is_write || is_fetch) && rdma.rsvd == 32'd0)) && gives;
  assign push = look && on_q && !stop_i;
  assign push_info = push && !block2_q;
  assign push_data = push && (block2_q || (flag_inl && !two));
  // For one cycle, taken or not, so that it does not delay a fill for a WQE that is needed.
  assign fill_valid_o = fill_valid_q;
  assign fill_index_o = fill_index_q;
  assign fill_limit_o = fill_limit_q;
  assign mr_valid_o = mr_valid_q;
  assign mr_o = mr_q;

  // ---------------------------------------------------------------- queues of WQEs, inline data and answers
  logic info_valid, info_ready, key_valid, key_ready, data_valid, data_ready, ok, absent, absent_2, inl, blocks_2, sges_2, whole, signaled, solicited;
  logic last, last_valid, last_ready, granted_valid, granted_ready, granted_front, granted, refused_q, pop_2_q;
  logic [LOG:0] info_count, data_count, granted_count;
  logic [LOG+1:0] key_count, last_count;
  logic [7:0] opcode;
  logic [31:0] imm;
  logic [12:0] len, sum, len_2_q;      // bytes of the first SGE; of the message; of the second SGE
  rtl_pkg::mr_rsp_t key, key_front;
  logic clear, key_in;
  assign clear = !rst_ni || stop_i;
  dingo_fifo #(.Width(INFO_W), .LogDepth(LOG)) u_info (
      .clk_i, .rst_ni(!clear), .valid_i(push_info), .ready_o(info_ready),
      .data_i({plain, !cache_hit_i, flag_inl, two, pair, ctrl.opcode, is_fetch, is_atomic, (ctrl.flags & 8'(dingo_pkg::WQE_CTRL_FLAGS_SIGNALED_MASK)) != 8'd0,
               (ctrl.flags & 8'(dingo_pkg::WQE_CTRL_FLAGS_SOLICITED_MASK)) != 8'd0, ctrl.imm,
               sge.length[12:0], flag_inl ? ctrl.inline_len[12:0] : is_atomic ? sge.length[12:0] : total[12:0], cache_data_i[383:128]}),
      .valid_o(info_valid), .ready_i(take_i), .data_o({ok, absent, inl, blocks_2, sges_2, opcode, fetch, atomic, signaled, solicited, imm, len, sum, head_o}),
      .count_o(info_count));
  // Inline data; whole: its second block, if any, was in the cache and readable.
  dingo_fifo #(.Width(514), .LogDepth(LOG)) u_data (
      .clk_i, .rst_ni(!clear), .valid_i(push_data), .ready_o(data_ready),
      .data_i({block2_q && !cache_hit_i, !block2_q || (cache_hit_i && !cache_err_i), cache_data_i[255:0], block2_q ? half_q : cache_data_i[511:256]}),
      .valid_o(data_valid), .ready_i(take_i && ok && inl), .data_o({absent_2, whole, data_o}), .count_o(data_count));
  // Answers to look-ups before stop_i are dropped (mine_q); rest_o is low until they have come.
  logic mine_q, asks;
  dingo_fifo #(.Width(rtl_pkg::MR_RSP_W), .LogDepth(LOG + 1)) u_keys (
      .clk_i, .rst_ni(!clear), .valid_i(key_in && !(take_i && asks && !key_valid)), .ready_o(key_ready), .data_i(mr_rsp_i),
      .valid_o(key_valid), .ready_i((take_i && asks) || pop_2_q), .data_o(key_front), .count_o(key_count));
  assign asks = ok && !inl;
  // u_last: whether an answer is the last one of its WQE. u_granted: with the last one, whether all keys are good.
  dingo_fifo #(.Width(1), .LogDepth(LOG + 1)) u_last (
      .clk_i, .rst_ni(!clear), .valid_i(mr_valid_q), .ready_o(last_ready), .data_i(mr_last_q),
      .valid_o(last_valid), .ready_i(key_in), .data_o(last), .count_o(last_count));
  dingo_fifo #(.Width(1), .LogDepth(LOG)) u_granted (
      .clk_i, .rst_ni(!clear), .valid_i(key_in && last && !(take_i && asks && !granted_valid)), .ready_o(granted_ready),
      .data_i(granted), .valid_o(granted_valid), .ready_i(take_i && asks), .data_o(granted_front), .count_o(granted_count));
  assign granted = mr_rsp_i.ok && !refused_q;
  assign key_in = mr_rsp_valid_i && mine_q && asked_q != '0;
  assign key = key_valid ? key_front : mr_rsp_i;  // an answer bypasses the empty queue
  assign valid_o = info_valid && !pop_2_q && (!ok || (inl ? data_valid : granted_valid || (key_in && last)));
  assign missed_o = ok ? inl && absent_2 : absent;
  assign plain_o = ok && (inl ? whole : granted_valid ? granted_front : granted);

  always_comb begin
    wqe_o = '0;
    wqe_o.opcode = opcode;
    wqe_o.blocks = {2'd0, blocks_2, !blocks_2};
    wqe_o.inl = inl;
    wqe_o.fetch = fetch;
    wqe_o.atomic = atomic;
    wqe_o.signaled = signaled;
    wqe_o.solicited = solicited;
    wqe_o.num_sge = {2'd0, sges_2, !sges_2 && !inl};
    wqe_o.imm = imm;
    wqe_o.length = {19'd0, sum};
    seg_o.last = pop_2_q || !sges_2;
    seg_o.len = {19'd0, pop_2_q ? len_2_q : len};
    seg_o.off = key.off;
    seg_o.mem = key.mem;
  end

  always_ff @(posedge clk_i) begin
    mr_valid_q <= 1'b0;
    fill_valid_q <= rst_ni && look && probed_q && on_q && !stop_i && cache_hit_i && !probe_hit_i;
    fill_index_q <= probe_index_q;
    fill_limit_q <= req_pkg::fill_limit(producer_i - probe_index_q);
    if (cache_re_o) begin
      probe_index_q <= probe_index_o;
      probed_q <= further;
    end
    if (push_info) half_q <= cache_data_i[511:256];
    if (push_info) second_sge_q <= sge_1;
    mr_last_q <= second_q || !pair;
    len_2_q <= sum - len;
    if (look || second_q) begin
      mr_q.key <= second_q ? second_sge_q.lkey : sge.lkey;
      mr_q.va <= second_q ? second_sge_q.addr : sge.addr;
      mr_q.len <= second_q ? second_sge_q.length : sge.length;
      mr_q.access <= is_fetch && !second_q ? dingo_pkg::ACC_LOCAL_WRITE[5:0] : 6'd0;
      mr_q.pdn <= pdn_i;
      mr_q.privileged <= privileged_i;
      mr_q.qp <= '0;                   // for memory windows only, whose keys are never local
    end
    if (!rst_ni) begin
      on_q <= 1'b0;
      look_q <= 1'b0;
      mine_q <= 1'b0;
      block2_q <= 1'b0;
      held_q <= '0;
      asked_q <= '0;
      second_q <= 1'b0;
      pop_2_q <= 1'b0;
      refused_q <= 1'b0;
    end else begin
      look_q <= start_i || re;
      held_q <= held_q + (LOG + 1)'(re) - (LOG + 1)'(take_i) - (LOG + 1)'(push && block2_q);
      asked_q <= asked_q + 4'(mr_valid_q) - 4'(mr_rsp_valid_i && asked_q != '0);
      pop_2_q <= take_i && sges_2;
      second_q <= push_info && plain && pair && !flag_inl;
      if (second_q) mr_valid_q <= 1'b1;
      if (key_in) refused_q <= !last && !granted;
      if (re) begin
        index_q <= index_q + 32'd1;
      end
      if (push) block2_q <= 1'b0;
      if (push_info) begin
        mr_valid_q <= plain && !flag_inl;
        block2_q <= flag_inl && two;
        if (!plain) on_q <= 1'b0;
      end else if (push && !(cache_hit_i && !cache_err_i)) on_q <= 1'b0;
      if (stop_i) begin
        on_q <= 1'b0;
        look_q <= 1'b0;
        held_q <= '0;
        mr_valid_q <= 1'b0;
        second_q <= 1'b0;
        refused_q <= 1'b0;
        mine_q <= 1'b0;
        block2_q <= 1'b0;
      end
      if (start_i) begin
        on_q <= 1'b1;
        index_q <= index_i + 32'd1;
        held_q <= (LOG + 1)'(1);
        mine_q <= 1'b1;
        block2_q <= 1'b0;
      end
      a_start: assert (!start_i || (may_start_i && rest_o && !on_q && !look_q));
      a_take: assert (!take_i || valid_o);
      a_room: assert ((info_ready || !push_info) && (data_ready || !push_data) && (key_ready || !key_in) && (granted_ready || !key_in) &&
                      (last_ready || !mr_valid_q));
      a_last: assert (last_valid || !key_in);
      a_second: assert (!(second_q && look) && (!pop_2_q || key_valid));
    end
  end

  wire unused_ok = &{1'b0, info_count, key_count, data_count, last_count, granted_count, key, rdma, sge, sge_0, sge_1};
endmodule
