// SPDX-License-Identifier: BSD-2-Clause

/// QPs whose work request revoked a key: it completes when all accesses that the key had granted are over. These are
/// the packets that were on their way to an engine (their payload is written after the look-up), and the READ responses
/// whose payload read was ordered, or will be because their request is among those packets. Both are counted in the
/// order in which they end, so the QPs (up to 8) wait in one queue. A QP that need not wait any longer is woken for a
/// turn.
module dingo_req_settle (
    input  logic            clk_i,
    input  logic            rst_ni,
    output logic            idle_o,        // no QP waits; QPs whose wait is over may still be at wake_*
    input  rtl_pkg::flow_t  flow_i,
    output logic            room_o,
    input  logic            push_i,
    input  rtl_pkg::qpi_t   push_qp_i,
    input  rtl_pkg::qpi_t   look_qp_i,
    output logic            waits_o,       // look_qp_i is waiting
    output logic            wake_valid_o,
    input  logic            wake_ready_i,
    output rtl_pkg::qpi_t   wake_qp_o
);
  localparam int unsigned LogPlaces = 3;
  localparam int unsigned Places = 1 << LogPlaces;
  localparam int unsigned LogReads = 8;    // log2 of packets whose payload is being read: more than dingo_gather holds
  // Free running. A mark is at most a pipeline's length away from its count, so 16 bits compare safely.
  typedef logic [15:0] count_t;
  typedef struct packed {
    rtl_pkg::qpi_t qp;
    logic          open;                   // tx is not known yet
    count_t        rx;                     // rx_out_q that must be reached
    count_t        tx;                     // tx_out_q that must be reached
  } wait_t;
  localparam int unsigned WaitW = rtl_pkg::QP_LOG + 33;

  function automatic logic reached(input logic [15:0] count, input logic [15:0] mark);
    reached = $signed(count - mark) >= 0;
  endfunction

  count_t rx_in_q, rx_out_q, tx_in_q, tx_out_q;
  logic [Places*WaitW-1:0] waits_q, waits_d;  // oldest entry in the low bits
  logic [LogPlaces:0] waiting_q, woken;
  wait_t head, entry;
  logic passed, of_rsp, order_valid, order_ready, wake_room;
  logic [LogReads:0] order_count;

  // The engine of each payload read, in order: tx_out does not say whose read has ended.
  dingo_fifo #(.Width(1), .LogDepth(LogReads)) u_order (
      .clk_i, .rst_ni, .valid_i(flow_i.tx_order), .ready_o(order_ready), .data_i(flow_i.tx_order_rsp),
      .valid_o(order_valid), .ready_i(flow_i.tx_out), .data_o(of_rsp), .count_o(order_count));
  dingo_fifo #(.Width(rtl_pkg::QP_LOG), .LogDepth(LogPlaces)) u_woken (
      .clk_i, .rst_ni, .valid_i(passed), .ready_o(wake_room), .data_i(head.qp),
      .valid_o(wake_valid_o), .ready_i(wake_ready_i), .data_o(wake_qp_o), .count_o(woken));

  assign head = waits_q[WaitW-1:0];
  assign passed = waiting_q != '0 && !head.open && reached(rx_out_q, head.rx) && reached(tx_out_q, head.tx);
  assign room_o = waiting_q + woken < (LogPlaces + 1)'(Places - 1);
  assign idle_o = waiting_q == '0;

  always_comb begin
    waits_o = 1'b0;
    waits_d = waits_q;
    for (int unsigned i = 0; i < Places; i++) begin
      entry = waits_q[i*WaitW +: WaitW];
      if ((LogPlaces + 1)'(i) < waiting_q && entry.qp == look_qp_i) waits_o = 1'b1;
      if (entry.open && !flow_i.tx_open && reached(rx_out_q, entry.rx)) begin
        entry.open = 1'b0;
        entry.tx = tx_in_q;
      end
      waits_d[i*WaitW +: WaitW] = entry;
    end
    if (passed) waits_d = waits_d >> WaitW;
    entry.qp = push_qp_i;
    entry.open = 1'b1;
    entry.rx = rx_in_q;
    entry.tx = '0;
    for (int unsigned i = 0; i < Places; i++)
      if (push_i && (LogPlaces + 1)'(i) == waiting_q - {{LogPlaces{1'b0}}, passed}) waits_d[i*WaitW +: WaitW] = entry;
  end

  always_ff @(posedge clk_i) begin
    waits_q <= waits_d;
    waiting_q <= waiting_q + {{LogPlaces{1'b0}}, push_i} - {{LogPlaces{1'b0}}, passed};
    rx_in_q <= rx_in_q + {15'd0, flow_i.rx_in};
    rx_out_q <= rx_out_q + {15'd0, flow_i.rx_out};
    tx_in_q <= tx_in_q + {15'd0, flow_i.tx_in};
    tx_out_q <= tx_out_q + {15'd0, flow_i.tx_out && of_rsp};
    if (!rst_ni) begin
      waiting_q <= '0;
      rx_in_q <= '0;
      rx_out_q <= '0;
      tx_in_q <= '0;
      tx_out_q <= '0;
    end else begin
      a_order: assert ((order_ready || !flow_i.tx_order) && (order_valid || !flow_i.tx_out));
      a_room: assert (!push_i || room_o);
      a_woken: assert (wake_room || !passed);
      a_through: assert (rx_out_q == rx_in_q || reached(rx_in_q, rx_out_q));
    end
  end

  wire unused_ok = &{1'b0, order_count, head};
endmodule
