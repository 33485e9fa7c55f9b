// SPDX-License-Identifier: BSD-2-Clause

/// Stores frames as whole beats in one memory. The writer stores the beats of one frame after the other. A command
/// per frame, in the same order and only when all beats of the frame are stored, says which of them come out; none if
/// the frame is discarded. Commands queue, so that frames follow each other without a gap. 2 cycles from command to
/// first beat.
module dingo_frame_buf #(
    parameter int unsigned LogBeats = 9,
    parameter int unsigned LogCommands = 2,   // log2 of how many commands may wait
    parameter int unsigned TagWidth = 1
) (
    input  logic                clk_i,
    input  logic                rst_ni,
    input  logic                alloc_i,      // reserves room for a beat that is written later
    output logic [  LogBeats:0] room_o,       // free beats, less those reserved
    input  logic                we_i,
    input  logic [       511:0] data_i,
    input  logic                cmd_valid_i,
    output logic                cmd_ready_o,
    input  logic [         7:0] cmd_beats_i,  // beats that the frame has
    input  logic [         7:0] cmd_first_i,  // first beat that comes out
    input  logic [         7:0] cmd_count_i,  // how many come out; 0: the frame is discarded
    input  logic [TagWidth-1:0] cmd_tag_i,    // comes out with each beat
    output logic                valid_o,
    input  logic                ready_i,
    output logic [       511:0] data_o,
    output logic                last_o,
    output logic [TagWidth-1:0] tag_o,
    output logic                idle_o        // no beat is held
);
  logic [LogBeats:0]   used_q;
  logic [LogBeats-1:0] wr_q, base_q, raddr;
  logic                h_valid, h_pop, issue, last, room_out;
  logic [7:0]          h_beats, h_first, h_count, i_q;
  logic [TagWidth-1:0] h_tag, tag_q;
  logic                valid_q, last_q;
  /* verilator lint_off UNUSEDSIGNAL */  // the count of waiting commands is not used
  logic [LogCommands:0] h_held;
  /* verilator lint_on UNUSEDSIGNAL */

  assign room_o = (LogBeats+1)'(1 << LogBeats) - used_q;
  assign idle_o = used_q == '0 && !valid_q;

  dingo_fifo #(.Width(24 + TagWidth), .LogDepth(LogCommands)) u_cmd (
      .clk_i, .rst_ni,
      .valid_i(cmd_valid_i), .ready_o(cmd_ready_o),
      .data_i({cmd_tag_i, cmd_count_i, cmd_first_i, cmd_beats_i}),
      .valid_o(h_valid), .ready_i(h_pop), .data_o({h_tag, h_count, h_first, h_beats}),
      .count_o(h_held)
  );

  assign room_out = !valid_q || ready_i;
  assign issue = h_valid && h_count != '0 && room_out;
  assign last = i_q + 8'd1 == h_count;
  assign h_pop = h_valid && (h_count == '0 || (issue && last));
  assign raddr = base_q + LogBeats'(h_first) + LogBeats'(i_q);

  dingo_ram #(.Width(512), .LogDepth(LogBeats)) u_ram (
      .clk_i,
      .we_i, .waddr_i(wr_q), .wdata_i(data_i),
      .re_i(issue), .raddr_i(raddr), .rdata_o(data_o)
  );

  assign valid_o = valid_q;
  assign last_o = last_q;
  assign tag_o = tag_q;

  always_ff @(posedge clk_i) begin
    if (we_i) wr_q <= wr_q + 1'b1;
    if (issue) begin
      last_q <= last;
      tag_q <= h_tag;
      i_q <= last ? '0 : i_q + 8'd1;
    end
    if (room_out) valid_q <= issue;
    if (h_pop) base_q <= base_q + LogBeats'(h_beats);
    used_q <= used_q + (LogBeats+1)'(alloc_i) - (h_pop ? (LogBeats+1)'(h_beats) : '0);
    if (!rst_ni) begin
      wr_q <= '0;
      base_q <= '0;
      i_q <= '0;
      used_q <= '0;
      valid_q <= 1'b0;
    end else begin
      assert (used_q <= (LogBeats+1)'(1 << LogBeats));
      if (h_valid) assert ((LogBeats+1)'(h_beats) <= used_q && {1'b0, h_first} + {1'b0, h_count} <= {1'b0, h_beats});
    end
  end
endmodule
