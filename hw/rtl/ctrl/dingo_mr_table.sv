// SPDX-License-Identifier: BSD-2-Clause

/// Table of memory regions and windows by key, with a copy for each look-up port. A look-up checks key, PD, state,
/// access and bounds, in this order, and is answered after 3 cycles; one a cycle on each port, no stall.
module dingo_mr_table (
    input  logic    clk_i,
    input  logic    rst_ni,
    output logic    ready_o,
    // lookups: 0 requester, 1 responder
    input  logic [1:0]                    req_valid_i,
    input  logic [2*rtl_pkg::MR_REQ_W-1:0]  req_i,
    output logic [1:0]                    rsp_valid_o,
    output logic [2*rtl_pkg::MR_RSP_W-1:0]  rsp_o,
    // commands, dingo_mr_work
    input  logic    re_i,
    input  logic    we_i,
    input  rtl_pkg::mri_t    index_i,
    input  rtl_pkg::mr_t     wdata_i,
    output rtl_pkg::mr_t     rdata_o             // in the cycle after re_i
);
  localparam int unsigned IdxW = rtl_pkg::MR_LOG;
  localparam int unsigned MrW = rtl_pkg::MR_W;
  localparam int unsigned ReqW = rtl_pkg::MR_REQ_W;
  localparam int unsigned RspW = rtl_pkg::MR_RSP_W;

  // Entries not written since reset are not valid.
  logic [1:0] port_ready;
  logic admin_ready, written;
  logic [MrW-1:0] admin_bits;
  rtl_pkg::mr_t admin_mr;
  assign ready_o = admin_ready && port_ready == '1;
  dingo_marked_ram #(
      .Width(MrW),
      .LogDepth(IdxW)
  ) u_admin (
      .clk_i,
      .rst_ni,
      .ready_o(admin_ready),
      .we_i,
      .waddr_i(index_i),
      .wdata_i,
      .re_i,
      .raddr_i(index_i),
      .rdata_o(admin_bits),
      .written_o(written)
  );
  assign admin_mr = admin_bits;
  always_comb begin
    rdata_o = admin_mr;
    rdata_o.valid = admin_mr.valid && written;
  end

  for (genvar p = 0; p < 2; p++) begin : g_port
    rtl_pkg::mr_req_t req;
    rtl_pkg::mr_rsp_t rsp;
    assign req = req_i[p*ReqW +: ReqW];
    dingo_mr_lookup u_lookup (
        .clk_i,
        .rst_ni,
        .ready_o(port_ready[p]),
        .we_i,
        .waddr_i(index_i),
        .wdata_i,
        .req_valid_i(req_valid_i[p]),
        .req_i(req),
        .rsp_valid_o(rsp_valid_o[p]),
        .rsp_o(rsp)
    );
    assign rsp_o[p*RspW +: RspW] = rsp;
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) not_before: assert (ready_o || req_valid_i == '0);
  end
endmodule
