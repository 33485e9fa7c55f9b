// SPDX-License-Identifier: BSD-2-Clause

/// While the receive FIFO is above its high-water mark (high_i), asks the peer to pause all classes that have PFC: a
/// PFC frame with the longest time, repeated before that time is over, and one with time 0 when the FIFO is low again
/// (IEEE 802.1Q clause 36). The frame is one beat of 60 bytes; it waits for taken_i.
module dingo_mac_pfc_tx #(
    parameter int unsigned Cycles = 33,        // so many cycles of clk_i
    parameter int unsigned Quanta = 20,        // are so many quanta
    parameter int unsigned Refresh = 32768     // quanta until the request for a pause is repeated
) (
    input  logic           clk_i,
    input  logic           up_i,
    input  logic [7:0]     enabled_i,          // classes that have PFC
    input  logic [47:0]    mac_i,              // source address
    input  logic           high_i,             // a level of this clock
    output logic           valid_o,
    input  logic           taken_i,
    output mac_pkg::beat_t beat_o,
    output logic           paused_o            // a frame that asks for a pause was taken
);
  if (Refresh > 49_152) $error("dingo_mac_pfc_tx: a pause of 65,535 quanta must not end before the next one is asked for");
  // An early repetition does no harm, so the cycles are rounded down.
  localparam int unsigned Wait = Refresh * Cycles / Quanta;
  localparam int unsigned W = $clog2(Wait + 1);

  logic told_q = 1'b0;                         // the last frame sent asked for a pause
  logic [W-1:0] wait_q = '0;
  logic paused_q = 1'b0, high;

  assign high = high_i && enabled_i != '0;
  assign valid_o = up_i && (high ? !told_q || wait_q == '0 : told_q);

  always_ff @(posedge clk_i) begin
    paused_q <= taken_i && high;
    if (wait_q != '0) wait_q <= wait_q - W'(1);
    if (taken_i) begin
      told_q <= high;
      wait_q <= W'(Wait);
    end
    if (!up_i) told_q <= 1'b0;
  end
  assign paused_o = paused_q;

  logic [15:0] quanta;
  assign quanta = high ? mac_pkg::QUANTA_MOST : 16'd0;
  // Bytes in the order of the frame, the first one leftmost.
  logic [8*18-1:0] head;
  logic [511:0] data;
  assign head = {mac_pkg::ADDRESS_PFC, mac_i, mac_pkg::TYPE_CONTROL, mac_pkg::OPCODE_PFC, 8'd0, enabled_i};
  always_comb begin
    data = '0;
    for (int unsigned i = 0; i < 18; i++) data[8*i+:8] = head[8*(17-i)+:8];
    for (int unsigned i = 0; i < 8; i++)
      if (enabled_i[i]) data[8*(18+2*i)+:16] = {quanta[7:0], quanta[15:8]};
  end
  assign beat_o.user = 1'b0;
  assign beat_o.last = 1'b1;
  assign beat_o.keep = (64'd1 << 60) - 64'd1;
  assign beat_o.data = data;
endmodule
