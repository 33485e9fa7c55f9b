// SPDX-License-Identifier: BSD-2-Clause

/// Properties of dingo_mac_fifo between two unrelated clocks, whose edges come at any time (run.sh: clk2fflogic): no
/// overflow, nothing that was not committed comes out, and any one beat of a committed frame comes out once, unchanged,
/// in its place. The solver picks that beat with `mark_i`.
module mac_fifo_props (
    input logic       wr_clk_i,
    input logic       push_i,
    input logic       last_i,
    input logic       rollback_i,
    input logic       data_i,
    input logic       mark_i,
    input logic       rd_clk_i,
    input logic       ready_i
);
  logic room, valid, last, data, push;
  logic [2:0] held;

  assign push = push_i && room;
  dingo_mac_fifo #(.Width(1), .LogDepth(2)) dut (
      .wr_clk_i, .wr_clear_i(1'b0), .push_i(push), .last_i, .data_i, .rollback_i(rollback_i && !push), .room_o(room), .held_o(held), .rd_clk_i,
      .rd_run_i(1'b1), .rd_clear_i(1'b0), .rd_drop_i(1'b0), .valid_o(valid), .ready_i, .last_o(last), .data_o(data)
  );
  // Registers of the FIFO, connected by run.sh, modulo 8. _gray, _meta and _there are in Gray code.
  wire [2:0] dut_wr, dut_start, dut_seen, dut_rd, dut_rd_gray, dut_rd_meta, dut_rd_there;
  wire [2:0] dut_frames, dut_frames_gray, dut_frames_meta, dut_frames_there;
  wire dut_fresh, dut_valid;
  wire [1:0] dut_word, dut_mem0, dut_mem1, dut_mem2, dut_mem3;  // last, data
  wire [7:0] dut_mem = {dut_mem3, dut_mem2, dut_mem1, dut_mem0};

  function automatic logic [2:0] binary(input logic [2:0] g);
    binary = {g[2], g[2] ^ g[1], g[2] ^ g[1] ^ g[0]};
  endfunction

  // ---- the marked beat: its place and its value
  logic marked_q = 1'b0, safe_q = 1'b0;   // it was written; its frame is committed
  logic [2:0] place_q = 3'd0;
  logic [1:0] value_q = 2'd0;
  always_ff @(posedge wr_clk_i) begin
    if (!marked_q && push && mark_i) begin
      marked_q <= 1'b1;
      place_q <= dut_wr;
      value_q <= {last_i, data_i};
    end else if (rollback_i && !push && !safe_q) marked_q <= 1'b0;
    if (push && last_i && (marked_q || mark_i)) safe_q <= 1'b1;
  end
  // Beats of committed frames and of the frame that is being written; those rolled back count in neither.
  logic [2:0] committed_q = 3'd0, open_q = 3'd0;
  always_ff @(posedge wr_clk_i) begin
    if (push) open_q <= last_i ? 3'd0 : open_q + 3'd1;
    else if (rollback_i) open_q <= 3'd0;
    if (push && last_i) committed_q <= committed_q + open_q + 3'd1;
  end
  logic taken_q = 1'b0;                   // the marked beat was read
  logic there_q = 1'b0;                   // it is in the output register
  logic take;
  assign take = (!dut_valid || ready_i) && binary(dut_frames_there) != dut_seen + {2'd0, dut_fresh && dut_word[1]};
  always_ff @(posedge rd_clk_i) begin
    if (take && marked_q && safe_q && !taken_q && dut_rd == place_q) begin
      taken_q <= 1'b1;
      there_q <= 1'b1;
    end else if (!dut_valid || ready_i) there_q <= 1'b0;
  end

  // ---- distances from the read pointer as the write side knows it
  logic [2:0] base, d_meta, d_gray, d_start, d_wr, f_seen, f_gray, f_meta, f_there, mark_from_rd, mark_from_wr;
  logic [2:0] lasts;                      // frame ends in [rd, start)
  logic open_last;                        // there is a frame end in [start, wr)
  logic [1:0] at, end_at;
  assign end_at = dut_start[1:0] - 2'd1;
  always_comb begin
    base = binary(dut_rd_there);
    d_meta = binary(dut_rd_meta) - base;
    d_gray = dut_rd - base;
    d_start = dut_start - base;
    d_wr = dut_wr - base;
    f_seen = dut_seen + {2'd0, dut_fresh && dut_word[1]};
    f_there = binary(dut_frames_there) - f_seen;
    f_meta = binary(dut_frames_meta) - f_seen;
    f_gray = dut_frames - f_seen;
    lasts = 3'd0;
    open_last = 1'b0;
    for (int i = 0; i < 4; i++) begin
      at = dut_rd[1:0] + 2'(i);
      if (3'(i) < d_start - d_gray && dut_mem[2*at+1]) lasts = lasts + 3'd1;
      if (3'(i) >= d_start - d_gray && 3'(i) < d_wr - d_gray && dut_mem[2*at+1]) open_last = 1'b1;
    end
    mark_from_rd = place_q - dut_rd;
    mark_from_wr = dut_wr - place_q;
  end

  always_comb begin
    a_order : assert (d_meta <= d_gray && d_gray <= d_start && d_start <= d_wr && d_wr <= 3'd4);
    a_gray : assert (dut_rd_gray == (dut_rd ^ (dut_rd >> 1)) && dut_frames_gray == (dut_frames ^ (dut_frames >> 1)));
    a_places : assert (dut_start == committed_q && dut_wr == committed_q + open_q);
    a_room : assert (!room || d_wr != 3'd4);
    a_frames : assert (f_there <= f_meta && f_meta <= f_gray && f_gray == lasts && lasts <= 3'd4);
    a_open : assert (!open_last);
    // the last committed beat ends a frame
    if (d_start != d_gray) begin
      a_whole : assert (dut_mem[2*end_at+1]);
    end
    if (safe_q) begin
      a_safe : assert (marked_q);
    end
    if (taken_q || there_q) begin
      a_committed : assert (safe_q && taken_q);  // only committed beats are read
    end
    if (marked_q && !safe_q) begin
      a_written : assert (mark_from_rd < d_wr - d_gray && mark_from_rd >= d_start - d_gray);
      a_not_last : assert (!value_q[1]);
    end
    if (marked_q && safe_q && !taken_q) begin
      a_waits : assert (mark_from_rd < d_start - d_gray);
    end
    if (marked_q && !taken_q) begin
      a_stored : assert (dut_mem[2*place_q[1:0]+:2] == value_q);
    end
    if (there_q) begin
      a_unchanged : assert (valid && {last, data} == value_q);
    end
    if (dut_fresh) begin
      a_fresh : assert (dut_valid);
    end
  end
endmodule
