// SPDX-License-Identifier: BSD-2-Clause

/// Reads the bytes of a frame of dingo_eth_tx (dingo_gather) and passes them on, or gives them to dingo_eth_cut as
/// the head of a frame that is to be cut. Stalls with memory and with frame_ready_i.
module dingo_eth_pass (
    input  logic              clk_i,
    input  logic              rst_ni,
    output logic              idle_o,
    input  logic              xl_flush_i,
    input  logic              seg_valid_i,
    output logic              seg_ready_o,
    input  rtl_pkg::seg_t     seg_i,
    input  logic              send_i,        // beats go to frame_o,
    input  logic              head_i,        // or are the head, for dingo_eth_cut
    input  logic              fresh_i,       // a frame begins,
    input  logic              segment_i,     // or a segment: its first two beats are patched
    input  logic              cutting_i,     // a frame is being cut
    input  logic [22:0]       length_i,      // bytes of the frame
    input  logic [22:0]       most_i,        // most bytes of a frame with a VLAN tag
    output logic              valid_o,       // a beat is there,
    output logic              taken_o,       // and taken
    output rtl_pkg::beat_t    beat_o,
    output logic              second_o,      // it is the second one
    input  logic [511:0]      patched_i,     // the beat with the segment's own fields
    output logic              bad_o,         // the frame must not be sent
    output logic              frame_valid_o,
    input  logic              frame_ready_i,
    output rtl_pkg::beat_t    frame_o,
    // dingo_host
    output logic              read_valid_o,
    input  logic              read_ready_i,
    output rtl_pkg::dma_req_t read_o,
    input  logic              read_rsp_valid_i,
    output logic              read_rsp_ready_o,
    input  rtl_pkg::beat_t    read_rsp_i,
    input  rtl_pkg::rdl_rsp_t line_rsp_i
);
  logic              g_valid, g_ready, taken, unused_read, unused_line_valid;
  rtl_pkg::beat_t    g;
  rtl_pkg::rdl_req_t unused_line;
  // Descriptors have bus addresses: no page list is ever read.
  dingo_gather u_gather (
      .clk_i, .rst_ni, .idle_o, .packet_read_o(unused_read), .xl_flush_i, .seg_valid_i, .seg_ready_o,
      .seg_i, .beat_valid_o(g_valid), .beat_ready_i(g_ready), .beat_o(g),
      .read_valid_o, .read_ready_i, .read_o, .read_rsp_valid_i, .read_rsp_ready_o, .read_rsp_i,
      .line_valid_o(unused_line_valid), .line_ready_i(1'b0), .line_o(unused_line), .line_rsp_valid_i(1'b0),
      .line_rsp_i
  );

  // Without a VLAN tag the limit is four bytes less; the first beat shows whether there is one.
  logic first_q, second_q, patch_q, tag_q, has_tag, too_long, bad;
  assign has_tag = first_q ? g.data[111:96] == roce_pkg::WIRE_VLAN : tag_q;
  assign too_long = !cutting_i && !has_tag && length_i > most_i - 23'd4;
  assign bad = g.err || too_long;
  assign frame_valid_o = g_valid && send_i;
  assign g_ready = head_i || (send_i && frame_ready_i);
  assign taken = g_valid && g_ready;
  assign frame_o.err = g.last && bad;
  assign frame_o.last = g.last;
  assign frame_o.bytes = g.bytes;
  assign frame_o.data = patch_q ? patched_i : g.data;
  assign valid_o = g_valid;
  assign taken_o = taken;
  assign beat_o = g;
  assign second_o = second_q;
  assign bad_o = bad;

  always_ff @(posedge clk_i) begin
    if (taken) begin
      first_q <= g.last;
      second_q <= first_q && !g.last;
      patch_q <= cutting_i && first_q && !g.last;
      tag_q <= has_tag;
    end
    if (segment_i) patch_q <= 1'b1;
    if (!rst_ni) begin
      first_q <= 1'b1;
      second_q <= 1'b0;
    end
    if (!rst_ni || fresh_i) patch_q <= 1'b0;
    if (rst_ni) assert (!unused_line_valid);
  end

  wire unused_ok = &{1'b0, unused_read, unused_line};
endmodule
