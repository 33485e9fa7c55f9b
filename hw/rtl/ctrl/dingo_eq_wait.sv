// SPDX-License-Identifier: BSD-2-Clause

/// Asynchronous events that wait for room in their EQ, oldest first, each (kind, id) once. One command at a time: it
/// searches an entry a cycle, with `busy_o` set.
module dingo_eq_wait #(
    parameter int unsigned LogDepth = 6
) (
    input  logic clk_i,
    input  logic rst_ni,
    input  logic clear_i,               // drop all events
    output logic busy_o,
    output logic empty_o,               // no event waits
    // commands
    input  logic add_i,                 // add ev_i, unless its (kind, id) waits
    input  logic forget_i,              // drop: kind QP_FATAL: every QP event of id; else (kind, id) of ev_i
    input  rtl_pkg::ev_t ev_i,
    output logic added_o,               // pulse at the end of add_i: the event is new (counted), ...
    output logic lost_o,                // ... but the table is full
    // the oldest
    output logic head_valid_o,
    output rtl_pkg::ev_t head_o,
    input  logic pop_i
);
  localparam int unsigned Depth = 1 << LogDepth;
  localparam logic [7:0] QpKinds = dingo_pkg::EV_QP_FATAL[7:0];  // 0x20..0x2f

  logic [rtl_pkg::EV_W-1:0] table_mem[0:Depth-1];
  logic [LogDepth-1:0] head_q, at_q;
  logic [LogDepth:0] used_q, left_q;  // entries; entries not yet searched
  logic [LogDepth:0] kept_q;          // entries kept so far: they move together
  logic search_q, add_q, found_q;
  rtl_pkg::ev_t ev_q, at_ev, head_ev;
  logic same, qp_event, end_search, keep, push;

  assign head_ev = table_mem[head_q];
  assign head_o = head_ev;
  assign head_valid_o = used_q != '0 && !search_q;
  assign empty_o = used_q == '0;
  assign busy_o = search_q;

  assign at_ev = table_mem[at_q];
  assign qp_event = !add_q && ev_q.kind == QpKinds;
  assign same = at_ev.id == ev_q.id &&
                (qp_event ? at_ev.kind[7:4] == QpKinds[7:4] : at_ev.kind == ev_q.kind);
  assign end_search = search_q && left_q == '0;
  assign keep = search_q && left_q != '0 && !add_q && !same;
  assign added_o = end_search && add_q && !found_q;
  assign lost_o = added_o && used_q[LogDepth];
  assign push = added_o && !lost_o;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      head_q <= '0;
      used_q <= '0;
      search_q <= 1'b0;
    end else if (add_i || forget_i) begin
      search_q <= 1'b1;
    end else if (end_search) begin
      search_q <= 1'b0;
      used_q <= add_q ? used_q + (LogDepth+1)'(push) : kept_q;
    end else if (pop_i) begin
      head_q <= head_q + 1'b1;
      used_q <= used_q - 1'b1;
    end
    if (add_i || forget_i) begin
      ev_q <= ev_i;
      add_q <= add_i;
      found_q <= 1'b0;
      at_q <= head_q;
      left_q <= used_q;
      kept_q <= '0;
    end else if (search_q && left_q != '0) begin
      at_q <= at_q + 1'b1;
      left_q <= left_q - 1'b1;
      if (same) found_q <= 1'b1;
      if (keep) kept_q <= kept_q + 1'b1;
    end
    if (push) table_mem[head_q + used_q[LogDepth-1:0]] <= ev_q;
    else if (keep) table_mem[head_q + kept_q[LogDepth-1:0]] <= at_ev;
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      one_command: assert (!(add_i || forget_i) || (!search_q && !pop_i && !(add_i && forget_i)));
      pop_is_there: assert (!pop_i || head_valid_o);
      bounded: assert (used_q <= (LogDepth+1)'(Depth) && (!search_q || kept_q <= used_q));
    end
  end
endmodule
