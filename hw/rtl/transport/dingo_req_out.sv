// SPDX-License-Identifier: BSD-2-Clause

/// Queues for completions, events and counts of the requester. A step advances only while all of them have room
/// (room_o), so no state of a step waits for one of them.
module dingo_req_out (
    input  logic        clk_i,
    input  logic        rst_ni,
    output logic        room_o,
    output logic        idle_o,        // all queues are empty
    input  rtl_pkg::qpi_t        qp_i,
    input  logic [31:0] qpn_i,
    input  rtl_pkg::cqi_t        cq_i,
    input  req_pkg::report_t     report_i,
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
  rtl_pkg::ev_t ev;
  rtl_pkg::stat_t stat;
  rtl_pkg::qstat_t qstat;
  logic [2:0] ev_count, stat_count;
  logic [4:0] cqe_count, qstat_count;
  logic [3:0] ready;

  always_comb begin
    cqe = '0;
    cqe.cq = cq_i;
    cqe.qp = qp_i;
    cqe.wqe_index = report_i.cqe.wqe_index;
    cqe.byte_len = report_i.cqe.byte_len;
    cqe.qpn_op = {report_i.cqe.opcode, qpn_i[23:0]};
    cqe.status = report_i.cqe.status;
    cqe.verr = report_i.cqe.verr;
    ev.kind = report_i.ev.kind;
    ev.id = qpn_i;
    ev.data = '0;
    stat.idx = report_i.card.idx;
    stat.by = 16'd1;
    qstat.qp = qp_i;
    qstat.idx = report_i.qp.idx;
    qstat.by = 16'd1;
  end

  dingo_fifo #(.Width(rtl_pkg::CQE_REQ_W), .LogDepth(4)) u_cqe (
      .clk_i, .rst_ni, .valid_i(report_i.cqe.valid), .ready_o(ready[0]), .data_i(cqe),
      .valid_o(cqe_valid_o), .ready_i(cqe_ready_i), .data_o(cqe_o), .count_o(cqe_count));
  dingo_fifo #(.Width(rtl_pkg::EV_W), .LogDepth(2)) u_ev (
      .clk_i, .rst_ni, .valid_i(report_i.ev.valid), .ready_o(ready[1]), .data_i(ev),
      .valid_o(ev_valid_o), .ready_i(ev_ready_i), .data_o(ev_o), .count_o(ev_count));
  dingo_fifo #(.Width(rtl_pkg::STAT_W), .LogDepth(2)) u_stat (
      .clk_i, .rst_ni, .valid_i(report_i.card.valid), .ready_o(ready[2]), .data_i(stat),
      .valid_o(stat_valid_o), .ready_i(stat_ready_i), .data_o(stat_o), .count_o(stat_count));
  dingo_fifo #(.Width(rtl_pkg::QSTAT_W), .LogDepth(4)) u_qstat (
      .clk_i, .rst_ni, .valid_i(report_i.qp.valid), .ready_o(ready[3]), .data_i(qstat),
      .valid_o(qstat_valid_o), .ready_i(qstat_ready_i), .data_o(qstat_o), .count_o(qstat_count));

  // Reports arrive a cycle after their step's (dingo_req_back), so room is kept for those under way. 16 completions: an
  // ACK may complete a message each cycle, which is faster than dingo_cq takes them.
  assign room_o = cqe_count < 5'd14 && ev_count < 3'd2 && stat_count < 3'd2 && qstat_count < 5'd14;
  assign idle_o = {cqe_count, ev_count, stat_count, qstat_count} == '0;

  always_ff @(posedge clk_i) begin
    if (rst_ni) assert (ready == '1);
  end

  wire unused_ok = &{1'b0, qpn_i[31:24]};
endmodule
