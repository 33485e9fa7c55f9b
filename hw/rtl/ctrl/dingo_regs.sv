// SPDX-License-Identifier: BSD-2-Clause

/// Registers (BAR_REGS) and doorbell pages (BAR_DB) as two AXI4-Lite slaves of 64 bits. A 64-bit register takes one
/// access or two of 32 bits. Undefined offsets read 0; writes to them are dropped and counted (mmio_dropped), and so
/// are invalid writes to doorbell pages (db_dropped). No write waits for the card's work: on PCIe, the completions of
/// the card's own reads would wait behind it.
module dingo_regs (
    input  logic        clk_i,
    input  logic        rst_ni,          // power on; a function-level reset leaves this module running
    output logic        idle_o,          // all writes have taken effect
    input  rtl_pkg::strap_t      strap_i,
    input  logic [63:0] now_ns_i,
    input  logic        ready_i,         // STATUS.READY
    input  logic        link_up_i,       // cable connected and port enabled
    input  logic        fatal_valid_i,   // sets STATUS.FATAL until the next reset
    input  logic [31:0] fatal_code_i,
    output logic        soft_reset_o,    // pulse: CTRL.RESET was written
    output logic        aq_enable_o,     // level
    output logic [ 3:0] aq_log_depth_o,
    output logic [63:0] asq_base_o,      // latched when the queue is enabled
    output logic [63:0] acq_base_o,
    output logic [31:0] asq_producer_o,  // 0 after enabling
    input  logic [31:0] asq_consumer_i,  // commands completed since enabling
    input  logic        aq_idle_i,       // no command in work, and dingo_admin has taken aq_enable_o
    output logic        db_valid_o,
    input  logic        db_ready_i,
    output rtl_pkg::db_t         db_o,
    output logic        db_crowded_o,    // the queue is half full
    output logic        push_valid_o,    // a doorbell with blocks in its push page; held until done
    output rtl_pkg::push_order_t push_o,
    input  logic        push_done_i,
    input  logic        push_drop_i,     // pulse: count in mmio_dropped
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
    input  logic [15:0] s_reg_araddr_i,  // 4- or 8-byte aligned; data in its byte lanes
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
  regs_pkg::step_t step;
  regs_pkg::aq_t aq;
  logic soft_reset, write_idle, aq_idle, bell_idle, bell_busy, reg_drop, db_drop, rung, held, push_on;
  assign soft_reset_o = soft_reset;

  dingo_regs_write i_write (
      .clk_i, .rst_ni, .idle_o(write_idle), .hold_i(bell_busy), .step_o(step), .awvalid_i(s_reg_awvalid_i),
      .awready_o(s_reg_awready_o), .awaddr_i(s_reg_awaddr_i), .wvalid_i(s_reg_wvalid_i), .wready_o(s_reg_wready_o),
      .wdata_i(s_reg_wdata_i), .wstrb_i(s_reg_wstrb_i), .bvalid_o(s_reg_bvalid_o), .bready_i(s_reg_bready_i)
  );
  dingo_regs_aq i_aq (
      .clk_i, .rst_ni, .idle_o(aq_idle), .step_i(step), .dropped_o(reg_drop), .ready_i, .fatal_valid_i, .fatal_code_i,
      .soft_reset_o(soft_reset), .aq_o(aq), .rung_o(rung), .held_i(held), .aq_enable_o, .aq_log_depth_o, .asq_base_o,
      .acq_base_o, .asq_producer_o, .asq_consumer_i, .aq_idle_i
  );
  dingo_regs_read i_read (
      .clk_i, .rst_ni, .soft_reset_i(soft_reset), .strap_i, .now_ns_i, .ready_i, .link_up_i, .aq_i(aq), .push_on_o(push_on),
      .arvalid_i(s_reg_arvalid_i), .arready_o(s_reg_arready_o), .araddr_i(s_reg_araddr_i), .rvalid_o(s_reg_rvalid_o),
      .rready_i(s_reg_rready_i), .rdata_o(s_reg_rdata_o)
  );
  dingo_regs_bell i_bell (
      .clk_i, .rst_ni, .idle_o(bell_idle), .soft_reset_i(soft_reset), .ready_i, .enabled_i(aq.fatal == dingo_pkg::FATAL_NONE),
      .push_on_i(push_on), .rung_i(rung), .held_o(held), .busy_o(bell_busy), .drop_o(db_drop), .db_valid_o, .db_ready_i, .db_o,
      .db_crowded_o, .push_valid_o, .push_o, .push_done_i, .awvalid_i(s_db_awvalid_i), .awready_o(s_db_awready_o),
      .awaddr_i(s_db_awaddr_i), .wvalid_i(s_db_wvalid_i), .wready_o(s_db_wready_o), .wdata_i(s_db_wdata_i),
      .wstrb_i(s_db_wstrb_i), .bvalid_o(s_db_bvalid_o), .bready_i(s_db_bready_i), .arvalid_i(s_db_arvalid_i),
      .arready_o(s_db_arready_o), .rvalid_o(s_db_rvalid_o), .rready_i(s_db_rready_i), .rdata_o(s_db_rdata_o)
  );

  // ---------------------------------------------------------------------------------- counts of dropped writes
  // Counted here until dingo_stats takes them, so that a bus access never waits for it.
  logic [15:0] mmio_drops_q, db_drops_q;
  logic stat_valid_q;
  rtl_pkg::stat_t stat_q;
  logic load_mmio, load_db;
  assign load_mmio = !stat_valid_q && mmio_drops_q != '0;
  assign load_db = !stat_valid_q && !load_mmio && db_drops_q != '0;
  assign stat_valid_o = stat_valid_q;
  assign stat_o = stat_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || soft_reset) begin
      mmio_drops_q <= '0;
      db_drops_q <= '0;
      stat_valid_q <= 1'b0;
    end else begin
      mmio_drops_q <= (load_mmio ? 16'd0 : mmio_drops_q) + 16'(reg_drop) + 16'(push_drop_i);
      db_drops_q <= (load_db ? 16'd0 : db_drops_q) + 16'(db_drop);
      stat_valid_q <= stat_valid_q ? !stat_ready_i : load_mmio || load_db;
    end
    if (load_mmio) stat_q <= {6'(dingo_pkg::CARD_MMIO_DROPPED), mmio_drops_q};
    else if (load_db) stat_q <= {6'(dingo_pkg::CARD_DB_DROPPED), db_drops_q};
  end

  assign idle_o = write_idle && bell_idle && aq_idle && !stat_valid_q && mmio_drops_q == '0 && db_drops_q == '0;
endmodule
