// SPDX-License-Identifier: BSD-2-Clause

/// Asks the peer to stop the classes that have PFC while what it sent finds no way into the card: a PFC frame with the longest
/// time when that begins, again before the time is over, and one with time 0 when it ends (IEEE 802.1Q clause 36).
module dingo_mac_pfc_tx #(
    parameter int unsigned Cycles = 33,        // of clk_i, make
    parameter int unsigned Quanta = 20,        // so many quanta
    parameter int unsigned Refresh = 32768     // quanta until a pause is asked for again
) (
    input  logic           clk_i,
    input  logic           up_i,
    input  logic [7:0]     enabled_i,          // classes that have PFC
    input  logic [47:0]    mac_i,
    input  logic           high_i,             // of this clock
    output logic           valid_o,
    input  logic           taken_i,
    output mac_pkg::beat_t beat_o,
    output logic           paused_o            // a frame that asks for a pause was taken
);
  if (Refresh > 49_152) $error("dingo_mac_pfc_tx: a pause of 65,535 quanta must not end before the next one is asked for");
  // A frame that is asked for again early does no harm, so quanta are counted as whole cycles, too few.
  localparam int unsigned Wait = Refresh * Cycles / Quanta;
  localparam int unsigned W = $clog2(Wait + 1);

  logic told_q = 1'b0;                         // the peer believes that it must wait
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
  // Bytes as they stand in the frame, the first one on the left.
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
