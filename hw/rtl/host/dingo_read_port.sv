// SPDX-License-Identifier: BSD-2-Clause

/// Port of a client of dingo_dma_read: splits requests into bursts of at most 512 bytes, each with a tag and a place in
/// the reorder buffer, and gives the bytes in order. Tags are allocated and freed in order, as a ring; requests stall
/// when all are in use. A burst has its place before it is requested, so read data is always taken.
module dingo_read_port #(
    parameter int unsigned TagLog = 5
) (
    input  logic              clk_i,
    input  logic              rst_ni,
    output logic              idle_o,
    input  logic              req_valid_i,
    output logic              req_ready_o,
    input  rtl_pkg::dma_req_t req_i,
    output logic              rsp_valid_o,
    input  logic              rsp_ready_i,
    output rtl_pkg::beat_t    rsp_o,
    output logic              error_o,     // a request failed
    output logic              ar_valid_o,
    input  logic              ar_ready_i,
    output logic [TagLog-1:0] ar_tag_o,
    output logic [      57:0] ar_line_o,
    output logic [       2:0] ar_len_o,    // beats - 1
    input  logic              r_valid_i,
    input  logic [TagLog-1:0] r_tag_i,
    input  logic [     511:0] r_data_i,
    input  logic              r_err_i,
    input  logic              r_last_i
);
  localparam int unsigned Tags = 1 << TagLog;

  logic [TagLog:0] tag_wr_q, tag_rd_q, tags_used;
  logic tag_free;            // all bytes of the burst at tag_rd_q were given

  // ---------------------------------------------------------------- split
  logic act_q, req_take, info_ready;
  logic [57:0] line_q;
  logic [6:0] left_q;        // beats not yet requested
  logic [12:0] span;         // bytes from the start of the first beat
  logic [3:0] burst;

  assign req_ready_o = !act_q && info_ready;
  assign req_take = req_valid_i && req_ready_o;
  assign span = {7'b0, req_i.addr[5:0]} + req_i.len;
  assign burst = left_q > 7'd8 ? 4'd8 : left_q[3:0];
  assign tags_used = tag_wr_q - tag_rd_q;
  assign ar_valid_o = act_q && !tags_used[TagLog];
  assign ar_tag_o = tag_wr_q[TagLog-1:0];
  assign ar_line_o = line_q;
  assign ar_len_o = 3'(burst - 4'd1);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      act_q <= 1'b0;
      tag_wr_q <= '0;
      tag_rd_q <= '0;
    end else begin
      if (req_take) begin
        act_q <= 1'b1;
        line_q <= req_i.addr[63:6];
        left_q <= span[12:6] + {6'b0, span[5:0] != '0};
      end else if (ar_valid_o && ar_ready_i) begin
        act_q <= left_q > 7'd8;
        line_q <= line_q + 58'd8;
        left_q <= left_q - {3'b0, burst};
        tag_wr_q <= tag_wr_q + 1'b1;
      end
      if (tag_free) tag_rd_q <= tag_rd_q + 1'b1;
    end
  end

  // ---------------------------------------------------------------- reorder buffer
  logic [Tags-1:0] done_q, err_q;
  logic [2:0] pos_q[Tags];   // beats received
  logic [2:0] pos;
  logic ram_re;
  logic [TagLog+2:0] ram_raddr;
  logic [511:0] ram_data;

  assign pos = pos_q[r_tag_i];

  dingo_ram #(.Width(512), .LogDepth(TagLog + 3)) u_ram (
      .clk_i,
      .we_i(r_valid_i), .waddr_i({r_tag_i, pos}), .wdata_i(r_data_i),
      .re_i(ram_re), .raddr_i(ram_raddr), .rdata_o(ram_data)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      done_q <= '0;
      err_q <= '0;
      for (int i = 0; i < Tags; i++) pos_q[i] <= '0;
    end else begin
      if (r_valid_i) begin
        pos_q[r_tag_i] <= r_last_i ? 3'd0 : pos + 3'd1;
        done_q[r_tag_i] <= r_last_i;
        if (r_err_i) err_q[r_tag_i] <= 1'b1;
      end
      if (tag_free) begin
        done_q[tag_rd_q[TagLog-1:0]] <= 1'b0;
        err_q[tag_rd_q[TagLog-1:0]] <= 1'b0;
      end
    end
  end

  // ---------------------------------------------------------------- answers, one beat per cycle
  logic info_valid, step, advance;
  logic [5:0] start;
  logic [12:0] len, rest, rest_q;
  logic [TagLog:0] info_count;
  logic begun_q, failed_q, failed, ends;
  logic [2:0] beat_q;
  logic [6:0] most, bytes;
  logic b_valid_q, b_end_q, b_err_q;
  logic [5:0] b_skip_q;
  logic [6:0] b_bytes_q;
  logic pack_ready, pack_idle;
  logic [5:0] low;

  dingo_fifo #(.Width(19), .LogDepth(TagLog)) u_info (
      .clk_i, .rst_ni,
      .valid_i(req_take), .ready_o(info_ready), .data_i({req_i.addr[5:0], req_i.len}),
      .valid_o(info_valid), .ready_i(step && ends), .data_o({start, len}), .count_o(info_count)
  );

  assign advance = !b_valid_q || pack_ready;
  assign step = info_valid && done_q[tag_rd_q[TagLog-1:0]] && advance;
  assign rest = begun_q ? rest_q : len;
  assign most = begun_q ? 7'd64 : 7'd64 - {1'b0, start};
  assign ends = rest <= {6'b0, most};
  assign bytes = ends ? rest[6:0] : most;
  assign failed = failed_q || err_q[tag_rd_q[TagLog-1:0]];
  assign tag_free = step && (ends || beat_q == 3'd7);
  assign ram_re = step;
  assign ram_raddr = {tag_rd_q[TagLog-1:0], beat_q};
  assign error_o = step && ends && failed;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      begun_q <= 1'b0;
      failed_q <= 1'b0;
      beat_q <= '0;
      b_valid_q <= 1'b0;
    end else begin
      if (advance) b_valid_q <= step;
      if (step) begin
        begun_q <= !ends;
        failed_q <= failed && !ends;
        beat_q <= ends ? 3'd0 : beat_q + 3'd1;
        rest_q <= rest - {6'b0, bytes};
        b_skip_q <= begun_q ? 6'd0 : start;
        b_bytes_q <= bytes;
        b_end_q <= ends;
        b_err_q <= failed && ends;
      end
    end
  end

  dingo_pack u_pack (
      .clk_i, .rst_ni, .idle_o(pack_idle),
      .valid_i(b_valid_q), .ready_o(pack_ready), .data_i(ram_data), .skip_i(b_skip_q),
      .bytes_i(b_bytes_q), .first_i(1'b0), .start_i(6'd0), .end_i(b_end_q), .err_i(b_err_q),
      .valid_o(rsp_valid_o), .ready_i(rsp_ready_i), .beat_o(rsp_o), .low_o(low)
  );

  assign idle_o = !act_q && info_count == '0 && !b_valid_q && pack_idle;
  wire unused_ok = &{1'b0, low};

  // A tag in use lies between tag_rd_q and tag_wr_q.
  logic [TagLog-1:0] r_age;
  assign r_age = r_tag_i - tag_rd_q[TagLog-1:0];
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      if (r_valid_i) awaited: assert ({1'b0, r_age} < tags_used && !done_q[r_tag_i]);
      if (req_take) one_page: assert (req_i.len != '0 && {1'b0, req_i.addr[11:0]} + req_i.len <= 13'd4096);
    end
  end
endmodule
