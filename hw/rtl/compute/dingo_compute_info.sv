// SPDX-License-Identifier: BSD-2-Clause

/// Properties of each kernel, for QUERY_COMPUTE and SET_COMPUTE. Combinational.
module dingo_compute_info (
    input  logic [31:0]  index_i,
    output logic         known_o,
    output logic [31:0]  smallest_o,    // limits of the parameter
    output logic [31:0]  largest_o,
    output logic [319:0] result_o       // struct admin_cpl, result
);
  logic [127:0] name;                   // ASCII, first letter in bits 7:0
  logic [31:0]  record;

  always_comb begin
    known_o = 1'b1;
    smallest_o = '0;
    largest_o = '0;
    case (index_i)
      dingo_pkg::KERNEL_PASS: begin
        name = 128'h73_73_61_70;
        record = 32'd1;
      end
      dingo_pkg::KERNEL_ADD_ONE: begin
        name = 128'h65_6e_6f_5f_64_64_61;
        record = 32'd4;
      end
      dingo_pkg::KERNEL_DLRM: begin
        name = 128'h6d_72_6c_64;
        smallest_o = 32'd1;
        largest_o = 32'hffff_ffff;
        record = 32'd192;
      end
      default: begin
        known_o = 1'b0;
        name = '0;
        record = '0;
      end
    endcase
  end
  assign result_o = {32'd0, record, largest_o, smallest_o, name, 32'(rtl_pkg::KERNELS), index_i};
endmodule
