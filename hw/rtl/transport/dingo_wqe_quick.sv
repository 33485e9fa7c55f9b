// SPDX-License-Identifier: BSD-2-Clause

/// WQEs that come next in a send queue, looked at ahead of their turn and one behind the other: out of the
/// cache, checked, their SGE against the memory table. It takes what is plain: SEND or WRITE, with or
/// without immediate, READ, atomic; one block, one SGE, one packet, no fence. The first that is anything else, or is not in the
/// cache, ends it: dingo_wqe_load and dingo_sge_walk look at that one.
module dingo_wqe_quick (
    input  logic        clk_i,
    input  logic        rst_ni,
    output logic        rest_o,        // no answer is awaited: what is asked for now gets its own
    output logic        on_o,          // begun, and not stopped
    input  logic        may_start_i,   // known early: looks up index_i unless it is on
    input  logic        start_i,       // with may_start_i, at rest: from index_i on, which is there
    input  logic        stop_i,        // forget what was looked at
    input  logic [31:0] index_i,
    input  logic [31:0] producer_i,    // blocks before it are there
    input  logic [2:0]  path_mtu_i,
    input  logic [rtl_pkg::PD_BITS-1:0] pdn_i,
    input  logic        privileged_i,
    // the WQE in front
    output logic        valid_o,
    output logic        plain_o,
    input  logic        take_i,
    output req_pkg::wqe_t       wqe_o,
    output logic [255:0] head_o,       // bytes 16..47
    output rtl_pkg::seg_t        seg_o,
    // dingo_wqe_cache
    output logic        cache_re_o,
    output logic [31:0] cache_index_o,
    input  logic        cache_hit_i,
    input  logic        cache_err_i,
    input  logic [511:0] cache_data_i,
    output logic        fill_valid_o,  // blocks further on, when they are not on their way; no harm if they do not come
    output logic [31:0] fill_index_o,
    output logic [3:0]  fill_limit_o,
    output logic        mr_valid_o,
    output rtl_pkg::mr_req_t     mr_o,
    input  logic        mr_rsp_valid_i,
    input  rtl_pkg::mr_rsp_t     mr_rsp_i
);
  localparam int unsigned LOG = 2;     // WQEs that are looked at
  localparam logic [31:0] AHEAD = 32'd8;
  localparam logic [7:0] FLAGS = 8'(dingo_pkg::WQE_CTRL_FLAGS_SIGNALED_MASK | dingo_pkg::WQE_CTRL_FLAGS_SOLICITED_MASK);
  localparam int unsigned INFO_W = 1 + 8 + 2 + 2 + 32 + 13 + 256;

  logic on_q, probe_q, look_q, looked_probe_q, mr_valid_q;
  logic [31:0] index_q, probe_index_q;
  logic [LOG:0] held_q;                // looked up and not taken
  logic [2:0] asked_q;                 // answers that are awaited
  logic re, probe, look, plain, push;
  logic fill_valid_q;
  logic [31:0] fill_index_q;
  logic [3:0] fill_limit_q;
  rtl_pkg::mr_req_t mr_q;
  dingo_pkg::wqe_ctrl_t ctrl;
  dingo_pkg::wqe_rdma_t rdma;
  dingo_pkg::sge_t sge;
  logic is_send, is_write, is_atomic, is_fetch, fetch, atomic;

  assign on_o = on_q;
  assign rest_o = asked_q == '0 && !mr_valid_q;

  // ---------------------------------------------------------------- look-ups: the next WQE, then a block further on
  assign re = on_q && !stop_i && !probe_q && index_q != producer_i && !held_q[LOG];
  assign probe = on_q && !stop_i && probe_q;
  // Whether it starts or stops is known late: what was looked up for nothing is not looked at.
  assign cache_re_o = on_q ? probe_q || (index_q != producer_i && !held_q[LOG]) : may_start_i;
  assign cache_index_o = !on_q ? index_i : probe_q ? probe_index_q : index_q;
  assign look = look_q && !looked_probe_q;

  // ---------------------------------------------------------------- what was looked up
  assign ctrl = cache_data_i[127:0];
  assign rdma = cache_data_i[255:128];
  assign sge = is_atomic ? cache_data_i[511:384] : cache_data_i[383:256];
  assign is_send = ctrl.opcode == dingo_pkg::WR_SEND[7:0] || ctrl.opcode == dingo_pkg::WR_SEND_IMM[7:0];
  assign is_write = ctrl.opcode == dingo_pkg::WR_WRITE[7:0] || ctrl.opcode == dingo_pkg::WR_WRITE_IMM[7:0];
  assign is_atomic = ctrl.opcode == dingo_pkg::WR_CMP_SWAP[7:0] || ctrl.opcode == dingo_pkg::WR_FETCH_ADD[7:0];
  assign is_fetch = is_atomic || ctrl.opcode == dingo_pkg::WR_READ[7:0];
  assign plain = cache_hit_i && !cache_err_i && ctrl.blocks == 8'd1 && (ctrl.flags & ~FLAGS) == 8'd0 && ctrl.rsvd0 == 16'd0 &&
                 ctrl.rsvd1 == 32'd0 && ctrl.inline_len == 16'd0 && ctrl.num_sge == 8'd1 &&
                 ((is_send && rdma == '0) || ((is_write || is_fetch) && rdma.rsvd == 32'd0)) && sge.length != 32'd0 &&
                 (!is_atomic || sge.length == 32'd8) &&
                 sge.length <= {19'd0, rtl_pkg::pmtu_bytes(path_mtu_i)};
  assign push = look && on_q && !stop_i;
  // For one cycle, taken or not: it must not stand before a fill that somebody waits for.
  assign fill_valid_o = fill_valid_q;
  assign fill_index_o = fill_index_q;
  assign fill_limit_o = fill_limit_q;
  assign mr_valid_o = mr_valid_q;
  assign mr_o = mr_q;

  // ---------------------------------------------------------------- WQEs that wait
  logic info_valid, info_ready, key_valid, key_ready, ok, signaled, solicited;
  logic [LOG:0] info_count, key_count;
  logic [7:0] opcode;
  logic [31:0] imm;
  logic [12:0] len;
  rtl_pkg::mr_rsp_t key, key_front;
  logic clear, key_in;
  assign clear = !rst_ni || stop_i;
  dingo_fifo #(.Width(INFO_W), .LogDepth(LOG)) u_info (
      .clk_i, .rst_ni(!clear), .valid_i(push), .ready_o(info_ready),
      .data_i({plain, ctrl.opcode, is_fetch, is_atomic, (ctrl.flags & 8'(dingo_pkg::WQE_CTRL_FLAGS_SIGNALED_MASK)) != 8'd0,
               (ctrl.flags & 8'(dingo_pkg::WQE_CTRL_FLAGS_SOLICITED_MASK)) != 8'd0, ctrl.imm, sge.length[12:0], cache_data_i[383:128]}),
      .valid_o(info_valid), .ready_i(take_i), .data_o({ok, opcode, fetch, atomic, signaled, solicited, imm, len, head_o}),
      .count_o(info_count));
  // Answers to what was forgotten are nobody's: stop_i takes a while to bring rest_o.
  logic mine_q;
  dingo_fifo #(.Width(rtl_pkg::MR_RSP_W), .LogDepth(LOG)) u_keys (
      .clk_i, .rst_ni(!clear), .valid_i(key_in && !(take_i && ok && !key_valid)), .ready_o(key_ready), .data_i(mr_rsp_i),
      .valid_o(key_valid), .ready_i(take_i && ok), .data_o(key_front), .count_o(key_count));
  assign key_in = mr_rsp_valid_i && mine_q && asked_q != '0;
  assign key = key_valid ? key_front : mr_rsp_i;  // it need not wait when nobody is before it
  assign valid_o = info_valid && (!ok || key_valid || key_in);
  assign plain_o = ok && key.ok;

  always_comb begin
    wqe_o = '0;
    wqe_o.opcode = opcode;
    wqe_o.blocks = 4'd1;
    wqe_o.fetch = fetch;
    wqe_o.atomic = atomic;
    wqe_o.signaled = signaled;
    wqe_o.solicited = solicited;
    wqe_o.num_sge = 4'd1;
    wqe_o.imm = imm;
    wqe_o.length = {19'd0, len};
    seg_o.last = 1'b1;
    seg_o.len = {19'd0, len};
    seg_o.off = key.off;
    seg_o.mem = key.mem;
  end

  always_ff @(posedge clk_i) begin
    mr_valid_q <= 1'b0;
    fill_valid_q <= rst_ni && look_q && looked_probe_q && on_q && !stop_i && !cache_hit_i;
    fill_index_q <= probe_index_q;
    fill_limit_q <= req_pkg::fill_limit(producer_i - probe_index_q);
    if (look) begin
      mr_q.key <= sge.lkey;
      mr_q.va <= sge.addr;
      mr_q.len <= sge.length;
      mr_q.access <= is_fetch ? dingo_pkg::ACC_LOCAL_WRITE[5:0] : 6'd0;
      mr_q.pdn <= pdn_i;
      mr_q.privileged <= privileged_i;
      mr_q.qp <= '0;                   // no window is a local key
    end
    if (!rst_ni) begin
      on_q <= 1'b0;
      look_q <= 1'b0;
      probe_q <= 1'b0;
      mine_q <= 1'b0;
      held_q <= '0;
      asked_q <= '0;
    end else begin
      look_q <= start_i || re || probe;
      looked_probe_q <= probe;
      held_q <= held_q + (LOG + 1)'(re) - (LOG + 1)'(take_i);
      asked_q <= asked_q + 3'(mr_valid_q) - 3'(mr_rsp_valid_i && asked_q != '0);
      if (re) begin
        index_q <= index_q + 32'd1;
        probe_index_q <= index_q + AHEAD;
        probe_q <= producer_i - index_q > AHEAD;
      end
      if (probe) probe_q <= 1'b0;
      if (push) begin
        mr_valid_q <= plain;
        if (!plain) on_q <= 1'b0;
      end
      if (stop_i) begin
        on_q <= 1'b0;
        probe_q <= 1'b0;
        look_q <= 1'b0;
        held_q <= '0;
        mr_valid_q <= 1'b0;
        mine_q <= 1'b0;
      end
      if (start_i) begin
        on_q <= 1'b1;
        index_q <= index_i + 32'd1;
        probe_index_q <= index_i + AHEAD;
        probe_q <= producer_i - index_i > AHEAD;
        held_q <= (LOG + 1)'(1);
        mine_q <= 1'b1;
      end
      a_start: assert (!start_i || (may_start_i && rest_o && !on_q && !look_q));
      a_take: assert (!take_i || valid_o);
      a_room: assert ((info_ready || !push) && (key_ready || !key_in));
    end
  end

  wire unused_ok = &{1'b0, info_count, key_count, key, rdma, sge};
endmodule
