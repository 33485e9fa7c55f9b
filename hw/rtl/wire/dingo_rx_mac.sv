// SPDX-License-Identifier: BSD-2-Clause

/// Frames from the MAC as beats. Without DropWhenFull it passes tready of the receiver on (0 cycles). With it, for a
/// MAC that cannot wait, it has a queue of 512 beats (1 cycle) and drops a whole frame that finds no room for the
/// longest one.
module dingo_rx_mac #(
    parameter int unsigned DropWhenFull = 0,
    parameter int unsigned MaxBeats = 145
) (
    input  logic         clk_i,
    input  logic         rst_ni,
    input  logic         s_axis_tvalid_i,
    output logic         s_axis_tready_o,
    input  logic [511:0] s_axis_tdata_i,
    input  logic [ 63:0] s_axis_tkeep_i,
    input  logic         s_axis_tlast_i,
    input  logic         s_axis_tuser_i,
    output logic         valid_o,
    input  logic         ready_i,
    output logic [511:0] data_o,
    output logic [6:0]   bytes_o,
    output logic         last_o,
    output logic         bad_o,       // with last: the MAC found an error
    output logic         dropped_o    // one cycle for each frame dropped
);
  logic [6:0] bytes;
  assign bytes = s_axis_tlast_i ? 7'($countones(s_axis_tkeep_i)) : 7'd64;

  if (DropWhenFull != 0) begin : gen_drop
    localparam int unsigned LogDepth = 9;
    logic [LogDepth:0] held;
    logic [7:0]        n_q;
    logic              drop_q, drop, start, push, ready;

    assign start = n_q == '0;
    assign drop = start ? (LogDepth+1)'(1 << LogDepth) - held <= (LogDepth+1)'(MaxBeats) : drop_q;
    // If a frame is longer than MaxBeats, its last beat is kept, which carries tlast and tuser.
    assign push = s_axis_tvalid_i && !drop && (s_axis_tlast_i || n_q < 8'(MaxBeats));
    assign s_axis_tready_o = 1'b1;

    dingo_fifo #(.Width(521), .LogDepth(LogDepth)) u_fifo (
        .clk_i, .rst_ni, .valid_i(push), .ready_o(ready),
        .data_i({s_axis_tuser_i, s_axis_tlast_i, bytes, s_axis_tdata_i}),
        .valid_o, .ready_i, .data_o({bad_o, last_o, bytes_o, data_o}), .count_o(held)
    );

    always_ff @(posedge clk_i) begin
      dropped_o <= rst_ni && s_axis_tvalid_i && s_axis_tlast_i && drop;
      if (s_axis_tvalid_i) begin
        drop_q <= drop;
        if (s_axis_tlast_i) n_q <= '0;
        else if (n_q != 8'(MaxBeats)) n_q <= n_q + 8'd1;
      end
      if (!rst_ni) n_q <= '0;
      else if (push) assert (ready);
    end
  end else begin : gen_wait
    assign valid_o = s_axis_tvalid_i;
    assign s_axis_tready_o = ready_i;
    assign data_o = s_axis_tdata_i;
    assign bytes_o = bytes;
    assign last_o = s_axis_tlast_i;
    assign bad_o = s_axis_tuser_i;
    assign dropped_o = 1'b0;
    wire unused_ok = &{1'b0, clk_i, rst_ni};
  end
endmodule
