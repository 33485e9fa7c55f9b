// SPDX-License-Identifier: BSD-2-Clause

/// Splits segments into pieces that each lie in one 4 KiB page, and translates these to bus addresses, up to 128
/// pieces ahead of the taker. A piece whose translation failed has `err` set and its length valid.
module dingo_pieces (
    input  logic     clk_i,
    input  logic     rst_ni,
    input  logic     xl_flush_i,
    output logic     idle_o,
    input  logic     seg_valid_i,
    output logic     seg_ready_o,
    input  rtl_pkg::seg_t     seg_i,
    output logic     piece_valid_o,
    input  logic     piece_ready_i,
    output rtl_pkg::dma_req_t piece_o,
    output logic     piece_err_o,
    output logic     piece_last_o,   // last piece of its segment
    output logic     packet_last_o,  // last piece of the packet's last segment
    output logic     line_valid_o,
    input  logic     line_ready_i,
    output rtl_pkg::rdl_req_t line_o,
    input  logic     line_rsp_valid_i,
    input  rtl_pkg::rdl_rsp_t line_rsp_i
);
  logic act_q;
  rtl_pkg::seg_t seg_q;       // the part that is not yet requested
  logic [11:0] in_page_q;     // offset of the next piece in its 4 KiB page; translation keeps these 12 bits
  logic [11:0] in_page;
  logic [12:0] most, len;
  logic whole;

  rtl_pkg::xl_req_t xl_req;
  rtl_pkg::xl_rsp_t xl_rsp;
  logic xl_valid, xl_ready, xl_rsp_valid, xl_idle, info_ready, info_valid;
  logic [7:0] info_count;

  assign in_page = (seg_i.mem.levels == '0 ? seg_i.mem.addr[11:0] : 12'd0) + seg_i.mem.offset[11:0] +
                   seg_i.off[11:0];
  assign most = 13'd4096 - {1'b0, in_page_q};
  assign whole = seg_q.len <= {19'b0, most};
  assign len = whole ? seg_q.len[12:0] : most;
  assign xl_valid = act_q && info_ready;
  assign xl_req.off = seg_q.off;
  assign xl_req.mem = seg_q.mem;
  assign seg_ready_o = !act_q || (xl_valid && xl_ready && whole);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      act_q <= 1'b0;
    end else if (seg_ready_o) begin
      act_q <= seg_valid_i;
      seg_q <= seg_i;
      in_page_q <= in_page;
    end else if (xl_valid && xl_ready) begin
      seg_q.off <= seg_q.off + {51'b0, len};
      seg_q.len <= seg_q.len - {19'b0, len};
      in_page_q <= '0;
    end
  end

  dingo_xlat #(.LogSets(7), .RootLogSets(4), .LogFlight(5)) u_xlat (
      .clk_i, .rst_ni, .flush_i(xl_flush_i), .idle_o(xl_idle),
      .req_valid_i(xl_valid), .req_ready_o(xl_ready), .req_i(xl_req),
      .rsp_valid_o(xl_rsp_valid), .rsp_ready_i(piece_valid_o && piece_ready_i), .rsp_o(xl_rsp),
      .line_valid_o, .line_ready_i, .line_o, .line_rsp_valid_i, .line_rsp_i
  );

  dingo_fifo #(.Width(15), .LogDepth(7)) u_info (
      .clk_i, .rst_ni,
      .valid_i(xl_valid && xl_ready), .ready_o(info_ready), .data_i({len, whole, whole && seg_q.last}),
      .valid_o(info_valid), .ready_i(piece_valid_o && piece_ready_i),
      .data_o({piece_o.len, piece_last_o, packet_last_o}), .count_o(info_count)
  );

  assign piece_valid_o = xl_rsp_valid && info_valid;
  assign piece_o.addr = xl_rsp.addr;
  assign piece_err_o = xl_rsp.err;
  assign idle_o = !act_q && xl_idle && info_count == '0;

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      if (act_q) not_empty: assert (seg_q.len != '0);
      if (piece_valid_o && !piece_err_o)
        one_page: assert ({1'b0, piece_o.addr[11:0]} + piece_o.len <= 13'd4096);
    end
  end
endmodule
