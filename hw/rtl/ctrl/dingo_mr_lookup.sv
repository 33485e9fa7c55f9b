// SPDX-License-Identifier: BSD-2-Clause

/// One look-up port of dingo_mr_table with its copy of the table. Cycle 1 reads the entry, cycle 2 compares, cycle 3
/// decides: `rsp_valid_o` comes 3 cycles after `req_valid_i`, one look-up a cycle, no stall. A window is paused with
/// its region, whose mark is read in cycle 2.
module dingo_mr_lookup (
    input  logic    clk_i,
    input  logic    rst_ni,
    output logic    ready_o,                       // no write or look-up before
    // writes of the copy
    input  logic    we_i,
    input  rtl_pkg::mri_t    waddr_i,
    input  logic [rtl_pkg::MR_W-1:0] wdata_i,
    input  logic    req_valid_i,
    input  rtl_pkg::mr_req_t req_i,
    output logic    rsp_valid_o,
    output rtl_pkg::mr_rsp_t rsp_o
);
  localparam int unsigned IdxW = rtl_pkg::MR_LOG;

  logic [rtl_pkg::MR_W-1:0] mr_bits;
  rtl_pkg::mr_t mr;
  assign mr = mr_bits;
  logic mr_written, mr_clear, paused_clear;
  assign ready_o = mr_clear && paused_clear;
  dingo_marked_ram #(
      .Width(rtl_pkg::MR_W),
      .LogDepth(IdxW)
  ) u_ram (
      .clk_i,
      .rst_ni,
      .ready_o(mr_clear),
      .we_i,
      .waddr_i,
      .wdata_i,
      .re_i(req_valid_i),
      .raddr_i(req_i.key[16 +: IdxW]),
      .rdata_o(mr_bits),
      .written_o(mr_written)
  );

  // Marks of paused regions, by index of the region
  rtl_pkg::mr_t written;
  logic window, region_paused, paused_bit, paused_written;
  assign region_paused = paused_written && paused_bit;
  assign written = wdata_i;
  assign window = mr.kind == dingo_pkg::MRT_MW1[2:0] || mr.kind == dingo_pkg::MRT_MW2[2:0];
  dingo_marked_ram #(
      .Width(1),
      .LogDepth(IdxW)
  ) u_paused (
      .clk_i,
      .rst_ni,
      .ready_o(paused_clear),
      .we_i(we_i),
      .waddr_i(waddr_i),
      .wdata_i(written.paused),
      .re_i(valid1_q),
      .raddr_i(window ? mr.more[IdxW-1:0] : req1_q.key[16 +: IdxW]),
      .rdata_o(paused_bit),
      .written_o(paused_written)
  );

  // cycle 1
  logic valid1_q;
  rtl_pkg::mr_req_t req1_q;
  // cycle 2
  logic valid2_q, key_ok_q, pd_ok_q, free_q, access_ok_q, fits_q;
  logic [63:0] off_q;   // of va in the region or window
  logic [47:0] place_q; // offset of the region's or window's first byte in `mem`
  logic [63:0] room_q;  // highest offset at which len bytes fit
  rtl_pkg::xmem_t mem_q;
  // cycle 3
  logic valid3_q;
  rtl_pkg::mr_rsp_t rsp_q;

  logic index_ok;  // key bits above the table's index
  if (IdxW < 16) begin : g_index
    assign index_ok = req1_q.key[31:16+IdxW] == '0;
  end else begin : g_all
    assign index_ok = 1'b1;
  end

  // A window's key is a remote key only; one of type 2 is valid only for the QP that bound it.
  localparam logic [5:0] REMOTE = 6'(dingo_pkg::ACC_REMOTE_WRITE | dingo_pkg::ACC_REMOTE_READ | dingo_pkg::ACC_REMOTE_ATOMIC);
  logic allowed;
  always_comb
    case (mr.kind)
      dingo_pkg::MRT_PHYS[2:0]: allowed = req1_q.privileged;
      dingo_pkg::MRT_MW1[2:0]: allowed = (req1_q.access & REMOTE) != '0;
      dingo_pkg::MRT_MW2[2:0]: allowed = (req1_q.access & REMOTE) != '0 && mr.qp == req1_q.qp;
      default: allowed = 1'b1;
    endcase

  assign rsp_valid_o = valid3_q;
  assign rsp_o = rsp_q;

  always_ff @(posedge clk_i) begin : pipeline
    rtl_pkg::mr_rsp_t rsp;
    logic right;
    if (!rst_ni) begin
      valid1_q <= 1'b0;
      valid2_q <= 1'b0;
      valid3_q <= 1'b0;
    end else begin
      valid1_q <= req_valid_i;
      valid2_q <= valid1_q;
      valid3_q <= valid2_q;
    end
    if (req_valid_i) req1_q <= req_i;
    if (valid1_q) begin
      key_ok_q <= index_ok && mr_written && mr.valid && mr.tag == req1_q.key[15:0];
      pd_ok_q <= mr.pdn == req1_q.pdn;
      free_q <= mr.free;
      access_ok_q <= (mr.access & req1_q.access) == req1_q.access && allowed;
      fits_q <= req1_q.va >= mr.iova && 64'(req1_q.len) <= mr.length;
      off_q <= req1_q.va - mr.iova;
      room_q <= mr.length - 64'(req1_q.len);
      place_q <= mr.place;
      mem_q <= mr.mem;
    end
    if (valid2_q) begin
      rsp = '0;
      right = key_ok_q && pd_ok_q && !free_q && access_ok_q && fits_q && off_q <= room_q;
      rsp.ok = right && !region_paused;
      rsp.paused = right && region_paused;
      rsp.verr = !key_ok_q    ? dingo_pkg::VERR_KEY[7:0] :
                 !pd_ok_q     ? dingo_pkg::VERR_KEY_PD[7:0] :
                 free_q       ? dingo_pkg::VERR_KEY_STATE[7:0] :
                 !access_ok_q ? dingo_pkg::VERR_KEY_ACCESS[7:0] :
                 !right       ? dingo_pkg::VERR_KEY_BOUNDS[7:0] : dingo_pkg::VERR_NONE[7:0];
      rsp.off = off_q + {16'd0, place_q};
      rsp.mem = mem_q;
      rsp_q <= rsp;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) length_is_given: assert (!req_valid_i || req_i.len != '0);
  end

  wire unused_ok = &{1'b0, mr, written};
endmodule
