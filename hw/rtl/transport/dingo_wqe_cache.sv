// SPDX-License-Identifier: BSD-2-Clause

/// Cache of send queue blocks (64 bytes), by QP and free-running block index. A look-up answers in the next cycle,
/// one a cycle. A fill reads up to 8 posted blocks from host memory, with translation, and up to 32 fills are in
/// work; when a fill is done its QP is due for a turn (`wake_*`). Until the QP is taken no fill of another QP may
/// evict those blocks: else two QPs whose blocks share lines could evict each other's blocks for ever. A fill without
/// room is refused.
module dingo_wqe_cache #(
    parameter int unsigned LogLines = 11
) (
    input  logic        clk_i,
    input  logic        rst_ni,
    output logic        idle_o,        // no fill is in work; QPs may be due
    input  logic        xl_flush_i,
    input  logic        clear_i,       // forget all blocks
    // look-up
    input  logic        re_i,
    input  rtl_pkg::qpi_t        qp_i,
    input  logic [31:0] index_i,
    output logic        hit_o,         // in the next cycle
    output logic        err_o,         // the block could not be read
    output logic [511:0] data_o,
    // probe: is a block of qp_i there? With re_i. A hint: it may find a block that was dropped 16 clear_i ago
    input  logic        probe_i,
    input  logic [31:0] probe_index_i,
    output logic        probe_hit_o,   // in the next cycle
    // fills
    input  logic        fill_valid_i,
    input  logic        fill_go_i,     // late signal; without it the fill is only tested for room
    output logic        fill_ready_o,
    input  rtl_pkg::qpi_t        fill_qp_i,
    input  logic [31:0] fill_index_i,
    input  logic [3:0]  fill_limit_i,  // posted blocks from fill_index_i on, 1..8; 8: 8 or more
    input  logic        fill_wake_i,   // the QP is due when the fill is done
    input  logic        fill_force_i,  // the requester stands still for it: clashes do not count
    input  logic        fill_spare_i,  // no turn waits for it: a quarter of the places stays free
    output logic        spare_o,       // such a fill has room
    input  logic [4:0]  fill_log_sq_i,
    input  rtl_pkg::xmem_t       fill_sq_i,
    output logic        wake_valid_o,
    input  logic        wake_ready_i,
    output rtl_pkg::qpi_t        wake_qp_o,
    // blocks that the host pushed; blocks of a fill go first
    input  logic        push_valid_i,
    output logic        push_ready_o,
    input  rtl_pkg::push_t       push_i,
    // dingo_host
    output logic        wqe_valid_o,
    input  logic        wqe_ready_i,
    output rtl_pkg::rdl_req_t    wqe_o,
    input  logic        wqe_rsp_valid_i,
    output logic        line_valid_o,
    input  logic        line_ready_i,
    output rtl_pkg::rdl_req_t    line_o,
    input  logic        line_rsp_valid_i,
    input  rtl_pkg::rdl_rsp_t    line_rsp_i
);
  localparam int unsigned QP = rtl_pkg::QP_LOG;
  localparam int unsigned LOGF = 5;    // log2 of fills at a time: what a PCIe round trip needs
  localparam int unsigned FILLS = 1 << LOGF;
  localparam int unsigned RING = 16;   // log2 of the largest ring
  localparam int unsigned NEAR = RING + 2;  // bits of an index that tell how far apart two blocks of a QP are

  // Blocks of one WQE never evict each other. With few QPs each has lines of its own. With all QPs active, a QP's next
  // block takes no line that holds another QP's current one, as long as none is two blocks ahead of the others.
  function automatic logic [LogLines-1:0] line_of(input logic [QP-1:0] qp, input logic [LogLines-1:0] index);
    line_of = index;
    for (int unsigned i = 0; i < QP && i < LogLines; i++) line_of[LogLines-1-i] = line_of[LogLines-1-i] ^ qp[i];
  endfunction

  // a < b, without a carry chain
  function automatic logic below(input logic [2:0] a, input logic [2:0] b);
    below = (!a[2] && b[2]) || (a[2] == b[2] && ((!a[1] && b[1]) || (a[1] == b[1] && !a[0] && b[0])));
  endfunction

  // Whether two runs of blocks share cache lines. Run A begins at line `a` and goes on in the group (8 lines)
  // `a_next`; run B begins at line `b`, ends in group `b_last`, and is one block if `b_one`. Result: {A's second
  // group is one of B's; A's first group is one of B's; the same, but exact to the line if both runs are one block}
  function automatic logic [2:0] meet(input logic [LogLines-1:0] a, input logic [LogLines-4:0] a_next,
                                      input logic [LogLines-1:0] b, input logic [LogLines-4:0] b_last, input logic b_one);
    logic own;
    own = a[LogLines-1:3] == b[LogLines-1:3];
    meet = {a_next == b[LogLines-1:3] || a_next == b_last, own || a[LogLines-1:3] == b_last,
            b_one ? own && a[2:0] == b[2:0] : own || a[LogLines-1:3] == b_last};
  endfunction

  // ---------------------------------------------------------------- blocks
  logic [(1<<LogLines)-1:0] valid_q;
  logic [31:0] valid_read_q;           // of 32 lines, the one that is looked up among them
  logic [4:0] line_read_q;
  logic [QP-1:0] qp_read_q, tag_qp;
  logic [31:0] index_read_q, tag_index;
  logic tag_err;
  logic filled, we_err;                // a block of a fill comes, or its translation has failed
  logic [QP-1:0] we_qp;
  logic [31:0] we_index;
  logic put;                           // a fill or a push writes a block
  logic [QP-1:0] put_qp;
  logic [31:0] put_index;
  logic [LogLines-1:0] waddr, raddr;

  assign push_ready_o = !filled;
  assign put = filled || push_valid_i;
  assign put_qp = filled ? we_qp : push_i.qp;
  assign put_index = filled ? we_index : push_i.index;
  assign waddr = line_of(put_qp, put_index[LogLines-1:0]);
  assign raddr = line_of(qp_i, index_i[LogLines-1:0]);
  assign hit_o = valid_read_q[line_read_q] && tag_qp == qp_read_q && tag_index == index_read_q;
  assign err_o = tag_err;

  dingo_ram #(
      .Width(33 + QP),
      .LogDepth(LogLines)
  ) u_tags (
      .clk_i,
      .we_i(put),
      .waddr_i(waddr),
      .wdata_i({filled && we_err, put_qp, put_index}),
      .re_i,
      .raddr_i(raddr),
      .rdata_o({tag_err, tag_qp, tag_index})
  );
  dingo_ram #(
      .Width(512),
      .LogDepth(LogLines)
  ) u_blocks (
      .clk_i,
      .we_i(put),
      .waddr_i(waddr),
      .wdata_i(filled ? line_rsp_i.data : push_i.data),
      .re_i,
      .raddr_i(raddr),
      .rdata_o(data_o)
  );

  // A second copy of the tags, for probes. clear_i begins a new generation: a second read port of valid_q would be
  // large.
  localparam int unsigned GEN = 4;
  logic [GEN-1:0] gen_q, probe_gen, probe_gen_q;
  logic [QP-1:0] probe_qp;
  logic [31:0] probe_index, probe_index_q;
  dingo_ram #(
      .Width(GEN + QP + 32),
      .LogDepth(LogLines)
  ) u_probe_tags (
      .clk_i,
      .we_i(put),
      .waddr_i(waddr),
      .wdata_i({gen_q, put_qp, put_index}),
      .re_i(probe_i),
      .raddr_i(line_of(qp_i, probe_index_i[LogLines-1:0])),
      .rdata_o({probe_gen, probe_qp, probe_index})
  );
  assign probe_hit_o = probe_gen == probe_gen_q && probe_qp == qp_read_q && probe_index == probe_index_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) gen_q <= GEN'(1);     // not 0: memories may start as zeros
    else if (clear_i) gen_q <= gen_q + 1'b1;
    if (probe_i) begin
      probe_gen_q <= gen_q;
      probe_index_q <= probe_index_i;
    end
    if (re_i) begin
      valid_read_q <= valid_q[{raddr[LogLines-1:5], 5'd0}+:32];
      line_read_q <= raddr[4:0];
      qp_read_q <= qp_i;
      index_read_q <= index_i;
    end
    if (!rst_ni) valid_q <= '0;
    else begin
      if (clear_i) valid_q <= '0;
      if (put) valid_q[waddr] <= 1'b1;
    end
  end

  // ---------------------------------------------------------------- fills, in order: accepted, translated, read
  logic [QP-1:0] fill_qp[FILLS];
  logic [31:0] fill_index[FILLS];
  logic [FILLS-1:0] wake_q;
  localparam int unsigned XLW = 167;    // width of xl_req_t: Yosys has no arrays of structures
  logic [3:0] fill_max[FILLS];         // blocks wanted
  logic [XLW-1:0] fill_xl[FILLS];
  logic [LOGF:0] new_q, asked_q, read_q, done_q;
  logic [LOGF:0] due_count, due_wr_q, due_rd_q;
  logic push, pop, wake_valid_q;
  logic [LOGF-1:0] due_wr_slot, due_rd_slot, due_next_slot;
  logic [QP-1:0] wake_qp_q;            // due_qp[due_rd_slot]
  logic [QP-1:0] due_qp[FILLS];        // QPs that wait for their turn
  // First and last lines of fills. Two fills clash when they share a group of 8 lines or, if both are one
  // block, the line.
  localparam int unsigned G = LogLines - 3;
  logic [LogLines-1:0] fill_first[FILLS], due_first[FILLS];
  logic [G-1:0] fill_last[FILLS], due_last[FILLS];
  logic [FILLS-1:0] fill_one_q, due_one_q;
  logic [FILLS-1:0] fill_live_q, due_live_q;  // on its way; waits for its turn
  logic [G-1:0] next_group, last;
  logic [LogLines-1:0] first_line, next_line;
  logic [2:0] met;                     // OR of meet() over the fills and due QPs of other QPs
  logic one, crosses, clash, late, spare, refused_q;
  logic [LOGF+1:0] used_q;             // fills in work and due QPs
  logic [3:0] block_q;                 // of the fill that is answered
  logic [LOGF-1:0] new_slot, read_slot, done_slot;
  logic same_any, full, room, taken, take, done, xl_req_ready, xl_rsp_valid, xl_rsp_ready, xl_fail, xl_idle;
  logic [FILLS-1:0] same;
  rtl_pkg::xl_req_t xl_req, new_xl;
  rtl_pkg::xl_rsp_t xl_rsp;
  logic [RING-1:0] ring_mask, ring_behind;
  logic [NEAR-1:0] gap;
  logic [6:0] page_left;
  logic [3:0] most, lines, fresh;
  logic [2:0] more;                    // blocks wanted behind the first
  logic [7:0] behind;                  // bit k: a fill on its way begins k blocks further on

  assign new_slot = new_q[LOGF-1:0];
  assign read_slot = read_q[LOGF-1:0];
  assign done_slot = done_q[LOGF-1:0];
  // A fill that wakes a QP needs a place among the due QPs. A forced fill does not wait for due QPs: while the
  // requester stands still no QP gets a turn.
  assign room = !full && !clash && !late && (!fill_wake_i || used_q[LOGF+1:LOGF] == '0) && (!fill_spare_i || spare);
  assign full = new_q == {!done_q[LOGF], done_slot};
  // After a refusal spare_o stays 0 until a fill is done or a due QP is taken.
  assign spare = used_q[LOGF+1:LOGF] == '0 && used_q[LOGF-1:LOGF-2] != 2'b11;  // a quarter is left
  assign spare_o = spare && !refused_q;
  assign fill_ready_o = room;
  assign taken = fill_valid_i && fill_go_i && room;
  assign take = taken && !same_any;
  assign idle_o = new_q == done_q && xl_idle;

  // Blocks of a fill: up to 8, up to the ring's end, posted ones only.
  assign ring_mask = ~({RING{1'b1}} << fill_log_sq_i);
  assign ring_behind = ~fill_index_i[RING-1:0] & ring_mask;
  always_comb begin
    more = 3'd7;
    if (ring_behind[RING-1:3] == '0) more = ring_behind[2:0];
    if (!fill_limit_i[3] && !below(more, fill_limit_i[2:0])) more = fill_limit_i[2:0] - 3'd1;
  end
  assign most = {1'b0, more} + 4'd1;
  assign one = more == '0;
  assign crosses = below(~fill_index_i[2:0], more);  // into the next group of 8
  assign first_line = line_of(fill_qp_i, fill_index_i[LogLines-1:0]);
  assign next_line = line_of(fill_qp_i, {fill_index_i[LogLines-1:3] + 1'b1, 3'd0});
  assign next_group = next_line[LogLines-1:3];
  assign last = crosses ? next_group : first_line[LogLines-1:3];
  assign new_xl.mem = fill_sq_i;
  assign new_xl.off = {(58 - RING)'(0), fill_index_i[RING-1:0] & ring_mask, 6'd0};
  always_comb begin
    same = '0;
    behind = '0;
    gap = '0;
    late = 1'b0;
    met = '0;
    if (fill_valid_i) begin
      for (int unsigned i = 0; i < FILLS; i++) begin
        // Fills of one QP that are in work lie within two rings.
        gap = fill_index_i[NEAR-1:0] - fill_index[i][NEAR-1:0];
        if (fill_live_q[i] && fill_qp[i] == fill_qp_i) begin
          same[i] = gap[NEAR-1:3] == '0 && (fill_max[i][3] || below(gap[2:0], fill_max[i][2:0]));
          if (gap[NEAR-1:3] == '1 && gap[2:0] != 3'd0) behind[3'd0 - gap[2:0]] = 1'b1;
        end
        if (same[i] && done && done_slot == LOGF'(i)) begin  // its last block comes now: too late to add a wake
          same[i] = 1'b0;
          late = 1'b1;
        end
        if (fill_live_q[i] && fill_qp[i] != fill_qp_i) met = met | meet(first_line, next_group, fill_first[i], fill_last[i], fill_one_q[i]);
        if (due_live_q[i] && due_qp[i] != fill_qp_i) met = met | meet(first_line, next_group, due_first[i], due_last[i], due_one_q[i]);
      end
    end
  end
  // `one` and `crosses` are late signals: they only select here.
  assign clash = !fill_force_i && (met[0] || (met[1] && !one) || (met[2] && crosses));
  assign same_any = same != '0;
  // Blocks on their way are not read again: PCIe carries little more than one WQE and payload a message.
  always_comb begin
    fresh = most;
    for (int unsigned k = 7; k > 0; k--) if (behind[k] && 4'(k) < most) fresh = 4'(k);
  end

  assign xl_req = fill_xl[asked_q[LOGF-1:0]];
  dingo_xlat u_xlat (
      .clk_i,
      .rst_ni,
      .flush_i(xl_flush_i),
      .idle_o(xl_idle),
      .req_valid_i(asked_q != new_q),
      .req_ready_o(xl_req_ready),
      .req_i(xl_req),
      .rsp_valid_o(xl_rsp_valid),
      .rsp_ready_i(xl_rsp_ready),
      .rsp_o(xl_rsp),
      .line_valid_o,
      .line_ready_i,
      .line_o,
      .line_rsp_valid_i,
      .line_rsp_i
  );

  // One request: up to the end of the 4 KiB page.
  assign page_left = 7'd64 - {1'b0, xl_rsp.addr[11:6]};
  assign lines = page_left < {3'd0, fill_max[read_slot]} ? page_left[3:0] : fill_max[read_slot];
  assign wqe_valid_o = xl_rsp_valid && !xl_rsp.err;
  assign wqe_o.lines = lines;
  assign wqe_o.addr = xl_rsp.addr[63:6];
  // Translation failed: the first block is stored with err, once the fills before are done.
  assign xl_fail = xl_rsp_valid && xl_rsp.err && read_q == done_q;
  assign xl_rsp_ready = xl_rsp.err ? xl_fail : wqe_ready_i;

  assign filled = wqe_rsp_valid_i || xl_fail;
  assign we_err = xl_fail || line_rsp_i.err;
  assign we_qp = fill_qp[done_slot];
  assign we_index = fill_index[done_slot] + {28'd0, block_q};
  assign done = xl_fail || (wqe_rsp_valid_i && line_rsp_i.last);

  assign due_count = due_wr_q - due_rd_q;
  assign due_wr_slot = due_wr_q[LOGF-1:0];
  assign due_rd_slot = due_rd_q[LOGF-1:0];
  assign due_next_slot = due_rd_slot + 1'b1;
  assign wake_valid_o = wake_valid_q;
  assign wake_qp_o = wake_qp_q;
  assign push = done && wake_q[done_slot];
  assign pop = wake_valid_q && wake_ready_i;

  always_ff @(posedge clk_i) begin
    if (take) begin
      fill_qp[new_slot] <= fill_qp_i;
      fill_index[new_slot] <= fill_index_i;
      fill_max[new_slot] <= fresh;
      fill_xl[new_slot] <= new_xl;
      fill_first[new_slot] <= first_line;
      fill_last[new_slot] <= last;
      fill_one_q[new_slot] <= one;
    end
    if (push) begin
      due_qp[due_wr_slot] <= we_qp;
      due_first[due_wr_slot] <= fill_first[done_slot];
      due_last[due_wr_slot] <= fill_last[done_slot];
      due_one_q[due_wr_slot] <= fill_one_q[done_slot];
    end
    // The due QP in front, in a register: it takes part in the choice of the next turn.
    if (pop) wake_qp_q <= due_next_slot == due_wr_slot ? we_qp : due_qp[due_next_slot];
    else if (!wake_valid_q) wake_qp_q <= we_qp;
    if (!rst_ni) begin
      new_q <= '0;
      asked_q <= '0;
      read_q <= '0;
      done_q <= '0;
      block_q <= '0;
      wake_q <= '0;
      used_q <= '0;
      fill_live_q <= '0;
      due_live_q <= '0;
      refused_q <= 1'b0;
      due_wr_q <= '0;
      due_rd_q <= '0;
      wake_valid_q <= 1'b0;
    end else begin
      if (fill_valid_i && fill_go_i && fill_spare_i && fill_wake_i && !room) refused_q <= 1'b1;
      if (done || pop) refused_q <= 1'b0;
      if (taken) wake_q <= (wake_q | (fill_wake_i ? same : '0));
      if (take) begin
        wake_q[new_slot] <= fill_wake_i;
        fill_live_q[new_slot] <= 1'b1;
        new_q <= new_q + 1'b1;
      end
      if (asked_q != new_q && xl_req_ready) asked_q <= asked_q + 1'b1;
      if (xl_rsp_valid && xl_rsp_ready) read_q <= read_q + 1'b1;
      if (wqe_rsp_valid_i) block_q <= block_q + 1'b1;
      used_q <= used_q + (LOGF + 2)'(take) - (LOGF + 2)'(done && !push) - (LOGF + 2)'(pop);
      wake_valid_q <= push || (pop ? due_count > (LOGF + 1)'(1) : wake_valid_q);
      if (pop) begin
        due_rd_q <= due_rd_q + 1'b1;
        due_live_q[due_rd_slot] <= 1'b0;
      end
      if (done) begin
        done_q <= done_q + 1'b1;
        fill_live_q[done_slot] <= 1'b0;
        if (push) begin
          due_wr_q <= due_wr_q + 1'b1;
          due_live_q[due_wr_slot] <= 1'b1;
        end
        block_q <= '0;
      end
      a_probe: assert (!probe_i || re_i);
      a_limit: assert (!fill_valid_i || (fill_limit_i != '0 && fill_limit_i <= 4'd8));
      a_ring: assert (!fill_valid_i || fill_log_sq_i <= 5'(RING));
      a_used: assert (used_q == {1'b0, new_q - done_q} + {1'b0, due_count});
      assert (!(wqe_rsp_valid_i && done_q == read_q));
      assert (!(push && due_count == (LOGF + 1)'(FILLS)));
      a_front: assert (wake_valid_q == (due_count != '0) && (!wake_valid_q || wake_qp_q == due_qp[due_rd_slot]));
    end
  end

  wire unused_ok = &{1'b0, xl_rsp.addr[5:0], next_line, behind[0]};
endmodule
