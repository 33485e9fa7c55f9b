// SPDX-License-Identifier: BSD-2-Clause

/// Writes of an admin command to the host: its answer, if it has one (dingo_admin_answers, dingo_admin_out), and its
/// completion (dingo_admin_reply).
module dingo_admin_tell (
    input  logic                clk_i,
    input  logic                rst_ni,
    input  logic [1023:0]       cmd_i,
    input  rtl_pkg::strap_t     strap_i,
    input  admin_pkg::start_t   start_i,
    input  admin_pkg::result_t  result_i,
    input  logic                owner_i,         // the completion's phase
    input  logic [63:0]         reply_addr_i,
    input  rtl_pkg::qp_t        qp_i,            // QUERY_QP
    input  rtl_pkg::req_info_t  req_info_i,
    input  rtl_pkg::rsp_info_t  rsp_info_i,
    output logic                kernel_known_o,  // QUERY_COMPUTE: the kernel exists
    output logic                out_o,           // QUERY_DEVICE: the answer's length is not 0
    output logic [31:0]         stats_len_o,     // QUERY_STATS: length of the answer in bytes
    output admin_pkg::ended_t   out_ended_o,
    output admin_pkg::ended_t   reply_ended_o,
    // dingo_stats
    output logic                read_valid_o,
    input  logic                read_ready_i,
    output logic [5:0]          read_idx_o,
    input  logic                value_valid_i,
    input  logic [63:0]         value_i,
    // dingo_host
    output logic                write_valid_o,
    input  logic                write_ready_i,
    output rtl_pkg::dma_req_t   write_o,
    output logic                wdata_valid_o,
    input  logic                wdata_ready_i,
    output rtl_pkg::beat_t      wdata_o,
    input  logic                written_i,
    input  logic                written_err_i
);
  logic [31:0] op;
  dingo_pkg::admin_hdr_t hdr;
  dingo_pkg::cmd_query_device_t qd;
  dingo_pkg::cmd_query_stats_t qs;
  dingo_pkg::cmd_query_qp_t qq;
  dingo_pkg::cmd_destroy_t destroy;
  assign hdr = cmd_i[dingo_pkg::ADMIN_HDR_W-1:0];
  assign qd = cmd_i[dingo_pkg::CMD_QUERY_DEVICE_W-1:0];
  assign qs = cmd_i[dingo_pkg::CMD_QUERY_STATS_W-1:0];
  assign qq = cmd_i[dingo_pkg::CMD_QUERY_QP_W-1:0];
  assign destroy = cmd_i[dingo_pkg::CMD_DESTROY_W-1:0];
  assign op = 32'(hdr.opcode);

  logic [319:0] kernel_result;
  logic [63:0] unused_range;
  dingo_compute_info i_kernel (
      .index_i(destroy.id), .known_o(kernel_known_o), .smallest_o(unused_range[31:0]), .largest_o(unused_range[63:32]),
      .result_o(kernel_result)
  );

  logic [1023:0] limits, info, out_data;
  logic [31:0] counters, stats_len;
  logic [63:0] out_addr;
  logic [15:0] out_len;
  dingo_admin_answers i_answers (
      .strap_i, .qp_i, .req_info_i, .rsp_info_i, .limits_o(limits), .qp_info_o(info)
  );
  assign counters = qs.scope[0] ? dingo_pkg::QP_COUNTERS : dingo_pkg::CARD_COUNTERS;
  assign stats_len = qs.out_len < {counters[28:0], 3'd0} ? qs.out_len : {counters[28:0], 3'd0};
  assign stats_len_o = stats_len;
  assign out_o = op == dingo_pkg::OP_QUERY_DEVICE && qd.out_len != '0;
  always_comb begin
    out_addr = qq.out_addr;
    out_len = 16'(dingo_pkg::QP_INFO_BYTES);
    out_data = info;
    case (op)
      dingo_pkg::OP_QUERY_DEVICE: begin
        out_addr = qd.out_addr;
        out_len = qd.out_len < dingo_pkg::LIMITS_BYTES ? qd.out_len[15:0] : 16'(dingo_pkg::LIMITS_BYTES);
        out_data = limits;
      end
      dingo_pkg::OP_QUERY_STATS: begin
        out_addr = qs.out_addr;
        out_len = stats_len[15:0];
      end
      default: ;
    endcase
  end

  dingo_pkg::admin_cpl_t cpl;
  always_comb begin
    cpl = '0;
    cpl.cmd_id = hdr.cmd_id;
    cpl.opcode = hdr.opcode;
    cpl.status = result_i.status;
    cpl.detail = result_i.detail;
    cpl.result[63:0] = result_i.result;
    cpl.result[95:64] = result_i.available;
    if (op == dingo_pkg::OP_QUERY_COMPUTE && result_i.status == dingo_pkg::ST_OK) cpl.result = kernel_result;
    cpl.owner = {7'd0, owner_i};
  end

  logic out_done, out_err, out_write_valid, out_wdata_valid, reply_done, reply_err, reply_write_valid, reply_wdata_valid;
  rtl_pkg::dma_req_t out_write, reply_write;
  rtl_pkg::beat_t out_wdata, reply_wdata;
  dingo_admin_out i_out (
      .clk_i, .rst_ni, .start_i(start_i.out), .start_stats_i(start_i.stats), .addr_i(out_addr), .len_i(out_len),
      .data_i(out_data), .done_o(out_done), .err_o(out_err), .read_valid_o, .read_ready_i, .read_idx_o, .value_valid_i,
      .value_i, .write_valid_o(out_write_valid), .write_ready_i, .write_o(out_write), .wdata_valid_o(out_wdata_valid),
      .wdata_ready_i, .wdata_o(out_wdata), .written_i, .written_err_i
  );
  dingo_admin_reply i_reply (
      .clk_i, .rst_ni, .start_i(start_i.reply), .addr_i(reply_addr_i), .cpl_i(cpl), .done_o(reply_done),
      .err_o(reply_err), .write_valid_o(reply_write_valid), .write_ready_i, .write_o(reply_write),
      .wdata_valid_o(reply_wdata_valid), .wdata_ready_i, .wdata_o(reply_wdata), .written_i, .written_err_i
  );
  assign out_ended_o = {out_done, out_err};
  assign reply_ended_o = {reply_done, reply_err};
  assign write_valid_o = out_write_valid || reply_write_valid;
  assign write_o = out_write_valid ? out_write : reply_write;
  assign wdata_valid_o = out_wdata_valid || reply_wdata_valid;
  assign wdata_o = out_wdata_valid ? out_wdata : reply_wdata;

  wire unused_ok = &{1'b0, cmd_i, start_i, hdr, qd, qs, qq, destroy, unused_range, counters, stats_len};
endmodule
