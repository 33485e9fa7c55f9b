// SPDX-License-Identifier: BSD-2-Clause

/// Receive WQEs, fetched as lines of 64 bytes and kept by QP, free-running index and line of the entry.
/// A lookup is answered from here or from host memory; a prefetch walks through the next entries while
/// no lookup is there. Entries of 32 bytes use half a line, since the other half may not be posted yet.
module dingo_rq_cache #(
    parameter int unsigned LogLines = 6
) (
    input  logic               clk_i,
    input  logic               rst_ni,
    output logic               idle_o,
    input  logic               flush_i,        // forget what is here; what is on its way is of other QPs
    input  logic               xl_flush_i,
    // ring of `qp_i`, stable during a lookup and at a prefetch pulse
    input  rtl_pkg::qpi_t      qp_i,
    input  rtl_pkg::xmem_t     mem_i,
    input  logic [3:0]         log_rq_i,
    input  logic [3:0]         log_stride_i,   // 5..8
    input  logic               req_valid_i,    // held until rsp_valid_o
    input  logic [31:0]        req_index_i,
    input  logic [1:0]         req_part_i,     // line of the entry
    output logic               rsp_valid_o,    // one cycle
    output logic               rsp_err_o,
    output logic [511:0]       rsp_data_o,     // stays until the next lookup
    input  logic               pf_valid_i,     // pulse: entries [pf_index, pf_end), at most 4, are wanted soon
    input  logic [31:0]        pf_index_i,
    input  logic [31:0]        pf_end_i,
    output logic               line_valid_o,   // entries
    input  logic               line_ready_i,
    output rtl_pkg::rdl_req_t  line_o,
    input  logic               line_rsp_valid_i,
    output logic               xl_line_valid_o, // page lists
    input  logic               xl_line_ready_i,
    output rtl_pkg::rdl_req_t  xl_line_o,
    input  logic               xl_line_rsp_valid_i,
    input  rtl_pkg::rdl_rsp_t  rsp_i           // of both
);
  localparam int unsigned LINES = 1 << LogLines;
  localparam int unsigned TAG_W = rtl_pkg::QP_LOG + 34;
  localparam logic [2:0] PREFETCH = 3'd4;

  typedef enum logic [2:0] {
    IDLE = 3'd0,
    TAG = 3'd1,
    TRANSLATE = 3'd2,
    TRANSLATED = 3'd3,
    ISSUE = 3'd4,
    WAIT = 3'd5,
    READ = 3'd6,
    GIVE = 3'd7
  } state_t;
  state_t state_q;

  // what is looked up
  logic demand_q;
  rtl_pkg::qpi_t qp_q;
  rtl_pkg::xmem_t mem_q;
  logic [3:0] log_rq_q, log_stride_q;
  logic [31:0] index_q;
  logic [1:0] part_q;
  logic err_q, half_q;
  logic [57:0] addr_q;
  // prefetch
  rtl_pkg::qpi_t pf_qp_q;
  rtl_pkg::xmem_t pf_mem_q;
  logic [3:0] pf_log_rq_q, pf_log_stride_q;
  logic [31:0] pf_index_q;
  logic [2:0] pf_left_q;

  logic [LINES-1:0] valid_q, pending_q, bad_q;
  logic [LogLines-1:0] slot;
  logic hit, take_demand, take_pf;
  logic [TAG_W-1:0] tag, tag_rdata;
  logic [511:0] data_rdata;

  // line of the cache for an entry's line
  function automatic logic [LogLines-1:0] slot_of(input logic [LogLines-1:0] index, input logic [1:0] part,
                                                  input logic wide, input logic [LogLines-1:0] qp);
    slot_of = (wide ? {index[LogLines-3:0], part} : index) ^ qp;
  endfunction

  assign slot = slot_of(index_q[LogLines-1:0], part_q, log_stride_q > 4'd6, LogLines'(qp_q));
  assign tag = {qp_q, index_q, part_q};
  assign hit = tag_rdata == tag;
  assign take_demand = state_q == IDLE && req_valid_i && !rsp_valid_o;
  assign take_pf = state_q == IDLE && !req_valid_i && pf_left_q != '0;

  logic [LogLines-1:0] first_slot;
  assign first_slot = take_demand ? slot_of(req_index_i[LogLines-1:0], req_part_i, log_stride_i > 4'd6, LogLines'(qp_i))
                                  : slot_of(pf_index_q[LogLines-1:0], 2'd0, pf_log_stride_q > 4'd6, LogLines'(pf_qp_q));

  // fills come in the order of the reads
  logic fill_room, fill_valid;
  logic [LogLines-1:0] fill_slot;
  logic [3:0] fills;
  logic issued;
  assign issued = state_q == ISSUE && line_ready_i && fill_room;
  dingo_fifo #(
      .Width(LogLines),
      .LogDepth(3)
  ) u_fills (
      .clk_i,
      .rst_ni,
      .valid_i(issued),
      .ready_o(fill_room),
      .data_i(slot),
      .valid_o(fill_valid),
      .ready_i(line_rsp_valid_i),
      .data_o(fill_slot),
      .count_o(fills)
  );
  assign line_valid_o = state_q == ISSUE && fill_room;
  assign line_o.lines = 4'd1;
  assign line_o.addr = addr_q;

  dingo_ram #(
      .Width(TAG_W),
      .LogDepth(LogLines)
  ) u_tags (
      .clk_i,
      .we_i(issued),
      .waddr_i(slot),
      .wdata_i(tag),
      .re_i(take_demand || take_pf),
      .raddr_i(first_slot),
      .rdata_o(tag_rdata)
  );
  dingo_ram #(
      .Width(512),
      .LogDepth(LogLines)
  ) u_data (
      .clk_i,
      .we_i(line_rsp_valid_i),
      .waddr_i(fill_slot),
      .wdata_i(rsp_i.data),
      .re_i(state_q == READ),
      .raddr_i(slot),
      .rdata_o(data_rdata)
  );
  // the upper half of a line for every second entry of 32 bytes
  assign rsp_data_o = half_q ? {256'd0, data_rdata[511:256]} : data_rdata;

  rtl_pkg::xl_req_t xl_req;
  rtl_pkg::xl_rsp_t xl_rsp;
  logic xl_ready, xl_rsp_valid, xl_idle;
  logic [31:0] ring_slot;
  assign ring_slot = index_q & ((32'd1 << log_rq_q) - 32'd1);
  always_comb begin
    xl_req.mem = mem_q;
    xl_req.off = {32'd0, ring_slot} << log_stride_q;
    xl_req.off[5:0] = '0;
    xl_req.off[7:6] = xl_req.off[7:6] | part_q;
  end
  dingo_xlat u_xlat (
      .clk_i,
      .rst_ni,
      .flush_i(xl_flush_i),
      .idle_o(xl_idle),
      .req_valid_i(state_q == TRANSLATE),
      .req_ready_o(xl_ready),
      .req_i(xl_req),
      .rsp_valid_o(xl_rsp_valid),
      .rsp_ready_i(state_q == TRANSLATED),
      .rsp_o(xl_rsp),
      .line_valid_o(xl_line_valid_o),
      .line_ready_i(xl_line_ready_i),
      .line_o(xl_line_o),
      .line_rsp_valid_i(xl_line_rsp_valid_i),
      .line_rsp_i(rsp_i)
  );

  assign idle_o = state_q == IDLE && !req_valid_i && pf_left_q == '0 && fills == '0 && xl_idle;
  assign rsp_err_o = err_q;

  always_ff @(posedge clk_i) begin
    rsp_valid_o <= 1'b0;
    if (take_demand) begin
      demand_q <= 1'b1;
      qp_q <= qp_i;
      mem_q <= mem_i;
      log_rq_q <= log_rq_i;
      log_stride_q <= log_stride_i;
      index_q <= req_index_i;
      part_q <= req_part_i;
    end else if (take_pf) begin
      demand_q <= 1'b0;
      qp_q <= pf_qp_q;
      mem_q <= pf_mem_q;
      log_rq_q <= pf_log_rq_q;
      log_stride_q <= pf_log_stride_q;
      index_q <= pf_index_q;
      part_q <= '0;
      pf_index_q <= pf_index_q + 32'd1;
      pf_left_q <= pf_left_q - 3'd1;
    end
    if (pf_valid_i) begin
      pf_qp_q <= qp_i;
      pf_mem_q <= mem_i;
      pf_log_rq_q <= log_rq_i;
      pf_log_stride_q <= log_stride_i;
      pf_index_q <= pf_index_i;
      pf_left_q <= pf_end_i - pf_index_i < {29'd0, PREFETCH} ? 3'(pf_end_i - pf_index_i) : PREFETCH;
    end

    case (state_q)
      IDLE: begin
        err_q <= 1'b0;
        if (take_demand || take_pf) state_q <= TAG;
      end
      TAG:  // another entry that is on its way to this line keeps a lookup waiting, and ends a prefetch
      if (!demand_q) state_q <= (hit && valid_q[slot]) || pending_q[slot] || !fill_room ? IDLE : TRANSLATE;
      else if (hit && (valid_q[slot] || pending_q[slot])) state_q <= WAIT;
      else if (!pending_q[slot]) state_q <= TRANSLATE;
      TRANSLATE: if (xl_ready) state_q <= TRANSLATED;
      TRANSLATED:
      if (xl_rsp_valid) begin
        addr_q <= xl_rsp.addr[63:6];
        err_q <= xl_rsp.err;
        state_q <= !xl_rsp.err ? ISSUE : demand_q ? GIVE : IDLE;
      end
      ISSUE: if (issued) state_q <= demand_q ? WAIT : IDLE;
      WAIT: if (!pending_q[slot]) state_q <= READ;
      READ: begin
        err_q <= bad_q[slot];
        half_q <= log_stride_q == 4'd5 && ring_slot[0];
        state_q <= GIVE;
      end
      GIVE: begin
        rsp_valid_o <= 1'b1;
        state_q <= IDLE;
      end
      default: state_q <= IDLE;
    endcase

    if (flush_i) valid_q <= '0;
    if (line_rsp_valid_i) begin
      pending_q[fill_slot] <= 1'b0;
      valid_q[fill_slot] <= 1'b1;
      bad_q[fill_slot] <= rsp_i.err;
      a_fill: assert (fill_valid);
    end
    if (issued) begin
      pending_q[slot] <= 1'b1;
      valid_q[slot] <= 1'b0;
    end
    // a bus error is told once; the next lookup reads again
    if (state_q == READ && bad_q[slot]) valid_q[slot] <= 1'b0;
    if (!rst_ni) begin
      state_q <= IDLE;
      valid_q <= '0;
      pending_q <= '0;
      pf_left_q <= '0;
      rsp_valid_o <= 1'b0;
    end
  end

  wire unused_ok = &{1'b0, xl_rsp, rsp_i, fill_valid};
endmodule
