// SPDX-License-Identifier: BSD-2-Clause

/// Compute slot of the receive side: passes the payload of SENDs, WRITEs and datagrams, on its way from dingo_wire_rx
/// to dingo_scatter, through the kernel of the packet's QP. It learns of each packet by the packet's first order to
/// dingo_scatter, and has looked it up when dingo_scatter first wants its payload. Kernel `pass` and all other packets
/// take no time: they pass as soon as the kernels have given the beats before theirs.
module dingo_compute_receive (
    input  logic           clk_i,
    input  logic           rst_ni,
    output logic           idle_o,
    // kernel of a QP, from commands; ready when it is in force
    input  logic           cfg_valid_i,
    output logic           cfg_ready_o,
    input  rtl_pkg::qpi_t  cfg_qp_i,
    input  rtl_pkg::kernel_t cfg_kernel_i,
    input  logic [31:0]    cfg_param_i,
    input  logic           order_i,          // one cycle: dingo_scatter takes scat_i
    input  rtl_pkg::scat_t scat_i,
    // payload, in the order of the packets
    input  logic           payload_valid_i,
    output logic           payload_ready_o,
    input  rtl_pkg::beat_t payload_i,
    output logic           payload_valid_o,
    input  logic           payload_ready_i,
    output rtl_pkg::beat_t payload_o
);
  // More packets than there are orders in dingo_scatter: 64, and 16 steps of dingo_scatter_data.
  localparam int unsigned LogPackets = 7;

  // ---- packets whose payload is not yet all in a kernel or in dingo_scatter
  logic              known_q;             // the packet whose orders are coming has been looked up
  logic              begin_packet, looked_q, look_pass_q, ours;
  logic [31:0]       look_offset_q, table_param, table_reciprocal;
  rtl_pkg::kernel_t  table_kernel, look_kernel, kernel;
  rtl_pkg::compute_t packet;
  logic              packet_valid, packet_ready, packet_pop;
  logic [LogPackets:0] packets;

  assign begin_packet = order_i && !scat_i.bare && scat_i.has_payload && !known_q;
  assign ours = scat_i.to_rsp && scat_i.op != rtl_pkg::SCAT_END;   // a packet that begins with END is dropped

  dingo_compute_config u_config (
      .clk_i, .rst_ni, .cfg_valid_i, .cfg_ready_o, .cfg_qp_i, .cfg_kernel_i, .cfg_param_i,
      .re_i(begin_packet), .qp_i(scat_i.qp),
      .kernel_o(table_kernel), .param_o(table_param), .reciprocal_o(table_reciprocal)
  );

  always_ff @(posedge clk_i) begin
    looked_q <= begin_packet && rst_ni;
    if (!rst_ni) known_q <= 1'b0;
    else if (order_i && !scat_i.bare) known_q <= scat_i.has_payload && scat_i.op != rtl_pkg::SCAT_END;
    if (begin_packet) begin
      look_pass_q <= !ours;
      look_offset_q <= scat_i.offset;
    end
  end
  assign look_kernel = look_pass_q ? rtl_pkg::KERNEL_PASS : table_kernel;

  dingo_fifo #(.Width(2 + 96), .LogDepth(LogPackets)) u_packets (
      .clk_i, .rst_ni, .valid_i(looked_q), .ready_o(packet_ready),
      .data_i({look_kernel, look_offset_q, table_param, table_reciprocal}),
      .valid_o(packet_valid), .ready_i(packet_pop), .data_o({kernel, packet}), .count_o(packets)
  );

  // ---- their beats: beside the kernels, or through one
  logic           is_pass, empty, take, out_valid;
  rtl_pkg::beat_t out;

  assign is_pass = kernel == rtl_pkg::KERNEL_PASS;

  dingo_compute_kernels #(.Pass(1'b0)) u_kernels (
      .clk_i, .rst_ni, .empty_o(empty), .valid_i(packet_valid && !is_pass && payload_valid_i), .taken_o(take),
      .beat_i(payload_i), .kernel_i(kernel), .packet_i(packet), .valid_o(out_valid), .ready_i(payload_ready_i),
      .beat_o(out)
  );
  assign payload_valid_o = empty ? packet_valid && is_pass && payload_valid_i : out_valid;
  assign payload_o = empty ? payload_i : out;
  assign payload_ready_o = is_pass ? packet_valid && empty && payload_ready_i : take;
  assign packet_pop = payload_valid_i && payload_ready_o && payload_i.last;
  assign idle_o = !looked_q && packets == '0 && empty;

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      if (looked_q) assert (packet_ready);
      // So the look-up at the first order counts for all of the packet.
      if (order_i && !scat_i.bare && known_q) assert (scat_i.has_payload);
    end
  end

  wire unused_ok = &{1'b0, scat_i};
endmodule
