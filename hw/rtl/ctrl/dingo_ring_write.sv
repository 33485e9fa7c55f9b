// SPDX-License-Identifier: BSD-2-Clause

/// Writes entries of a fixed size into rings in host memory, in order: translation, write, response. `done_valid_o`
/// comes for every entry, in order, when host memory has it or with an error. Stalls when 2^LogDepth entries wait; the
/// caller bounds those on their way.
module dingo_ring_write #(
    parameter int unsigned Bytes = 32,     // size of an entry: 16 or 32
    parameter int unsigned LogDepth = 4    // log2 of the entries that may wait
) (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        xl_flush_i,
    input  logic        valid_i,
    output logic        ready_o,
    input  rtl_pkg::xmem_t       mem_i,
    input  logic [31:0] off_i,             // the entry's offset in the ring
    input  logic [Bytes*8-1:0]   data_i,
    output logic        done_valid_o,
    input  logic        done_ready_i,
    output logic        done_err_o,
    // dingo_host
    output logic        write_valid_o,
    input  logic        write_ready_i,
    output rtl_pkg::dma_req_t    write_o,
    output logic        wdata_valid_o,
    input  logic        wdata_ready_i,
    output rtl_pkg::beat_t       wdata_o,
    input  logic        done_valid_i,
    input  logic        done_err_i,
    output logic        line_valid_o,
    input  logic        line_ready_i,
    output rtl_pkg::rdl_req_t    line_o,
    input  logic        line_rsp_valid_i,
    input  rtl_pkg::rdl_rsp_t    line_rsp_i
);
  localparam int unsigned MemW = 103;  // xmem_t
  localparam int unsigned DataW = Bytes * 8;

  // ---------------------------------------------------------------------------------- queue of entries
  logic head_valid, head_take, in_ready;
  rtl_pkg::xmem_t head_mem;
  logic [31:0] head_off;
  logic [DataW-1:0] head_data;
  wire [LogDepth:0] unused_count;
  dingo_fifo #(
      .Width(MemW + 32 + DataW),
      .LogDepth(LogDepth)
  ) u_entries (
      .clk_i,
      .rst_ni,
      .valid_i(valid_i),
      .ready_o(in_ready),
      .data_i({mem_i, off_i, data_i}),
      .valid_o(head_valid),
      .ready_i(head_take),
      .data_o({head_mem, head_off, head_data}),
      .count_o(unused_count)
  );
  assign ready_o = in_ready;

  // ---------------------------------------------------------------------------------- translation
  logic asked_q;  // the head is being translated
  logic listed, free, answer;
  logic xl_valid, xl_ready, xl_rsp_valid;
  rtl_pkg::xl_req_t xl_req;
  rtl_pkg::xl_rsp_t xl_rsp;
  wire unused_idle;
  logic order_ready, order_valid, order_take, order_err;

  assign listed = head_mem.levels != 2'd0;
  assign xl_valid = head_valid && listed && !asked_q;
  assign xl_req.off = {32'd0, head_off};
  assign xl_req.mem = head_mem;
  // The head's address, or its translation error, is known.
  assign answer = head_valid && (listed ? xl_rsp_valid : 1'b1);
  assign head_take = answer && free && order_ready;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) asked_q <= 1'b0;
    else if (head_take) asked_q <= 1'b0;
    else if (xl_valid && xl_ready) asked_q <= 1'b1;
  end
  dingo_xlat #(
      .LogSets(2),
      .RootLogSets(1),
      .LogFlight(1)
  ) u_xlat (
      .clk_i,
      .rst_ni,
      .flush_i(xl_flush_i),
      .idle_o(unused_idle),
      .req_valid_i(xl_valid),
      .req_ready_o(xl_ready),
      .req_i(xl_req),
      .rsp_valid_o(xl_rsp_valid),
      .rsp_ready_i(head_take && listed),
      .rsp_o(xl_rsp),
      .line_valid_o,
      .line_ready_i,
      .line_o,
      .line_rsp_valid_i,
      .line_rsp_i
  );

  // ---------------------------------------------------------------------------------- write
  typedef enum logic [1:0] {
    FREE = 2'd0,
    ASK  = 2'd1,
    DATA = 2'd2
  } state_t;
  state_t state_q;
  logic [63:0] addr_q;
  logic [DataW-1:0] data_q;
  logic failed, go;

  assign free = state_q == FREE || (state_q == DATA && wdata_ready_i);
  assign failed = listed && xl_rsp.err;
  assign go = head_take && !failed;
  assign write_valid_o = state_q == ASK;
  assign write_o.len = 13'(Bytes);
  assign write_o.addr = addr_q;
  assign wdata_valid_o = state_q == DATA;
  assign wdata_o.err = 1'b0;
  assign wdata_o.last = 1'b1;
  assign wdata_o.bytes = 7'(Bytes);
  assign wdata_o.data = 512'(data_q);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) state_q <= FREE;
    else if (go) state_q <= ASK;
    else if (state_q == ASK && write_ready_i) state_q <= DATA;
    else if (state_q == DATA && wdata_ready_i) state_q <= FREE;
    if (go) begin
      addr_q <= listed ? xl_rsp.addr : head_mem.addr + 64'(head_mem.offset) + 64'(head_off);
      data_q <= head_data;
    end
  end

  // ---------------------------------------------------------------------------------- answers
  // An entry that could not be translated is answered in its turn, too.
  wire [LogDepth:0] unused_order, unused_answers;
  dingo_fifo #(
      .Width(1),
      .LogDepth(LogDepth)
  ) u_order (
      .clk_i,
      .rst_ni,
      .valid_i(answer && free),
      .ready_o(order_ready),
      .data_i(failed),
      .valid_o(order_valid),
      .ready_i(order_take),
      .data_o(order_err),
      .count_o(unused_order)
  );
  logic host_valid, host_err, host_room;
  dingo_fifo #(
      .Width(1),
      .LogDepth(LogDepth)
  ) u_answers (
      .clk_i,
      .rst_ni,
      .valid_i(done_valid_i),
      .ready_o(host_room),
      .data_i(done_err_i),
      .valid_o(host_valid),
      .ready_i(order_take && !order_err),
      .data_o(host_err),
      .count_o(unused_answers)
  );
  assign done_valid_o = order_valid && (order_err || host_valid);
  assign done_err_o = order_err || host_err;
  assign order_take = done_valid_o && done_ready_i;

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      answer_has_room: assert (!done_valid_i || host_room);
      inside_a_page: assert (state_q != ASK || 13'(addr_q[11:0]) + 13'(Bytes) <= 13'd4096);
    end
  end
endmodule
