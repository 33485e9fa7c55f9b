// SPDX-License-Identifier: BSD-2-Clause

/// Pieces (buffers of the descriptors) of the frames of dingo_eth_tx, up to 64 a ring, and a walk over them that
/// gives segments to read: so many bytes from the first piece on; for a TSO segment the headers, then its payload
/// from another place. One segment a cycle; stalls with seg_ready_i.
module dingo_eth_walk (
    input  logic                 clk_i,
    input  rtl_pkg::ethi_t       ring_i,
    input  logic                 we_i,
    input  logic [5:0]           index_i,
    input  dingo_pkg::eth_desc_t desc_i,
    input  logic                 begin_i,       // starts a walk of bytes_i bytes,
    input  logic [16:0]          bytes_i,
    input  logic [16:0]          payload_i,     // then of so many more,
    input  logic                 elsewhere_i,   // which begin at piece_i, skip_i
    input  logic [6:0]           piece_i,
    input  logic [16:0]          skip_i,        // bytes to skip in piece_i
    input  logic                 go_i,
    output logic [6:0]           piece_o,       // where the walk is
    output logic [16:0]          skip_o,
    output logic                 seg_valid_o,
    input  logic                 seg_ready_i,
    output rtl_pkg::seg_t        seg_o
);
  localparam int unsigned Rings = 1 << rtl_pkg::ETH_LOG;
  typedef struct packed {
    logic [16:0] len;
    logic [63:0] addr;
  } piece_t;
  localparam int unsigned PieceW = 81;
  logic [PieceW-1:0] pieces [64*Rings];
  piece_t piece, piece_in;
  assign piece_in.len = desc_i.length[16:0];
  assign piece_in.addr = desc_i.addr;
  always_ff @(posedge clk_i) if (we_i) pieces[{ring_i, index_i}] <= piece_in;

  logic [6:0]  at_q;
  logic [16:0] skip_q, left_q, rest, some;
  logic [16:0] payload_q;               // payload bytes to read after left_q
  assign piece = pieces[{ring_i, at_q[5:0]}];
  assign rest = piece.len - skip_q;
  assign some = rest < left_q ? rest : left_q;
  assign piece_o = at_q;
  assign skip_o = skip_q;
  assign seg_valid_o = go_i && left_q != '0;
  always_comb begin                    // addr is a bus address: no page list, no offset
    seg_o = '0;
    seg_o.last = some == left_q && payload_q == '0;
    seg_o.len = 32'(some);
    seg_o.mem.addr = piece.addr + 64'(skip_q);
  end

  always_ff @(posedge clk_i) begin
    if (begin_i) begin
      at_q <= '0;
      skip_q <= '0;
      left_q <= bytes_i;
      payload_q <= payload_i;
    end
    if (seg_valid_o && seg_ready_i) begin
      left_q <= left_q - some;
      skip_q <= skip_q + some;
      if (some == rest) begin
        at_q <= at_q + 7'd1;
        skip_q <= '0;
      end
      if (some == left_q && payload_q != '0) begin   // all headers have been requested
        left_q <= payload_q;
        payload_q <= '0;
        if (elsewhere_i) begin
          at_q <= piece_i;
          skip_q <= skip_i;
        end
      end
    end
  end

  wire unused_ok = &{1'b0, desc_i};
endmodule
