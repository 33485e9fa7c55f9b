// SPDX-License-Identifier: BSD-2-Clause

/// Half of the counters of all QPs: those with an even, or those with an odd index. One operation a cycle, by priority:
/// clearing (8 cycles), reads, steps. Packet and byte counters are in different halves, so that both count in the same
/// cycle.
module dingo_stats_qp (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        hold_i,           // count no steps
    output logic        idle_o,           // all steps taken are counted
    // steps of this half
    input  logic [rtl_pkg::QSTATS-1:0]                 valid_i,
    output logic [rtl_pkg::QSTATS-1:0]                 take_o,
    input  logic [rtl_pkg::QSTATS*rtl_pkg::QSTAT_W-1:0] step_i,
    input  logic        clear_i,          // clear the counters of clear_qp_i; only while busy_o is 0
    input  rtl_pkg::qpi_t        clear_qp_i,
    output logic        busy_o,           // clearing: no read and no other clear
    input  logic        read_i,           // only while busy_o is 0
    input  rtl_pkg::qpi_t        read_qp_i,
    input  logic [2:0]  read_idx_i,       // upper bits of the index
    output logic [63:0] value_o           // in the next cycle
);
  localparam int unsigned StatW = rtl_pkg::QSTAT_W;
  localparam int unsigned Sources = rtl_pkg::QSTATS;
  localparam int unsigned AddrW = rtl_pkg::QP_LOG + 3;

  // A step is selected in one cycle, reads its counter from pick_q in the next and writes it in the one after. The last
  // value written is forwarded.
  logic clear_q, add_q, fwd_q, pick_valid_q, pick_go, we;
  rtl_pkg::qpi_t clear_qp_q;
  logic [2:0] clear_idx_q;
  logic [AddrW-1:0] add_addr_q, waddr, raddr;
  logic [15:0] add_by_q;
  logic [63:0] last_q, sum, ram_data, wdata;
  logic [Sources-1:0] win;
  rtl_pkg::qstat_t step, pick_q;

  dingo_arb #(
      .N(Sources)
  ) u_arb (
      .clk_i,
      .rst_ni,
      .req_i(valid_i),
      .take_i(take_o != '0),
      .grant_o(win)
  );
  assign pick_go = pick_valid_q && !(clear_q || clear_i || read_i || hold_i);
  assign take_o = (pick_valid_q && !pick_go) ? '0 : win;
  always_comb begin
    step = '0;
    for (int i = 0; i < Sources; i++) if (win[i]) step = step_i[i*StatW +: StatW];
  end

  assign raddr = read_i ? {read_qp_i, read_idx_i} : {pick_q.qp, pick_q.idx[3:1]};
  assign value_o = fwd_q ? last_q : ram_data;
  assign sum = value_o + 64'(add_by_q);
  assign we = add_q || clear_q;
  assign waddr = add_q ? add_addr_q : {clear_qp_q, clear_idx_q};
  assign wdata = add_q ? sum : 64'd0;
  assign busy_o = clear_q;
  assign idle_o = !pick_valid_q && !add_q && !clear_q;
  dingo_ram #(
      .Width(64),
      .LogDepth(AddrW)
  ) u_ram (
      .clk_i,
      .we_i(we),
      .waddr_i(waddr),
      .wdata_i(wdata),
      .re_i(read_i || pick_go),
      .raddr_i(raddr),
      .rdata_o(ram_data)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      clear_q <= 1'b0;
      clear_idx_q <= '0;
      pick_valid_q <= 1'b0;
      add_q <= 1'b0;
      fwd_q <= 1'b0;
    end else begin
      pick_valid_q <= take_o != '0 || (pick_valid_q && !pick_go);
      add_q <= pick_go;
      fwd_q <= we && waddr == raddr;
      if (clear_q) begin
        clear_idx_q <= clear_idx_q + 1'b1;
        clear_q <= clear_idx_q != 3'd7;
      end else if (clear_i) clear_q <= 1'b1;
      one_writer: assert (!(add_q && clear_q));  // no step begins with clear_i
    end
    if (clear_i && !clear_q) clear_qp_q <= clear_qp_i;
    if (take_o != '0) pick_q <= step;
    if (pick_go) begin
      add_addr_q <= raddr;
      add_by_q <= pick_q.by;
    end
    if (we) last_q <= wdata;
  end
  wire unused_ok = &{1'b0, pick_q};
endmodule
