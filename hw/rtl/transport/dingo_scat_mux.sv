// SPDX-License-Identifier: BSD-2-Clause

/// Merges orders of three sources for dingo_scatter. dingo_dispatch ensures that the orders of one packet come as a
/// whole before those of the next, so sources do not compete, except for the END of a bare ACK (no payload): that goes
/// between two packets. Combinational path; stalls on ready_i only, a bare ACK also while the responder's packet is
/// incomplete.
module dingo_scat_mux (
    input  logic clk_i,
    input  logic rst_ni,
    input  logic d_valid_i,              // dingo_dispatch: the END of a packet that it drops
    output logic d_ready_o,
    input  rtl_pkg::scat_t d_i,
    input  logic req_valid_i,
    output logic req_ready_o,
    input  rtl_pkg::scat_t req_i,
    input  logic rsp_valid_i,
    output logic rsp_ready_o,
    input  rtl_pkg::scat_t rsp_i,
    output logic valid_o,
    input  logic ready_i,
    output rtl_pkg::scat_t scat_o,
    output logic end_o,                  // one cycle: an engine's END was taken
    output logic end_bare_o              // with end_o: of a bare ACK
);
  logic mid_q;                           // the responder's packet has begun and not ended; req_mid_q: the requester's
  logic req_go, req_mid_q;

  assign req_go = req_valid_i && !mid_q;
  assign valid_o = d_valid_i || req_go || rsp_valid_i;
  assign scat_o = req_go ? req_i : rsp_valid_i ? rsp_i : d_i;
  assign req_ready_o = ready_i && !mid_q;
  assign rsp_ready_o = ready_i && !req_go;
  assign d_ready_o = ready_i && !req_go && !rsp_valid_i;
  assign end_o = (req_go || rsp_valid_i) && ready_i && scat_o.op == rtl_pkg::SCAT_END;
  assign end_bare_o = req_go && req_i.bare;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      mid_q <= 1'b0;
      req_mid_q <= 1'b0;
    end else begin
      if (rsp_valid_i && rsp_ready_o) mid_q <= rsp_i.op != rtl_pkg::SCAT_END;
      if (req_go && ready_i) req_mid_q <= req_i.op != rtl_pkg::SCAT_END;
      one_packet: assert (!(rsp_valid_i && d_valid_i) && !((rsp_valid_i || d_valid_i || mid_q) && (req_mid_q || (req_valid_i && !req_i.bare))));
      bare: assert (!req_valid_i || !req_i.bare || (req_i.op == rtl_pkg::SCAT_END && !req_i.has_payload));
    end
  end
endmodule
