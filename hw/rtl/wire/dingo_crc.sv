// SPDX-License-Identifier: BSD-2-Clause

/// CRC-32 (IEEE 802.3, reflected) of messages of 64 bytes a cycle, one after the other without a gap; the result
/// comes 7 cycles after the last beat. Never stalls. The register starts at 0 and the result is not inverted: for
/// other initial or final values the user of this module changes the data or the result.
///
/// A message that ends inside a beat is continued with zero bytes, whose effect is taken back afterwards: stepping
/// the register back by 32, 16, 8, 4 and 2 bytes is a 32 x 32 matrix each, while stopping early would need the whole
/// tree once for each length.
module dingo_crc #(
    parameter int unsigned TagWidth = 1
) (
    input  logic                clk_i,
    input  logic                rst_ni,
    input  logic                valid_i,
    input  logic                first_i,   // first beat of a message
    input  logic                last_i,
    input  logic [         6:0] bytes_i,   // bytes that count, an even number; 0: the register does not change
    input  logic [       511:0] data_i,    // bytes after bytes_i are 0
    input  logic [TagWidth-1:0] tag_i,     // taken with last_i
    output logic                valid_o,   // for one cycle; cannot be stalled
    output logic [        31:0] crc_o,
    output logic [TagWidth-1:0] tag_o
);
  localparam logic [31:0] Poly = 32'hedb88320;
  localparam int unsigned Parts = 2;       // the XOR tree has registers after 2 partial sums: at most 4 levels of LUT6
  localparam int unsigned PartBits = 512 / Parts;
  localparam int unsigned Undos = 5;

  typedef logic [32*512-1:0] tree_t;       // row o: the data bits whose XOR is bit o
  typedef logic [32*32-1:0] matrix_t;

  function automatic tree_t tree();
    tree_t t;
    logic [31:0] column;
    column = Poly;                         // the register after the last bit of a beat
    for (int p = 511; p >= 0; p--) begin
      for (int o = 0; o < 32; o++) t[o*512+p] = column[o];
      column = {1'b0, column[31:1]} ^ (column[0] ? Poly : 32'd0);
    end
    tree = t;
  endfunction

  function automatic matrix_t undo(input int unsigned bytes);
    matrix_t m;
    logic [31:0] column;
    for (int p = 0; p < 32; p++) begin
      column = 32'd1 << p;
      for (int unsigned i = 0; i < 8 * bytes; i++)
        column = column[31] ? {column[30:0] ^ Poly[30:0], 1'b1} : {column[30:0], 1'b0};
      for (int o = 0; o < 32; o++) m[o*32+p] = column[o];
    end
    undo = m;
  endfunction

  localparam tree_t Tree = tree();

  // Stage 1: partial sums
  logic [32*Parts-1:0] part_q;
  logic                valid_q, first_q, last_q, holds_q;
  logic [4:0]          over_q;             // zero bytes after the end, halved
  logic [TagWidth-1:0] tag_q;
  logic [6:0]          over;

  assign over = 7'd64 - bytes_i;

  always_ff @(posedge clk_i) begin
    valid_q <= valid_i && rst_ni;
    if (valid_i) begin
      first_q <= first_i;
      last_q <= last_i;
      holds_q <= bytes_i == '0;
      over_q <= over[5:1];
      tag_q <= tag_i;
      if (bytes_i != '0) begin
        for (int o = 0; o < 32; o++)
          for (int unsigned k = 0; k < Parts; k++)
            part_q[o*Parts+k] <= ^(data_i[k*PartBits +: PartBits] & Tree[o*512+k*PartBits +: PartBits]);
      end
    end
  end

  // Stage 2: the register. The next step XORs it into the first 32 bits of the beat.
  logic [31:0] state_q, state_d;
  logic [4:0]  state_over_q;
  logic        done_q;
  logic [TagWidth-1:0] done_tag_q;

  always_comb begin
    state_d = '0;
    if (valid_q) begin
      for (int o = 0; o < 32; o++)
        state_d[o] = ^part_q[o*Parts +: Parts] ^ (!first_q && ^(state_q & Tree[o*512 +: 32]));
    end
  end

  always_ff @(posedge clk_i) begin
    done_q <= valid_q && last_q && rst_ni;
    if (valid_q) begin
      if (!holds_q) begin
        state_q <= state_d;
        state_over_q <= over_q;
      end else if (first_q) begin
        state_q <= '0;
        state_over_q <= '0;
      end
      done_tag_q <= tag_q;
    end
  end

  // Stages 3 to 7: step back over the zero bytes
  for (genvar g = 0; g < Undos; g++) begin : gen_undo
    localparam matrix_t Back = undo(32 >> g);
    logic [31:0]         from, back_crc;
    logic [4:0]          from_over, back_over;
    logic [TagWidth-1:0] from_tag, back_tag;
    logic                from_valid, back_valid;
    if (g == 0) begin : gen_from
      assign {from_valid, from_tag, from_over, from} = {done_q, done_tag_q, state_over_q, state_q};
    end else begin : gen_from
      assign {from_valid, from_tag, from_over, from} = {gen_undo[g-1].back_valid, gen_undo[g-1].back_tag,
                                                        gen_undo[g-1].back_over, gen_undo[g-1].back_crc};
    end
    always_ff @(posedge clk_i) begin
      back_valid <= from_valid && rst_ni;
      if (from_valid) begin
        back_over <= from_over;
        back_tag <= from_tag;
        if (from_over[Undos-1-g]) begin
          for (int o = 0; o < 32; o++) back_crc[o] <= ^(from & Back[o*32 +: 32]);
        end else begin
          back_crc <= from;
        end
      end
    end
    wire unused_over = &{1'b0, back_over};
  end

  assign valid_o = gen_undo[Undos-1].back_valid;
  assign crc_o = gen_undo[Undos-1].back_crc;
  assign tag_o = gen_undo[Undos-1].back_tag;
  wire unused_ok = &{1'b0, over[6], over[0]};

  always_ff @(posedge clk_i) begin
    if (rst_ni && valid_i) assert (bytes_i <= 7'd64 && !bytes_i[0]);
  end
endmodule
