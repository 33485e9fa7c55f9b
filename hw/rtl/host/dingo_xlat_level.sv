// SPDX-License-Identifier: BSD-2-Clause

/// One level of page lists: gives entries by address, in the order of the requests, from a set-associative cache of
/// lines (64 bytes = 8 entries, 4 ways). Each request is compared with the tags when it comes. On a miss it replaces a
/// tag, reads host memory and waits in u_wait, while later requests are compared and may miss, too. Lines come in the
/// order of the misses, and a line is stored when its request is at the head. So the result of the tag comparison
/// still holds when a request gets its entry. A hit with none before it takes 2 cycles; requests stall when u_wait or
/// the queue of line reads is full, and while tags are cleared after a flush or a failed line.
module dingo_xlat_level #(
    parameter int unsigned LogSets = 4,
    parameter int unsigned LogFlight = 3,   // log2 of the requests that may wait
    parameter int unsigned InfoW = 8        // width of the data that accompanies a request
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic             flush_i,       // invalidate all lines
    output logic             idle_o,
    input  logic             valid_i,
    output logic             ready_o,
    input  logic             use_i,         // 0: no look-up, entry_o is ptr_i
    input  logic             fresh_i,       // read the line from memory and do not cache it
    input  logic [63:0]      ptr_i,         // address of the entry
    input  logic [InfoW-1:0] info_i,
    output logic             valid_o,
    input  logic             ready_i,
    output logic             err_o,         // the entry's line could not be read
    output logic [63:0]      entry_o,
    output logic [InfoW-1:0] info_o,
    output logic             line_valid_o,
    input  logic             line_ready_i,
    output logic [57:0]      line_o,
    input  logic             line_rsp_valid_i,  // always taken
    input  logic             line_rsp_err_i,
    input  logic [511:0]     line_rsp_data_i
);
  localparam int unsigned LogWays = 2;
  localparam int unsigned Ways = 1 << LogWays;
  localparam int unsigned TagW = 58 - LogSets;

  typedef struct packed {
    logic                          looks;
    logic                          fresh;
    logic                          miss;
    logic [LogSets+LogWays-1:0]    place;
    logic [63:0]                   ptr;
    logic [InfoW-1:0]              info;
  } ask_t;
  localparam int unsigned AskW = 3 + LogSets + LogWays + 64 + InfoW;

  function automatic logic [LogSets-1:0] set_of(input logic [57:0] line);
    set_of = '0;
    for (int unsigned i = 0; i < 58; i = i + LogSets) set_of = set_of ^ LogSets'(line >> i);
  endfunction

  // ---------------------------------------------------------------- tags: read, then compared
  logic look_q;                             // a request is in the comparison stage
  ask_t ask_q, ask;
  logic [LogSets-1:0] set_q, first_set;
  logic [Ways*(TagW+1)+LogWays-1:0] tags_ram, tags, tags_d, fwd_q;
  logic fwd_valid_q;                        // tags_ram is out of date (written or cleared when read): use fwd_q
  logic [LogSets:0] clear_q;
  logic clearing, hit, go, asks, write_tags, forget;
  logic [LogWays-1:0] way, next_way;
  logic [Ways-1:0] match;

  assign clearing = !clear_q[LogSets];
  assign forget = flush_i || bad_line;
  assign first_set = set_of(ptr_i[63:6]);
  assign ready_o = !look_q || go;

  dingo_ram #(
      .Width(Ways * (TagW + 1) + LogWays),
      .LogDepth(LogSets)
  ) u_tags (
      .clk_i,
      .we_i(clearing || write_tags),
      .waddr_i(clearing ? clear_q[LogSets-1:0] : set_q),
      .wdata_i(clearing ? '0 : tags_d),
      .re_i(valid_i && ready_o),
      .raddr_i(first_set),
      .rdata_o(tags_ram)
  );
  assign tags = fwd_valid_q ? fwd_q : tags_ram;
  assign next_way = tags[Ways*(TagW+1) +: LogWays];
  always_comb begin
    way = next_way;
    for (int unsigned i = 0; i < Ways; i++) begin
      match[i] = tags[i*(TagW+1) +: TagW+1] == {1'b1, ask_q.ptr[63 -: TagW]};
      if (match[i]) way = LogWays'(i);
    end
    hit = match != '0;
    tags_d = tags;
    tags_d[next_way*(TagW+1) +: TagW+1] = {1'b1, ask_q.ptr[63 -: TagW]};
    tags_d[Ways*(TagW+1) +: LogWays] = next_way + 1'b1;
    ask = ask_q;
    ask.miss = ask_q.looks && (!hit || ask_q.fresh);
    ask.place = {set_q, way};
  end
  assign go = look_q && !clearing && !forget && (direct || wait_room) && (!ask.miss || line_room);
  assign asks = go && ask.miss;
  assign write_tags = asks && !ask_q.fresh;

  always_ff @(posedge clk_i) begin
    if (valid_i && ready_o) begin
      ask_q.looks <= use_i;
      ask_q.fresh <= fresh_i;
      ask_q.miss <= 1'b0;
      ask_q.place <= '0;
      ask_q.ptr <= ptr_i;
      ask_q.info <= info_i;
      set_q <= first_set;
      fwd_valid_q <= write_tags && set_q == first_set;
      fwd_q <= tags_d;
    end
    if (forget || clearing) begin           // tags read before are invalid
      fwd_valid_q <= 1'b1;
      fwd_q <= '0;
    end
    if (!rst_ni) begin
      look_q <= 1'b0;
      clear_q <= '0;
    end else begin
      if (ready_o) look_q <= valid_i;
      if (forget) clear_q <= '0;
      else if (clearing) clear_q <= clear_q + 1'b1;
    end
  end

  // ---------------------------------------------------------------- line reads and their answers
  logic line_room;
  logic [1:0] line_count;
  dingo_fifo #(
      .Width(58),
      .LogDepth(1)
  ) u_lines_asked (
      .clk_i, .rst_ni,
      .valid_i(asks), .ready_o(line_room), .data_i(ask_q.ptr[63:6]),
      .valid_o(line_valid_o), .ready_i(line_ready_i), .data_o(line_o), .count_o(line_count)
  );

  logic come_room, come_valid, come_err;
  logic [511:0] come_data;
  logic [LogFlight:0] come_count;
  dingo_fifo #(
      .Width(513),
      .LogDepth(LogFlight)
  ) u_lines_come (
      .clk_i, .rst_ni,
      .valid_i(line_rsp_valid_i), .ready_o(come_room), .data_i({line_rsp_err_i, line_rsp_data_i}),
      .valid_o(come_valid), .ready_i(issue && head.miss), .data_o({come_err, come_data}), .count_o(come_count)
  );

  // ---------------------------------------------------------------- requests that wait
  logic wait_room, wait_valid, direct, issue, out_room;
  logic [LogFlight:0] wait_count;
  ask_t head, waiting;
  logic [AskW-1:0] waiting_bits;
  dingo_fifo #(
      .Width(AskW),
      .LogDepth(LogFlight)
  ) u_wait (
      .clk_i, .rst_ni,
      .valid_i(go && !direct), .ready_o(wait_room), .data_i(ask),
      .valid_o(wait_valid), .ready_i(issue && wait_valid), .data_o(waiting_bits), .count_o(wait_count)
  );
  assign waiting = ask_t'(waiting_bits);
  // A hit bypasses u_wait when that is empty.
  assign direct = !wait_valid && out_room && !ask.miss;
  assign head = wait_valid ? waiting : ask;
  assign issue = out_room && (wait_valid ? !waiting.miss || come_valid : go && direct);

  // ---------------------------------------------------------------- entries
  logic valid_q, looks_q, miss_q, come_err_q;
  logic [63:0] ptr_q, come_q;
  logic [InfoW-1:0] info_q;
  logic [512:0] line;
  logic bad_line;                           // the line at the head could not be read: its tag must go

  assign out_room = !valid_q || ready_i;
  assign bad_line = wait_valid && waiting.miss && !waiting.fresh && come_valid && come_err && out_room;
  dingo_ram #(
      .Width(513),
      .LogDepth(LogSets + LogWays)
  ) u_lines (
      .clk_i,
      .we_i(issue && head.miss && !head.fresh), .waddr_i(head.place), .wdata_i({come_err, come_data}),
      .re_i(issue && !head.miss), .raddr_i(head.place), .rdata_o(line)
  );

  always_ff @(posedge clk_i) begin
    if (issue) begin
      looks_q <= head.looks;
      miss_q <= head.miss;
      ptr_q <= head.ptr;
      info_q <= head.info;
      come_err_q <= come_err;
      come_q <= come_data[{head.ptr[5:3], 6'b0} +: 64];
    end
    if (!rst_ni) valid_q <= 1'b0;
    else if (out_room) valid_q <= issue;
  end
  assign valid_o = valid_q;
  assign err_o = looks_q && (miss_q ? come_err_q : line[512]);
  assign entry_o = !looks_q ? ptr_q : miss_q ? come_q : line[{1'b0, ptr_q[5:3], 6'b0} +: 64];
  assign info_o = info_q;
  assign idle_o = !look_q && wait_count == '0 && !valid_q;

  wire unused_ok = &{1'b0, line_count, come_count, waiting};

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      if (line_rsp_valid_i) awaited: assert (come_room && wait_count != '0);
      if (look_q) once: assert ((match & (match - 1'b1)) == '0);
    end
  end
endmodule
