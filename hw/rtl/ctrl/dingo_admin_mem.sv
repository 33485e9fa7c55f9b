// SPDX-License-Identifier: BSD-2-Clause

/// Checks a struct mem of a command: of a region, of a ring (64-byte aligned, no offset), or one that must be empty.
/// Combinational.
module dingo_admin_mem (
    input  dingo_pkg::mem_t mem_i,
    input  logic            none_i,     // must be empty
    input  logic            ring_i,     // of a ring, else of a region
    input  logic [63:0]     bytes_i,    // size of the region or ring
    output logic            bad_o,
    output logic [31:0]     at_o        // byte offset of the first wrong field in struct mem
);
  logic list;
  logic [63:0] addr_mask;
  assign list = mem_i.levels != '0;
  assign addr_mask = list ? 64'd7 : ring_i ? 64'd63 : 64'd0;

  always_comb begin
    bad_o = 1'b1;
    at_o = '0;
    if (none_i ? mem_i.addr != '0 : (mem_i.addr & addr_mask) != '0 || (!list && mem_i.addr > ~(bytes_i - 64'd1)))
      at_o = dingo_pkg::MEM_ADDR_AT;
    else if (none_i && mem_i.offset != '0) at_o = dingo_pkg::MEM_OFFSET_AT;
    else if (none_i ? list : mem_i.levels > 8'd2) at_o = dingo_pkg::MEM_LEVELS_AT;
    else if (!none_i && list ? (mem_i.page_shift < 8'd12 || mem_i.page_shift > 8'd30) : mem_i.page_shift != '0)
      at_o = dingo_pkg::MEM_PAGE_SHIFT_AT;
    else if (!none_i && mem_i.offset >= 32'd1 << mem_i.page_shift[4:0]) at_o = dingo_pkg::MEM_OFFSET_AT;
    else if (mem_i.rsvd != '0) at_o = dingo_pkg::MEM_RSVD_AT;
    else if (ring_i && mem_i.offset != '0) at_o = dingo_pkg::MEM_OFFSET_AT;
    else bad_o = 1'b0;
  end
endmodule
