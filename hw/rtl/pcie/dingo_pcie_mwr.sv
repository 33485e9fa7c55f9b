// SPDX-License-Identifier: BSD-2-Clause

/// Makes packets of the requester stream from write pieces: a descriptor of four dwords, then the bytes from their
/// first dword on. A line is rotated by dwords in two steps, then joined with the rest of the line before. 4 cycles,
/// then a beat a cycle; stalls when its queue of 16 beats is nearly full. A packet that has begun has no gap, which
/// the core takes as an error.
module dingo_pcie_mwr (
    input  logic         clk_i,
    input  logic         rst_ni,
    output logic         idle_o,
    input  logic         mwr_valid_i,
    output logic         mwr_ready_o,
    input  pcie_pkg::mwr_t mwr_i,
    input  logic         line_valid_i,
    output logic         line_ready_o,
    input  logic [511:0] line_i,
    output logic         valid_o,
    input  logic         ready_i,
    output pcie_pkg::rqbeat_t beat_o,
    output logic         answer_o,       // beat_o is the last one of an AXI burst
    output logic         skip_answer_o   // pulse: a burst without a packet ended, all earlier packets have left
);
  // ---------------------------------------------------------------- the piece that is in work
  logic s1_q, s2_q;                      // a line is being rotated
  logic act_q, load, primes, spills, primes_q, step, last_step, room, quiet, skip;
  logic [3:0] step_q, last_q;            // steps: one for each line, and one for a rest
  logic [4:0] count;
  logic [7:0] total, given;              // beats of the packet; those that its lines complete
  pcie_pkg::mwr_t piece_q;

  // primes: a first line that begins after dword 4 does not fill a beat behind the descriptor, so the next line is
  // needed.
  assign primes = mwr_i.start > 4'd4 && mwr_i.beats != 4'd1;
  assign total = (mwr_i.dwords + 8'd19) >> 4;
  assign given = {4'd0, mwr_i.beats} - {7'd0, primes};
  assign spills = total > given;
  assign quiet = !act_q && !s1_q && !s2_q && count == '0;
  assign skip = mwr_valid_i && mwr_i.empty && quiet;
  assign load = mwr_valid_i && !mwr_i.empty && (!act_q || last_step);
  assign mwr_ready_o = skip || load;
  assign room = count < 5'd12;
  assign step = act_q && room;
  assign last_step = step && step_q == last_q;
  assign line_ready_o = step && step_q != piece_q.beats;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) act_q <= 1'b0;
    else if (load) act_q <= 1'b1;
    else if (last_step) act_q <= 1'b0;
    if (load) begin
      piece_q <= mwr_i;
      primes_q <= primes;
      last_q <= mwr_i.beats - {3'd0, !spills};
    end
  end

  pcie_pkg::rq_t head;
  always_comb begin
    head = '0;
    head.kind = pcie_pkg::MEM_WRITE;
    head.dwords = {3'd0, piece_q.dwords};
    head.dword = {piece_q.line, piece_q.start};
  end

  // ---------------------------------------------------------------- rotated
  logic s1_out_q, s2_out_q, s1_first_q, s2_first_q, s1_last_q, s2_last_q, s1_answer_q, s2_answer_q;
  logic [4:0] s1_from_q, s2_from_q;      // dwords from here on are of this line, lower ones of the line before
  logic [3:0] s1_end_q, s2_end_q, turn, s1_first_be_q, s2_first_be_q, s1_last_be_q, s2_last_be_q;
  logic [1:0] s1_turn_q;
  logic [511:0] s1_data_q, s2_data_q, hold_q;
  logic [127:0] s1_head_q, s2_head_q;
  logic skip_q;

  assign turn = piece_q.start - 4'd4;      // dwords by which a line is rotated down

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      step_q <= '0;
      s1_q <= 1'b0;
      s2_q <= 1'b0;
      skip_q <= 1'b0;
    end else begin
      if (step) step_q <= last_step ? '0 : step_q + 1'b1;
      s1_q <= step;
      s2_q <= s1_q;
      skip_q <= skip && mwr_i.answer;
    end
    s1_out_q <= !(primes_q && step_q == '0);
    s1_first_q <= step_q == {3'd0, primes_q};
    s1_last_q <= last_step;
    s1_answer_q <= last_step && piece_q.answer;
    s1_end_q <= last_step ? piece_q.dwords[3:0] + 4'd3 : 4'd15;  // + 3: behind the descriptor
    s1_first_be_q <= piece_q.first_be;
    s1_last_be_q <= piece_q.last_be;
    s1_head_q <= head;
    s1_turn_q <= turn[1:0];
    s1_from_q <= step_q == piece_q.beats ? 5'd16 : piece_q.start <= 4'd4 ? 5'd4 - {1'b0, piece_q.start}
                 : piece_q.beats == 4'd1 ? 5'd0 : 5'd20 - {1'b0, piece_q.start};
    s1_data_q <= 512'({line_i, line_i} >> {turn[3:2], 7'd0});
    s2_out_q <= s1_out_q;
    s2_first_q <= s1_first_q;
    s2_last_q <= s1_last_q;
    s2_answer_q <= s1_answer_q;
    s2_end_q <= s1_end_q;
    s2_first_be_q <= s1_first_be_q;
    s2_last_be_q <= s1_last_be_q;
    s2_head_q <= s1_head_q;
    s2_from_q <= s1_from_q;
    s2_data_q <= 512'({s1_data_q, s1_data_q} >> {s1_turn_q, 5'd0});
    if (s2_q) hold_q <= s2_data_q;
  end
  assign skip_answer_o = skip_q;

  // ---------------------------------------------------------------- beats
  pcie_pkg::rqbeat_t beat;
  logic out_room;
  always_comb begin
    beat.first = s2_first_q;
    beat.last = s2_last_q;
    beat.first_be = s2_first_be_q;
    beat.last_be = s2_last_be_q;
    beat.end_dword = s2_end_q;
    for (int unsigned j = 0; j < 16; j++)
      beat.data[32*j +: 32] = 5'(j) < s2_from_q ? hold_q[32*j +: 32] : s2_data_q[32*j +: 32];
    if (s2_first_q) beat.data[127:0] = s2_head_q;
  end

  dingo_fifo #(.Width(pcie_pkg::RQBEAT_W + 1), .LogDepth(4)) u_out (
      .clk_i, .rst_ni, .valid_i(s2_q && s2_out_q), .ready_o(out_room), .data_i({s2_answer_q, beat}), .valid_o,
      .ready_i, .data_o({answer_o, beat_o}), .count_o(count)
  );
  assign idle_o = quiet && !skip_q;

  wire unused_ok = &{1'b0, piece_q.empty};
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      if (s2_q && s2_out_q) has_room: assert (out_room);
      if (step && step_q != piece_q.beats) line_is_there: assert (line_valid_i);
    end
  end
endmodule
