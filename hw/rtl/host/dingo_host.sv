// SPDX-License-Identifier: BSD-2-Clause

/// AXI4 master to host memory, with three engines. Reads of lines (queue entries, page lists, commands) and reads of
/// bytes (payload, frames) share the read channels; ARID[6:5] is 0 for lines only. All writes share one AWID, so that
/// memory sees them in the order in which they were taken. Only the bus can stall the address channels.
module dingo_host (
    input logic clk_i,
    input logic rst_ni,

    // lines: clients always take their answers; answers of one client come in order
    input  logic     [rtl_pkg::LINES-1:0]                   line_valid_i,
    output logic     [rtl_pkg::LINES-1:0]                   line_ready_o,
    input  logic     [rtl_pkg::LINES*rtl_pkg::RDL_REQ_W-1:0]  line_i,
    output logic     [rtl_pkg::LINES-1:0]                   line_rsp_valid_o,
    output rtl_pkg::rdl_rsp_t                               line_rsp_o,

    // reads of bytes: the answer begins in byte 0 of its first beat; answers of one client come in order
    input  logic     [rtl_pkg::READS-1:0]                   read_valid_i,
    output logic     [rtl_pkg::READS-1:0]                   read_ready_o,
    input  logic     [rtl_pkg::READS*rtl_pkg::DMA_REQ_W-1:0]  read_i,
    output logic     [rtl_pkg::READS-1:0]                   read_rsp_valid_o,
    input  logic     [rtl_pkg::READS-1:0]                   read_rsp_ready_i,
    output logic     [rtl_pkg::READS*rtl_pkg::BEAT_W-1:0]     read_rsp_o,

    // writes: a request, then its bytes as beats; `done` when the bus has answered, in order per client
    input  logic     [rtl_pkg::WRITES-1:0]                  write_valid_i,
    output logic     [rtl_pkg::WRITES-1:0]                  write_ready_o,
    input  logic     [rtl_pkg::WRITES*rtl_pkg::DMA_REQ_W-1:0] write_i,
    input  logic     [rtl_pkg::WRITES-1:0]                  wdata_valid_i,
    output logic     [rtl_pkg::WRITES-1:0]                  wdata_ready_o,
    input  logic     [rtl_pkg::WRITES*rtl_pkg::BEAT_W-1:0]    wdata_i,
    output logic     [rtl_pkg::WRITES-1:0]                  done_valid_o,
    output logic                                   done_err_o,

    output logic stat_valid_o,  // dma_errors
    input  logic stat_ready_i,
    output rtl_pkg::stat_t stat_o,
    output logic idle_o,        // nothing outstanding

    // AXI4
    output logic         m_axi_arvalid_o,
    input  logic         m_axi_arready_i,
    output logic [  6:0] m_axi_arid_o,
    output logic [ 63:0] m_axi_araddr_o,   // 64-byte aligned
    output logic [  7:0] m_axi_arlen_o,    // size is always 64 bytes, burst INCR, not across 4 KiB
    input  logic         m_axi_rvalid_i,
    output logic         m_axi_rready_o,
    input  logic [  6:0] m_axi_rid_i,
    input  logic [511:0] m_axi_rdata_i,
    input  logic [  1:0] m_axi_rresp_i,
    input  logic         m_axi_rlast_i,
    output logic         m_axi_awvalid_o,
    input  logic         m_axi_awready_i,
    output logic [ 63:0] m_axi_awaddr_o,   // 64-byte aligned; wstrb selects the bytes
    output logic [  7:0] m_axi_awlen_o,
    output logic         m_axi_wvalid_o,
    input  logic         m_axi_wready_i,
    output logic [511:0] m_axi_wdata_o,
    output logic [ 63:0] m_axi_wstrb_o,
    output logic         m_axi_wlast_o,
    input  logic         m_axi_bvalid_i,
    output logic         m_axi_bready_o,
    input  logic [  1:0] m_axi_bresp_i
);
  // ---------------------------------------------------------------- responses of the bus, in registers
  logic r_valid_q, r_err_q, r_last_q;
  logic [6:0] r_id_q;
  logic [511:0] r_data_q;
  logic b_valid_q, b_err_q;

  assign m_axi_rready_o = 1'b1;  // every read has room for its answer before it is requested
  assign m_axi_bready_o = 1'b1;

  always_ff @(posedge clk_i) begin
    r_valid_q <= rst_ni && m_axi_rvalid_i;
    b_valid_q <= rst_ni && m_axi_bvalid_i;
    b_err_q <= m_axi_bresp_i != '0;
    if (m_axi_rvalid_i) begin
      r_id_q <= m_axi_rid_i;
      r_data_q <= m_axi_rdata_i;
      r_err_q <= m_axi_rresp_i != '0;
      r_last_q <= m_axi_rlast_i;
    end
  end

  // ---------------------------------------------------------------- engines
  logic [1:0] ar_valid, ar_grant;  // 0 lines, 1 bytes
  logic ar_take;
  logic [5:0] l_id;
  logic [6:0] p_id;
  logic [57:0] l_line, p_line;
  logic [2:0] l_len, p_len;
  logic l_idle, p_idle, w_idle, l_error, w_error;
  logic [rtl_pkg::READS-1:0] p_error;
  logic [5:0] aw_len;

  dingo_dma_lines u_lines (
      .clk_i, .rst_ni, .idle_o(l_idle),
      .line_valid_i, .line_ready_o, .line_i, .line_rsp_valid_o, .line_rsp_o, .error_o(l_error),
      .ar_valid_o(ar_valid[0]), .ar_ready_i(ar_take && ar_grant[0]),
      .ar_id_o(l_id), .ar_line_o(l_line), .ar_len_o(l_len),
      .r_valid_i(r_valid_q && r_id_q[6:5] == 2'd0), .r_id_i(r_id_q[5:0]), .r_data_i(r_data_q),
      .r_err_i(r_err_q), .r_last_i(r_last_q)
  );

  dingo_dma_read u_read (
      .clk_i, .rst_ni, .idle_o(p_idle),
      .read_valid_i, .read_ready_o, .read_i, .read_rsp_valid_o, .read_rsp_ready_i, .read_rsp_o,
      .error_o(p_error),
      .ar_valid_o(ar_valid[1]), .ar_ready_i(ar_take && ar_grant[1]),
      .ar_id_o(p_id), .ar_line_o(p_line), .ar_len_o(p_len),
      .r_valid_i(r_valid_q && r_id_q[6:5] != 2'd0), .r_id_i(r_id_q), .r_data_i(r_data_q),
      .r_err_i(r_err_q), .r_last_i(r_last_q)
  );

  dingo_dma_write u_write (
      .clk_i, .rst_ni, .idle_o(w_idle),
      .write_valid_i, .write_ready_o, .write_i, .wdata_valid_i, .wdata_ready_o, .wdata_i,
      .done_valid_o, .done_err_o, .error_o(w_error),
      .aw_valid_o(m_axi_awvalid_o), .aw_ready_i(m_axi_awready_i),
      .aw_line_o(m_axi_awaddr_o[63:6]), .aw_len_o(aw_len),
      .w_valid_o(m_axi_wvalid_o), .w_ready_i(m_axi_wready_i), .w_data_o(m_axi_wdata_o),
      .w_strb_o(m_axi_wstrb_o), .w_last_o(m_axi_wlast_o),
      .b_valid_i(b_valid_q), .b_err_i(b_err_q)
  );
  assign m_axi_awaddr_o[5:0] = '0;
  assign m_axi_awlen_o = {2'b0, aw_len};

  // ---------------------------------------------------------------- read addresses, round-robin
  logic ar_valid_q;
  logic [6:0] ar_id_q;
  logic [57:0] ar_line_q;
  logic [2:0] ar_len_q;

  assign ar_take = !ar_valid_q || m_axi_arready_i;
  dingo_arb #(.N(2)) u_arb (.clk_i, .rst_ni, .req_i(ar_valid), .take_i(ar_take), .grant_o(ar_grant));

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      ar_valid_q <= 1'b0;
    end else if (ar_take) begin
      ar_valid_q <= ar_valid != '0;
      ar_id_q <= ar_grant[1] ? p_id : {1'b0, l_id};
      ar_line_q <= ar_grant[1] ? p_line : l_line;
      ar_len_q <= ar_grant[1] ? p_len : l_len;
    end
  end
  assign m_axi_arvalid_o = ar_valid_q;
  assign m_axi_arid_o = ar_id_q;
  assign m_axi_araddr_o = {ar_line_q, 6'b0};
  assign m_axi_arlen_o = {5'b0, ar_len_q};

  // ---------------------------------------------------------------- errors
  logic [15:0] errors_q;   // not yet counted
  logic [15:0] errors;
  logic stat_valid_q;
  logic [15:0] stat_by_q;

  always_comb begin
    errors = 16'(l_error) + 16'(w_error);
    for (int unsigned i = 0; i < rtl_pkg::READS; i++) errors = errors + 16'(p_error[i]);
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      errors_q <= '0;
      stat_valid_q <= 1'b0;
    end else if (!stat_valid_q || stat_ready_i) begin
      stat_valid_q <= errors_q != '0;
      stat_by_q <= errors_q;
      errors_q <= errors;
    end else begin
      errors_q <= errors_q + errors;
    end
  end
  assign stat_valid_o = stat_valid_q;
  assign stat_o.idx = 6'(dingo_pkg::CARD_DMA_ERRORS);
  assign stat_o.by = stat_by_q;
  assign idle_o = l_idle && p_idle && w_idle && errors_q == '0 && !stat_valid_q;
endmodule
