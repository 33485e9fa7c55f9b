// SPDX-License-Identifier: BSD-2-Clause

/// One deadline for each of 2^Log indices. A scan of all, one a cycle, begins when the earliest may have passed.
/// `next_o` is never later than the earliest deadline; it is earlier when that one was changed to a later time.
module dingo_timers #(
    parameter int unsigned Log = 8
) (
    input  logic        clk_i,
    input  logic        rst_ni,
    output logic        ready_o,       // cleared after reset
    input  logic [63:0] now_ns_i,
    input  logic        set_i,
    input  logic [Log-1:0] set_index_i,
    input  logic [63:0] set_ns_i,      // all ones: never
    output logic        valid_o,       // some timer may be running
    output logic [63:0] next_o,
    output logic        due_valid_o,   // may be out of date (set again since): the owner checks its deadline
    input  logic        due_ready_i,
    output logic [Log-1:0] due_index_o
);
  localparam logic [63:0] NEVER = '1;
  typedef enum logic [1:0] {
    REST = 2'd1,
    SCAN = 2'd2
  } state_t;

  state_t state_q;
  logic [Log-1:0] index_q, top_q, looked_q;
  logic [63:0] next_q, min_q, min_d, deadline;
  logic read_q;                        // `deadline` is that of looked_q
  logic last_q;                        // looked_q is the last index of the scan
  logic due_q;
  logic [Log-1:0] due_index_q;
  logic due, passed, re, stall, ended;
  logic written;                       // `deadline` was set since reset

  assign valid_o = next_q != NEVER;
  assign next_o = next_q;
  assign due_valid_o = due_q;
  assign due_index_o = due_index_q;
  assign passed = valid_o && next_q <= now_ns_i;
  assign due = read_q && written && deadline <= now_ns_i;  // an index not set since reset is never due
  assign stall = due_q && due;
  assign re = state_q == SCAN && !stall && !last_q;
  assign ended = state_q == SCAN && !stall && read_q && last_q;

  always_comb begin
    min_d = min_q;
    // A deadline that is due keeps the minimum at 0: scans repeat until its owner has set it again.
    if (due) min_d = '0;
    else if (read_q && written && deadline < min_q) min_d = deadline;
    // An index set during a scan may lie behind the scan's position.
    if (set_i && set_ns_i < min_d) min_d = set_ns_i;
  end

  dingo_marked_ram #(
      .Width(64),
      .LogDepth(Log)
  ) u_ram (
      .clk_i,
      .rst_ni,
      .ready_o,
      .we_i(set_i),
      .waddr_i(set_index_i),
      .wdata_i(set_ns_i),
      .re_i(re),
      .raddr_i(index_q),
      .rdata_o(deadline),
      .written_o(written)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= REST;
      index_q <= '0;
      top_q <= '0;
      next_q <= NEVER;
      min_q <= NEVER;
      read_q <= 1'b0;
      last_q <= 1'b0;
      due_q <= 1'b0;
      looked_q <= '0;
      due_index_q <= '0;
    end else begin
      if (due_q && due_ready_i) due_q <= 1'b0;
      case (state_q)
        REST: begin
          index_q <= '0;
          last_q <= 1'b0;
          read_q <= 1'b0;
          min_q <= NEVER;
          if (passed && !due_q) state_q <= SCAN;
        end
        default: begin
          if (re) begin
            looked_q <= index_q;
            index_q <= index_q + 1'b1;
            last_q <= index_q == top_q;
          end
          if (!stall) begin
            read_q <= re;
            if (due) begin
              due_q <= 1'b1;
              due_index_q <= looked_q;
            end
            if (read_q && last_q) state_q <= REST;
          end
          min_q <= min_d;
        end
      endcase
      if (ended) next_q <= min_d;
      else if (set_i && set_ns_i < next_q) next_q <= set_ns_i;
      if (set_i && set_ns_i != NEVER && set_index_i > top_q) top_q <= set_index_i;
    end
  end
endmodule
