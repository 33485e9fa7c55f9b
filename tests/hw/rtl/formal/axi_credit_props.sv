// SPDX-License-Identifier: BSD-2-Clause

/// Properties of dingo_axi_guard about outstanding bursts, for any core and a drain at any time: its counters
/// equal those of the bus, and with `drained_o` no burst, write beat or answer is outstanding. Assumption: the bus
/// answers only what it was asked.
module axi_credit_props (
    input logic       clk_i,
    input logic       drain_i,
    input logic       arvalid_i,
    input logic       awvalid_i,
    input logic [7:0] awlen_i,
    input logic       wvalid_i,
    input logic       rready_i,
    input logic       bready_i,
    input logic       m_arready_i,
    input logic       m_rvalid_i,
    input logic       m_rlast_i,
    input logic       m_awready_i,
    input logic       m_wready_i,
    input logic       m_bvalid_i
);
  logic rst_ni = 1'b0;
  logic drained, arready, awready, arvalid, rready, awvalid, wvalid, wlast, bready;

  dingo_axi_guard dut (
      .clk_i, .rst_ni, .drain_i, .drained_o(drained),
      .arvalid_i, .arready_o(arready), .arid_i(7'd0), .araddr_i(64'd0), .arlen_i(8'd0),
      .rvalid_o(), .rready_i, .awvalid_i, .awready_o(awready), .awaddr_i(64'd0), .awlen_i,
      .wvalid_i, .wready_o(), .wdata_i(512'd0), .wstrb_i(64'd0), .wlast_i(1'b0), .bvalid_o(), .bready_i,
      .m_arvalid_o(arvalid), .m_arready_i, .m_arid_o(), .m_araddr_o(), .m_arlen_o(),
      .m_rvalid_i, .m_rready_o(rready), .m_rlast_i, .m_awvalid_o(awvalid), .m_awready_i, .m_awaddr_o(), .m_awlen_o(),
      .m_wvalid_o(wvalid), .m_wready_i, .m_wdata_o(), .m_wstrb_o(), .m_wlast_o(wlast),
      .m_bvalid_i, .m_bready_o(bready)
  );

  // connected by run.sh
  wire [9:0] dut_reads, dut_writes;
  wire [1:0] dut_ar_wr, dut_ar_rd, dut_aw_wr, dut_aw_rd, dut_w_wr, dut_w_rd;
  wire [5:0] dut_len_wr, dut_len_rd;
  wire dut_ar_valid, dut_ar_full, dut_aw_valid, dut_aw_full, dut_len_valid, dut_len_full, dut_w_valid, dut_w_full;
  wire [7:0] dut_len, dut_beat;
  wire [576:0] dut_w0, dut_w1;
  logic [1:0] ars, aws, ws, lasts;
  logic [5:0] lens;
  logic in_w0, in_w1, open;

  assign ars   = dut_ar_wr - dut_ar_rd;
  assign aws   = dut_aw_wr - dut_aw_rd;
  assign ws    = dut_w_wr - dut_w_rd;
  assign lens  = dut_len_wr - dut_len_rd;
  assign in_w0 = ws == 2'd2 || (ws == 2'd1 && !dut_w_rd[0]);
  assign in_w1 = ws == 2'd2 || (ws == 2'd1 && dut_w_rd[0]);
  assign lasts = {1'b0, in_w0 && dut_w0[576]} + {1'b0, in_w1 && dut_w1[576]};
  assign open  = ws != 2'd0 && !(dut_w_wr[0] ? dut_w0[576] : dut_w1[576]);  // the newest beat is not its burst's last

  // Bursts that the bus has taken and not answered.
  logic [9:0] reads_q = 10'd0, addrs_q = 10'd0, datas_q = 10'd0;

  always_ff @(posedge clk_i) begin
    rst_ni <= 1'b1;
    if (!rst_ni) begin
      reads_q <= 10'd0;
      addrs_q <= 10'd0;
      datas_q <= 10'd0;
    end else begin
      reads_q <= reads_q + 10'(arvalid && m_arready_i) - 10'(m_rvalid_i && rready && m_rlast_i);
      addrs_q <= addrs_q + 10'(awvalid && m_awready_i) - 10'(m_bvalid_i && bready);
      datas_q <= datas_q + 10'(wvalid && m_wready_i && wlast) - 10'(m_bvalid_i && bready);
    end
  end

  always_comb begin
    if (m_rvalid_i) assume (reads_q != 10'd0);
    if (m_bvalid_i) assume (addrs_q != 10'd0 && datas_q != 10'd0);
    // dingo_host has 128 read tags and at most 64 writes outstanding
    if (dut_reads >= 10'd512) assume (!arvalid_i);
    if (dut_writes >= 10'd512) assume (!awvalid_i);
    if (rst_ni) begin
      a_reads : assert (dut_reads == reads_q + {8'd0, ars});
      a_writes : assert (dut_writes == addrs_q + {8'd0, aws});
      a_data : assert (dut_writes == datas_q + {8'd0, lasts} + {4'd0, lens});
      a_bound : assert (dut_reads <= 10'd512 && dut_writes <= 10'd512 && reads_q <= 10'd512 && addrs_q <= 10'd512 && datas_q <= 10'd512);
      a_beat : assert (lens == 6'd0 ? dut_beat == 8'd0 : dut_beat <= dut_len);
      a_open : assert (!open || dut_beat != 8'd0);
      a_fifos : assert (ars <= 2'd2 && aws <= 2'd2 && ws <= 2'd2 && lens <= 6'd32);
      a_valid : assert ({dut_ar_valid, dut_aw_valid, dut_len_valid, dut_w_valid} == {ars != 2'd0, aws != 2'd0, lens != 6'd0, ws != 2'd0});
      a_full : assert ({dut_ar_full, dut_aw_full, dut_len_full, dut_w_full} == {ars[1], aws[1], lens[5], ws[1]});
      if (drained) begin
        a_quiet : assert (!arvalid && !awvalid && !wvalid && reads_q == 10'd0 && addrs_q == 10'd0 && datas_q == 10'd0);
      end
      if (drain_i) begin
        a_shut : assert (!arready && !awready && rready && bready);
      end
    end
  end
endmodule
