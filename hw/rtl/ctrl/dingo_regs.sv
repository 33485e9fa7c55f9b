// SPDX-License-Identifier: BSD-2-Clause

/// Registers (BAR_REGS) and doorbell pages (BAR_DB) as two AXI4-Lite slaves of 64 bits. A 64-bit
/// register takes one access or two of 32 bits. Undefined offsets read 0; writes to them are counted (mmio_dropped), and so
/// are writes to doorbell pages that are no doorbell (db_dropped).
module dingo_regs (
    input  logic        clk_i,
    input  logic        rst_ni,          // power on; a function-level reset leaves this module running
    input  rtl_pkg::strap_t      strap_i,
    input  logic [63:0] now_ns_i,
    input  logic        ready_i,         // STATUS.READY
    input  logic        link_up_i,       // cable and port
    input  logic        fatal_valid_i,   // sets STATUS.FATAL until the next reset
    input  logic [31:0] fatal_code_i,
    output logic        soft_reset_o,    // pulse: CTRL.RESET was written
    output logic        aq_enable_o,     // level
    output logic [ 3:0] aq_log_depth_o,
    output logic [63:0] asq_base_o,      // latched by enabling
    output logic [63:0] acq_base_o,
    output logic [31:0] asq_producer_o,  // 0 after enabling
    input  logic [31:0] asq_consumer_i,  // commands completed since enabling
    output logic        db_valid_o,
    input  logic        db_ready_i,
    output rtl_pkg::db_t         db_o,
    output logic        stat_valid_o,
    input  logic        stat_ready_i,
    output rtl_pkg::stat_t       stat_o,
    // AXI4-Lite, BAR_REGS
    input  logic        s_reg_awvalid_i,
    output logic        s_reg_awready_o,
    input  logic [15:0] s_reg_awaddr_i,
    input  logic        s_reg_wvalid_i,
    output logic        s_reg_wready_o,
    input  logic [63:0] s_reg_wdata_i,
    input  logic [ 7:0] s_reg_wstrb_i,
    output logic        s_reg_bvalid_o,
    input  logic        s_reg_bready_i,
    input  logic        s_reg_arvalid_i,
    output logic        s_reg_arready_o,
    input  logic [15:0] s_reg_araddr_i,  // 4- or 8-byte aligned; data lies in its lane
    output logic        s_reg_rvalid_o,
    input  logic        s_reg_rready_i,
    output logic [63:0] s_reg_rdata_o,
    // AXI4-Lite, BAR_DB; reads give 0
    input  logic        s_db_awvalid_i,
    output logic        s_db_awready_o,
    input  logic [rtl_pkg::DB_PAGE_LOG+11:0] s_db_awaddr_i,
    input  logic        s_db_wvalid_i,
    output logic        s_db_wready_o,
    input  logic [63:0] s_db_wdata_i,
    input  logic [ 7:0] s_db_wstrb_i,
    output logic        s_db_bvalid_o,
    input  logic        s_db_bready_i,
    input  logic        s_db_arvalid_i,
    output logic        s_db_arready_o,
    output logic        s_db_rvalid_o,
    input  logic        s_db_rready_i,
    output logic [63:0] s_db_rdata_o
);
endmodule
