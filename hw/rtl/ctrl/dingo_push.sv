// SPDX-License-Identifier: BSD-2-Clause

/// Push pages (contract, capability PUSH): memory for blocks of send queues that the host writes before their doorbell.
/// A doorbell with blocks waits in dingo_regs until they are copied to the requester's cache (dingo_wqe_cache) as if
/// read from the ring. The cache takes a block in each cycle in which no read returns one, so the wait is short. While
/// doorbells are halted, or if the QP has another page, nothing is copied, and the card reads the ring. 3 cycles, and 2
/// a block.
module dingo_push (
    input  logic clk_i,
    input  logic rst_ni,                       // power on; a function-level reset does not reset the bus
    input  logic core_rst_ni,
    input  logic halt_i,                       // doorbells are halted
    // writes of contexts by commands
    input  logic       qp_we_i,
    input  rtl_pkg::qpi_t       qp_windex_i,
    input  rtl_pkg::qp_cfg_t    qp_wdata_i,
    // blocks of a doorbell; held until done
    input  logic       order_valid_i,
    input  rtl_pkg::push_order_t order_i,
    output logic       order_done_o,
    // dingo_wqe_cache
    output logic       push_valid_o,
    input  logic       push_ready_i,
    output rtl_pkg::push_t      push_o,
    output logic       drop_o,                 // pulse: a write outside the blocks, or of incomplete words
    // AXI4-Lite of 512 bits, the push pages of BAR_DB: written only
    input  logic       s_push_awvalid_i,
    output logic       s_push_awready_o,
    input  logic [rtl_pkg::PUSH_PAGE_LOG+11:0] s_push_awaddr_i,
    input  logic       s_push_wvalid_i,
    output logic       s_push_wready_o,
    input  logic [511:0] s_push_wdata_i,
    input  logic [63:0]  s_push_wstrb_i,       // in words of 8 bytes
    output logic       s_push_bvalid_o,
    input  logic       s_push_bready_i
);
  localparam int unsigned PageW = rtl_pkg::PUSH_PAGE_LOG;
  localparam int unsigned IdxW = rtl_pkg::QP_LOG;
  localparam int unsigned BlockW = 2;          // log2 of PUSH_BLOCKS
  localparam int unsigned Entry = 9 + rtl_pkg::DB_PAGE_LOG;

  typedef enum logic [2:0] {
    IDLE  = 3'd0,
    CHECK = 3'd1,                              // the QP's entry and the first block have been read
    GIVE  = 3'd2,
    NEXT  = 3'd3,                              // a block is being read
    DONE  = 3'd4
  } state_t;
  state_t state_q;

  // ---------------------------------------------------------------------------------- writes
  logic write, in_memory, whole, bvalid_q;
  // No write while blocks are copied: it could change them.
  assign write = s_push_awvalid_i && s_push_wvalid_i && !bvalid_q && !order_valid_i;
  assign in_memory = 32'(s_push_awaddr_i[11:6]) < dingo_pkg::PUSH_BLOCKS;
  assign s_push_awready_o = write;
  assign s_push_wready_o = write;
  assign s_push_bvalid_o = bvalid_q;
  always_comb begin
    whole = 1'b1;
    for (int unsigned i = 0; i < 8; i++) whole = whole && (s_push_wstrb_i[8*i+:8] == '0 || s_push_wstrb_i[8*i+:8] == '1);
  end
  assign drop_o = write && !(in_memory && whole);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) bvalid_q <= 1'b0;
    else bvalid_q <= write || (bvalid_q && !s_push_bready_i);
  end

  logic [BlockW-1:0] block_q, block;
  logic re;
  logic [511:0] data;
  for (genvar lane = 0; lane < 8; lane++) begin : g_lane
    dingo_ram #(
        .Width(64),
        .LogDepth(PageW + BlockW)
    ) u_words (
        .clk_i,
        .we_i(write && in_memory && s_push_wstrb_i[8*lane +: 8] == '1),
        .waddr_i({s_push_awaddr_i[PageW+11:12], s_push_awaddr_i[6 +: BlockW]}),
        .wdata_i(s_push_wdata_i[64*lane +: 64]),
        .re_i(re),
        .raddr_i({order_i.page, block}),
        .rdata_o(data[64*lane +: 64])
    );
  end

  // ---------------------------------------------------------------------------------- check of the QP
  logic ready, written, ours;                  // entries not written since reset are no QPs
  logic entry_valid;
  logic [7:0] entry_tag;
  logic [rtl_pkg::DB_PAGE_LOG-1:0] entry_page;
  dingo_marked_ram #(
      .Width(Entry),
      .LogDepth(IdxW)
  ) u_table (
      .clk_i,
      .rst_ni(core_rst_ni),
      .ready_o(ready),
      .we_i(qp_we_i),
      .waddr_i(qp_windex_i),
      .wdata_i({qp_wdata_i.valid, qp_wdata_i.tag, qp_wdata_i.db_page}),
      .re_i(state_q == IDLE),
      .raddr_i(order_i.qpn[IdxW-1:0]),
      .rdata_o({entry_valid, entry_tag, entry_page}),
      .written_o(written)
  );
  logic index_ok;                              // QPN bits between the table's index and the tag
  if (IdxW < 16) begin : g_index
    assign index_ok = order_i.qpn[15:IdxW] == '0;
  end else begin : g_all
    assign index_ok = 1'b1;
  end
  assign ours = index_ok && written && entry_valid && entry_tag == order_i.qpn[23:16] &&
      entry_page == (rtl_pkg::DB_PAGE_LOG)'(order_i.page);

  // ---------------------------------------------------------------------------------- to the cache
  logic last;
  assign last = {1'b0, block_q} + 3'd1 == order_i.blocks;
  assign block = state_q == NEXT ? block_q : '0;
  assign re = state_q == IDLE || state_q == NEXT;
  assign push_valid_o = state_q == GIVE;
  assign push_o.qp = order_i.qpn[IdxW-1:0];
  assign push_o.index = order_i.index - {29'd0, order_i.blocks} + {30'd0, block_q};
  assign push_o.data = data;
  assign order_done_o = state_q == DONE;

  always_ff @(posedge clk_i) begin
    if (!core_rst_ni) begin
      state_q <= IDLE;
    end else begin
      case (state_q)
        IDLE: if (order_valid_i) state_q <= halt_i || !ready ? DONE : CHECK;
        CHECK: state_q <= ours && !halt_i ? GIVE : DONE;
        GIVE:
        if (halt_i) state_q <= DONE;
        else if (push_ready_i) state_q <= last ? DONE : NEXT;
        NEXT: state_q <= GIVE;
        default: state_q <= IDLE;
      endcase
    end
    if (state_q == IDLE) block_q <= '0;
    else if (state_q == GIVE && push_ready_i) block_q <= block_q + 1'b1;
    if (rst_ni && core_rst_ni) begin
      a_blocks: assert (!order_valid_i || (order_i.blocks != '0 && 32'(order_i.blocks) <= dingo_pkg::PUSH_BLOCKS));
    end
  end

  wire unused_ok = &{1'b0, qp_wdata_i, s_push_awaddr_i[5:0]};
endmodule
