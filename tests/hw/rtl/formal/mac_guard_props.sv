// SPDX-License-Identifier: BSD-2-Clause

/// Properties of dingo_mac_guard for resets of the core at any time: its output to the MAC keeps the rules of AXI-Stream;
/// a frame ends with tuser exactly when a reset of the core cut it; a received frame that overlaps a reset is dropped.
module mac_guard_props (
    input logic clk_i,
    input logic core_i,       // the core is not in reset
    input logic valid_i,
    input logic last_i,
    input logic dest_i,
    input logic ready_i,
    input logic s_valid_i,
    input logic s_last_i,
    input logic r_ready_i
);
  logic rst_ni = 1'b0;
  logic tready, m_valid, m_last, m_user, m_dest, s_ready, r_valid, idle;
  logic [63:0] keep;

  dingo_mac_guard dut (
      .clk_i, .rst_ni, .core_rst_ni(core_i), .idle_o(idle), .tvalid_i(valid_i), .tready_o(tready), .tdata_i(512'd0),
      .tkeep_i(64'd1), .tlast_i(last_i), .tdest_i(dest_i), .m_tvalid_o(m_valid), .m_tready_i(ready_i), .m_tdata_o(), .m_tkeep_o(keep),
      .m_tlast_o(m_last), .m_tuser_o(m_user), .m_tdest_o(m_dest), .s_tvalid_i(s_valid_i), .s_tready_o(s_ready), .s_tlast_i(s_last_i),
      .rvalid_o(r_valid), .rready_i(r_ready_i)
  );
  // Registers of the guard, connected by run.sh.
  wire dut_open, dut_cut, dut_within, dut_lost;

  logic was_valid_q = 1'b0, was_last_q = 1'b0, was_user_q = 1'b0;  // a beat that the MAC did not take
  logic open_q = 1'b0;        // the core gave the beginning of a frame, not its end
  logic cut_q = 1'b0;         // a reset cut this frame
  logic dest_q = 1'b0;        // tdest of the latest beat of the core
  logic in_q = 1'b0, touched_q = 1'b0;  // in the middle of a received frame; a reset overlapped it

  always_ff @(posedge clk_i) begin
    rst_ni <= 1'b1;
    if (rst_ni) begin
      was_valid_q <= m_valid && !ready_i;
      was_last_q <= m_last;
      was_user_q <= m_user;
      if (valid_i && tready) dest_q <= dest_i;
      // A frame that was cut is closed when the output register is free for its void end.
      if (valid_i && tready) open_q <= !last_i;
      else if (cut_q && (!m_valid || ready_i)) open_q <= 1'b0;
      if (!cut_q) cut_q <= !core_i && open_q;
      else if (!m_valid || ready_i) cut_q <= 1'b0;
      if (s_valid_i && s_ready) in_q <= !s_last_i;
      touched_q <= !core_i || (touched_q && in_q);
    end
  end

  always_comb begin
    if (rst_ni) begin
      a_state : assert (dut_open == open_q && dut_cut == cut_q && dut_within == in_q);
      a_touched : assert (touched_q == dut_lost || !in_q);
      if (was_valid_q) begin
        a_stays : assert (m_valid && m_last == was_last_q && m_user == was_user_q);
      end
      if (m_valid || open_q) begin
        a_whose : assert (m_dest == dest_q);  // also in the void end of a frame that was cut
      end
      if (m_user) begin
        a_void_ends : assert (m_valid && m_last);
      end
      if (m_valid && m_last && !m_user && keep != 64'd1) begin
        a_filled : assert (keep == 64'hfff_ffff_ffff_ffff);
      end
      if (cut_q) begin
        a_closed : assert (!tready);  // no beat is added to the frame that was cut
      end
      if (r_valid) begin
        a_clean : assert (core_i && !(touched_q && in_q));
      end
      if (!core_i) begin
        a_taken : assert (s_ready && !tready);
      end
    end
  end
endmodule
