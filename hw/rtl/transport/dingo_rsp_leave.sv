// SPDX-License-Identifier: BSD-2-Clause

/// Registers for what leaves the responder itself: the packet (txd_o) with its payload's place (seg_o), and the
/// orders to dingo_scatter of a plain step. A plain packet leaves in two cycles: its order when it is loaded, its END
/// when its context is stored; a plain ACK, NAK or response when its context is stored. They stay until they are
/// taken.
module dingo_rsp_leave (
    input  logic              clk_i,
    input  logic              rst_ni,
    // a plain step is loaded
    input  logic              load_i,
    input  logic              rx_i,          // a packet: READ, atomic, else SEND or WRITE
    input  logic              read_i,
    input  logic              atomic_i,
    input  logic              reply_i,       // an ACK or NAK
    input  logic              data_i,        // an item, with the response to its READ or atomic
    input  rsp_pkg::item_t    item_i,        // rx_i: for END
    input  logic [31:0]       offset_i,      // rx_i: of the payload in its message
    input  rtl_pkg::rxh_t     h_i,
    input  rtl_pkg::mr_rsp_t  mr_rsp_i,      // answer for the packet's key
    // a step's context is stored
    input  logic              store_i,
    output logic              send_o,        // a plain ACK, NAK or response leaves with it
    output logic              send_data_o,   // that is a response
    input  rsp_pkg::item_t    data_item_i,   // of that response
    // an ACK or NAK leaves with an event; a packet of the turn leaves
    input  logic              ev_reply_i,
    input  logic              turn_send_i,
    input  logic              turn_read_i,   // it is a READ response: payload of turn_bytes_i at turn_key_i
    input  logic [12:0]       turn_bytes_i,
    input  rtl_pkg::mr_rsp_t  turn_key_i,
    input  rtl_pkg::txd_t     txd_i,         // descriptor of the packet that leaves
    output logic              txd_valid_o,
    input  logic              txd_ready_i,
    output rtl_pkg::txd_t     txd_o,
    output logic              seg_valid_o,
    input  logic              seg_ready_i,
    output rtl_pkg::seg_t     seg_o,
    output logic              scat_valid_o,
    input  logic              scat_ready_i,
    output rtl_pkg::scat_t    scat_o
);
  logic quick_rx_q, quick_send_q, quick_data_q;
  logic [rtl_pkg::ITEM_BITS-1:0] end_q;  // item of the END that leaves
  logic [rtl_pkg::ITEM_BITS-1:0] data_item;
  rtl_pkg::scat_atomic_t atomic;
  assign send_o = quick_send_q;
  assign send_data_o = quick_data_q;
  assign data_item = data_item_i;
  assign atomic.swap = h_i.opcode == roce_pkg::RC_COMPARE_SWAP;
  assign atomic.swap_add = h_i.swap_add;
  assign atomic.compare = h_i.compare;

  always_ff @(posedge clk_i) begin
    if (scat_ready_i) scat_valid_o <= 1'b0;
    if (txd_ready_i) txd_valid_o <= 1'b0;
    if (seg_ready_i) seg_valid_o <= 1'b0;
    if (turn_send_i || (store_i && quick_send_q)) begin
      txd_valid_o <= 1'b1;
      txd_o <= txd_i;
      seg_valid_o <= quick_send_q ? quick_data_q && !data_item_i.atomic : turn_read_i && turn_bytes_i != '0;
      seg_o.last <= 1'b1;
      seg_o.len <= {19'd0, turn_bytes_i};
      seg_o.off <= turn_key_i.off;
      seg_o.mem <= turn_key_i.mem;
      if (quick_data_q) begin
        seg_o.len <= data_item_i.bytes;
        {seg_o.off, seg_o.mem} <= data_item[rsp_pkg::ITEM_PLACE +: rsp_pkg::PLACE_W];
      end
    end
    if (store_i) begin
      if (quick_rx_q) begin
        scat_valid_o <= 1'b1;
        scat_o.op <= rtl_pkg::SCAT_END;
        scat_o.item <= end_q;
      end
      quick_rx_q <= 1'b0;
      quick_send_q <= 1'b0;
      quick_data_q <= 1'b0;
    end
    if (ev_reply_i) begin
      txd_valid_o <= 1'b1;
      txd_o <= txd_i;
    end
    if (load_i) begin
      quick_rx_q <= rx_i;
      quick_send_q <= reply_i || data_i;
      quick_data_q <= data_i;
      if (rx_i) begin
        scat_valid_o <= !read_i;
        scat_o.qp <= item_i.qp[rtl_pkg::QP_LOG-1:0];
        scat_o.offset <= offset_i;
        scat_o.bare <= 1'b0;
        scat_o.op <= atomic_i ? rtl_pkg::SCAT_ATOMIC : rtl_pkg::SCAT_SEG;
        scat_o.no_item <= 1'b0;
        scat_o.to_rsp <= 1'b1;
        scat_o.has_payload <= h_i.len != '0;
        scat_o.item[rtl_pkg::SCAT_ATOMIC_W-1:0] <= atomic;
        scat_o.seg.last <= 1'b1;
        scat_o.seg.len <= atomic_i ? 32'd8 : {19'd0, h_i.len};
        scat_o.seg.off <= mr_rsp_i.off;
        scat_o.seg.mem <= mr_rsp_i.mem;
        end_q <= item_i;
        if (read_i) end_q[rsp_pkg::ITEM_PLACE +: rsp_pkg::PLACE_W] <= {mr_rsp_i.off, mr_rsp_i.mem};
      end
    end
    if (!rst_ni) begin
      scat_valid_o <= 1'b0;
      quick_rx_q <= 1'b0;
      quick_send_q <= 1'b0;
      quick_data_q <= 1'b0;
      txd_valid_o <= 1'b0;
      seg_valid_o <= 1'b0;
    end
  end

  wire unused_ok = &{1'b0, h_i, mr_rsp_i, turn_key_i, data_item};
endmodule
