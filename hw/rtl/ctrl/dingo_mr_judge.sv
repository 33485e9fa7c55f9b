// SPDX-License-Identifier: BSD-2-Clause

/// Whether a work request may change an entry of the memory table, and what the entry is then. The checks are in the
/// order of the model; those of sums come later than the rest (second_i), by way of registers. Combinational.
module dingo_mr_judge (
    input  rtl_pkg::mrw_req_t req_i,
    input  rtl_pkg::mr_t      mr_i,         // the entry that it names
    input  rtl_pkg::mr_t      region_i,     // BIND_MW: the region under the window
    input  logic              second_i,     // sums and region are there
    input  logic [63:0]       end_i,        // REG_MR: last byte, from the start of the first page; BIND_MW: place in the region
    input  logic [63:0]       room_i,       // REG_MR: length - 1; BIND_MW: highest place at which the window fits
    input  logic              fits_i,       // fits_o of the cycle before
    output logic [31:0]       key_o,        // the key that it names
    output logic [31:0]       region_key_o,
    output logic [7:0]        verr_o,       // enum verr
    output logic              unbinds_o,    // a window that is bound does not stay where it is
    output logic              binds_o,      // looks at a region,
    output logic              sums_o,       // looks at sums: not decided before second_i
    output logic              fits_o,       // what the sums say
    output rtl_pkg::mr_t      mr_o
);
  localparam logic [31:0] REMOTE = dingo_pkg::ACC_REMOTE_WRITE | dingo_pkg::ACC_REMOTE_READ | dingo_pkg::ACC_REMOTE_ATOMIC;
  localparam logic [31:0] WRITES = dingo_pkg::ACC_REMOTE_WRITE | dingo_pkg::ACC_REMOTE_ATOMIC;
  localparam logic [31:0] OF_REGION = REMOTE | dingo_pkg::ACC_LOCAL_WRITE | dingo_pkg::ACC_MW_BIND;
  localparam logic [63:0] MOST = 64'h1_0000_0000_0000;
  localparam int unsigned MRS = 1 << rtl_pkg::MR_LOG;

  dingo_pkg::wqe_bind_t bind_mw;
  dingo_pkg::wqe_reg_t reg_mr;
  assign bind_mw = req_i.body;
  assign reg_mr = req_i.body;

  logic invalidates, registers, window, type2, bound, found, owned, pd_ok, empty, region_ok;
  logic [63:0] pages;
  assign invalidates = req_i.op == rtl_pkg::MRW_INVALIDATE;
  assign registers = req_i.op == rtl_pkg::MRW_REGISTER;
  assign key_o = req_i.op == rtl_pkg::MRW_BIND ? bind_mw.mw_key : registers ? reg_mr.key : req_i.key;
  assign region_key_o = bind_mw.mr_key;
  assign type2 = mr_i.kind == dingo_pkg::MRT_MW2[2:0];
  assign window = type2 || mr_i.kind == dingo_pkg::MRT_MW1[2:0];
  assign bound = window && !mr_i.free;
  // The low 8 bits of a tag are its owner's: REG_MR and BIND_MW bring new ones.
  assign owned = mr_i.valid && 32'(key_o[31:16]) < MRS && mr_i.tag[15:8] == key_o[15:8];
  assign found = owned && mr_i.tag[7:0] == key_o[7:0];
  assign pd_ok = mr_i.pdn == req_i.pdn;
  assign empty = bind_mw.length == '0;
  assign region_ok = region_i.valid && 32'(region_key_o[31:16]) < MRS && region_i.tag == region_key_o[15:0]
                     && region_i.kind == dingo_pkg::MRT_MR[2:0];
  assign pages = end_i >> reg_mr.page_shift[4:0];
  always_comb begin
    if (registers)
      fits_o = reg_mr.length != '0 && reg_mr.length <= MOST && room_i <= ~reg_mr.iova && reg_mr.pbl_addr[2:0] == '0
               && reg_mr.offset >> reg_mr.page_shift[4:0] == '0 && pages < {48'd0, mr_i.more};
    else fits_o = bind_mw.addr >= region_i.iova && bind_mw.length <= region_i.length && end_i <= room_i;
  end

  always_comb begin
    verr_o = dingo_pkg::VERR_NONE[7:0];
    unbinds_o = 1'b0;
    binds_o = 1'b0;
    sums_o = 1'b0;
    mr_o = mr_i;
    if (invalidates) begin
      mr_o.free = 1'b1;
      unbinds_o = bound;
      if (!found) verr_o = dingo_pkg::VERR_KEY[7:0];
      else if (!pd_ok) verr_o = dingo_pkg::VERR_KEY_PD[7:0];
      else if (mr_i.kind != dingo_pkg::MRT_FRWR[2:0] && !(type2 && (mr_i.free || mr_i.qp == req_i.qp)))
        verr_o = dingo_pkg::VERR_KEY_ACCESS[7:0];
    end else if (registers) begin
      sums_o = 1'b1;
      mr_o.free = 1'b0;
      mr_o.tag = reg_mr.key[15:0];
      mr_o.access = reg_mr.access[5:0];
      mr_o.iova = reg_mr.iova;
      mr_o.length = reg_mr.length;
      mr_o.place = '0;
      mr_o.mem = {rtl_pkg::LEVELS_FRESH, reg_mr.page_shift[4:0], reg_mr.offset, reg_mr.pbl_addr};
      if (!owned || mr_i.kind != dingo_pkg::MRT_FRWR[2:0]) verr_o = dingo_pkg::VERR_KEY[7:0];
      else if (!pd_ok) verr_o = dingo_pkg::VERR_KEY_PD[7:0];
      else if (!req_i.privileged || (reg_mr.access & ~OF_REGION) != '0
               || ((reg_mr.access & WRITES) != '0 && (reg_mr.access & dingo_pkg::ACC_LOCAL_WRITE) == '0))
        verr_o = dingo_pkg::VERR_KEY_ACCESS[7:0];
      else if (!mr_i.free) verr_o = dingo_pkg::VERR_KEY_STATE[7:0];
      else if (second_i && !fits_i) verr_o = dingo_pkg::VERR_KEY_BOUNDS[7:0];
    end else begin
      unbinds_o = bound;
      binds_o = !empty;
      sums_o = !empty;
      mr_o.free = 1'b1;
      mr_o.tag = bind_mw.new_key[15:0];
      if (!empty) begin
        mr_o.free = 1'b0;
        mr_o.access = bind_mw.access[5:0] & REMOTE[5:0];
        mr_o.iova = (bind_mw.access & dingo_pkg::ACC_ZERO_BASED) != '0 ? 64'd0 : bind_mw.addr;
        mr_o.length = bind_mw.length;
        mr_o.qp = req_i.qp;
        mr_o.more = 16'(region_key_o[31:16]);
        mr_o.place = end_i[47:0];
        mr_o.mem = region_i.mem;
      end
      if (!owned || !window) verr_o = dingo_pkg::VERR_KEY[7:0];
      else if (!pd_ok) verr_o = dingo_pkg::VERR_KEY_PD[7:0];
      else if (bind_mw.new_key[31:8] != bind_mw.mw_key[31:8]) verr_o = dingo_pkg::VERR_KEY[7:0];
      else if ((bind_mw.access & ~(REMOTE | dingo_pkg::ACC_ZERO_BASED)) != '0) verr_o = dingo_pkg::VERR_KEY_ACCESS[7:0];
      else if (type2 && bound) verr_o = dingo_pkg::VERR_KEY_STATE[7:0];
      else if (second_i && !empty) begin
        if (!region_ok) verr_o = dingo_pkg::VERR_KEY[7:0];
        else if (region_i.pdn != req_i.pdn) verr_o = dingo_pkg::VERR_KEY_PD[7:0];
        else if ((region_i.access & dingo_pkg::ACC_MW_BIND[5:0]) == '0
                 || ((bind_mw.access & WRITES) != '0 && (region_i.access & dingo_pkg::ACC_LOCAL_WRITE[5:0]) == '0))
          verr_o = dingo_pkg::VERR_KEY_ACCESS[7:0];
        else if (!fits_i) verr_o = dingo_pkg::VERR_KEY_BOUNDS[7:0];
      end
    end
  end

  wire unused_ok = &{1'b0, req_i, bind_mw, reg_mr, region_i};
endmodule
