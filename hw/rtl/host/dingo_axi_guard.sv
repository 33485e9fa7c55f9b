// SPDX-License-Identifier: BSD-2-Clause

/// Keeps the AXI4 master legal through a function-level reset: while `drain_i` is set (the core is in reset), it sends
/// the missing write data with no byte enabled, and takes and drops responses. `drained_o`: nothing is outstanding.
/// The core gives write data after its address, never before. AR, AW and W have queues of 2, one cycle; R and B
/// pass combinationally. Writes stall while the data of 32 bursts is missing.
module dingo_axi_guard (
    input  logic         clk_i,
    input  logic         rst_ni,           // power on
    input  logic         drain_i,
    output logic         drained_o,
    // from the core
    input  logic         arvalid_i,
    output logic         arready_o,
    input  logic [  6:0] arid_i,
    input  logic [ 63:0] araddr_i,
    input  logic [  7:0] arlen_i,
    output logic         rvalid_o,
    input  logic         rready_i,
    input  logic         awvalid_i,
    output logic         awready_o,
    input  logic [ 63:0] awaddr_i,
    input  logic [  7:0] awlen_i,
    input  logic         wvalid_i,
    output logic         wready_o,
    input  logic [511:0] wdata_i,
    input  logic [ 63:0] wstrb_i,
    input  logic         wlast_i,
    output logic         bvalid_o,
    input  logic         bready_i,
    // to the bus
    output logic         m_arvalid_o,
    input  logic         m_arready_i,
    output logic [  6:0] m_arid_o,
    output logic [ 63:0] m_araddr_o,
    output logic [  7:0] m_arlen_o,
    input  logic         m_rvalid_i,
    output logic         m_rready_o,
    input  logic         m_rlast_i,
    output logic         m_awvalid_o,
    input  logic         m_awready_i,
    output logic [ 63:0] m_awaddr_o,
    output logic [  7:0] m_awlen_o,
    output logic         m_wvalid_o,
    input  logic         m_wready_i,
    output logic [511:0] m_wdata_o,
    output logic [ 63:0] m_wstrb_o,
    output logic         m_wlast_o,
    input  logic         m_bvalid_i,
    output logic         m_bready_o
);
  // A transfer once offered to the bus stays in these queues, which a reset of the core does not clear.
  logic ar_room, aw_room, w_room, len_room, len_valid;
  logic ar_push, aw_push, w_push, w_done;
  logic [7:0] len;
  logic [7:0] beat_q;                    // beats of the present burst that were sent
  logic [9:0] reads_q, writes_q;         // bursts without their last response

  assign ar_push   = arvalid_i && !drain_i;
  assign arready_o = ar_room && !drain_i;
  assign aw_push   = awvalid_i && len_room && !drain_i;
  assign awready_o = aw_room && len_room && !drain_i;
  assign w_push    = len_valid && (drain_i || wvalid_i);
  assign wready_o  = w_room && len_valid && !drain_i;
  assign w_done    = w_push && w_room && beat_q == len;

  dingo_fifo #(
      .Width(79),
      .LogDepth(1)
  ) i_ar (
      .clk_i,
      .rst_ni,
      .valid_i(ar_push),
      .ready_o(ar_room),
      .data_i({arid_i, araddr_i, arlen_i}),
      .valid_o(m_arvalid_o),
      .ready_i(m_arready_i),
      .data_o({m_arid_o, m_araddr_o, m_arlen_o}),
      .count_o(unused_ar_count)
  );
  dingo_fifo #(
      .Width(72),
      .LogDepth(1)
  ) i_aw (
      .clk_i,
      .rst_ni,
      .valid_i(aw_push),
      .ready_o(aw_room),
      .data_i({awaddr_i, awlen_i}),
      .valid_o(m_awvalid_o),
      .ready_i(m_awready_i),
      .data_o({m_awaddr_o, m_awlen_o}),
      .count_o(unused_aw_count)
  );
  dingo_fifo #(
      .Width(8),
      .LogDepth(5)
  ) i_len (
      .clk_i,
      .rst_ni,
      .valid_i(aw_push && aw_room),
      .ready_o(len_room),
      .data_i(awlen_i),
      .valid_o(len_valid),
      .ready_i(w_done),
      .data_o(len),
      .count_o(unused_len_count)
  );
  dingo_fifo #(
      .Width(577),
      .LogDepth(1)
  ) i_w (
      .clk_i,
      .rst_ni,
      .valid_i(w_push),
      .ready_o(w_room),
      .data_i({beat_q == len, drain_i ? 64'd0 : wstrb_i, wdata_i}),
      .valid_o(m_wvalid_o),
      .ready_i(m_wready_i),
      .data_o({m_wlast_o, m_wstrb_o, m_wdata_o}),
      .count_o(unused_w_count)
  );

  assign rvalid_o   = m_rvalid_i && !drain_i;
  assign m_rready_o = rready_i || drain_i;
  assign bvalid_o   = m_bvalid_i && !drain_i;
  assign m_bready_o = bready_i || drain_i;
  assign drained_o  = drain_i && reads_q == '0 && writes_q == '0;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      beat_q   <= '0;
      reads_q  <= '0;
      writes_q <= '0;
    end else begin
      if (w_push && w_room) beat_q <= beat_q == len ? '0 : beat_q + 1'b1;
      reads_q <= reads_q + 10'(ar_push && ar_room) - 10'(m_rvalid_i && m_rready_o && m_rlast_i);
      writes_q <= writes_q + 10'(aw_push && aw_room) - 10'(m_bvalid_i && m_bready_o);
      // A burst with a wrong number of beats would shift all data behind it.
      if (w_push && w_room && !drain_i) assert (wlast_i == (beat_q == len));
      assert (!(&reads_q) && !(&writes_q));
    end
  end

  logic [1:0] unused_ar_count, unused_aw_count, unused_w_count;
  logic [5:0] unused_len_count;
  wire unused_ok = &{1'b0, unused_ar_count, unused_aw_count, unused_w_count, unused_len_count, wlast_i};
endmodule
