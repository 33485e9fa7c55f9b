// SPDX-License-Identifier: BSD-2-Clause

/// Model of a PCIe block with a host, for the simulation of card and adapter together. Packets of the requester
/// stream become AXI4 accesses to the simulation's host memory; its AXI4-Lite accesses become requests of the
/// completer stream. Each line read is a completion of its own. After reset it fills the MSI-X table; a message then
/// becomes msix_valid_o. One packet at a time, so it says nothing about rates.
module pcie_host (
    input  logic         clk_i,
    input  logic         rst_ni,
    output logic         quiet_o,          // nothing has moved for 127 cycles
    // the adapter
    input  logic         rq_tvalid_i,
    output logic         rq_tready_o,
    input  logic [511:0] rq_tdata_i,
    input  logic         rq_tlast_i,
    input  logic [136:0] rq_tuser_i,
    output logic         rc_tvalid_o,
    output logic [511:0] rc_tdata_o,
    output logic         rc_tlast_o,
    output logic         cq_tvalid_o,
    input  logic         cq_tready_i,
    output logic [511:0] cq_tdata_o,
    output logic [182:0] cq_tuser_o,
    input  logic [1:0]   cq_np_req_i,
    input  logic         cc_tvalid_i,
    input  logic [511:0] cc_tdata_i,
    // the simulation: host memory
    output logic         arvalid_o,
    input  logic         arready_i,
    output logic [6:0]   arid_o,
    output logic [63:0]  araddr_o,
    output logic [7:0]   arlen_o,
    input  logic         rvalid_i,
    output logic         rready_o,
    input  logic [6:0]   rid_i,
    input  logic [511:0] rdata_i,
    input  logic [1:0]   rresp_i,
    output logic         awvalid_o,
    input  logic         awready_i,
    output logic [63:0]  awaddr_o,
    output logic [7:0]   awlen_o,
    output logic         wvalid_o,
    input  logic         wready_i,
    output logic [511:0] wdata_o,
    output logic [63:0]  wstrb_o,
    output logic         wlast_o,
    output logic         msix_valid_o,
    input  logic         msix_ready_i,
    output logic [5:0]   msix_vector_o,
    // the simulation: accesses of the host, bit 0 registers, 1 doorbells
    input  logic [1:0]   awvalid_i,
    output logic [1:0]   awready_o,
    input  logic [43:0]  awaddr_i,
    input  logic [1:0]   wvalid_i,
    output logic [1:0]   wready_o,
    input  logic [127:0] wdata_i,
    input  logic [15:0]  wstrb_i,
    output logic [1:0]   bvalid_o,
    input  logic [1:0]   bready_i,
    input  logic         arvalid_i,        // registers only
    output logic         arready_o,
    input  logic [15:0]  araddr_i,
    output logic         rvalid_o,
    input  logic         rready_i,
    output logic [63:0]  rdata_o
);
  localparam logic [31:0] MessageHigh = 32'hfee0_0000;

  // ---------------------------------------------------------------- a packet of the requester
  logic whole_q, aw_done_q;
  logic [3:0] beat_q, line_q;
  logic [511:0] beats_q[0:15];
  logic [7:0] be_q;                        // last_be, first_be
  pcie_pkg::rq_t rq;
  logic [9:0] first_byte, end_byte;        // place in the lines that it touches
  logic [3:0] lines;
  logic writes, message, done;

  assign rq = beats_q[0][127:0];
  assign rq_tready_o = !whole_q;
  assign message = rq.kind == pcie_pkg::MEM_WRITE && rq.dword[61:30] == MessageHigh;
  assign writes = rq.kind == pcie_pkg::MEM_WRITE && !message;
  assign first_byte = {4'd0, rq.dword[3:0], 2'b00};
  assign end_byte = first_byte + {rq.dwords[7:0], 2'b00};
  assign lines = 4'((end_byte + 10'd63) >> 6);

  assign msix_valid_o = whole_q && message;
  assign msix_vector_o = rq.dword[5:0];
  assign arvalid_o = whole_q && rq.kind == pcie_pkg::MEM_READ;
  assign arid_o = rq.tag[6:0];
  assign araddr_o = {rq.dword, 2'b00};
  assign arlen_o = {4'd0, rq.dwords[7:4]} - 8'd1;
  assign awvalid_o = whole_q && writes && !aw_done_q;
  assign awaddr_o = {rq.dword[61:4], 6'd0};
  assign awlen_o = {4'd0, lines} - 8'd1;
  assign wvalid_o = whole_q && writes && aw_done_q;
  assign wlast_o = line_q + 4'd1 == lines;
  always_comb begin
    wdata_o = '0;
    wstrb_o = '0;
    for (int unsigned d = 0; d < 16; d++) begin
      logic [9:0] at;                      // a dword of the packet's data
      logic [3:0] be;
      at = {2'd0, line_q, 4'(d)} - {6'd0, rq.dword[3:0]};
      be = at == '0 ? be_q[3:0] : at + 10'd1 == rq.dwords[9:0] ? be_q[7:4] : 4'hf;
      if ({2'd0, line_q, 4'(d)} >= {6'd0, rq.dword[3:0]} && at < rq.dwords[9:0]) begin
        wstrb_o[4*d +: 4] = be;
        wdata_o[32*d +: 32] = beats_q[4'((at + 10'd4) >> 4)][32*5'((at + 10'd4) % 10'd16) +: 32];
      end
    end
  end
  assign done = (msix_valid_o && msix_ready_i) || (arvalid_o && arready_i) || (wvalid_o && wready_i && wlast_o);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      whole_q <= 1'b0;
      beat_q <= '0;
      aw_done_q <= 1'b0;
      line_q <= '0;
    end else begin
      if (rq_tvalid_i && rq_tready_o) begin
        whole_q <= rq_tlast_i;
        beat_q <= rq_tlast_i ? '0 : beat_q + 1'b1;
      end
      if (awvalid_o && awready_i) aw_done_q <= 1'b1;
      if (wvalid_o && wready_i) line_q <= line_q + 1'b1;
      if (done) begin
        whole_q <= 1'b0;
        aw_done_q <= 1'b0;
        line_q <= '0;
      end
    end
    if (rq_tvalid_i && rq_tready_o) begin
      beats_q[beat_q] <= rq_tdata_i;
      if (beat_q == '0) be_q <= {rq_tuser_i[11:8], rq_tuser_i[3:0]};
    end
  end

  // ---------------------------------------------------------------- completions: a line each, two beats
  logic [3:0] owed_q[0:127];               // lines of a read not completed yet, by tag
  logic second_q;
  logic [95:0] rest_q;
  pcie_pkg::rc_t rc;
  always_comb begin
    rc = '0;
    rc.tag = {1'b0, rid_i};
    rc.dwords = 11'd16;
    rc.bytes = {3'd0, owed_q[rid_i], 6'd0};
    rc.completed = owed_q[rid_i] == 4'd1;
    rc.poisoned = rresp_i != '0;
    rc.error = {3'd0, rresp_i != '0};
  end
  assign rready_o = !second_q;
  assign rc_tvalid_o = second_q || rvalid_i;
  assign rc_tlast_o = second_q;
  assign rc_tdata_o = second_q ? {416'd0, rest_q} : {rdata_i[415:0], rc};
  always_ff @(posedge clk_i) begin
    second_q <= rst_ni && !second_q && rvalid_i;
    rest_q <= rdata_i[511:416];
    if (arvalid_o && arready_i) owed_q[arid_o] <= rq.dwords[7:4];
    if (rvalid_i && rready_o) owed_q[rid_i] <= owed_q[rid_i] - 1'b1;
  end

  // ---------------------------------------------------------------- requests of the host
  logic [1:0] have_aw_q, have_w_q, owe_b_q;
  logic [21:0] addr_q[2];
  logic [63:0] data_q[2];
  logic [7:0] strb_q[2];
  logic ask_q, wait_q, half_q, answer_q, port, write, read;
  logic [15:0] ask_addr_q;
  logic [63:0] answer_data_q;
  logic [6:0] fill_q;                      // MSI-X vectors whose table entry is written
  logic [5:0] np_q;
  pcie_pkg::cq_t cq;
  logic [511:0] cq_data;
  logic [7:0] cq_be;
  logic low, high;

  assign awready_o = ~have_aw_q;
  assign wready_o = ~have_w_q;
  assign bvalid_o = owe_b_q;
  assign arready_o = !ask_q && !wait_q && !answer_q;
  assign rvalid_o = answer_q;
  assign rdata_o = answer_data_q;
  assign port = (have_aw_q & have_w_q) == 2'b10;
  assign write = fill_q[6] && (have_aw_q & have_w_q) != '0;
  assign read = fill_q[6] && !write && ask_q && np_q != '0;
  assign low = strb_q[port][3:0] != '0;
  assign high = strb_q[port][7:4] != '0;

  always_comb begin
    cq = '0;
    cq.requester = 16'h0018;
    cq.tag = 8'h21;
    cq_data = '0;
    cq_be = '0;
    if (!fill_q[6]) begin
      cq.kind = pcie_pkg::MEM_WRITE;
      cq.dwords = 11'd4;
      cq.dword = {48'd0, 6'b100000, fill_q[5:0], 2'd0};
      cq_be = 8'hff;
      cq_data[64+:64] = {32'd0, 26'd0, fill_q[5:0]};
      cq_data[0+:64] = {MessageHigh, 24'd0, fill_q[5:0], 2'b00};
    end else if (write) begin
      cq.kind = pcie_pkg::MEM_WRITE;
      cq.bar = port ? 3'd2 : 3'd0;
      cq.dwords = low && high ? 11'd2 : 11'd1;
      cq.dword = {42'd0, addr_q[port][21:3], !low};
      cq_be = !low ? {4'h0, strb_q[port][7:4]} : strb_q[port];
      cq_data[63:0] = low ? data_q[port] : {32'd0, data_q[port][63:32]};
    end else begin
      cq.kind = pcie_pkg::MEM_READ;
      cq.dwords = ask_addr_q[2] ? 11'd1 : 11'd2;
      cq.dword = {48'd0, ask_addr_q[15:2]};
      cq_be = ask_addr_q[2] ? 8'h0f : 8'hff;
    end
  end
  assign cq_tvalid_o = !fill_q[6] || write || read;
  assign cq_tdata_o = {cq_data[383:0], cq};
  assign cq_tuser_o = {171'd0, cq_be[7:4], 4'd0, cq_be[3:0]};

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      {have_aw_q, have_w_q, owe_b_q, ask_q, wait_q, answer_q} <= '0;
      fill_q <= '0;
      np_q <= '0;
    end else begin
      owe_b_q <= owe_b_q & ~bready_i;
      have_aw_q <= have_aw_q | awvalid_i;
      have_w_q <= have_w_q | wvalid_i;
      if (cq_tvalid_o && cq_tready_i) begin
        if (!fill_q[6]) fill_q <= fill_q + 1'b1;
        else if (write) begin
          have_aw_q[port] <= 1'b0;
          have_w_q[port] <= 1'b0;
          owe_b_q[port] <= 1'b1;
        end else begin
          ask_q <= 1'b0;
          wait_q <= 1'b1;
        end
      end
      np_q <= np_q + {4'd0, cq_np_req_i} - 6'(read && cq_tready_i);
      if (arvalid_i && arready_o) ask_q <= 1'b1;
      if (cc_tvalid_i) begin
        wait_q <= 1'b0;
        answer_q <= 1'b1;
      end
      if (answer_q && rready_i) answer_q <= 1'b0;
    end
    for (int unsigned p = 0; p < 2; p++) begin
      if (awvalid_i[p] && awready_o[p]) addr_q[p] <= awaddr_i[22*p +: 22];
      if (wvalid_i[p] && wready_o[p]) begin
        data_q[p] <= wdata_i[64*p +: 64];
        strb_q[p] <= wstrb_i[8*p +: 8];
      end
    end
    if (arvalid_i && arready_o) ask_addr_q <= araddr_i;
    if (read && cq_tready_i) half_q <= ask_addr_q[2];
    if (cc_tvalid_i) answer_data_q <= half_q ? {cc_tdata_i[127:96], 32'd0} : cc_tdata_i[159:96];
  end

  // ---------------------------------------------------------------- at rest
  logic [6:0] rest_count_q;
  assign quiet_o = &rest_count_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || rq_tvalid_i || whole_q || rc_tvalid_o || cq_tvalid_o || cc_tvalid_i || ask_q || wait_q ||
        awvalid_i != '0 || arvalid_i)
      rest_count_q <= '0;
    else if (!quiet_o) rest_count_q <= rest_count_q + 1'b1;
  end
endmodule
