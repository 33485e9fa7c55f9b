// SPDX-License-Identifier: BSD-2-Clause

/// dingo_rsp_buffer in state RX_LENGTH with a packet of a SEND of RC, and whether it fits.
module rsp_buffer_bench (
    input  logic [35:0] cap_i,    // capacity of the receive WQE
    input  logic [31:0] taken_i,  // bytes of the message before this packet
    input  logic [12:0] len_i,
    output logic        fits_o
);
  rsp_pkg::rx_t rx, result;
  rsp_pkg::request_t rq;
  rtl_pkg::rxh_t h;
  rsp_pkg::emit_t emit;

  always_comb begin
    rx = '0;
    rx.state = rsp_pkg::RX_LENGTH;
    rx.c.held_cap = cap_i;
    rq = '0;
    rq.rc = 1'b1;
    rq.send = 1'b1;
    rq.fits = 1'b1;
    h = '0;
    h.len = len_i;
  end

  dingo_rsp_buffer u_buffer (
      .rx_i(rx), .rx_o(result), .emit_o(emit), .x_i('0), .h_i(h), .rq_i(rq), .take_i(1'b0), .key_needed_i(1'b0),
      .taken_bytes_i(taken_i), .wqe_done_i(1'b0), .wqe_i('0)
  );
  assign fits_o = result.state == rsp_pkg::RX_SCATTER;

  wire unused_ok = &{1'b0, result, emit};
endmodule
