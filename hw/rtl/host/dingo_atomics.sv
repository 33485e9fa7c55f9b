// SPDX-License-Identifier: BSD-2-Clause

/// Atomics on words of host memory, in the order in which they come: a word is read when every write that was
/// asked for before it is done, changed, and written by dingo_scatter in between its own writes. Words of several
/// atomics are in work at once, never one word twice: who writes to one waits (hit_o), another atomic too.
module dingo_atomics #(
    parameter int unsigned IdW = 6
) (
    input  logic              clk_i,
    input  logic              rst_ni,
    output logic              idle_o,
    // an atomic; its word does not hit
    input  logic              valid_i,
    output logic              ready_o,
    input  logic [63:0]       addr_i,        // bus address, a multiple of 8
    input  logic              swap_i,        // COMPARE_SWAP, else FETCH_ADD
    input  logic [63:0]       swap_add_i,
    input  logic [63:0]       compare_i,
    input  logic [IdW-1:0]    id_i,          // goes with the write
    input  logic [15:0]       asked_i,       // writes asked for so far, free running,
    input  logic [15:0]       done_i,        // and those of them that are done
    // bytes that somebody wants to write: a word that is in work is among them
    input  rtl_pkg::dma_req_t piece_i,
    output logic              hit_o,
    // the new word
    output logic              write_valid_o,
    input  logic              write_ready_i,
    output logic [63:0]       write_addr_o,
    output logic [63:0]       write_word_o,
    output logic [IdW-1:0]    write_id_o,
    // what became of an atomic, in order
    output logic              result_valid_o,
    input  logic              result_ready_i,
    output logic              result_err_o,  // the word could not be read
    output logic [63:0]       result_word_o, // as it was
    output logic [15:0]       result_upto_o, // the atomic is done when so many writes are
    // dingo_host
    output logic              line_valid_o,
    input  logic              line_ready_i,
    output rtl_pkg::rdl_req_t line_o,
    input  logic              line_rsp_valid_i,
    input  rtl_pkg::rdl_rsp_t line_rsp_i
);
  localparam int unsigned Log = 3;
  localparam int unsigned N = 1 << Log;
  localparam int unsigned OpW = 1 + 64 + 64 + IdW;

  // Free running: taken, asked for, answered, changed, told
  logic [Log:0] in_q, ask_q, rsp_q, out_q, told_q;
  logic [63:0] addr_q[N];

  assign ready_o = in_q - told_q != (Log + 1)'(N);
  assign idle_o = in_q == told_q;

  // ---------------------------------------------------------------- who else wants the word
  logic [N-1:0] meets;
  for (genvar i = 0; i < N; i++) begin : words
    logic live;
    logic [Log-1:0] place;
    assign place = Log'(i) - out_q[Log-1:0];
    assign live = {1'b0, place} < in_q - out_q;
    assign meets[i] = live && piece_i.addr[63:12] == addr_q[i][63:12] && piece_i.addr[11:3] <= addr_q[i][11:3] &&
                      {1'b0, piece_i.addr[11:0]} + piece_i.len > {1'b0, addr_q[i][11:0]};
  end
  assign hit_o = meets != '0;

  // ---------------------------------------------------------------- reads
  logic [15:0] upto, age;
  logic upto_ready, upto_valid, ask;
  logic [Log:0] upto_count;
  dingo_fifo #(.Width(16), .LogDepth(Log)) u_upto (
      .clk_i, .rst_ni, .valid_i(valid_i && ready_o), .ready_o(upto_ready), .data_i(asked_i),
      .valid_o(upto_valid), .ready_i(ask), .data_o(upto), .count_o(upto_count)
  );
  assign age = done_i - upto;
  assign line_valid_o = upto_valid && !age[15];
  assign line_o.lines = 4'd1;
  assign line_o.addr = addr_q[ask_q[Log-1:0]][63:6];
  assign ask = line_valid_o && line_ready_i;

  // ---------------------------------------------------------------- words as they were
  logic word_ready, word_valid, word_err, ops_ready, ops_valid, swap, change, decide;
  logic [63:0] word, swap_add, compare;
  logic [Log:0] word_count, ops_count;
  dingo_fifo #(.Width(65), .LogDepth(Log)) u_words (
      .clk_i, .rst_ni, .valid_i(line_rsp_valid_i), .ready_o(word_ready),
      .data_i({line_rsp_i.err, line_rsp_i.data[{addr_q[rsp_q[Log-1:0]][5:3], 6'd0}+:64]}),
      .valid_o(word_valid), .ready_i(decide), .data_o({word_err, word}), .count_o(word_count)
  );
  dingo_fifo #(.Width(OpW), .LogDepth(Log)) u_ops (
      .clk_i, .rst_ni, .valid_i(valid_i && ready_o), .ready_o(ops_ready), .data_i({swap_i, swap_add_i, compare_i, id_i}),
      .valid_o(ops_valid), .ready_i(decide), .data_o({swap, swap_add, compare, write_id_o}), .count_o(ops_count)
  );
  assign change = !word_err && (!swap || word == compare);
  assign write_valid_o = word_valid && change;
  assign write_addr_o = addr_q[out_q[Log-1:0]];
  assign write_word_o = swap ? swap_add : word + swap_add;
  assign decide = word_valid && (!change || write_ready_i);

  // ---------------------------------------------------------------- results
  logic result_ready;
  logic [Log:0] result_count;
  dingo_fifo #(.Width(81), .LogDepth(Log)) u_results (
      .clk_i, .rst_ni, .valid_i(decide), .ready_o(result_ready),
      .data_i({word_err, word, change ? asked_i + 16'd1 : done_i}),
      .valid_o(result_valid_o), .ready_i(result_ready_i), .data_o({result_err_o, result_word_o, result_upto_o}),
      .count_o(result_count)
  );

  always_ff @(posedge clk_i) begin
    if (valid_i && ready_o) addr_q[in_q[Log-1:0]] <= addr_i;
    if (!rst_ni) begin
      in_q <= '0;
      ask_q <= '0;
      rsp_q <= '0;
      out_q <= '0;
      told_q <= '0;
    end else begin
      in_q <= in_q + (Log + 1)'(valid_i && ready_o);
      ask_q <= ask_q + (Log + 1)'(ask);
      rsp_q <= rsp_q + (Log + 1)'(line_rsp_valid_i);
      out_q <= out_q + (Log + 1)'(decide);
      told_q <= told_q + (Log + 1)'(result_valid_o && result_ready_i);
      a_aligned: assert (!(valid_i && ready_o) || addr_i[2:0] == '0);
      a_alone: assert (!(valid_i && ready_o) || !hit_o);
      a_room: assert ((upto_ready && ops_ready) || !(valid_i && ready_o));
      a_words: assert ((word_ready && rsp_q != ask_q) || !line_rsp_valid_i);
      a_ops: assert ((ops_valid && result_ready) || !decide);
    end
  end

  wire unused_ok = &{1'b0, upto_count, word_count, ops_count, result_count, age[14:0], line_rsp_i};
endmodule
