// SPDX-License-Identifier: BSD-2-Clause

/// How far the QP of a turn may send: packets in flight, PSNs and READs outstanding, and whether it waits for a time
/// (RNR). Comparisons that take long are made when the turn begins, and kept; PSNs that are left are a cycle late: the
/// context has been still for a cycle when they are used.
module dingo_req_window (
    input  logic              clk_i,
    input  logic              take_i,      // a turn begins: c_i and cfg_i come from their memories
    input  req_pkg::ctx_t     c_i,         // else the turn's context
    input  rtl_pkg::qp_cfg_t  cfg_i,       // with take_i
    input  logic              flies_i,     // one more packet is in flight
    output req_pkg::window_t  window_o
);
  localparam logic [63:0] NEVER = '1;
  localparam int unsigned WINDOW_LOG = 8;          // 256 request packets in flight
  localparam logic [31:0] PSN_SPAN = 32'd1 << 23;  // PSNs outstanding: half of the number space
  localparam logic [31:0] READ_SPAN = 32'd4096;    // response packets that READs may have outstanding
  localparam logic [4:0] MAX_READS = 5'd1 << rtl_pkg::RD_LOG;

  logic waits_q, near_q, closed;
  logic [WINDOW_LOG:0] flight_q;                   // request packets in flight, up to the window
  logic [4:0] max_reads_q;
  logic signed [32:0] left_q, left_reads_q;
  logic [31:0] in_flight, reach;

  assign in_flight = c_i.send - c_i.oldest - {8'd0, c_i.read_psns};
  assign reach = c_i.new_psn - c_i.oldest;
  assign closed = flight_q[WINDOW_LOG];

  assign window_o.waits = waits_q;
  assign window_o.closed = closed;
  assign window_o.one_left = flight_q[WINDOW_LOG-1:0] == '1;
  assign window_o.in_reach = near_q;
  assign window_o.max_reads = max_reads_q;
  assign window_o.left = left_q;
  assign window_o.left_reads = left_reads_q;

  always_ff @(posedge clk_i) begin
    if (take_i) begin
      waits_q <= c_i.wait_at != NEVER;
      max_reads_q <= cfg_i.max_rd > {3'd0, MAX_READS} ? MAX_READS : cfg_i.max_rd[4:0];
      flight_q <= in_flight[31] ? '0 : in_flight[30:WINDOW_LOG] != '0
                  ? {1'b1, WINDOW_LOG'(0)} : {1'b0, in_flight[WINDOW_LOG-1:0]};
    end else if (flies_i && !closed) flight_q <= flight_q + 1'b1;
    left_q <= $signed({1'b0, PSN_SPAN}) - $signed({reach[31], reach});
    left_reads_q <= $signed({1'b0, READ_SPAN}) - $signed({reach[31], reach});
    near_q <= $signed(reach - READ_SPAN) < 0;
  end

  wire unused_ok = &{1'b0, c_i, cfg_i};
endmodule
