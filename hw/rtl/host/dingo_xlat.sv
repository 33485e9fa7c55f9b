// SPDX-License-Identifier: BSD-2-Clause

/// Address translation by page lists of 0 to 2 levels, in the order of the requests, one a cycle. Root lists and leaves
/// have a cache each (dingo_xlat_level), with up to 2^LogFlight look-ups outstanding. Latency: 2 cycles without a list,
/// 6 with one cached level, 8 with two. `flush_i` empties the caches: the host may free a page list when its region or
/// ring is destroyed. A list that work requests may change (LEVELS_FRESH) is not cached, because its lines could not be
/// invalidated without a search.
module dingo_xlat #(
    parameter int unsigned LogSets = 4,       // sets of the leaf cache, 4 lines of 8 entries each
    parameter int unsigned RootLogSets = 2,
    parameter int unsigned LogFlight = 3
) (
    input  logic     clk_i,
    input  logic     rst_ni,
    input  logic     flush_i,
    output logic     idle_o,
    input  logic     req_valid_i,
    output logic     req_ready_o,
    input  rtl_pkg::xl_req_t  req_i,
    output logic     rsp_valid_o,
    input  logic     rsp_ready_i,
    output rtl_pkg::xl_rsp_t  rsp_o,
    output logic     line_valid_o,
    input  logic     line_ready_i,
    output rtl_pkg::rdl_req_t line_o,
    input  logic     line_rsp_valid_i,
    input  rtl_pkg::rdl_rsp_t line_rsp_i
);
  // Data that accompanies a request through the levels
  typedef struct packed {
    logic        listed;        // has a page list
    logic        fresh;         // its list is not cached
    logic        err;
    logic [30:0] mask;          // page size - 1
    logic [30:0] pos;           // position in the page list's memory
  } leaf_info_t;
  localparam int unsigned LeafW = 65;
  typedef struct packed {
    logic        two;           // has two levels
    logic [8:0]  index;         // index of the page in its leaf
    leaf_info_t  leaf;
  } root_info_t;
  localparam int unsigned RootW = 10 + LeafW;

  // ---------------------------------------------------------------- position, page, entry of the first list
  logic calc_q, addr_q, calc_go, addr_go;
  logic [63:0] pos_q, base_q, index, ptr_q;
  logic [1:0] levels_q;
  logic [4:0] shift_q;
  logic looks_q;                // has a root list
  root_info_t first_q;

  assign index = pos_q >> shift_q;
  assign req_ready_o = !calc_q || calc_go;
  assign calc_go = quick ? rsp_free : !addr_q || addr_go;
  // Without a list the sum is the answer; it bypasses both levels when no older request is in them.
  assign quick = levels_q == '0 && !addr_q && root_idle && leaf_idle;

  always_ff @(posedge clk_i) begin
    if (req_valid_i && req_ready_o) begin
      pos_q <= req_i.off + {32'b0, req_i.mem.offset};
      base_q <= req_i.mem.addr;
      levels_q <= req_i.mem.levels;
      shift_q <= req_i.mem.shift;
    end
    if (calc_q && calc_go) begin
      ptr_q <= base_q + (levels_q == '0 ? pos_q : (levels_q == 2'd2 ? {9'b0, index[63:9]} : index) << 3);
      looks_q <= levels_q == 2'd2;
      first_q.two <= levels_q == 2'd2;
      first_q.index <= index[8:0];
      first_q.leaf.listed <= levels_q != '0;
      first_q.leaf.fresh <= levels_q == rtl_pkg::LEVELS_FRESH;
      first_q.leaf.err <= 1'b0;
      first_q.leaf.mask <= (31'd1 << shift_q) - 31'd1;
      first_q.leaf.pos <= pos_q[30:0];
    end
    if (!rst_ni) begin
      calc_q <= 1'b0;
      addr_q <= 1'b0;
    end else begin
      if (req_ready_o) calc_q <= req_valid_i;
      if (calc_q && calc_go && !quick) addr_q <= 1'b1;
      else if (addr_go) addr_q <= 1'b0;
    end
  end

  // ---------------------------------------------------------------- root lists
  logic quick, root_idle, root_ready, root_valid, root_err, root_line_valid, leaf_line_valid, root_line_ready;
  logic leaf_idle, leaf_ready, leaf_valid, leaf_err, line_ok, to_leaf_q, who_room, who_valid;
  logic [63:0] root_entry, leaf_entry;
  logic [57:0] root_line, leaf_line;
  logic [RootW-1:0] root_info_bits;
  logic [LeafW-1:0] leaf_info_bits;
  root_info_t root_info;
  leaf_info_t leaf_in, leaf_info;

  // A request without a root list bypasses u_root when that is idle.
  logic pass;
  assign pass = !looks_q && root_idle;
  assign addr_go = addr_q && (pass ? leaf_ready : root_ready);

  dingo_xlat_level #(.LogSets(RootLogSets), .LogFlight(LogFlight), .InfoW(RootW)) u_root (
      .clk_i, .rst_ni, .flush_i, .idle_o(root_idle),
      .valid_i(addr_q && !pass), .ready_o(root_ready), .use_i(looks_q), .fresh_i(1'b0), .ptr_i(ptr_q), .info_i(first_q),
      .valid_o(root_valid), .ready_i(leaf_ready), .err_o(root_err), .entry_o(root_entry), .info_o(root_info_bits),
      .line_valid_o(root_line_valid), .line_ready_i(root_line_ready), .line_o(root_line),
      .line_rsp_valid_i(line_rsp_valid_i && !to_leaf_q), .line_rsp_err_i(line_rsp_i.err), .line_rsp_data_i(line_rsp_i.data)
  );
  assign root_info = root_info_t'(root_info_bits);

  // ---------------------------------------------------------------- leaves
  logic [63:0] leaf_ptr;
  always_comb begin
    leaf_in = pass ? first_q.leaf : root_info.leaf;
    leaf_in.err = !pass && root_info.two && (root_err || root_entry[11:0] != '0);
    leaf_ptr = pass ? ptr_q : root_info.two ? {root_entry[63:12], root_info.index, 3'b0} : root_entry;
  end
  dingo_xlat_level #(.LogSets(LogSets), .LogFlight(LogFlight), .InfoW(LeafW)) u_leaf (
      .clk_i, .rst_ni, .flush_i, .idle_o(leaf_idle),
      .valid_i(pass ? addr_q : root_valid), .ready_o(leaf_ready), .use_i(leaf_in.listed && !leaf_in.err), .fresh_i(leaf_in.fresh),
      .ptr_i(leaf_ptr), .info_i(leaf_in),
      .valid_o(leaf_valid), .ready_i(rsp_free), .err_o(leaf_err), .entry_o(leaf_entry), .info_o(leaf_info_bits),
      .line_valid_o(leaf_line_valid), .line_ready_i(line_ok), .line_o(leaf_line),
      .line_rsp_valid_i(line_rsp_valid_i && to_leaf_q), .line_rsp_err_i(line_rsp_i.err), .line_rsp_data_i(line_rsp_i.data)
  );
  assign leaf_info = leaf_info_t'(leaf_info_bits);

  // ---------------------------------------------------------------- answers
  logic rsp_valid_q, rsp_free, misaligned;
  rtl_pkg::xl_rsp_t rsp_q;
  assign rsp_free = !rsp_valid_q || rsp_ready_i;
  assign rsp_valid_o = rsp_valid_q;
  assign rsp_o = rsp_q;
  assign misaligned = leaf_info.listed && (leaf_entry[30:0] & leaf_info.mask) != '0;
  assign idle_o = !calc_q && !addr_q && root_idle && leaf_idle && !rsp_valid_q;

  always_ff @(posedge clk_i) begin
    if (rsp_free) begin
      rsp_q.err <= !quick && (leaf_info.err || leaf_err || misaligned);
      rsp_q.addr <= quick ? base_q + pos_q
                          : leaf_entry | (leaf_info.listed ? {33'b0, leaf_info.pos & leaf_info.mask} : 64'd0);
    end
    if (!rst_ni) rsp_valid_q <= 1'b0;
    else if (rsp_free) rsp_valid_q <= leaf_valid || (calc_q && quick);
  end

  // ---------------------------------------------------------------- line reads of both levels; u_who: level of each
  logic [LogFlight+2:0] who_count;
  assign line_ok = line_ready_i && who_room;
  assign root_line_ready = line_ok && !leaf_line_valid;
  assign line_valid_o = (leaf_line_valid || root_line_valid) && who_room;
  assign line_o.lines = 4'd1;
  assign line_o.addr = leaf_line_valid ? leaf_line : root_line;
  dingo_fifo #(.Width(1), .LogDepth(LogFlight + 2)) u_who (
      .clk_i, .rst_ni,
      .valid_i(line_valid_o && line_ready_i), .ready_o(who_room), .data_i(leaf_line_valid),
      .valid_o(who_valid), .ready_i(line_rsp_valid_i), .data_o(to_leaf_q), .count_o(who_count)
  );

  wire unused_ok = &{1'b0, line_rsp_i, who_count, root_info, leaf_info};

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      if (line_rsp_valid_i) answer_awaited: assert (who_valid);
      if (calc_q) form_known: assert (levels_q == '0 || shift_q >= 5'd12);
    end
  end
endmodule
