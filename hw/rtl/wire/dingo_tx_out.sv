// SPDX-License-Identifier: BSD-2-Clause

/// Sends whole frames of the RoCE and the Ethernet buffer one after the other, to the MAC or, as loopback, to the
/// receiving side, and writes the ICRC into the end of RoCE frames. `ord` announces the next frame. 1 cycle, a beat a
/// cycle; stalls when the MAC or the loopback's taker does.
module dingo_tx_out (
    input  logic           clk_i,
    input  logic           rst_ni,
    output logic           idle_o,
    input  logic           ord_valid_i,
    output logic           ord_ready_o,
    input  logic           ord_eth_i,       // from the Ethernet buffer, else the RoCE buffer
    input  logic           ord_loop_i,      // loopback
    input  logic [7:0]     ord_beats_i,
    input  logic [6:0]     ord_bytes_i,     // of the last beat
    input  logic [31:0]    ord_icrc_i,
    input  logic           roce_valid_i,
    output logic           roce_ready_o,
    input  logic [511:0]   roce_data_i,
    input  logic           eth_valid_i,
    output logic           eth_ready_o,
    input  logic [511:0]   eth_data_i,
    output logic           loop_valid_o,
    input  logic           loop_ready_i,
    output rtl_pkg::beat_t loop_o,
    output logic           m_axis_tvalid_o,
    input  logic           m_axis_tready_i,
    output logic [511:0]   m_axis_tdata_o,
    output logic [63:0]    m_axis_tkeep_o,
    output logic           m_axis_tlast_o,
    output logic           m_axis_tdest_o   // a RoCE frame
);
  // ---- orders queue
  typedef struct packed {
    logic        eth;
    logic        loop;
    logic [7:0]  beats;
    logic [6:0]  bytes;
    logic [31:0] icrc;
  } order_t;
  order_t      order_in, order;
  logic        valid, pop;
  logic [7:0]  n_q;
  logic [3:0]  held;

  assign order_in.eth = ord_eth_i;
  assign order_in.loop = ord_loop_i;
  assign order_in.beats = ord_beats_i;
  assign order_in.bytes = ord_bytes_i;
  assign order_in.icrc = ord_icrc_i;
  dingo_fifo #(.Width($bits(order)), .LogDepth(3)) u_order (
      .clk_i, .rst_ni,
      .valid_i(ord_valid_i), .ready_o(ord_ready_o),
      .data_i(order_in), .valid_o(valid), .ready_i(pop), .data_o(order), .count_o(held)
  );

  // ---- the next beat
  logic         last, penult, take, src_valid, out_room;

  assign last = n_q + 8'd1 == order.beats;
  assign penult = n_q + 8'd2 == order.beats;
  assign src_valid = valid && (order.eth ? eth_valid_i : roce_valid_i);
  assign take = src_valid && out_room;
  assign roce_ready_o = valid && !order.eth && out_room;
  assign eth_ready_o = valid && order.eth && out_room;
  assign pop = take && last;

  // ---- out
  logic         valid_q, loop_q, last_q, roce_q;
  logic [6:0]   bytes_q;
  logic [511:0] data_q;

  assign out_room = !valid_q || (loop_q ? loop_ready_i : m_axis_tready_i);

  always_ff @(posedge clk_i) begin
    if (out_room) valid_q <= src_valid;
    if (take) begin
      data_q <= order.eth ? eth_data_i : roce_data_i;
      // The ICRC ends the frame; its two halves may lie in two beats.
      if (!order.eth && last) begin
        if (order.bytes == 7'd2) data_q[15:0] <= order.icrc[31:16];
        for (int w = 0; w < 15; w++)
          if (order.bytes == 7'(4 * w + 6)) data_q[w*32+16 +: 32] <= order.icrc;
      end else if (!order.eth && penult && order.bytes == 7'd2) begin
        data_q[511:496] <= order.icrc[15:0];
      end
      loop_q <= order.loop;
      roce_q <= !order.eth;
      last_q <= last;
      bytes_q <= last ? order.bytes : 7'd64;
      n_q <= last ? '0 : n_q + 8'd1;
    end
    if (!rst_ni) begin
      valid_q <= 1'b0;
      n_q <= '0;
    end
  end

  assign loop_valid_o = valid_q && loop_q;
  assign loop_o.err = 1'b0;
  assign loop_o.last = last_q;
  assign loop_o.bytes = bytes_q;
  assign loop_o.data = data_q;
  assign m_axis_tvalid_o = valid_q && !loop_q;
  assign m_axis_tdata_o = data_q;
  assign m_axis_tlast_o = last_q;
  assign m_axis_tdest_o = roce_q;
  assign m_axis_tkeep_o = ~64'd0 >> (7'd64 - bytes_q);
  assign idle_o = held == '0 && !valid_q;
endmodule
