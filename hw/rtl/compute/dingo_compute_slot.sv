// SPDX-License-Identifier: BSD-2-Clause

/// Compute slot of the send side: passes the payload of sent packets, from host memory or inline in WQEs, through the
/// kernel of the packet's QP, as one stream in the order of the descriptors. Responses use kernel `pass`.
module dingo_compute_slot (
    input  logic           clk_i,
    input  logic           rst_ni,
    output logic           idle_o,
    // kernel of a QP, from commands; ready when it is in force
    input  logic           cfg_valid_i,
    output logic           cfg_ready_o,
    input  rtl_pkg::qpi_t  cfg_qp_i,
    input  rtl_pkg::kernel_t cfg_kernel_i,
    input  logic [31:0]    cfg_param_i,
    // descriptors, passed on unchanged; they stall while 15 packets wait for their payload
    input  logic           txd_valid_i,
    output logic           txd_ready_o,
    input  rtl_pkg::txd_t  txd_i,
    output logic           txd_valid_o,
    input  logic           txd_ready_i,
    // payload of packets with len != 0: from host memory, or inline
    input  logic           gather_valid_i,
    output logic           gather_ready_o,
    input  rtl_pkg::beat_t gather_i,
    input  logic           inl_valid_i,
    output logic           inl_ready_o,
    input  rtl_pkg::beat_t inl_i,
    output logic           payload_valid_o,
    input  logic           payload_ready_i,
    output rtl_pkg::beat_t payload_o
);
  localparam int unsigned LogPackets = 4;

  // ---- packets whose payload is not yet all in a kernel
  logic              room, begin_packet, looked_q, look_inl_q, look_rsp_q, packet_inl;
  logic [31:0]       look_offset_q;
  rtl_pkg::kernel_t  table_kernel, look_kernel, kernel;
  logic [31:0]       table_param, table_reciprocal;
  rtl_pkg::compute_t packet;
  logic              packet_valid, packet_ready, take, empty;
  logic [LogPackets:0] packets;
  rtl_pkg::beat_t    beat;

  assign room = packets < (LogPackets + 1)'((1 << LogPackets) - 1);  // one more may be in the table's read stage
  assign txd_valid_o = txd_valid_i && room;
  assign txd_ready_o = txd_ready_i && room;
  assign begin_packet = txd_valid_o && txd_ready_i && txd_i.len != '0;

  dingo_compute_config u_config (
      .clk_i, .rst_ni, .cfg_valid_i, .cfg_ready_o, .cfg_qp_i, .cfg_kernel_i, .cfg_param_i,
      .re_i(begin_packet), .qp_i(txd_i.qp),
      .kernel_o(table_kernel), .param_o(table_param), .reciprocal_o(table_reciprocal)
  );

  always_ff @(posedge clk_i) begin
    looked_q <= begin_packet && rst_ni;
    if (begin_packet) begin
      look_inl_q <= txd_i.inl;
      look_rsp_q <= txd_i.from_rsp;
      look_offset_q <= txd_i.offset;
    end
  end
  assign look_kernel = look_rsp_q ? rtl_pkg::KERNEL_PASS : table_kernel;

  dingo_fifo #(.Width(1 + 2 + 96), .LogDepth(LogPackets)) u_packets (
      .clk_i, .rst_ni, .valid_i(looked_q), .ready_o(packet_ready),
      .data_i({look_inl_q, look_kernel, look_offset_q, table_param, table_reciprocal}),
      .valid_o(packet_valid), .ready_i(take && beat.last), .data_o({packet_inl, kernel, packet}), .count_o(packets)
  );

  // ---- their beats
  assign beat = packet_inl ? inl_i : gather_i;
  assign gather_ready_o = take && !packet_inl;
  assign inl_ready_o = take && packet_inl;

  dingo_compute_kernels u_kernels (
      .clk_i, .rst_ni, .empty_o(empty), .valid_i(packet_valid && (packet_inl ? inl_valid_i : gather_valid_i)),
      .taken_o(take), .beat_i(beat), .kernel_i(kernel), .packet_i(packet), .valid_o(payload_valid_o),
      .ready_i(payload_ready_i), .beat_o(payload_o)
  );
  assign idle_o = !looked_q && packets == '0 && empty;

  always_ff @(posedge clk_i) if (rst_ni && looked_q) assert (packet_ready);

  wire unused_ok = &{1'b0, txd_i, beat};
endmodule
