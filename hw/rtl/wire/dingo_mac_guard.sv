// SPDX-License-Identifier: BSD-2-Clause

/// Between the card and the MAC; keeps frames whole when the core is reset (function-level reset). A frame that the
/// reset cuts ends with tuser, on which the MAC sends it with a wrong FCS; of a frame that arrives during the reset
/// no further beat enters the core. Short frames are filled with zeros up to 60 bytes (IEEE 802.3, 4.2.3.3). Out: 1
/// cycle, stalls with m_tready_i. In: 0 cycles, stalls with rready_i.
module dingo_mac_guard (
    input  logic         clk_i,
    input  logic         rst_ni,          // power-on reset
    input  logic         core_rst_ni,
    output logic         idle_o,
    // out
    input  logic         tvalid_i,
    output logic         tready_o,
    input  logic [511:0] tdata_i,
    input  logic [ 63:0] tkeep_i,
    input  logic         tlast_i,
    input  logic         tdest_i,         // a RoCE frame
    output logic         m_tvalid_o,
    input  logic         m_tready_i,
    output logic [511:0] m_tdata_o,
    output logic [ 63:0] m_tkeep_o,
    output logic         m_tlast_o,
    output logic         m_tuser_o,       // with tlast: the frame is void
    output logic         m_tdest_o,
    // in
    input  logic         s_tvalid_i,
    output logic         s_tready_o,
    input  logic         s_tlast_i,
    output logic         rvalid_o,
    input  logic         rready_i
);
  localparam logic [63:0] SHORTEST = (64'd1 << 60) - 64'd1;  // bytes of a frame without FCS

  // ---------------------------------------------------------------- out
  logic open_q;                           // the core has begun a frame and not ended it
  logic cut_q;                            // that frame is cut by a reset and needs an end
  logic room, take, pad, valid_q, last_q, user_q, dest_q;
  logic [511:0] data_q, bytes;
  logic [63:0] keep_q;

  assign room = !valid_q || m_tready_i;
  assign tready_o = room && core_rst_ni && !cut_q;
  assign take = tvalid_i && tready_o;
  assign pad = !open_q && tlast_i;
  always_comb begin
    for (int unsigned i = 0; i < 64; i++) bytes[8*i+:8] = tkeep_i[i] ? tdata_i[8*i+:8] : 8'd0;
  end

  always_ff @(posedge clk_i) begin
    if (room) begin
      valid_q <= take || cut_q;
      data_q <= bytes;
      keep_q <= cut_q ? '1 : pad ? tkeep_i | SHORTEST : tkeep_i;
      last_q <= cut_q || tlast_i;
      user_q <= cut_q;
      if (take) dest_q <= tdest_i;        // keeps the destination of a frame that is cut
    end
    if (!rst_ni) begin
      valid_q <= 1'b0;
      open_q <= 1'b0;
      cut_q <= 1'b0;
    end else begin
      if (take) open_q <= !tlast_i;
      else if (cut_q && room) open_q <= 1'b0;
      cut_q <= cut_q ? !room : !core_rst_ni && open_q;
    end
  end
  assign m_tvalid_o = valid_q;
  assign m_tdata_o = data_q;
  assign m_tkeep_o = keep_q;
  assign m_tlast_o = last_q;
  assign m_tuser_o = valid_q && user_q;
  assign m_tdest_o = dest_q;
  assign idle_o = !valid_q && !cut_q;

  // ---------------------------------------------------------------- in
  logic within_q;                         // the beat before was not the last of its frame
  logic lost_q;                           // that frame met a reset
  logic drop;

  assign drop = !core_rst_ni || (lost_q && within_q);
  assign rvalid_o = s_tvalid_i && !drop;
  assign s_tready_o = rready_i || drop;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      within_q <= 1'b0;
      lost_q <= 1'b0;
    end else begin
      if (s_tvalid_i && s_tready_o) within_q <= !s_tlast_i;
      lost_q <= drop;
    end
  end
endmodule
