// SPDX-License-Identifier: BSD-2-Clause

/// Address translation by page lists of 0 to 2 levels, with a cache of page-list lines (64 bytes =
/// 8 entries). One request after the other; a miss costs a read of host memory per level.
/// `flush_i` empties the cache: a page list may be freed once its region or ring is destroyed.
module dingo_xlat #(
    parameter int unsigned LogLines = 6
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
  localparam int unsigned TagW = 58 - LogLines;

  typedef enum logic [2:0] {
    IDLE = 3'd0,
    CALC = 3'd1,   // position is known: number of its page, or the answer without a list
    ADDR = 3'd2,   // address of the entry
    LOOK = 3'd3,   // is the entry's line in the cache
    MISS = 3'd4,   // ask host memory
    WAIT = 3'd5,
    PICK = 3'd6    // the line is there: take the entry
  } state_t;
  state_t state_q;

  logic [63:0] pos_q, addr_q, ptr_q;
  logic [1:0]  levels_q;      // lists still to read
  logic [4:0]  shift_q;
  logic [63:0] index_q;       // of the page
  logic        miss_q;        // the line was not in the cache: its entry is in fetched_q
  logic        fetch_err_q;
  logic [63:0] fetched_q;
  logic        stale_q;       // the cache was emptied while a line was on its way

  // ---------------------------------------------------------------- cache
  logic [(1<<LogLines)-1:0] valid_q;
  logic [TagW-1:0] tag_mem[0:(1<<LogLines)-1];
  logic [LogLines-1:0] set;
  logic hit, fill;
  logic [511:0] cached;

  assign set = ptr_q[6 +: LogLines];
  assign hit = valid_q[set] && tag_mem[set] == ptr_q[63 -: TagW];
  assign fill = state_q == WAIT && line_rsp_valid_i && !line_rsp_i.err && !stale_q && !flush_i;

  dingo_ram #(.Width(512), .LogDepth(LogLines)) u_lines (
      .clk_i,
      .we_i(fill), .waddr_i(set), .wdata_i(line_rsp_i.data),
      .re_i(state_q == LOOK), .raddr_i(set), .rdata_o(cached)
  );

  always_ff @(posedge clk_i) begin
    if (fill) tag_mem[set] <= ptr_q[63 -: TagW];
    if (!rst_ni || flush_i) valid_q <= '0;
    else if (fill) valid_q[set] <= 1'b1;
  end

  // ---------------------------------------------------------------- an entry
  logic [63:0] entry;
  logic [30:0] page_mask_q;   // bits of an address inside what the entry points to
  logic leaf, misaligned;

  assign entry = miss_q ? fetched_q : cached[{ptr_q[5:3], 6'b0} +: 64];
  assign leaf = levels_q == 2'd2;   // the entry is the address of a leaf
  assign misaligned = (entry[30:0] & page_mask_q) != '0;

  // ---------------------------------------------------------------- states
  logic rsp_valid_q, rsp_free;
  rtl_pkg::xl_rsp_t rsp_q;

  assign rsp_free = !rsp_valid_q || rsp_ready_i;
  assign rsp_valid_o = rsp_valid_q;
  assign rsp_o = rsp_q;
  assign req_ready_o = state_q == IDLE;
  assign idle_o = state_q == IDLE && !rsp_valid_q;
  assign line_valid_o = state_q == MISS;
  assign line_o.lines = 4'd1;
  assign line_o.addr = ptr_q[63:6];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= IDLE;
      rsp_valid_q <= 1'b0;
    end else begin
      if (rsp_ready_i) rsp_valid_q <= 1'b0;
      case (state_q)
        IDLE: if (req_valid_i) begin
          pos_q <= req_i.off + {32'b0, req_i.mem.offset};
          addr_q <= req_i.mem.addr;
          levels_q <= req_i.mem.levels;
          shift_q <= req_i.mem.shift;
          state_q <= CALC;
        end
        CALC: begin
          index_q <= pos_q >> shift_q;
          if (levels_q != '0) begin
            state_q <= ADDR;
          end else if (rsp_free) begin
            rsp_valid_q <= 1'b1;
            rsp_q.err <= 1'b0;
            rsp_q.addr <= addr_q + pos_q;
            state_q <= IDLE;
          end
        end
        ADDR: begin
          ptr_q <= addr_q + (leaf ? {9'b0, index_q[63:9]} << 3 : index_q << 3);
          state_q <= LOOK;
        end
        LOOK: begin
          page_mask_q <= (31'd1 << (leaf ? 5'd12 : shift_q)) - 31'd1;
          miss_q <= !hit || flush_i;
          fetch_err_q <= 1'b0;
          stale_q <= 1'b0;
          state_q <= hit && !flush_i ? PICK : MISS;
        end
        MISS: begin
          if (line_ready_i) state_q <= WAIT;
          stale_q <= flush_i && line_ready_i;
        end
        WAIT: begin
          if (flush_i) stale_q <= 1'b1;
          if (line_rsp_valid_i) begin
            fetched_q <= line_rsp_i.data[{ptr_q[5:3], 6'b0} +: 64];
            fetch_err_q <= line_rsp_i.err;
            state_q <= PICK;
          end
        end
        PICK: begin
          if (leaf && !fetch_err_q && !misaligned) begin
            ptr_q <= {entry[63:12], index_q[8:0], 3'b0};
            levels_q <= 2'd1;
            state_q <= LOOK;
          end else if (rsp_free) begin
            rsp_valid_q <= 1'b1;
            rsp_q.err <= fetch_err_q || misaligned;
            rsp_q.addr <= entry | {33'b0, pos_q[30:0] & page_mask_q};
            state_q <= IDLE;
          end
        end
        default: state_q <= IDLE;
      endcase
    end
  end

  wire unused_ok = &{1'b0, line_rsp_i.last, ptr_q[2:0]};

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      answer_awaited: assert (!line_rsp_valid_i || state_q == WAIT);
      if (state_q == CALC) form_known: assert (levels_q != 2'd3 && (levels_q == '0 || shift_q >= 5'd12));
    end
  end
endmodule
