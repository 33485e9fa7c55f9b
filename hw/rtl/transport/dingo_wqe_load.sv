// SPDX-License-Identifier: BSD-2-Clause

/// Loads a send WQE: copies its blocks from dingo_wqe_cache into a buffer, a block a cycle, and checks every field of
/// the copy, since the host may write the original at any time. Two buffers: 0 for what is sent, 1 for the READ whose
/// response arrives; each keeps its last good WQE. From start_i to done_o: 1 cycle if the buffer has it, else 2 and
/// one a block, with more than two SGEs 2 more and one an SGE. A block that is not in the cache ends the order
/// (miss_o) with a fill.
module dingo_wqe_load (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        forget_i,      // the WQEs in the buffers
    // order: stays until done_o
    input  logic        start_i,
    input  logic        sel_i,         // buffer
    input  rtl_pkg::qpi_t        qp_i,
    input  logic [31:0] index_i,
    input  logic [31:0] producer_i,    // blocks before it are posted
    input  logic        wake_i,        // the QP is due when the missing blocks have come
    input  logic        datagram_i,
    input  logic        uc_i,          // it has no READs, no atomics, no SEND with invalidate
    input  logic        privileged_i,  // REG_MR is allowed
    output logic        done_o,        // one cycle
    output logic        miss_o,        // with done_o: a block is not in the cache
    output logic        asked_o,       // with miss_o: the cache has accepted the fill
    output req_pkg::wqe_t       wqe_o,         // of buffer sel_i, from done_o on
    output logic [383:0] head_o,       // bytes 16..63 of the WQE in buffer 0
    // blocks of buffer sel_i, in the next cycle; not while an order is in work
    input  logic        re_i,
    input  logic [2:0]  block_i,
    output logic [511:0] block_o,
    // dingo_wqe_cache
    output logic        cache_re_o,
    output logic [31:0] cache_index_o,
    input  logic        cache_hit_i,
    input  logic        cache_err_i,
    input  logic [511:0] cache_data_i,
    output logic        fill_valid_o,
    input  logic        fill_ready_i,
    output logic [31:0] fill_index_o,
    output logic [3:0]  fill_limit_o,
    output logic        fill_wake_o,
    output logic        fill_force_o
);
  localparam int unsigned QP = rtl_pkg::QP_LOG;
  typedef dingo_pkg::wqe_ctrl_t ctrl_t;
  localparam logic [7:0] OP_ERR = dingo_pkg::WCS_LOC_QP_OP_ERR[7:0];
  localparam logic [7:0] FLAGS = 8'(dingo_pkg::WQE_CTRL_FLAGS_SIGNALED_MASK | dingo_pkg::WQE_CTRL_FLAGS_SOLICITED_MASK |
                                    dingo_pkg::WQE_CTRL_FLAGS_FENCE_MASK | dingo_pkg::WQE_CTRL_FLAGS_INLINE_MASK);
  typedef enum logic [2:0] {
    IDLE = 3'd0,
    COPY = 3'd1,                       // a block has been looked up in the cache
    FILL = 3'd2,                       // a missing block is asked for
    CHECK = 3'd3,
    SUM = 3'd4,                        // lengths of the SGEs, when there are many
    DONE = 3'd5,
    AHEAD = 3'd6                       // block 8 further on: prefetched if it is not in the cache
  } state_t;

  state_t state_q;
  logic [3:0] block_q;                 // COPY: the one that was looked up
  logic [3:0] blocks_q;
  logic miss_q, asked_q, fetch_q, fresh_q;
  logic have_hit_q;                    // the WQE was in its buffer already
  logic fill_q;                        // one cycle: in FILL, or behind AHEAD
  logic [31:0] fill_index_q;
  logic [3:0] fill_limit_q;
  ctrl_t ctrl_q, ctrl_in;
  logic [383:0] head_q, head0_q;       // bytes 16..63 of the WQE that is checked; of the one in buffer 0
  logic [4:0] sge_q;                   // SUM: SGEs read so far
  logic [1:0] quarter_q;
  logic adding_q;
  logic [35:0] total_q;
  req_pkg::wqe_t wqe0_q, wqe1_q, wqe_d;
  logic [1:0] have_q;
  logic [QP-1:0] qp0_q, qp1_q;
  logic [31:0] index0_q, index1_q;
  logic [31:0] posted, posted_q;
  logic [3:0] most_q;                  // blocks that the WQE may have
  logic held, in_ok;
  logic [3:0] in_blocks;

  assign ctrl_in = cache_data_i[127:0];
  assign posted = producer_i - index_i;
  assign in_ok = ctrl_in.blocks != 8'd0 && ctrl_in.blocks <= {4'd0, most_q};
  assign in_blocks = in_ok ? ctrl_in.blocks[3:0] : 4'd1;
  assign held = sel_i ? have_q[1] && qp1_q == qp_i && index1_q == index_i : have_q[0] && qp0_q == qp_i && index0_q == index_i;
  assign wqe_o = sel_i ? wqe1_q : wqe0_q;

  // ---------------------------------------------------------------- checks, in the order of the model
  logic is_send, is_inv, is_write, is_atomic, is_fetch, is_nop, is_bind, is_reg, is_local, allowed, clean, flag_inl;
  logic [3:0] first_sge;               // in units of 16 bytes
  logic [9:0] data_end, size;
  logic [15:0] most_inline;
  logic [7:0] verr;
  logic data_ok;
  logic [31:0] atomic_len;             // length of the atomic's only SGE
  dingo_pkg::wqe_ud_t ud;
  dingo_pkg::wqe_rdma_t rdma;
  dingo_pkg::wqe_bind_t bind_mw;
  dingo_pkg::wqe_reg_t reg_mr;

  assign ud = head_q;
  assign bind_mw = head_q;
  assign reg_mr = head_q;
  assign rdma = head_q[127:0];
  assign atomic_len = head_q[256 + 96+:32];
  assign is_inv = ctrl_q.opcode == dingo_pkg::WR_SEND_INV[7:0];
  assign is_send = ctrl_q.opcode == dingo_pkg::WR_SEND[7:0] || ctrl_q.opcode == dingo_pkg::WR_SEND_IMM[7:0] || is_inv;
  assign is_write = ctrl_q.opcode == dingo_pkg::WR_WRITE[7:0] || ctrl_q.opcode == dingo_pkg::WR_WRITE_IMM[7:0];
  assign is_atomic = ctrl_q.opcode == dingo_pkg::WR_CMP_SWAP[7:0] || ctrl_q.opcode == dingo_pkg::WR_FETCH_ADD[7:0];
  assign is_fetch = is_atomic || ctrl_q.opcode == dingo_pkg::WR_READ[7:0];
  assign is_nop = ctrl_q.opcode == dingo_pkg::WR_NOP[7:0];
  assign is_bind = ctrl_q.opcode == dingo_pkg::WR_BIND_MW[7:0];
  assign is_reg = ctrl_q.opcode == dingo_pkg::WR_REG_MR[7:0];
  assign is_local = is_nop || is_bind || is_reg || ctrl_q.opcode == dingo_pkg::WR_LOCAL_INV[7:0];
  assign allowed = is_inv || is_fetch ? !datagram_i && !uc_i : is_reg ? !datagram_i && privileged_i
                   : is_send || is_nop || (!datagram_i && (is_write || is_local));
  assign flag_inl = (ctrl_q.flags & 8'(dingo_pkg::WQE_CTRL_FLAGS_INLINE_MASK)) != 8'd0;
  assign first_sge = datagram_i ? 4'd4 : is_atomic ? 4'd3 : 4'd2;
  assign size = {blocks_q, 6'd0};
  assign most_inline = datagram_i ? dingo_pkg::MAX_INLINE_UD[15:0] : dingo_pkg::MAX_INLINE[15:0];
  assign data_end = {2'd0, first_sge, 4'd0} + (flag_inl ? ctrl_q.inline_len[9:0] : {1'b0, ctrl_q.num_sge[4:0], 4'd0});

  always_comb begin
    clean = 1'b1;
    if (datagram_i && !is_nop)
      clean = ud.rsvd0 == 8'd0 && ud.rsvd1 == 32'd0 && ud.pkey_index == 16'd0 && ud.dest_qpn[31:24] == 8'd0 && ud.flow_label[31:20] == 12'd0;
    else if (is_bind) clean = bind_mw.rsvd == '0;
    else if (is_reg) clean = reg_mr.rsvd0 == '0 && reg_mr.rsvd1 == '0 && reg_mr.page_shift >= 8'd12 && reg_mr.page_shift <= 8'd30;
    else if (is_send || (is_local && !is_nop)) clean = rdma == '0;
    else if (!is_nop) clean = rdma.rsvd == 32'd0;
    if (is_local) data_ok = ctrl_q.num_sge == 8'd0 && ctrl_q.inline_len == 16'd0 && !flag_inl;
    else if (flag_inl)
      data_ok = (is_send || is_write) && ctrl_q.num_sge == 8'd0 && ctrl_q.inline_len <= most_inline && data_end <= size;
    else data_ok = ctrl_q.inline_len == 16'd0 && ctrl_q.num_sge <= dingo_pkg::SQ_MAX_SGE[7:0] && data_end <= size
                   && (!is_atomic || (ctrl_q.num_sge == 8'd1 && atomic_len == 32'd8));
    if (fetch_q) verr = dingo_pkg::VERR_WQE_FETCH[7:0];
    else if (!allowed) verr = dingo_pkg::VERR_WQE_OPCODE[7:0];
    else if ({4'd0, blocks_q} != ctrl_q.blocks) verr = dingo_pkg::VERR_WQE_SIZE[7:0];
    else if ((ctrl_q.flags & ~FLAGS) != 8'd0 || ctrl_q.rsvd0 != 16'd0 || ctrl_q.rsvd1 != 32'd0 || !clean)
      verr = dingo_pkg::VERR_WQE_RESERVED[7:0];
    else if (!data_ok) verr = dingo_pkg::VERR_WQE_SIZE[7:0];
    else verr = dingo_pkg::VERR_NONE[7:0];
  end

  // Up to two SGEs of a connected QP lie in the first block, and that of an atomic.
  logic near;
  logic [35:0] total;
  assign near = !datagram_i && !is_local && !flag_inl && ctrl_q.num_sge <= 8'd2;
  assign total = state_q == SUM ? total_q : is_atomic ? 36'd8 : {4'd0, ctrl_q.num_sge == 8'd0 ? 32'd0 : head_q[128 + 96+:32]} +
                                            {4'd0, ctrl_q.num_sge == 8'd2 ? head_q[256 + 96+:32] : 32'd0};

  always_comb begin
    wqe_d.status = verr == 8'd0 ? 8'd0 : OP_ERR;
    wqe_d.verr = verr;
    wqe_d.opcode = ctrl_q.opcode;
    wqe_d.blocks = blocks_q;
    wqe_d.signaled = (ctrl_q.flags & 8'(dingo_pkg::WQE_CTRL_FLAGS_SIGNALED_MASK)) != 8'd0;
    wqe_d.solicited = (ctrl_q.flags & 8'(dingo_pkg::WQE_CTRL_FLAGS_SOLICITED_MASK)) != 8'd0;
    wqe_d.fence = (ctrl_q.flags & 8'(dingo_pkg::WQE_CTRL_FLAGS_FENCE_MASK)) != 8'd0;
    wqe_d.fetch = is_fetch;
    wqe_d.atomic = is_atomic;
    wqe_d.local_op = is_local;
    wqe_d.inl = flag_inl;
    wqe_d.num_sge = ctrl_q.num_sge[3:0];
    wqe_d.imm = ctrl_q.imm;
    wqe_d.length = flag_inl ? {16'd0, ctrl_q.inline_len} : 32'd0;
    if (state_q == SUM || (verr == 8'd0 && near)) begin
      wqe_d.length = total[31:0];
      if (total > 36'(dingo_pkg::MAX_MSG)) begin
        wqe_d.status = dingo_pkg::WCS_LOC_LEN_ERR[7:0];
        wqe_d.verr = dingo_pkg::VERR_MSG_TOO_LONG[7:0];
      end
    end
  end

  // ---------------------------------------------------------------- buffers
  logic [511:0] buf_data;
  logic [4:0] sge_place;               // SUM: of the SGE to read, in units of 16 bytes
  logic [4:0] last_sge;
  logic copy, reading, sum_end;

  assign sge_place = {1'b0, first_sge} + sge_q;
  assign copy = state_q == COPY && cache_hit_i && !cache_err_i;
  assign reading = state_q == SUM && sge_q != last_sge;
  assign last_sge = {1'b0, ctrl_q.num_sge[3:0]};
  assign sum_end = state_q == SUM && sge_q == last_sge && !adding_q;
  assign block_o = buf_data;

  dingo_ram #(
      .Width(512),
      .LogDepth(4)
  ) u_buffer (
      .clk_i,
      .we_i(copy),
      .waddr_i({sel_i, block_q[2:0]}),
      .wdata_i(cache_data_i),
      .re_i(re_i || reading),
      .raddr_i({sel_i, reading ? sge_place[4:2] : block_i}),
      .rdata_o(buf_data)
  );

  // ---------------------------------------------------------------- cache
  // Some look-ups are made before it is known whether they are needed; their answers are not used then.
  logic more;
  assign more = block_q == 4'd0 ? in_blocks > 4'd1 : block_q + 1'b1 < blocks_q;
  always_comb begin
    cache_re_o = (state_q == IDLE && start_i) || state_q == COPY || (state_q == DONE && fresh_q);
    cache_index_o = index_i;
    if (state_q == COPY) cache_index_o = index_i + {28'd0, block_q + 4'd1};
    if (state_q == DONE) cache_index_o = index_i + 32'd8;
  end
  // From registers: the paths through the cache's choice of a fill are long.
  assign fill_valid_o = fill_q;
  assign fill_index_o = fill_index_q;
  assign fill_limit_o = fill_limit_q;
  assign fill_wake_o = state_q == FILL && wake_i;
  assign fill_force_o = state_q == FILL && !wake_i;
  assign done_o = state_q == DONE;
  assign miss_o = miss_q;
  assign asked_o = asked_q;
  assign head_o = head0_q;

  always_ff @(posedge clk_i) begin
    if (state_q == IDLE) begin
      posted_q <= posted;
      most_q <= req_pkg::fill_limit(posted);
    end
    if (state_q == COPY) begin
      fill_index_q <= index_i + {28'd0, block_q};
      fill_limit_q <= req_pkg::fill_limit(posted_q - {28'd0, block_q});
    end else if (state_q == AHEAD) begin
      fill_index_q <= index0_q + 32'd8;
      fill_limit_q <= req_pkg::fill_limit(producer_i - index0_q - 32'd8);
    end
    fill_q <= rst_ni && (state_q == COPY || state_q == AHEAD) && !cache_hit_i;
    if (!rst_ni) begin
      state_q <= IDLE;
      have_q <= '0;
      adding_q <= 1'b0;
    end else begin
      case (state_q)
        IDLE: begin
          block_q <= '0;
          fetch_q <= 1'b0;
          fresh_q <= 1'b0;
          have_hit_q <= held;
          if (start_i) begin
            miss_q <= 1'b0;
            state_q <= held ? DONE : COPY;
          end
        end
        COPY: begin
          if (!cache_hit_i) state_q <= FILL;
          else begin
            have_q[sel_i] <= 1'b0;
            if (block_q == 4'd0) begin
              ctrl_q <= cache_err_i ? '0 : ctrl_in;
              blocks_q <= cache_err_i ? 4'd1 : in_blocks;
              head_q <= cache_data_i[511:128];
            end
            if (cache_err_i) begin
              fetch_q <= 1'b1;
              state_q <= CHECK;
            end else if (more) block_q <= block_q + 1'b1;
            else state_q <= CHECK;
          end
        end
        FILL: begin
          miss_q <= 1'b1;
          asked_q <= fill_ready_i;
          state_q <= DONE;
        end
        CHECK: begin
          sge_q <= '0;
          total_q <= '0;
          if (verr != 8'd0 || is_local || flag_inl || near) begin
            if (sel_i) wqe1_q <= wqe_d;
            else wqe0_q <= wqe_d;
            have_q[sel_i] <= wqe_d.status == 8'd0;
            fresh_q <= wqe_d.status == 8'd0 && !sel_i && posted_q > 32'd8;
            state_q <= DONE;
          end else state_q <= SUM;
        end
        SUM: begin
          if (reading) sge_q <= sge_q + 1'b1;
          adding_q <= reading;
          quarter_q <= sge_place[1:0];
          if (adding_q) total_q <= total_q + {4'd0, buf_data[{quarter_q, 7'd96}+:32]};
          if (sum_end) begin
            if (sel_i) wqe1_q <= wqe_d;
            else wqe0_q <= wqe_d;
            have_q[sel_i] <= wqe_d.status == 8'd0;
            fresh_q <= wqe_d.status == 8'd0 && !sel_i && posted_q > 32'd8;
            state_q <= DONE;
          end
        end
        DONE: begin
          if (!miss_q) begin
            if (sel_i) begin
              qp1_q <= qp_i;
              index1_q <= index_i;
            end else begin
              qp0_q <= qp_i;
              index0_q <= index_i;
              if (!have_hit_q) head0_q <= head_q;
            end
          end
          state_q <= fresh_q ? AHEAD : IDLE;
        end
        default: state_q <= IDLE;      // AHEAD: a refused fill is no loss
      endcase
      if (forget_i) have_q <= '0;
    end
  end

  wire unused_ok = &{1'b0, ud, bind_mw, reg_mr};
endmodule
