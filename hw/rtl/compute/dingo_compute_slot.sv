// SPDX-License-Identifier: BSD-2-Clause

/// Compute slot: passes the payload of sent packets, from host memory or inline in WQEs, through the kernel of the
/// packet's QP, as one stream in the order of the descriptors. A kernel is an AXI-Stream module that gets each beat
/// with its offset in the message and the QP's parameter (compute_t), and gives one beat for each, in order, with any
/// latency. Last, length and bus error of a beat bypass the kernel. Responses use kernel `pass`.
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
  localparam int unsigned Kernels = rtl_pkg::KERNELS;
  localparam int unsigned LogPackets = 4;
  localparam int unsigned LogBeats = 6;    // in all kernels together: more than any one of them holds

  // ---- packets whose payload is not yet all in a kernel
  logic              room, begin_packet, looked_q, look_inl_q, look_rsp_q, packet_inl;
  logic [31:0]       look_offset_q;
  rtl_pkg::kernel_t  table_kernel, look_kernel, kernel;
  logic [31:0]       table_param, table_reciprocal, param, reciprocal, packet_offset;
  logic              packet_valid, packet_pop, packet_ready;
  logic [LogPackets:0] packets;

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
      .valid_o(packet_valid), .ready_i(packet_pop), .data_o({packet_inl, kernel, packet_offset, param, reciprocal}),
      .count_o(packets)
  );

  // ---- a beat into the kernel of its packet
  rtl_pkg::beat_t    beat;
  rtl_pkg::compute_t user;
  logic              beat_valid, offer, take, order_ready, begun_q;
  logic [31:0]       offset_q;
  logic [63:0]       keep;
  logic [Kernels-1:0] s_valid, s_ready, m_valid, m_ready, m_last;
  logic [512*Kernels-1:0] m_data;

  assign beat = packet_inl ? inl_i : gather_i;
  assign beat_valid = packet_valid && (packet_inl ? inl_valid_i : gather_valid_i);
  assign offer = beat_valid && order_ready;
  assign take = offer && s_ready[kernel];
  assign gather_ready_o = take && !packet_inl;
  assign inl_ready_o = take && packet_inl;
  assign packet_pop = take && beat.last;
  assign keep = ~(64'hffff_ffff_ffff_fffe << (beat.bytes[5:0] - 6'd1));
  assign user = {begun_q ? offset_q : packet_offset, param, reciprocal};

  always_comb begin
    s_valid = '0;
    s_valid[kernel] = offer;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begun_q <= 1'b0;
    else if (take) begun_q <= !beat.last;
    if (take) offset_q <= user.offset + 32'd64;
  end

  // ---- the kernels
  dingo_kernel_pass u_pass (
      .clk_i, .rst_ni, .s_axis_tvalid_i(s_valid[rtl_pkg::KERNEL_PASS]), .s_axis_tready_o(s_ready[rtl_pkg::KERNEL_PASS]),
      .s_axis_tdata_i(beat.data), .s_axis_tkeep_i(keep), .s_axis_tlast_i(beat.last), .s_axis_tuser_i(user),
      .m_axis_tvalid_o(m_valid[rtl_pkg::KERNEL_PASS]), .m_axis_tready_i(m_ready[rtl_pkg::KERNEL_PASS]),
      .m_axis_tdata_o(m_data[rtl_pkg::KERNEL_PASS*512 +: 512]), .m_axis_tlast_o(m_last[rtl_pkg::KERNEL_PASS])
  );
  dingo_kernel_add_one u_add_one (
      .clk_i, .rst_ni, .s_axis_tvalid_i(s_valid[rtl_pkg::KERNEL_ADD_ONE]), .s_axis_tready_o(s_ready[rtl_pkg::KERNEL_ADD_ONE]),
      .s_axis_tdata_i(beat.data), .s_axis_tkeep_i(keep), .s_axis_tlast_i(beat.last), .s_axis_tuser_i(user),
      .m_axis_tvalid_o(m_valid[rtl_pkg::KERNEL_ADD_ONE]), .m_axis_tready_i(m_ready[rtl_pkg::KERNEL_ADD_ONE]),
      .m_axis_tdata_o(m_data[rtl_pkg::KERNEL_ADD_ONE*512 +: 512]), .m_axis_tlast_o(m_last[rtl_pkg::KERNEL_ADD_ONE])
  );
  dingo_kernel_dlrm u_dlrm (
      .clk_i, .rst_ni, .s_axis_tvalid_i(s_valid[rtl_pkg::KERNEL_DLRM]), .s_axis_tready_o(s_ready[rtl_pkg::KERNEL_DLRM]),
      .s_axis_tdata_i(beat.data), .s_axis_tkeep_i(keep), .s_axis_tlast_i(beat.last), .s_axis_tuser_i(user),
      .m_axis_tvalid_o(m_valid[rtl_pkg::KERNEL_DLRM]), .m_axis_tready_i(m_ready[rtl_pkg::KERNEL_DLRM]),
      .m_axis_tdata_o(m_data[rtl_pkg::KERNEL_DLRM*512 +: 512]), .m_axis_tlast_o(m_last[rtl_pkg::KERNEL_DLRM])
  );

  // ---- beats out, in the order in which they went in
  rtl_pkg::kernel_t  out_kernel;
  logic              order_valid, out_err, out_last, order_pop;
  logic [6:0]        out_bytes;
  logic [511:0]      out_data;
  logic [LogBeats:0] beats;

  dingo_fifo #(.Width(2 + 9), .LogDepth(LogBeats)) u_order (
      .clk_i, .rst_ni, .valid_i(take), .ready_o(order_ready), .data_i({kernel, beat.err, beat.last, beat.bytes}),
      .valid_o(order_valid), .ready_i(order_pop), .data_o({out_kernel, out_err, out_last, out_bytes}),
      .count_o(beats)
  );

  always_comb begin                        // a multiplexer; a variable index into the vector would make a shifter
    out_data = m_data[rtl_pkg::KERNEL_PASS*512 +: 512];
    if (out_kernel == rtl_pkg::KERNEL_ADD_ONE) out_data = m_data[rtl_pkg::KERNEL_ADD_ONE*512 +: 512];
    if (out_kernel == rtl_pkg::KERNEL_DLRM) out_data = m_data[rtl_pkg::KERNEL_DLRM*512 +: 512];
    m_ready = '0;
    m_ready[out_kernel] = order_valid && payload_ready_i;
  end
  assign payload_valid_o = order_valid && m_valid[out_kernel];
  assign order_pop = payload_valid_o && payload_ready_i;
  assign payload_o.err = out_err;
  assign payload_o.last = out_last;
  assign payload_o.bytes = out_bytes;
  assign payload_o.data = out_data;
  assign idle_o = !looked_q && packets == '0 && beats == '0;

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      if (looked_q) assert (packet_ready);
      if (packet_valid) assert (kernel < 2'(Kernels));
      if (beat_valid) assert (beat.bytes != '0 && beat.bytes <= 7'd64 && (beat.last || beat.bytes == 7'd64));
      if (packet_valid) assert (packet_offset[5:0] == '0);  // so records have the same alignment in every beat
      // A kernel gives exactly one beat for each, in order.
      if (payload_valid_o) assert (m_last[out_kernel] == out_last);
      if (!order_valid) assert (m_valid == '0);
    end
  end

  wire unused_ok = &{1'b0, txd_i, beat.bytes[6]};
endmodule
