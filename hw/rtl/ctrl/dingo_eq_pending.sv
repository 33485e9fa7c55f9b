// SPDX-License-Identifier: BSD-2-Clause

/// Completion events that wait for room in their EQ: a bit for each CQ, with its EQ. dingo_eq's state decides which CQ
/// is read (valid in the next cycle) and how its bit changes.
module dingo_eq_pending (
    input  logic           clk_i,
    input  logic           rst_ni,
    output logic           ready_o,
    input  eq_pkg::state_t state_i,
    input  rtl_pkg::eqi_t  eq_i,         // EQ of the operation
    input  rtl_pkg::cqi_t  cq_i,         // CQ of its event
    input  rtl_pkg::cqi_t  scan_cq_i,    // CQ that DRAIN reads and SCAN uses
    output logic           waits_o,      // the CQ that was read has a waiting event
    output rtl_pkg::eqi_t  eq_o,         // EQ for which it waits
    output logic           hit_o         // it waits for eq_i
);
  logic pend_we, pend_re, pend_set, pend_rd, pend_bit, pend_written, scan_hit;
  rtl_pkg::cqi_t pend_waddr, pend_raddr;
  rtl_pkg::eqi_t pend_eq;
  assign pend_rd = pend_bit && pend_written;
  assign scan_hit = pend_rd && pend_eq == eq_i;
  assign waits_o = pend_rd;
  assign eq_o = pend_eq;
  assign hit_o = scan_hit;
  dingo_marked_ram #(
      .Width(rtl_pkg::EQ_LOG + 1),
      .LogDepth(rtl_pkg::CQ_LOG)
  ) u_pending (
      .clk_i,
      .rst_ni,
      .ready_o,
      .we_i(pend_we),
      .waddr_i(pend_waddr),
      .wdata_i({pend_set, eq_i}),
      .re_i(pend_re),
      .raddr_i(pend_raddr),
      .rdata_o({pend_bit, pend_eq}),
      .written_o(pend_written)
  );

  always_comb begin
    pend_re = 1'b0;
    pend_raddr = cq_i;
    pend_we = 1'b0;
    pend_set = 1'b0;
    pend_waddr = cq_i;
    case (state_i)
      eq_pkg::POST: pend_re = 1'b1;
      eq_pkg::FORGET: pend_re = 1'b1;
      eq_pkg::PEND: begin
        pend_we = !pend_rd;
        pend_set = 1'b1;
      end
      eq_pkg::FORGOT: pend_we = pend_rd;
      eq_pkg::DRAIN: begin
        pend_re = 1'b1;
        pend_raddr = scan_cq_i;
      end
      eq_pkg::SCAN: begin
        pend_we = scan_hit;
        pend_waddr = scan_cq_i;
      end
      default: ;
    endcase
  end
endmodule
