// SPDX-License-Identifier: BSD-2-Clause

/// Reads entries of a group (dingo_rq_cache) from host memory: those that are posted, up to the ring's end. One read,
/// or two when a 4 KiB page boundary of the bus lies between them. Reads are numbered and answered in order; up to
/// 2^LogReads are on their way.
module dingo_rq_fetch #(
    parameter int unsigned LogGroups = 9,
    parameter int unsigned LogReads = 5,
    parameter int unsigned NumberW = 11         // more than LogReads
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    output logic                 idle_o,
    input  logic                 xl_flush_i,
    input  logic                 start_i,       // the inputs below are stable from the next cycle until done_o or err_o
    input  rtl_pkg::xmem_t       mem_i,
    input  logic [3:0]           log_rq_i,
    input  logic [3:0]           log_stride_i,
    input  logic [31:0]          index_i,       // of the group's first entry, free running
    input  logic [31:0]          upto_i,        // producer index
    input  logic [2:0]           from_i,        // first entry of the group to read
    input  logic [LogGroups-1:0] slot_i,        // of the group
    output logic                 done_o,        // all reads are issued, the last one with number read_o
    output logic                 err_o,         // the ring's offset could not be translated
    output logic [3:0]           to_o,          // with done_o: 1 + last entry of the group that is read
    output logic [NumberW-1:0]   read_o,
    output logic [NumberW-1:0]   came_o,        // number of the read that is answered next
    // lines into the cache
    output logic                 we_o,
    output logic [LogGroups+1:0] waddr_o,
    output logic                 line_valid_o,
    input  logic                 line_ready_i,
    output rtl_pkg::rdl_req_t    line_o,
    input  logic                 line_rsp_valid_i,
    output logic                 xl_line_valid_o,
    input  logic                 xl_line_ready_i,
    output rtl_pkg::rdl_req_t    xl_line_o,
    input  logic                 xl_line_rsp_valid_i,
    input  rtl_pkg::rdl_rsp_t    rsp_i
);
  typedef enum logic [2:0] {
    IDLE = 3'd0,
    SPAN = 3'd1,               // computes which lines to read
    TRANSLATE = 3'd2,
    TRANSLATED = 3'd3,
    ISSUE = 3'd4
  } state_t;
  state_t state_q;

  logic [3:0] to_q, to, size;
  logic [1:0] line_q, last_line_q;             // of the group
  logic [31:0] first, left, ring_slot, off_q;  // off_q: of the line in the ring
  logic [8:0] from_byte, to_byte;
  logic [57:0] addr_q;
  logic [6:0] page_left;
  logic [2:0] rest, lines;

  assign size = 4'd8 >> (log_stride_i - 4'd5);
  assign first = index_i + 32'(from_i);
  assign ring_slot = first & ((32'd1 << log_rq_i) - 32'd1);
  always_comb begin
    left = (32'd1 << log_rq_i) - ring_slot;
    if (upto_i - first < left) left = upto_i - first;
    to = left < 32'(size) - 32'(from_i) ? {1'b0, from_i} + left[3:0] : size;
  end
  assign from_byte = {6'd0, from_i} << log_stride_i;
  assign to_byte = ({5'd0, to} << log_stride_i) - 9'd1;

  rtl_pkg::xl_req_t xl_req;
  rtl_pkg::xl_rsp_t xl_rsp;
  logic xl_ready, xl_rsp_valid, xl_idle;
  assign xl_req.mem = mem_i;
  assign xl_req.off = {32'd0, off_q};
  dingo_xlat u_xlat (
      .clk_i, .rst_ni, .flush_i(xl_flush_i), .idle_o(xl_idle),
      .req_valid_i(state_q == TRANSLATE), .req_ready_o(xl_ready), .req_i(xl_req),
      .rsp_valid_o(xl_rsp_valid), .rsp_ready_i(state_q == TRANSLATED), .rsp_o(xl_rsp),
      .line_valid_o(xl_line_valid_o), .line_ready_i(xl_line_ready_i), .line_o(xl_line_o),
      .line_rsp_valid_i(xl_line_rsp_valid_i), .line_rsp_i(rsp_i)
  );

  // ---------------------------------------------------------------- reads on their way
  logic [NumberW-1:0] issued_q, came_q;
  logic [LogReads:0] read_count;
  logic read_room, read_valid, issued, begun_q;   // begun_q: some lines of the oldest read have arrived
  logic [LogGroups+1:0] fill_at, fill_q;
  assign rest = 3'(last_line_q - line_q) + 3'd1;
  assign page_left = 7'd64 - {1'b0, addr_q[5:0]};
  assign lines = page_left < 7'(rest) ? page_left[2:0] : rest;
  assign line_valid_o = state_q == ISSUE && read_room;
  assign line_o.lines = {1'b0, lines};
  assign line_o.addr = addr_q;
  assign issued = line_valid_o && line_ready_i;
  dingo_fifo #(
      .Width(LogGroups + 2),
      .LogDepth(LogReads)
  ) u_reads (
      .clk_i, .rst_ni,
      .valid_i(issued), .ready_o(read_room), .data_i({slot_i, line_q}),
      .valid_o(read_valid), .ready_i(line_rsp_valid_i && rsp_i.last), .data_o(fill_at), .count_o(read_count)
  );

  assign done_o = issued && lines == rest;
  assign err_o = state_q == TRANSLATED && xl_rsp_valid && xl_rsp.err;
  assign to_o = to_q;
  assign read_o = issued_q;
  assign came_o = came_q;
  assign we_o = line_rsp_valid_i;
  assign waddr_o = begun_q ? fill_q : fill_at;
  assign idle_o = state_q == IDLE && issued_q == came_q && xl_idle;

  always_ff @(posedge clk_i) begin
    case (state_q)
      IDLE: if (start_i) state_q <= SPAN;
      SPAN: begin
        to_q <= to;
        line_q <= from_byte[7:6];
        last_line_q <= to_byte[7:6];
        off_q <= (ring_slot << log_stride_i) & ~32'd63;
        state_q <= TRANSLATE;
        a_some: assert (left != '0);
      end
      TRANSLATE: if (xl_ready) state_q <= TRANSLATED;
      TRANSLATED:
      if (xl_rsp_valid) begin
        addr_q <= xl_rsp.addr[63:6];
        state_q <= xl_rsp.err ? IDLE : ISSUE;
      end
      ISSUE:
      if (issued) begin
        line_q <= line_q + lines[1:0];
        off_q <= off_q + {23'd0, lines, 6'd0};
        state_q <= done_o ? IDLE : TRANSLATE;
      end
      default: state_q <= IDLE;
    endcase
    if (issued) issued_q <= issued_q + 1'b1;
    if (line_rsp_valid_i) begin
      fill_q <= waddr_o + 1'b1;
      begun_q <= !rsp_i.last;
      if (rsp_i.last) came_q <= came_q + 1'b1;
      a_fill: assert (read_valid);
    end
    if (!rst_ni) begin
      state_q <= IDLE;
      issued_q <= '0;
      came_q <= '0;
      begun_q <= 1'b0;
    end
  end

  wire unused_ok = &{1'b0, xl_rsp, rsp_i, read_count, from_byte, to_byte, ring_slot, index_i};
endmodule
