// SPDX-License-Identifier: BSD-2-Clause

/// Rotates a beat towards higher byte numbers by 4 * steps_i + 2 bytes: RoCE headers always end two bytes behind a
/// multiple of four, so sixteen positions are enough. Two registers, with one level of 4:1 multiplexers each.
module dingo_rotate (
    input  logic         clk_i,
    input  logic         en_i,      // both registers advance
    input  logic         valid_i,   // data_i is used; else the registers keep their values
    input  logic [  3:0] steps_i,
    input  logic [511:0] data_i,
    output logic [511:0] data_o     // two cycles with en_i later
);
  logic [511:0] coarse_q, fine_q;
  logic [1:0]   fine_steps_q;
  logic         valid_q;

  assign data_o = fine_q;

  always_ff @(posedge clk_i) begin
    if (en_i) begin
      valid_q <= valid_i;
      if (valid_i) begin
        fine_steps_q <= steps_i[1:0];
        case (steps_i[3:2])
          2'd0: coarse_q <= data_i;
          2'd1: coarse_q <= {data_i[383:0], data_i[511:384]};
          2'd2: coarse_q <= {data_i[255:0], data_i[511:256]};
          default: coarse_q <= {data_i[127:0], data_i[511:128]};
        endcase
      end
      if (valid_q) begin
        case (fine_steps_q)
          2'd0: fine_q <= {coarse_q[495:0], coarse_q[511:496]};
          2'd1: fine_q <= {coarse_q[463:0], coarse_q[511:464]};
          2'd2: fine_q <= {coarse_q[431:0], coarse_q[511:432]};
          default: fine_q <= {coarse_q[399:0], coarse_q[511:400]};
        endcase
      end
    end
  end
endmodule
