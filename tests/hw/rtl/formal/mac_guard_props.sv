// SPDX-License-Identifier: BSD-2-Clause

/// What dingo_mac_guard promises whenever the core is reset: the MAC sees AXI-Stream's rules kept, a frame that lost its
/// core ends void and no other does, and a beat that comes in belongs to a frame that no reset touched.
module mac_guard_props (
    input logic clk_i,
    input logic core_i,       // the core is not in reset
    input logic valid_i,
    input logic last_i,
    input logic ready_i,
    input logic s_valid_i,
    input logic s_last_i,
    input logic r_ready_i
);
  logic rst_ni = 1'b0;
  logic tready, m_valid, m_last, m_user, s_ready, r_valid, idle;
  logic [63:0] keep;

  dingo_mac_guard dut (
      .clk_i, .rst_ni, .core_rst_ni(core_i), .idle_o(idle), .tvalid_i(valid_i), .tready_o(tready), .tdata_i(512'd0),
      .tkeep_i(64'd1), .tlast_i(last_i), .m_tvalid_o(m_valid), .m_tready_i(ready_i), .m_tdata_o(), .m_tkeep_o(keep),
      .m_tlast_o(m_last), .m_tuser_o(m_user), .s_tvalid_i(s_valid_i), .s_tready_o(s_ready), .s_tlast_i(s_last_i),
      .rvalid_o(r_valid), .rready_i(r_ready_i)
  );
  // Registers of the guard: run.sh connects them.
  wire dut_open, dut_cut, dut_within, dut_lost;

  logic was_valid_q = 1'b0, was_last_q = 1'b0, was_user_q = 1'b0;  // a beat that the MAC did not take
  logic open_q = 1'b0;        // the core gave the beginning of a frame, not its end
  logic cut_q = 1'b0;         // and lost it
  logic in_q = 1'b0, touched_q = 1'b0;

  always_ff @(posedge clk_i) begin
    rst_ni <= 1'b1;
    if (rst_ni) begin
      was_valid_q <= m_valid && !ready_i;
      was_last_q <= m_last;
      was_user_q <= m_user;
      // What the guard holds for the MAC belongs to an earlier frame, or to this one.
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
      if (m_user) begin
        a_void_ends : assert (m_valid && m_last);
      end
      if (m_valid && m_last && !m_user && keep != 64'd1) begin
        a_filled : assert (keep == 64'hfff_ffff_ffff_ffff);
      end
      if (cut_q) begin
        a_closed : assert (!tready);  // nothing joins the frame that was cut
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
