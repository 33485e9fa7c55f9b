// SPDX-License-Identifier: BSD-2-Clause

/// Executes atomics on words of host memory in the order in which they come, up to eight at once. A word is read when
/// all writes requested before it are done, then changed, then written by dingo_scatter between its own writes. An
/// atomic on a word in work takes the value that the one before computes, without a read; other writes to the word
/// wait (hit_o). Regions may map one page at several bus addresses, of which only one may be in work: an atomic
/// at the same offset of another page waits (wait_o).
module dingo_atomics #(
    parameter int unsigned IdW = 6
) (
    input  logic              clk_i,
    input  logic              rst_ni,
    output logic              idle_o,
    // an atomic at piece_i.addr, a multiple of 8, while wait_o is 0
    input  logic              valid_i,
    output logic              ready_o,
    input  logic              swap_i,        // COMPARE_SWAP, else FETCH_ADD
    input  logic [63:0]       swap_add_i,
    input  logic [63:0]       compare_i,
    input  logic [IdW-1:0]    id_i,          // copied to write_id_o
    input  logic [15:0]       asked_i,       // number of writes requested so far, free running
    input  logic [15:0]       done_i,        // number of writes done, free running
    // the next piece to write, or the next atomic
    input  rtl_pkg::dma_req_t piece_i,
    output logic              hit_o,         // piece_i overlaps a word in work
    output logic              wait_o,        // atomic: piece_i may be a word in work under another address
    // write of the new word
    output logic              write_valid_o,
    input  logic              write_ready_i,
    output logic [63:0]       write_addr_o,
    output logic [63:0]       write_word_o,
    output logic [IdW-1:0]    write_id_o,
    // results of atomics, in order
    output logic              result_valid_o,
    input  logic              result_ready_i,
    output logic              result_err_o,  // the word could not be read
    output logic [63:0]       result_word_o, // original value
    output logic [15:0]       result_upto_o, // the atomic is done when done_i reaches this
    // dingo_host
    output logic              line_valid_o,
    input  logic              line_ready_i,
    output rtl_pkg::rdl_req_t line_o,
    input  logic              line_rsp_valid_i,
    input  rtl_pkg::rdl_rsp_t line_rsp_i
);
  localparam int unsigned Log = 3;
  localparam int unsigned N = 1 << Log;
  localparam int unsigned OpW = 1 + Log + 1 + 64 + 64 + IdW;

  // Free-running counts of atomics taken, decided (changed or not), reported
  logic [Log:0] in_q, out_q, told_q;
  logic [63:0] addr_q[N], value_q[N];  // value_q: the word after the atomic
  logic [N-1:0] lost_q;                // the word could not be read
  logic take;
  assign take = valid_i && ready_o;

  assign ready_o = in_q - told_q != (Log + 1)'(N);
  assign idle_o = in_q == told_q;

  // ---------------------------------------------------------------- conflicts of piece_i with words in work
  logic [N-1:0] meets, same, other;
  for (genvar i = 0; i < N; i++) begin : words
    logic live;
    logic [Log-1:0] place;
    assign place = Log'(i) - out_q[Log-1:0];
    assign live = {1'b0, place} < in_q - out_q;
    assign same[i] = live && piece_i.addr[11:3] == addr_q[i][11:3];
    assign other[i] = same[i] && piece_i.addr[63:12] != addr_q[i][63:12];
    assign meets[i] = live && piece_i.addr[63:12] == addr_q[i][63:12] && piece_i.addr[11:3] <= addr_q[i][11:3] &&
                      {1'b0, piece_i.addr[11:0]} + piece_i.len > {1'b0, addr_q[i][11:0]};
  end
  // The newest atomic in work with piece_i's offset in a page. All of these have the same address (wait_o).
  logic chained;
  logic [Log-1:0] newest;
  always_comb begin
    newest = '0;
    for (int unsigned k = 0; k < N; k++)
      if (same[Log'(k) + out_q[Log-1:0]]) newest = Log'(k) + out_q[Log-1:0];
  end
  assign chained = same != '0;
  assign hit_o = meets != '0;
  assign wait_o = other != '0;

  // ---------------------------------------------------------------- reads
  logic [15:0] upto, age;
  logic [60:0] ask_word;               // word address: bus address >> 3
  logic ask_ready, ask_valid, ask, where_ready, where_valid;
  logic [2:0] where;                   // position of the word in its line
  logic [Log:0] ask_count, where_count;
  dingo_fifo #(.Width(77), .LogDepth(Log)) u_ask (
      .clk_i, .rst_ni, .valid_i(take && !chained), .ready_o(ask_ready), .data_i({asked_i, piece_i.addr[63:3]}),
      .valid_o(ask_valid), .ready_i(ask), .data_o({upto, ask_word}), .count_o(ask_count)
  );
  dingo_fifo #(.Width(3), .LogDepth(Log)) u_where (
      .clk_i, .rst_ni, .valid_i(ask), .ready_o(where_ready), .data_i(ask_word[2:0]),
      .valid_o(where_valid), .ready_i(line_rsp_valid_i), .data_o(where), .count_o(where_count)
  );
  assign age = done_i - upto;
  assign line_valid_o = ask_valid && !age[15];
  assign line_o.lines = 4'd1;
  assign line_o.addr = ask_word[60:3];
  assign ask = line_valid_o && line_ready_i;

  // ---------------------------------------------------------------- original words
  logic word_ready, word_valid, word_err, ops_ready, ops_valid, follows, swap, load;
  logic [63:0] read, swap_add, compare;
  logic [IdW-1:0] id;
  logic [Log-1:0] leader;
  logic [Log:0] word_count, ops_count;
  dingo_fifo #(.Width(65), .LogDepth(Log)) u_words (
      .clk_i, .rst_ni, .valid_i(line_rsp_valid_i), .ready_o(word_ready),
      .data_i({line_rsp_i.err, line_rsp_i.data[{where, 6'd0}+:64]}),
      .valid_o(word_valid), .ready_i(load && !follows), .data_o({word_err, read}), .count_o(word_count)
  );
  dingo_fifo #(.Width(OpW), .LogDepth(Log)) u_ops (
      .clk_i, .rst_ni, .valid_i(take), .ready_o(ops_ready), .data_i({chained, newest, swap_i, swap_add_i, compare_i, id_i}),
      .valid_o(ops_valid), .ready_i(load), .data_o({follows, leader, swap, swap_add, compare, id}),
      .count_o(ops_count)
  );

  // ---------------------------------------------------------------- the oldest atomic and its word
  logic front_q, err_q, swap_q, change, decide;
  logic [63:0] word_q, swap_add_q, compare_q;
  logic [IdW-1:0] id_q;
  // An atomic that follows the one in front_q waits until value_q has that one's result.
  assign load = (!front_q || decide) && ops_valid && (follows ? !(front_q && leader == out_q[Log-1:0]) : word_valid);
  assign change = !err_q && (!swap_q || word_q == compare_q);
  assign write_valid_o = front_q && change;
  assign write_addr_o = addr_q[out_q[Log-1:0]];
  assign write_word_o = swap_q ? swap_add_q : word_q + swap_add_q;
  assign write_id_o = id_q;
  assign decide = front_q && (!change || write_ready_i);

  // ---------------------------------------------------------------- results
  logic result_ready;
  logic [Log:0] result_count;
  dingo_fifo #(.Width(81), .LogDepth(Log)) u_results (
      .clk_i, .rst_ni, .valid_i(decide), .ready_o(result_ready),
      .data_i({err_q, word_q, change ? asked_i + 16'd1 : done_i}),
      .valid_o(result_valid_o), .ready_i(result_ready_i), .data_o({result_err_o, result_word_o, result_upto_o}),
      .count_o(result_count)
  );

  always_ff @(posedge clk_i) begin
    if (take) addr_q[in_q[Log-1:0]] <= piece_i.addr;
    if (decide) begin
      value_q[out_q[Log-1:0]] <= change ? write_word_o : word_q;
      lost_q[out_q[Log-1:0]] <= err_q;
    end
    if (load) begin
      word_q <= follows ? value_q[leader] : read;
      err_q <= follows ? lost_q[leader] : word_err;
      swap_q <= swap;
      swap_add_q <= swap_add;
      compare_q <= compare;
      id_q <= id;
    end
    if (!rst_ni) begin
      front_q <= 1'b0;
      in_q <= '0;
      out_q <= '0;
      told_q <= '0;
    end else begin
      front_q <= load || (front_q && !decide);
      in_q <= in_q + (Log + 1)'(take);
      out_q <= out_q + (Log + 1)'(decide);
      told_q <= told_q + (Log + 1)'(result_valid_o && result_ready_i);
      a_aligned: assert (!take || piece_i.addr[2:0] == '0);
      a_alone: assert (!take || !wait_o);
      a_room: assert ((ask_ready && ops_ready) || !take);
      a_where: assert (where_ready || !ask);
      a_words: assert ((word_ready && where_valid) || !line_rsp_valid_i);
      a_result: assert (result_ready || !decide);
    end
  end

  wire unused_ok = &{1'b0, ask_count, where_count, word_count, ops_count, result_count, age[14:0], line_rsp_i};
endmodule
