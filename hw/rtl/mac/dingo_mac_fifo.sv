// SPDX-License-Identifier: BSD-2-Clause

/// FIFO of whole frames between two clocks. Beats become visible to the reader when their frame is committed
/// (last_i); rollback_i removes the beats of a frame that is not. Two gray numbers cross: frames committed, towards
/// the reader; beats read, towards the writer. Each grows by at most one per cycle; a pointer to the end of the
/// committed beats would jump. A frame leaves without a gap. Both sides are emptied together (dingo_mac_flush). 1
/// cycle to write a frame's last beat, 3 to 4 of the reader's until it is seen, 1 to read.
module dingo_mac_fifo #(
    parameter int unsigned Width = 578,
    parameter int unsigned LogDepth = 9  // log2 of beats; a frame has at most 2**LogDepth - 2
) (
    input  logic             wr_clk_i,
    input  logic             wr_clear_i,  // never with push_i; from dingo_mac_flush
    input  logic             push_i,      // only with room_o
    input  logic             last_i,      // with push_i: the frame is whole and committed
    input  logic [Width-1:0] data_i,
    input  logic             rollback_i,  // never with push_i: removes the frame that is being written
    output logic             room_o,      // a register
    output logic [LogDepth:0] held_o,     // beats, also those not committed; a register
    input  logic             rd_clk_i,
    input  logic             rd_run_i,    // beats may be read
    input  logic             rd_clear_i,  // never with rd_run_i; the beat at the output stays
    input  logic             rd_drop_i,   // drop the beat at the output
    output logic             valid_o,
    input  logic             ready_i,
    output logic             last_o,
    output logic [Width-1:0] data_o
);
  localparam int unsigned P = LogDepth + 1;
  (* ram_style = "block" *) logic [Width:0] mem[0:(1<<LogDepth)-1];

  // ---------------------------------------------------------------- the writer's side
  logic [P-1:0] wr_q /* verilator public_flat_rw */ = '0;     // next beat
  logic [P-1:0] start_q /* verilator public_flat_rw */ = '0;  // first beat of the frame being written
  logic [P-1:0] rd_there, frames_there, unused_frames, rd, held, held_q = '0;
  logic room_q = 1'b1;

  assign held = wr_q - rd_there;
  assign held_o = held_q;
  assign room_o = room_q;
  always_ff @(posedge wr_clk_i) begin
    held_q <= held;
    room_q <= held < P'((1 << LogDepth) - 1);  // room_q is a cycle late: keep a place
    if (push_i) mem[wr_q[LogDepth-1:0]] <= {last_i, data_i};
    if (push_i) wr_q <= wr_q + P'(1);
    else if (rollback_i) wr_q <= start_q;
    if (push_i && last_i) start_q <= wr_q + P'(1);
    if (wr_clear_i) begin
      wr_q <= '0;
      start_q <= '0;
    end
    assert (!push_i || (room_o && !rollback_i));
  end

  // ---------------------------------------------------------------- the reader's side
  logic [P-1:0] seen_q /* verilator public_flat_rw */ = '0, seen_d;  // frames whose last beat has been read
  logic [Width:0] word_q;
  logic valid_q = 1'b0;
  logic fresh_q = 1'b0;                    // word_q was read in the cycle before
  logic take;

  assign seen_d = seen_q + P'(fresh_q && word_q[Width]);
  assign take = (!valid_q || ready_i) && frames_there != seen_d && rd_run_i;
  always_ff @(posedge rd_clk_i) begin
    if (take) word_q <= mem[rd[LogDepth-1:0]];
    valid_q <= take || (valid_q && !ready_i && !rd_drop_i);
    fresh_q <= take;
    seen_q <= rd_clear_i ? '0 : seen_d;
  end
  assign valid_o = valid_q;
  assign {last_o, data_o} = word_q;

  dingo_mac_gray #(.Width(P)) i_frames (
      .from_clk_i(wr_clk_i), .clear_i(wr_clear_i), .step_i(push_i && last_i), .here_o(unused_frames), .to_clk_i(rd_clk_i),
      .there_o(frames_there)
  );
  dingo_mac_gray #(.Width(P)) i_beats (
      .from_clk_i(rd_clk_i), .clear_i(rd_clear_i), .step_i(take), .here_o(rd), .to_clk_i(wr_clk_i), .there_o(rd_there)
  );
  wire unused_ok = &{1'b0, unused_frames, rd[P-1]};
endmodule
