// SPDX-License-Identifier: BSD-2-Clause

/// Payload half of dingo_scatter: cuts the byte stream of each packet (GRH if ordered, then payload) into the beats of
/// its writes. END drops the rest of the packet.
module dingo_scatter_data (
    input  logic         clk_i,
    input  logic         rst_ni,
    output logic         idle_o,
    // steps: SEG: write or skip `len` bytes; GRH: put a GRH in front; ATOMIC: write word_i; END: end of packet
    input  logic         step_valid_i,
    output logic         step_ready_o,
    input  rtl_pkg::scat_op_t step_op_i,
    input  logic         step_drop_i,      // SEG: not written
    input  logic         step_payload_i,   // END: the packet has beats
    input  logic [ 12:0] step_len_i,
    input  logic         grh_valid_i,      // not later than its step
    output logic         grh_ready_o,
    input  logic [319:0] grh_i,
    input  logic         word_valid_i,     // an atomic's word, with its step
    output logic         word_ready_o,
    input  logic [63:0]  word_i,
    input  logic         payload_valid_i,
    output logic         payload_ready_o,
    input  rtl_pkg::beat_t payload_i,
    output logic         wdata_valid_o,
    input  logic         wdata_ready_i,
    output rtl_pkg::beat_t wdata_o
);
  localparam int unsigned StepW = 17;
  localparam int unsigned LogSteps = 4;

  logic s_valid, s_pop, s_drop, s_payload, is_seg, is_grh, is_end, is_word, w_valid;
  logic [63:0] word;
  logic [2:0] w_count;
  logic [1:0] s_op;
  logic [12:0] s_len;
  logic [LogSteps:0] s_count;
  logic g_valid, g_pop;
  logic [319:0] grh;
  logic [2:0] g_count;

  dingo_fifo #(.Width(StepW), .LogDepth(LogSteps)) u_steps (
      .clk_i, .rst_ni,
      .valid_i(step_valid_i), .ready_o(step_ready_o),
      .data_i({step_op_i, step_drop_i, step_payload_i, step_len_i}),
      .valid_o(s_valid), .ready_i(s_pop), .data_o({s_op, s_drop, s_payload, s_len}), .count_o(s_count)
  );
  dingo_fifo #(.Width(320), .LogDepth(2)) u_grh (
      .clk_i, .rst_ni,
      .valid_i(grh_valid_i), .ready_o(grh_ready_o), .data_i(grh_i),
      .valid_o(g_valid), .ready_i(g_pop), .data_o(grh), .count_o(g_count)
  );
  dingo_fifo #(.Width(64), .LogDepth(2)) u_word (
      .clk_i, .rst_ni,
      .valid_i(word_valid_i), .ready_o(word_ready_o), .data_i(word_i),
      .valid_o(w_valid), .ready_i(is_word && pack_ready), .data_o(word), .count_o(w_count)
  );
  assign is_word = s_valid && s_op == rtl_pkg::SCAT_ATOMIC;
  assign is_seg = s_valid && s_op == rtl_pkg::SCAT_SEG;
  assign is_grh = s_valid && s_op == rtl_pkg::SCAT_GRH;
  assign is_end = s_valid && s_op == rtl_pkg::SCAT_END;

  // Position in the packet's stream
  logic grh_q;               // source is the GRH at the head of u_grh
  logic last_q;              // the packet's last beat has been taken
  logic [5:0] skip_q;        // bytes used of the source's present beat

  logic begun_q;             // part of the step is done, left_q bytes remain
  logic [12:0] left_q, left;
  logic src_valid, use_src, src_pop, cut_end;
  logic [6:0] src_bytes, avail, bytes;
  logic pack_ready, pack_idle;
  logic [5:0] low;

  assign src_valid = grh_q || payload_valid_i;
  assign src_bytes = grh_q ? 7'd40 : payload_i.bytes;
  assign avail = src_bytes - {1'b0, skip_q};
  assign left = begun_q ? left_q : s_len;
  assign cut_end = left <= {6'b0, avail};
  assign bytes = cut_end ? left[6:0] : avail;
  assign use_src = is_seg && src_valid && (s_drop || pack_ready);
  assign src_pop = use_src && bytes == avail;

  // END drops beats up to the packet's last one, unless a segment has taken that.
  logic end_done, end_takes;
  assign end_takes = is_end && s_payload && !last_q;
  assign end_done = is_end && (!s_payload || last_q || (payload_valid_i && payload_i.last));
  assign payload_ready_o = end_takes || (is_seg && !grh_q && (s_drop || pack_ready) && bytes == avail);
  assign g_pop = grh_q && (src_pop || end_done);
  assign s_pop = is_grh || (is_word && pack_ready) || (use_src && cut_end) || end_done;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      grh_q <= 1'b0;
      last_q <= 1'b0;
      skip_q <= '0;
      begun_q <= 1'b0;
    end else begin
      if (use_src) begin
        begun_q <= !cut_end;
        left_q <= left - {6'b0, bytes};
        skip_q <= src_pop ? 6'd0 : skip_q + bytes[5:0];
        if (src_pop && !grh_q) last_q <= payload_i.last;
      end
      if (g_pop) grh_q <= 1'b0;
      if (is_grh) grh_q <= 1'b1;
      if (end_done) begin
        last_q <= 1'b0;
        skip_q <= '0;
      end
    end
  end

  logic [511:0] src_data;
  assign src_data = is_word ? {448'b0, word} : grh_q ? {192'b0, grh} : payload_i.data;

  dingo_pack u_pack (
      .clk_i, .rst_ni, .idle_o(pack_idle),
      .valid_i((is_seg && src_valid && !s_drop) || is_word), .ready_o(pack_ready), .data_i(src_data),
      .skip_i(is_word ? 6'd0 : skip_q), .bytes_i(is_word ? 7'd8 : bytes), .first_i(1'b0), .start_i(6'd0),
      .end_i(is_word || cut_end), .err_i(1'b0),
      .valid_o(wdata_valid_o), .ready_i(wdata_ready_i), .beat_o(wdata_o), .low_o(low)
  );

  assign idle_o = s_count == '0 && g_count == '0 && w_count == '0 && pack_idle;
  wire unused_ok = &{1'b0, low, payload_i.err};

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      if (use_src && !grh_q) bytes_left: assert (!last_q);
      if (is_word) word_in_front: assert (w_valid);
      if (is_grh) grh_in_front: assert (g_valid && !grh_q && skip_q == '0);
      if (is_end && !s_payload) no_beat_begun: assert (grh_q || skip_q == '0);
    end
  end
endmodule
