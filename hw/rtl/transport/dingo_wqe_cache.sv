// SPDX-License-Identifier: BSD-2-Clause

/// Blocks of send queues that have been read from host memory, by QP and free-running block index. A
/// look-up answers in the next cycle. A fill reads up to 8 blocks that the host has given away; when it is done its
/// QP is due (`wake_*`). Until it is taken no other fill may push its blocks out: two QPs whose blocks
/// have the same places would otherwise do so to each other for ever.
module dingo_wqe_cache #(
    parameter int unsigned LogLines = 11
) (
    input  logic        clk_i,
    input  logic        rst_ni,
    output logic        idle_o,        // no fill in work; QPs may be due
    input  logic        xl_flush_i,
    input  logic        clear_i,       // forget all blocks
    // look-up
    input  logic        re_i,
    input  rtl_pkg::qpi_t        qp_i,
    input  logic [31:0] index_i,
    output logic        hit_o,         // in the next cycle
    output logic        err_o,         // the block could not be read
    output logic [511:0] data_o,
    // fills
    input  logic        fill_valid_i,
    output logic        fill_ready_o,
    input  rtl_pkg::qpi_t        fill_qp_i,
    input  logic [31:0] fill_index_i,
    input  logic [31:0] fill_limit_i,  // blocks from there that the host has given away, not 0
    input  logic        fill_wake_i,
    input  logic        fill_force_i,  // the requester stands still for it
    input  logic        fill_spare_i,  // not for a turn that misses it: leave those some room
    output logic        spare_o,       // there is room for such
    input  logic [4:0]  fill_log_sq_i,
    input  rtl_pkg::xmem_t       fill_sq_i,
    output logic        wake_valid_o,
    input  logic        wake_ready_i,
    output rtl_pkg::qpi_t        wake_qp_o,
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
  localparam int unsigned LOGF = 5;    // fills at once: what a PCIe round trip holds
  localparam int unsigned FILLS = 1 << LOGF;

  // A WQE's blocks never push each other out. Of few QPs each has a part of the lines for itself; with as many as there
  // are, a QP's next block takes no line of another QP's present one, as long as none is two ahead of the others.
  function automatic logic [LogLines-1:0] line_of(input logic [QP-1:0] qp, input logic [LogLines-1:0] index);
    line_of = index;
    for (int unsigned i = 0; i < QP && i < LogLines; i++) line_of[LogLines-1-i] = line_of[LogLines-1-i] ^ qp[i];
  endfunction

  // Two runs of blocks have places in common, as far as it is looked at
  function automatic logic meet(input logic ones, input logic [LogLines-1:0] a, input logic [LogLines-4:0] a_last,
                                input logic [LogLines-1:0] b, input logic [LogLines-4:0] b_last);
    meet = (a[LogLines-1:3] == b[LogLines-1:3] && (!ones || a[2:0] == b[2:0])) || a[LogLines-1:3] == b_last && !ones ||
           a_last == b[LogLines-1:3] && !ones || a_last == b_last && !ones;
  endfunction

  // ---------------------------------------------------------------- blocks
  logic [(1<<LogLines)-1:0] valid_q;
  logic valid_read_q;
  logic [QP-1:0] qp_read_q, tag_qp;
  logic [31:0] index_read_q, tag_index;
  logic tag_err;
  logic we, we_err;
  logic [QP-1:0] we_qp;
  logic [31:0] we_index;
  logic [LogLines-1:0] waddr, raddr;

  assign waddr = line_of(we_qp, we_index[LogLines-1:0]);
  assign raddr = line_of(qp_i, index_i[LogLines-1:0]);
  assign hit_o = valid_read_q && tag_qp == qp_read_q && tag_index == index_read_q;
  assign err_o = tag_err;

  dingo_ram #(
      .Width(33 + QP),
      .LogDepth(LogLines)
  ) u_tags (
      .clk_i,
      .we_i(we),
      .waddr_i(waddr),
      .wdata_i({we_err, we_qp, we_index}),
      .re_i,
      .raddr_i(raddr),
      .rdata_o({tag_err, tag_qp, tag_index})
  );
  dingo_ram #(
      .Width(512),
      .LogDepth(LogLines)
  ) u_blocks (
      .clk_i,
      .we_i(we),
      .waddr_i(waddr),
      .wdata_i(line_rsp_i.data),
      .re_i,
      .raddr_i(raddr),
      .rdata_o(data_o)
  );

  always_ff @(posedge clk_i) begin
    if (re_i) begin
      valid_read_q <= valid_q[raddr];
      qp_read_q <= qp_i;
      index_read_q <= index_i;
    end
    if (!rst_ni) valid_q <= '0;
    else begin
      if (clear_i) valid_q <= '0;
      if (we) valid_q[waddr] <= 1'b1;
    end
  end

  // ---------------------------------------------------------------- fills, in order: asked for, translated, read
  logic [QP-1:0] fill_qp[FILLS];
  logic [31:0] fill_index[FILLS];
  logic [FILLS-1:0] wake_q;
  localparam int unsigned XLW = 167;    // of xl_req_t: Yosys has no arrays of structures
  logic [3:0] fill_max[FILLS];         // blocks wanted
  logic [XLW-1:0] fill_xl[FILLS];
  logic [LOGF:0] new_q, asked_q, read_q, done_q;
  logic [LOGF:0] due_count, due_wr_q, due_rd_q;
  logic [QP-1:0] due_qp[FILLS];        // QPs that wait for their turn
  // Places of the blocks, of the first and of the last: two fills meet when they share a group of 8 lines,
  // or, when both are of one block, the line.
  localparam int unsigned G = LogLines - 3;
  logic [LogLines-1:0] fill_first[FILLS], due_first[FILLS];
  logic [G-1:0] fill_last[FILLS], due_last[FILLS];
  logic [FILLS-1:0] fill_one_q, due_one_q;
  logic [G-1:0] last;
  logic [LogLines-1:0] first_line, last_line;
  logic one, clash, late, spare, refused_q;
  logic [LOGF+1:0] used;               // fills and QPs that are due
  logic [3:0] block_q;                 // of the fill that is being answered
  logic [LOGF-1:0] new_slot, read_slot, done_slot;
  logic same_any, room, take, done, xl_req_ready, xl_rsp_valid, xl_rsp_ready, xl_fail, xl_idle;
  logic [FILLS-1:0] same;
  rtl_pkg::xl_req_t xl_req, new_xl;
  rtl_pkg::xl_rsp_t xl_rsp;
  logic [31:0] ring_left, ring_mask;
  logic [6:0] page_left;
  logic [3:0] most, lines, fresh;
  logic [7:0] behind;                  // a fill on its way begins so many blocks further on
  logic [31:0] gap;

  assign new_slot = new_q[LOGF-1:0];
  assign read_slot = read_q[LOGF-1:0];
  assign done_slot = done_q[LOGF-1:0];
  // Every fill that will wake a QP has a place among those that are due. One for which the requester
  // stands still waits for nobody: as long as it does nobody gets a turn.
  assign room = new_q - done_q < (LOGF + 1)'(FILLS) && !clash && !late &&
                (!fill_wake_i || used < (LOGF + 2)'(FILLS)) && (!fill_spare_i || spare);
  assign used = {1'b0, new_q - done_q} + {1'b0, due_count};
  // What was refused is asked for again when something has changed.
  assign spare = used < (LOGF + 2)'(FILLS - FILLS / 4);
  assign spare_o = spare && !refused_q;
  assign fill_ready_o = room;
  assign take = fill_valid_i && room && !same_any;
  assign idle_o = new_q == done_q && xl_idle;

  assign ring_mask = (32'd1 << fill_log_sq_i) - 1'b1;
  assign ring_left = ring_mask - (fill_index_i & ring_mask) + 1'b1;
  always_comb begin
    most = 4'd8;
    if (ring_left < 32'd8) most = ring_left[3:0];
    if (fill_limit_i < {28'd0, most}) most = fill_limit_i[3:0];
    new_xl.mem = fill_sq_i;
    new_xl.off = {26'd0, fill_index_i & ring_mask, 6'd0};
    same = '0;
    behind = '0;
    gap = '0;
    clash = 1'b0;
    late = 1'b0;
    first_line = line_of(fill_qp_i, fill_index_i[LogLines-1:0]);
    last_line = line_of(fill_qp_i, fill_index_i[LogLines-1:0] + LogLines'(most) - 1'b1);
    last = last_line[LogLines-1:3];
    one = most == 4'd1;
    if (fill_valid_i) begin
      for (int unsigned i = 0; i < FILLS; i++) begin
        same[i] = LOGF'(i - 32'(done_slot)) < LOGF'(new_q - done_q) || new_q - done_q == (LOGF + 1)'(FILLS);
        if (fill_qp[i] != fill_qp_i || fill_index_i - fill_index[i] >= {28'd0, fill_max[i]}) same[i] = 1'b0;
        gap = fill_index[i] - fill_index_i;
        if ((LOGF'(i - 32'(done_slot)) < LOGF'(new_q - done_q) || new_q - done_q == (LOGF + 1)'(FILLS)) && fill_qp[i] == fill_qp_i &&
            gap[31:3] == '0 && gap[2:0] != 3'd0)
          behind[gap[2:0]] = 1'b1;
        if (same[i] && done && done_slot == LOGF'(i)) begin  // it comes in this cycle, too late to wake anybody else
          same[i] = 1'b0;
          late = 1'b1;
        end
        if ((LOGF'(i - 32'(done_slot)) < LOGF'(new_q - done_q) || new_q - done_q == (LOGF + 1)'(FILLS)) && fill_qp[i] != fill_qp_i &&
            meet(fill_one_q[i] && one, fill_first[i], fill_last[i], first_line, last))
          clash = !fill_force_i;
        if ((LOGF'(i - 32'(due_rd_q)) < LOGF'(due_count) || due_count == (LOGF + 1)'(FILLS)) && due_qp[i] != fill_qp_i &&
            meet(due_one_q[i] && one, due_first[i], due_last[i], first_line, last))
          clash = !fill_force_i;
      end
    end
  end
  assign same_any = same != '0;
  // What is on its way is not asked for again: PCIe has little more than a WQE and its payload a message.
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
  assign wqe_o = {lines, xl_rsp.addr[63:6]};
  // A ring without translation: its first block stands for the error, once the fills before are done.
  assign xl_fail = xl_rsp_valid && xl_rsp.err && read_q == done_q;
  assign xl_rsp_ready = xl_rsp.err ? xl_fail : wqe_ready_i;

  assign we = wqe_rsp_valid_i || xl_fail;
  assign we_err = xl_fail || line_rsp_i.err;
  assign we_qp = fill_qp[done_slot];
  assign we_index = fill_index[done_slot] + {28'd0, block_q};
  assign done = xl_fail || (wqe_rsp_valid_i && line_rsp_i.last);

  assign due_count = due_wr_q - due_rd_q;
  assign wake_valid_o = due_count != '0;
  assign wake_qp_o = due_qp[due_rd_q[LOGF-1:0]];

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
    if (done && wake_q[done_slot]) begin
      due_qp[due_wr_q[LOGF-1:0]] <= we_qp;
      due_first[due_wr_q[LOGF-1:0]] <= fill_first[done_slot];
      due_last[due_wr_q[LOGF-1:0]] <= fill_last[done_slot];
      due_one_q[due_wr_q[LOGF-1:0]] <= fill_one_q[done_slot];
    end
    if (!rst_ni) begin
      new_q <= '0;
      asked_q <= '0;
      read_q <= '0;
      done_q <= '0;
      block_q <= '0;
      wake_q <= '0;
      refused_q <= 1'b0;
      due_wr_q <= '0;
      due_rd_q <= '0;
    end else begin
      if (fill_valid_i && fill_spare_i && fill_wake_i && !room) refused_q <= 1'b1;
      if (done || (wake_valid_o && wake_ready_i)) refused_q <= 1'b0;
      if (fill_valid_i && room) wake_q <= (wake_q | (fill_wake_i ? same : '0));
      if (take) begin
        wake_q[new_slot] <= fill_wake_i;
        new_q <= new_q + 1'b1;
      end
      if (asked_q != new_q && xl_req_ready) asked_q <= asked_q + 1'b1;
      if (xl_rsp_valid && xl_rsp_ready) read_q <= read_q + 1'b1;
      if (wqe_rsp_valid_i) block_q <= block_q + 1'b1;
      if (done) begin
        done_q <= done_q + 1'b1;
        if (wake_q[done_slot]) due_wr_q <= due_wr_q + 1'b1;
        block_q <= '0;
      end
      assert (!(wqe_rsp_valid_i && done_q == read_q));
      if (wake_valid_o && wake_ready_i) due_rd_q <= due_rd_q + 1'b1;
      assert (!(done && wake_q[done_slot] && due_count == (LOGF + 1)'(FILLS)));
    end
  end

  wire unused_ok = &{1'b0, xl_rsp.addr[5:0], last_line, behind[0]};
endmodule
