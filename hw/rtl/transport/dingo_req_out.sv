// SPDX-License-Identifier: BSD-2-Clause

/// Completions, events and counts of the requester, each in a small queue: a step goes on while all of
/// them have room, so none of its states waits for one.
module dingo_req_out (
    input  logic        clk_i,
    input  logic        rst_ni,
    output logic        room_o,
    output logic        idle_o,        // all queues are empty
    input  rtl_pkg::qpi_t        qp_i,
    input  logic [31:0] qpn_i,
    input  rtl_pkg::cqi_t        cq_i,
    // highest bit: there is one
    input  logic [88:0] cqe_i,         // WQE index, bytes, opcode, status, vendor error
    input  logic [8:0]  event_i,       // enum ev
    input  logic [6:0]  card_i,        // counter of the card, of the QP
    input  logic [4:0]  count_i,
    output logic        cqe_valid_o,
    input  logic        cqe_ready_i,
    output rtl_pkg::cqe_req_t    cqe_o,
    output logic        ev_valid_o,
    input  logic        ev_ready_i,
    output rtl_pkg::ev_t         ev_o,
    output logic        stat_valid_o,
    input  logic        stat_ready_i,
    output rtl_pkg::stat_t       stat_o,
    output logic        qstat_valid_o,
    input  logic        qstat_ready_i,
    output rtl_pkg::qstat_t      qstat_o
);
  rtl_pkg::cqe_req_t cqe;
  logic [2:0] ev_count, stat_count;
  logic [4:0] cqe_count, qstat_count;
  logic [3:0] ready;

  always_comb begin
    cqe = '0;
    cqe.cq = cq_i;
    cqe.qp = qp_i;
    cqe.wqe_index = cqe_i[87:56];
    cqe.byte_len = cqe_i[55:24];
    cqe.qpn_op = {cqe_i[23:16], qpn_i[23:0]};
    cqe.status = cqe_i[15:8];
    cqe.verr = cqe_i[7:0];
  end

  dingo_fifo #(.Width(rtl_pkg::CQE_REQ_W), .LogDepth(4)) u_cqe (
      .clk_i, .rst_ni, .valid_i(cqe_i[88]), .ready_o(ready[0]), .data_i(cqe),
      .valid_o(cqe_valid_o), .ready_i(cqe_ready_i), .data_o(cqe_o), .count_o(cqe_count));
  dingo_fifo #(.Width(rtl_pkg::EV_W), .LogDepth(2)) u_ev (
      .clk_i, .rst_ni, .valid_i(event_i[8]), .ready_o(ready[1]), .data_i({event_i[7:0], qpn_i, 32'd0}),
      .valid_o(ev_valid_o), .ready_i(ev_ready_i), .data_o(ev_o), .count_o(ev_count));
  dingo_fifo #(.Width(rtl_pkg::STAT_W), .LogDepth(2)) u_stat (
      .clk_i, .rst_ni, .valid_i(card_i[6]), .ready_o(ready[2]), .data_i({card_i[5:0], 16'd1}),
      .valid_o(stat_valid_o), .ready_i(stat_ready_i), .data_o(stat_o), .count_o(stat_count));
  dingo_fifo #(.Width(rtl_pkg::QSTAT_W), .LogDepth(4)) u_qstat (
      .clk_i, .rst_ni, .valid_i(count_i[4]), .ready_o(ready[3]), .data_i({qp_i, count_i[3:0], 16'd1}),
      .valid_o(qstat_valid_o), .ready_i(qstat_ready_i), .data_o(qstat_o), .count_o(qstat_count));

  // One more may be on its way. An ACK completes several messages, one a cycle, which is more than dingo_cq takes.
  assign room_o = cqe_count < 5'd14 && ev_count < 3'd2 && stat_count < 3'd2 && qstat_count < 5'd14;
  assign idle_o = {cqe_count, ev_count, stat_count, qstat_count} == '0;

  always_ff @(posedge clk_i) begin
    if (rst_ni) assert (ready == '1);
  end

  wire unused_ok = &{1'b0, qpn_i[31:24]};
endmodule
