// SPDX-License-Identifier: BSD-2-Clause

/// The requester stream: read requests, write packets and interrupt messages take turns, packet by packet. 1 cycle, a
/// beat a cycle. A write is answered when its last beat is in the output register: what the card requests after the
/// answer is behind it in the stream, and PCIe lets no read or message pass a write. A read leaves only when the host
/// has room for it, as the core would stop the whole stream.
module dingo_pcie_rq (
    input  logic         clk_i,
    input  logic         rst_ni,
    input  logic [3:0]   nph_av_i,        // read requests that the host has room for; 15: 15 or more
    output logic         idle_o,
    input  logic         mrd_valid_i,
    output logic         mrd_ready_o,
    input  pcie_pkg::mrd_t mrd_i,
    input  logic         mwr_valid_i,
    output logic         mwr_ready_o,
    input  pcie_pkg::rqbeat_t mwr_i,
    input  logic         mwr_answer_i,
    input  logic         skip_answer_i,
    input  logic         msg_valid_i,
    output logic         msg_ready_o,
    input  logic [61:0]  msg_dword_i,     // address
    input  logic [31:0]  msg_data_i,
    output logic         bvalid_o,
    input  logic         bready_i,
    // to the core
    output logic         tvalid_o,
    input  logic         tready_i,
    output logic [511:0] tdata_o,
    output logic [15:0]  tkeep_o,
    output logic         tlast_o,
    output logic [pcie_pkg::RQ_USER_W-1:0] tuser_o
);
  // ---------------------------------------------------------------- the next turn
  logic within_q, free, credit, b_room;
  logic [2:0] ask, grant;                 // write, read, message
  logic [5:0] late_q;                     // read requests of the last 6 cycles, not counted in nph_av_i yet
  logic [3:0] unknown_q;                  // number of those, and of one in the register
  logic read_q, read_taken;
  pcie_pkg::rqbeat_t beat, beat_q;
  logic valid_q, taken;
  logic [6:0] b_count_q;

  assign credit = nph_av_i > unknown_q;
  assign b_room = !b_count_q[6];
  assign ask = {msg_valid_i, mrd_valid_i && credit, mwr_valid_i && b_room};
  assign free = !valid_q || tready_i;

  dingo_arb #(.N(3)) u_arb (.clk_i, .rst_ni, .req_i(ask), .take_i(free && !within_q), .grant_o(grant));

  assign mwr_ready_o = free && (within_q || grant[0]);
  assign mrd_ready_o = free && !within_q && grant[1];
  assign msg_ready_o = free && !within_q && grant[2];
  assign read_taken = mrd_valid_i && mrd_ready_o;
  assign taken = within_q ? mwr_valid_i : grant != '0;

  // ---------------------------------------------------------------- the beat
  pcie_pkg::rq_t read, message;
  always_comb begin
    read = '0;
    read.kind = pcie_pkg::MEM_READ;
    read.dwords = {3'd0, {1'b0, mrd_i.len} + 4'd1, 4'd0};
    read.tag = mrd_i.tag;
    read.dword = {mrd_i.line, 4'd0};
    message = '0;
    message.kind = pcie_pkg::MEM_WRITE;
    message.dwords = 11'd1;
    message.dword = msg_dword_i;
    beat = mwr_i;
    if (!within_q && !grant[0]) begin
      beat.first = 1'b1;
      beat.last = 1'b1;
      beat.first_be = 4'hf;
      beat.last_be = grant[1] ? 4'hf : 4'h0;
      beat.end_dword = grant[1] ? 4'd3 : 4'd4;
      beat.data[127:0] = grant[1] ? read : message;
      beat.data[159:128] = msg_data_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_q <= 1'b0;
      within_q <= 1'b0;
      read_q <= 1'b0;
      late_q <= '0;
      unknown_q <= '0;
      b_count_q <= '0;
    end else begin
      if (free) begin
        valid_q <= taken;
        read_q <= read_taken;
      end
      if (mwr_valid_i && mwr_ready_o) within_q <= !mwr_i.last;
      late_q <= {late_q[4:0], read_q && tready_i};
      unknown_q <= unknown_q + {3'd0, read_taken} - {3'd0, late_q[5]};
      b_count_q <= b_count_q + 7'(mwr_valid_i && mwr_ready_o && mwr_answer_i) + 7'(skip_answer_i) - 7'(bvalid_o && bready_i);
    end
    if (free) beat_q <= beat;
  end

  assign bvalid_o = b_count_q != '0;
  assign tvalid_o = valid_q;
  assign tdata_o = beat_q.data;
  assign tlast_o = beat_q.last;
  assign tkeep_o = pcie_pkg::keep(beat_q.end_dword);
  always_comb begin
    tuser_o = '0;
    tuser_o[3:0] = beat_q.first_be;
    tuser_o[11:8] = beat_q.last_be;
    tuser_o[20] = beat_q.first;
    tuser_o[26] = beat_q.last;
    tuser_o[31:28] = beat_q.end_dword;
  end
  assign idle_o = !valid_q && b_count_q == '0;

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      if (within_q && free) no_gap: assert (mwr_valid_i);
      if (mwr_valid_i && mwr_ready_o) whole: assert (mwr_i.first == !within_q);
    end
  end
endmodule
