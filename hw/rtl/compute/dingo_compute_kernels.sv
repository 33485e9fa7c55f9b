// SPDX-License-Identifier: BSD-2-Clause

/// The kernels of one direction: passes the beats of packets, one packet after the other, through the kernel of each
/// packet, and gives them back in the same order. A kernel is an AXI-Stream module that gets each beat with its offset
/// in the message and the QP's parameter (compute_t), and gives one beat for each, in order, with any latency. Last,
/// length and bus error of a beat bypass the kernel.
module dingo_compute_kernels #(
    parameter bit Pass = 1'b1                // 0: no packet has kernel `pass`, which is left out
) (
    input  logic              clk_i,
    input  logic              rst_ni,
    output logic              empty_o,       // no beat is in a kernel
    // beats of the packet; its kernel, offset and parameter are stable until its last beat is taken
    input  logic              valid_i,
    output logic              taken_o,       // the beat is taken in this cycle
    input  rtl_pkg::beat_t    beat_i,
    input  rtl_pkg::kernel_t  kernel_i,
    input  rtl_pkg::compute_t packet_i,
    output logic              valid_o,
    input  logic              ready_i,
    output rtl_pkg::beat_t    beat_o
);
  localparam int unsigned Kernels = rtl_pkg::KERNELS;
  localparam int unsigned LogBeats = 6;      // in all kernels together: more than any one of them holds

  // ---- a beat into the kernel of its packet
  rtl_pkg::compute_t user;
  logic              offer, order_ready, begun_q;
  logic [31:0]       offset_q;
  logic [63:0]       keep;
  logic [Kernels-1:0] s_valid, s_ready, m_valid, m_ready, m_last;
  logic [512*Kernels-1:0] m_data;

  assign offer = valid_i && order_ready;
  assign taken_o = offer && s_ready[kernel_i];
  assign keep = ~(64'hffff_ffff_ffff_fffe << (beat_i.bytes[5:0] - 6'd1));
  assign user = {begun_q ? offset_q : packet_i.offset, packet_i.param, packet_i.reciprocal};

  always_comb begin
    s_valid = '0;
    s_valid[kernel_i] = offer;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begun_q <= 1'b0;
    else if (taken_o) begun_q <= !beat_i.last;
    if (taken_o) offset_q <= user.offset + 32'd64;
  end

  // ---- the kernels
  if (Pass) begin : pass
    dingo_kernel_pass u_kernel (
        .clk_i, .rst_ni, .s_axis_tvalid_i(s_valid[rtl_pkg::KERNEL_PASS]), .s_axis_tready_o(s_ready[rtl_pkg::KERNEL_PASS]),
        .s_axis_tdata_i(beat_i.data), .s_axis_tkeep_i(keep), .s_axis_tlast_i(beat_i.last), .s_axis_tuser_i(user),
        .m_axis_tvalid_o(m_valid[rtl_pkg::KERNEL_PASS]), .m_axis_tready_i(m_ready[rtl_pkg::KERNEL_PASS]),
        .m_axis_tdata_o(m_data[rtl_pkg::KERNEL_PASS*512 +: 512]), .m_axis_tlast_o(m_last[rtl_pkg::KERNEL_PASS])
    );
  end else begin : no_pass
    assign s_ready[rtl_pkg::KERNEL_PASS] = 1'b0;
    assign m_valid[rtl_pkg::KERNEL_PASS] = 1'b0;
    assign m_data[rtl_pkg::KERNEL_PASS*512 +: 512] = '0;
    assign m_last[rtl_pkg::KERNEL_PASS] = 1'b0;
    wire unused_ok = &{1'b0, s_valid[rtl_pkg::KERNEL_PASS], m_ready[rtl_pkg::KERNEL_PASS]};
  end
  dingo_kernel_add_one u_add_one (
      .clk_i, .rst_ni, .s_axis_tvalid_i(s_valid[rtl_pkg::KERNEL_ADD_ONE]), .s_axis_tready_o(s_ready[rtl_pkg::KERNEL_ADD_ONE]),
      .s_axis_tdata_i(beat_i.data), .s_axis_tkeep_i(keep), .s_axis_tlast_i(beat_i.last), .s_axis_tuser_i(user),
      .m_axis_tvalid_o(m_valid[rtl_pkg::KERNEL_ADD_ONE]), .m_axis_tready_i(m_ready[rtl_pkg::KERNEL_ADD_ONE]),
      .m_axis_tdata_o(m_data[rtl_pkg::KERNEL_ADD_ONE*512 +: 512]), .m_axis_tlast_o(m_last[rtl_pkg::KERNEL_ADD_ONE])
  );
  dingo_kernel_dlrm u_dlrm (
      .clk_i, .rst_ni, .s_axis_tvalid_i(s_valid[rtl_pkg::KERNEL_DLRM]), .s_axis_tready_o(s_ready[rtl_pkg::KERNEL_DLRM]),
      .s_axis_tdata_i(beat_i.data), .s_axis_tkeep_i(keep), .s_axis_tlast_i(beat_i.last), .s_axis_tuser_i(user),
      .m_axis_tvalid_o(m_valid[rtl_pkg::KERNEL_DLRM]), .m_axis_tready_i(m_ready[rtl_pkg::KERNEL_DLRM]),
      .m_axis_tdata_o(m_data[rtl_pkg::KERNEL_DLRM*512 +: 512]), .m_axis_tlast_o(m_last[rtl_pkg::KERNEL_DLRM])
  );

  // ---- beats out, in the order in which they went in
  rtl_pkg::kernel_t  out_kernel;
  logic              order_valid, out_err, out_last;
  logic [6:0]        out_bytes;
  logic [511:0]      out_data;
  logic [LogBeats:0] beats;

  dingo_fifo #(.Width(2 + 9), .LogDepth(LogBeats)) u_order (
      .clk_i, .rst_ni, .valid_i(taken_o), .ready_o(order_ready),
      .data_i({kernel_i, beat_i.err, beat_i.last, beat_i.bytes}), .valid_o(order_valid), .ready_i(valid_o && ready_i),
      .data_o({out_kernel, out_err, out_last, out_bytes}), .count_o(beats)
  );

  always_comb begin                        // a multiplexer; a variable index into the vector would make a shifter
    out_data = m_data[rtl_pkg::KERNEL_PASS*512 +: 512];
    if (out_kernel == rtl_pkg::KERNEL_ADD_ONE) out_data = m_data[rtl_pkg::KERNEL_ADD_ONE*512 +: 512];
    if (out_kernel == rtl_pkg::KERNEL_DLRM) out_data = m_data[rtl_pkg::KERNEL_DLRM*512 +: 512];
    m_ready = '0;
    m_ready[out_kernel] = order_valid && ready_i;
  end
  assign valid_o = order_valid && m_valid[out_kernel];
  assign beat_o.err = out_err;
  assign beat_o.last = out_last;
  assign beat_o.bytes = out_bytes;
  assign beat_o.data = out_data;
  assign empty_o = !order_valid;

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      if (valid_i) assert (kernel_i < 2'(Kernels) && (Pass || kernel_i != rtl_pkg::KERNEL_PASS));
      if (valid_i) assert (beat_i.bytes != '0 && beat_i.bytes <= 7'd64 && (beat_i.last || beat_i.bytes == 7'd64));
      if (valid_i) assert (packet_i.offset[5:0] == '0);    // so records have the same alignment in every beat
      // A kernel gives exactly one beat for each, in order.
      if (valid_o) assert (m_last[out_kernel] == out_last);
      if (!order_valid) assert (m_valid == '0);
    end
  end

  wire unused_ok = &{1'b0, beat_i.bytes[6], beats};
endmodule
