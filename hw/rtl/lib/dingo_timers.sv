// SPDX-License-Identifier: BSD-2-Clause

/// One deadline for each of 2^Log. All are looked through only when the earliest deadline may have passed:
/// `next_o` is never later than the earliest one, but may be earlier, when that was taken back.
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
    output logic        valid_o,       // some timer may run
    output logic [63:0] next_o,
    output logic        due_valid_o,   // may have fired before and been set anew since: the owner looks again
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
  logic last_q;                        // and the last one
  logic due_q;
  logic [Log-1:0] due_index_q;
  logic due, passed, re, stall, ended;
  logic written;                       // since reset, of `deadline`

  assign valid_o = next_q != NEVER;
  assign next_o = next_q;
  assign due_valid_o = due_q;
  assign due_index_o = due_index_q;
  assign passed = valid_o && next_q <= now_ns_i;
  assign due = read_q && written && deadline <= now_ns_i;  // what was not set since reset never is
  assign stall = due_q && due;
  assign re = state_q == SCAN && !stall && !last_q;
  assign ended = state_q == SCAN && !stall && read_q && last_q;

  always_comb begin
    min_d = min_q;
    // one that is due stays in the minimum: until its owner has set it anew, another scan must find it
    if (due) min_d = '0;
    else if (read_q && written && deadline < min_q) min_d = deadline;
    // what is set during a scan may lie behind it
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
