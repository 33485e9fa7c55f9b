// SPDX-License-Identifier: BSD-2-Clause

/// Reads of bytes: each client has its own tags, queue and buffer (dingo_read_port), so that a client that does not
/// take its answers never delays another. READ_TX has 64 tags: one message of 64 bytes every 4 cycles and a PCIe
/// round trip of 600 ns need 38. AXI IDs: {1, tag of 64} for READ_TX, {01, tag of 32} for READ_ETX.
module dingo_dma_read (
    input  logic clk_i,
    input  logic rst_ni,
    output logic idle_o,
    input  logic [rtl_pkg::READS-1:0]                    read_valid_i,
    output logic [rtl_pkg::READS-1:0]                    read_ready_o,
    input  logic [rtl_pkg::READS*rtl_pkg::DMA_REQ_W-1:0] read_i,
    output logic [rtl_pkg::READS-1:0]                    read_rsp_valid_o,
    input  logic [rtl_pkg::READS-1:0]                    read_rsp_ready_i,
    output logic [rtl_pkg::READS*rtl_pkg::BEAT_W-1:0]    read_rsp_o,
    output logic [rtl_pkg::READS-1:0]                    error_o,  // a request of the client failed
    // read address and data channels
    output logic         ar_valid_o,
    input  logic         ar_ready_i,
    output logic [  6:0] ar_id_o,    // never 00xxxxx: these are dingo_dma_lines'
    output logic [ 57:0] ar_line_o,
    output logic [  2:0] ar_len_o,   // beats - 1
    input  logic         r_valid_i,
    input  logic [  6:0] r_id_i,
    input  logic [511:0] r_data_i,
    input  logic         r_err_i,
    input  logic         r_last_i
);
  localparam int unsigned N = rtl_pkg::READS;
  localparam int unsigned ReqW = rtl_pkg::DMA_REQ_W;
  localparam int unsigned BeatW = rtl_pkg::BEAT_W;
  localparam int unsigned ArW = 68;  // ID, line, length

  logic [N-1:0] idle, ar_valid, grant;
  logic [N*ArW-1:0] ar;
  logic [ArW-1:0] chosen;

  for (genvar i = 0; i < N; i++) begin : g_port
    localparam int unsigned TagLog = i == rtl_pkg::READ_TX ? 6 : 5;
    rtl_pkg::dma_req_t req;
    rtl_pkg::beat_t rsp;
    logic [TagLog-1:0] tag;
    logic [57:0] line;
    logic [2:0] len;
    assign req = read_i[i*ReqW +: ReqW];
    assign read_rsp_o[i*BeatW +: BeatW] = rsp;
    assign ar[i*ArW +: ArW] = {7'(1 << TagLog) | 7'(tag), line, len};
    dingo_read_port #(.TagLog(TagLog)) u_port (
        .clk_i, .rst_ni, .idle_o(idle[i]),
        .req_valid_i(read_valid_i[i]), .req_ready_o(read_ready_o[i]), .req_i(req),
        .rsp_valid_o(read_rsp_valid_o[i]), .rsp_ready_i(read_rsp_ready_i[i]), .rsp_o(rsp),
        .error_o(error_o[i]),
        .ar_valid_o(ar_valid[i]), .ar_ready_i(ar_ready_i && grant[i]), .ar_tag_o(tag),
        .ar_line_o(line), .ar_len_o(len),
        .r_valid_i(r_valid_i && r_id_i[6:TagLog] == (7-TagLog)'(1)), .r_tag_i(r_id_i[TagLog-1:0]),
        .r_data_i, .r_err_i, .r_last_i
    );
  end

  dingo_arb #(.N(N)) u_arb (
      .clk_i, .rst_ni, .req_i(ar_valid), .take_i(ar_ready_i), .grant_o(grant)
  );

  always_comb begin
    chosen = '0;
    for (int unsigned i = 0; i < N; i++) if (grant[i]) chosen = ar[i*ArW +: ArW];
  end
  assign ar_valid_o = ar_valid != '0;
  assign {ar_id_o, ar_line_o, ar_len_o} = chosen;
  assign idle_o = &idle;
endmodule
