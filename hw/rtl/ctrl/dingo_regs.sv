// SPDX-License-Identifier: BSD-2-Clause

/// Registers (BAR_REGS) and doorbell pages (BAR_DB) as two AXI4-Lite slaves of 64 bits. A 64-bit
/// register takes one access or two of 32 bits. Undefined offsets read 0; writes to them are counted (mmio_dropped), and so
/// are writes to doorbell pages that are no doorbell (db_dropped). No write waits for what the card is doing: on PCIe the
/// answers to the card's own reads would wait behind it.
module dingo_regs (
    input  logic        clk_i,
    input  logic        rst_ni,          // power on; a function-level reset leaves this module running
    output logic        idle_o,          // every write has had its effect
    input  rtl_pkg::strap_t      strap_i,
    input  logic [63:0] now_ns_i,
    input  logic        ready_i,         // STATUS.READY
    input  logic        link_up_i,       // wire and port
    input  logic        fatal_valid_i,   // sets STATUS.FATAL until the next reset
    input  logic [31:0] fatal_code_i,
    output logic        soft_reset_o,    // pulse: CTRL.RESET was written
    output logic        aq_enable_o,     // level
    output logic [ 3:0] aq_log_depth_o,
    output logic [63:0] asq_base_o,      // latched by enabling
    output logic [63:0] acq_base_o,
    output logic [31:0] asq_producer_o,  // 0 after enabling
    input  logic [31:0] asq_consumer_i,  // commands completed since enabling
    input  logic        aq_idle_i,       // no command in work, and aq_enable_o is known
    output logic        db_valid_o,
    input  logic        db_ready_i,
    output rtl_pkg::db_t         db_o,
    output logic        db_crowded_o,    // half of the queue is full
    output logic        push_valid_o,    // a doorbell that names blocks of its push page; until done
    output rtl_pkg::push_order_t push_o,
    input  logic        push_done_i,
    input  logic        push_drop_i,     // counted as mmio_dropped
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
  localparam int unsigned PageW = rtl_pkg::DB_PAGE_LOG;
  localparam int unsigned PushW = rtl_pkg::PUSH_PAGE_LOG;
  localparam int unsigned LogQueue = 6;           // doorbells that wait
  localparam logic [31:0] Magic = 32'h4f474e44;
  localparam logic [31:0] Build = 32'h0000_0100;  // major << 16 | minor << 8 | patch
  localparam logic [15:0] RegistersEnd = 16'h0070;
  localparam logic [31:0] Caps = dingo_pkg::CAP_RC | dingo_pkg::CAP_UC | dingo_pkg::CAP_ATOMIC | dingo_pkg::CAP_UD | dingo_pkg::CAP_TIMESTAMP | dingo_pkg::CAP_ETH
      | dingo_pkg::CAP_COMPUTE | dingo_pkg::CAP_RESIZE_CQ | dingo_pkg::CAP_REREG_MR | dingo_pkg::CAP_SRQ | dingo_pkg::CAP_SEND_INV | dingo_pkg::CAP_MW
      | dingo_pkg::CAP_FRWR | dingo_pkg::CAP_CQ_MODERATION | dingo_pkg::CAP_PAUSE_MR | dingo_pkg::CAP_ETH_RSS | dingo_pkg::CAP_ETH_OFFLOAD;
  localparam logic [31:0] MaxLogDepth = dingo_pkg::ADMIN_MAX_LOG_DEPTH;

  // ---------------------------------------------------------------------------------- state
  logic [63:0] asq_base_q, acq_base_q;          // as written
  logic [63:0] asq_latched_q, acq_latched_q;    // as enabled
  logic [3:0] log_depth_q;
  logic enable_q;
  logic [31:0] producer_q;
  // A queue that is enabled anew starts when the command in work has ended; until then dingo_admin sees
  // it stopped, with the old rings.
  logic settle_q;
  logic [63:0] asq_out_q, acq_out_q;
  logic [3:0] depth_out_q;
  logic [31:0] producer_out_q;
  logic settled;
  logic [LogQueue:0] ahead_q;                   // doorbells that come before the last write of ASQ_DB
  logic [31:0] fatal_q, resets_q;
  logic [31:0] clock_high_q;                    // CLOCK 63:32 when 31:0 were read
  logic soft_reset_q;
  logic fatal;

  assign fatal = fatal_q != dingo_pkg::FATAL_NONE;
  assign soft_reset_o = soft_reset_q;
  assign aq_enable_o = enable_q && !settle_q;
  assign aq_log_depth_o = depth_out_q;
  assign asq_base_o = asq_out_q;
  assign acq_base_o = acq_out_q;
  assign asq_producer_o = producer_out_q;
  assign settled = settle_q && aq_idle_i;

  // ---------------------------------------------------------------------------------- writes of registers
  // Address and data are taken as they come; then each 32-bit half is one step, the low one first.
  typedef enum logic [1:0] {
    W_IDLE = 2'd0,
    W_LOW  = 2'd1,
    W_HIGH = 2'd2,
    W_RESP = 2'd3
  } wstate_t;
  wstate_t w_state_q;
  logic aw_full_q, w_full_q;
  logic [12:0] w_word_q;   // 64-bit word of BAR_REGS
  logic [63:0] w_data_q;
  logic [7:0] w_strb_q;
  logic w_form_ok, w_kick, w_orders_db, db_busy;
  logic [31:0] consumer;

  assign s_reg_awready_o = !aw_full_q;
  assign s_reg_wready_o = !w_full_q;
  assign s_reg_bvalid_o = w_state_q == W_RESP;
  assign w_form_ok = w_strb_q == 8'hff || w_strb_q == 8'h0f || w_strb_q == 8'hf0;
  assign w_kick = w_word_q[12:9] == dingo_pkg::KICK_PAGE_OFFSET[15:12];
  // Doorbells come before a later write of ASQ_DB: it waits until they are in the queue.
  assign w_orders_db = w_word_q == 13'(dingo_pkg::REG_ASQ_DB >> 3);

  logic step, step_high, step_dropped, wr, bad_enable;
  logic [15:0] step_offset;
  logic [31:0] step_data, next_held, held;
  logic do_reset;
  assign step = (w_state_q == W_LOW && w_strb_q[0]) || (w_state_q == W_HIGH && w_strb_q[7]);
  assign step_high = w_state_q == W_HIGH;
  assign step_offset = {w_word_q, step_high, 2'b00};
  assign step_data = step_high ? w_data_q[63:32] : w_data_q[31:0];
  assign wr = step && w_form_ok && !w_kick;
  assign do_reset = wr && step_offset == dingo_pkg::REG_CTRL[15:0] &&
                    (step_data & dingo_pkg::CTRL_RESET_MASK) != '0;
  assign bad_enable = asq_base_q[11:0] != '0 || acq_base_q[11:0] != '0 || step_data[3:0] == '0 ||
                      32'(step_data[3:0]) > MaxLogDepth;
  assign consumer = settle_q ? 32'd0 : asq_consumer_i;
  assign next_held = step_data - consumer;
  assign held = producer_q - consumer;

  always_comb begin
    step_dropped = 1'b0;
    if (wr) begin
      case (step_offset)
        dingo_pkg::REG_CTRL[15:0]: step_dropped = 1'b0;
        dingo_pkg::REG_ASQ_BASE[15:0], dingo_pkg::REG_ASQ_BASE[15:0] + 16'd4, dingo_pkg::REG_ACQ_BASE[15:0],
        dingo_pkg::REG_ACQ_BASE[15:0] + 16'd4:
        step_dropped = !ready_i;
        dingo_pkg::REG_AQ_CTRL[15:0]:
        step_dropped = !ready_i || fatal ||
            (step_data & ~(dingo_pkg::AQ_CTRL_LOG_DEPTH_MASK | dingo_pkg::AQ_CTRL_ENABLE_MASK)) != '0 ||
            (step_data[31] && bad_enable);
        dingo_pkg::REG_ASQ_DB[15:0]:
        step_dropped = !ready_i || !enable_q || next_held > (32'd1 << log_depth_q) || next_held < held;
        default: step_dropped = 1'b1;
      endcase
    end
    if (w_state_q == W_LOW && !w_form_ok) step_dropped = 1'b1;
  end

  always_ff @(posedge clk_i) begin : write_channel
    if (!rst_ni) begin
      w_state_q <= W_IDLE;
      aw_full_q <= 1'b0;
      w_full_q <= 1'b0;
    end else begin
      if (s_reg_awvalid_i && s_reg_awready_o) aw_full_q <= 1'b1;
      if (s_reg_wvalid_i && s_reg_wready_o) w_full_q <= 1'b1;
      case (w_state_q)
        W_IDLE: if (aw_full_q && w_full_q && !(w_orders_db && db_busy)) w_state_q <= W_LOW;
        W_LOW: w_state_q <= W_HIGH;
        W_HIGH: w_state_q <= W_RESP;
        default: begin
          if (s_reg_bready_i) begin
            w_state_q <= W_IDLE;
            aw_full_q <= 1'b0;
            w_full_q <= 1'b0;
          end
        end
      endcase
    end
    if (s_reg_awvalid_i && s_reg_awready_o) w_word_q <= s_reg_awaddr_i[15:3];
    if (s_reg_wvalid_i && s_reg_wready_o) begin
      w_data_q <= s_reg_wdata_i;
      w_strb_q <= s_reg_wstrb_i;
    end
  end

  always_ff @(posedge clk_i) begin : registers
    soft_reset_q <= 1'b0;
    if (!rst_ni || soft_reset_q) begin
      asq_base_q <= '0;
      acq_base_q <= '0;
      asq_latched_q <= '0;
      acq_latched_q <= '0;
      asq_out_q <= '0;
      acq_out_q <= '0;
      depth_out_q <= '0;
      producer_out_q <= '0;
      settle_q <= 1'b0;
      log_depth_q <= '0;
      enable_q <= 1'b0;
      producer_q <= '0;
      fatal_q <= dingo_pkg::FATAL_NONE;
    end else begin
      if (fatal_valid_i && !fatal) begin
        fatal_q <= fatal_code_i;
        enable_q <= 1'b0;
      end
      if (wr && !step_dropped) begin
        case (step_offset)
          dingo_pkg::REG_ASQ_BASE[15:0]: asq_base_q[31:0] <= step_data;
          dingo_pkg::REG_ASQ_BASE[15:0] + 16'd4: asq_base_q[63:32] <= step_data;
          dingo_pkg::REG_ACQ_BASE[15:0]: acq_base_q[31:0] <= step_data;
          dingo_pkg::REG_ACQ_BASE[15:0] + 16'd4: acq_base_q[63:32] <= step_data;
          dingo_pkg::REG_ASQ_DB[15:0]: producer_q <= step_data;
          default: ;
        endcase
      end
      if (settled) begin
        settle_q <= 1'b0;
        asq_out_q <= asq_latched_q;
        acq_out_q <= acq_latched_q;
        depth_out_q <= log_depth_q;
        producer_out_q <= '0;
      end else if (!settle_q && ahead_q == '0) begin
        producer_out_q <= producer_q;
      end
      // An enable that is refused stops the queue, too.
      if (wr && step_offset == dingo_pkg::REG_AQ_CTRL[15:0] && ready_i && !fatal && !fatal_valid_i &&
          (step_data & ~(dingo_pkg::AQ_CTRL_LOG_DEPTH_MASK | dingo_pkg::AQ_CTRL_ENABLE_MASK)) == '0) begin
        enable_q <= step_data[31] && !bad_enable;
        if (step_data[31]) begin
          settle_q <= 1'b1;
          asq_latched_q <= asq_base_q;
          acq_latched_q <= acq_base_q;
          log_depth_q <= step_data[3:0];
          producer_q <= '0;
        end
      end
      if (do_reset) soft_reset_q <= 1'b1;
    end
    if (!rst_ni) resets_q <= '0;
    else if (soft_reset_q) resets_q <= resets_q + 1'b1;
  end

  // ---------------------------------------------------------------------------------- reads of registers
  logic r_valid_q, take_read, push_on;
  logic [31:0] caps;
  assign caps = (Caps | (strap_i.db_memory ? dingo_pkg::CAP_DB_MEMORY : dingo_pkg::CAP_PUSH)) & ~strap_i.withheld;
  assign push_on = (caps & dingo_pkg::CAP_PUSH) != '0;
  logic [63:0] r_data_q, value;
  logic [15:0] r_offset;
  assign s_reg_arready_o = !r_valid_q;
  assign take_read = s_reg_arvalid_i && s_reg_arready_o;
  assign r_offset = {s_reg_araddr_i[15:3], 3'b000};
  assign s_reg_rvalid_o = r_valid_q;
  assign s_reg_rdata_o = r_data_q;

  always_comb begin
    value = '0;
    if (r_offset < RegistersEnd) begin
      case (r_offset)
        dingo_pkg::REG_MAGIC[15:0]:
        value = {dingo_pkg::CONTRACT_MAJOR[15:0], dingo_pkg::CONTRACT_MINOR[15:0], Magic};
        dingo_pkg::REG_CAPS[15:0]: value = {32'd0, caps};
        dingo_pkg::REG_STATUS[15:0]: value = {61'd0, link_up_i, fatal, ready_i && !soft_reset_q};
        dingo_pkg::REG_DB_PAGES[15:0]: value = {dingo_pkg::MSIX_MAX, 32'd1 << PageW};
        dingo_pkg::REG_ASQ_BASE[15:0]: value = asq_base_q;
        dingo_pkg::REG_ACQ_BASE[15:0]: value = acq_base_q;
        dingo_pkg::REG_AQ_CTRL[15:0]: value = {32'd0, enable_q, 27'd0, log_depth_q};
        dingo_pkg::REG_FATAL[15:0]: value = {resets_q, fatal_q};
        dingo_pkg::REG_CLOCK[15:0]: value = {s_reg_araddr_i[2] ? clock_high_q : now_ns_i[63:32], now_ns_i[31:0]};
        dingo_pkg::REG_MAC[15:0]: value = {16'd0, strap_i.mac};
        dingo_pkg::REG_LINK_MBPS[15:0]: value = {strap_i.engine, strap_i.link_mbps};
        dingo_pkg::REG_BUILD[15:0]: value = {32'd0, Build};
        dingo_pkg::REG_PUSH_PAGES[15:0]: value = {32'd0, push_on ? 32'd1 << PushW : 32'd0};
        default: value = '0;
      endcase
    end
  end
  always_ff @(posedge clk_i) begin : read_channel
    if (!rst_ni) begin
      r_valid_q <= 1'b0;
    end else if (r_valid_q) begin
      if (s_reg_rready_i) r_valid_q <= 1'b0;
    end else begin
      r_valid_q <= s_reg_arvalid_i;
    end
    if (take_read) r_data_q <= value;
    if (!rst_ni || soft_reset_q) clock_high_q <= '0;
    else if (take_read && r_offset == dingo_pkg::REG_CLOCK[15:0] && !s_reg_araddr_i[2]) clock_high_q <= now_ns_i[63:32];
  end

  // ---------------------------------------------------------------------------------- doorbells
  typedef enum logic [2:0] {
    D_IDLE  = 3'd0,
    D_CHECK = 3'd1,
    D_PUSH  = 3'd2,  // the queue was full
    D_RESP  = 3'd3,
    D_COPY  = 3'd4   // blocks of the push page go to the cache
  } dstate_t;
  dstate_t d_state_q;
  logic daw_full_q, dw_full_q, db_ok, db_drop, db_push;
  logic [PageW+8:0] d_slot_q;  // page and slot
  logic [63:0] d_data_q;
  logic [7:0] d_strb_q;

  assign s_db_awready_o = !daw_full_q;
  assign s_db_wready_o = !dw_full_q;
  assign s_db_bvalid_o = d_state_q == D_RESP;
  rtl_pkg::db_word_t d_word;
  logic [2:0] pushed;                // blocks; SQ doorbells only
  logic [PageW-1:0] d_page;
  logic push_ok;
  assign d_word = d_data_q[31:0];
  assign d_page = d_slot_q[9 +: PageW];
  assign pushed = d_word.kind == dingo_pkg::DB_SQ[3:0] ? {d_word.arm_sn, d_word.arm} : 3'd0;
  assign push_ok = pushed == 3'd0 || (push_on && 32'(pushed) <= dingo_pkg::PUSH_BLOCKS && d_page[PageW-1:PushW] == '0);
  assign push_valid_o = d_state_q == D_COPY;
  assign push_o.page = d_page[PushW-1:0];
  assign push_o.qpn = d_word.object;
  assign push_o.index = d_data_q[63:32];
  assign push_o.blocks = pushed;
  assign db_ok = d_strb_q == 8'hff && 32'(d_slot_q[8:0]) >= dingo_pkg::DB_FIRST_SLOT && !fatal && ready_i && push_ok;
  assign db_drop = d_state_q == D_CHECK && !db_ok;
  assign db_push = d_state_q == D_PUSH || (d_state_q == D_CHECK && db_ok && pushed == 3'd0);
  assign db_busy = d_state_q == D_CHECK || d_state_q == D_PUSH || d_state_q == D_COPY || (d_state_q == D_IDLE && (daw_full_q || dw_full_q)) ||
                   s_db_awvalid_i || s_db_wvalid_i;

  logic queue_ready, queue_valid, queue_pop;
  logic [LogQueue:0] queue_count;
  dingo_fifo #(
      .Width(PageW + 64),
      .LogDepth(LogQueue)
  ) u_queue (
      .clk_i,
      .rst_ni(rst_ni && !soft_reset_q),
      .valid_i(db_push),
      .ready_o(queue_ready),
      .data_i({d_page, d_data_q[63:32], d_word}),
      .valid_o(queue_valid),
      .ready_i(db_ready_i),
      .data_o(db_o),
      .count_o(queue_count)
  );
  assign db_valid_o = queue_valid;
  assign db_crowded_o = queue_count[LogQueue:LogQueue-1] != '0;
  assign queue_pop = queue_valid && db_ready_i;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || soft_reset_q) ahead_q <= '0;
    else if (wr && !step_dropped && step_offset == dingo_pkg::REG_ASQ_DB[15:0])
      ahead_q <= queue_count - (LogQueue+1)'(queue_pop);
    else if (queue_pop && ahead_q != '0) ahead_q <= ahead_q - 1'b1;
  end

  always_ff @(posedge clk_i) begin : doorbells
    if (!rst_ni) begin
      d_state_q <= D_IDLE;
      daw_full_q <= 1'b0;
      dw_full_q <= 1'b0;
    end else begin
      if (s_db_awvalid_i && s_db_awready_o) daw_full_q <= 1'b1;
      if (s_db_wvalid_i && s_db_wready_o) dw_full_q <= 1'b1;
      case (d_state_q)
        D_IDLE: if ((daw_full_q || s_db_awvalid_i) && (dw_full_q || s_db_wvalid_i)) d_state_q <= D_CHECK;
        D_CHECK: d_state_q <= !db_ok || soft_reset_q ? D_RESP : pushed != 3'd0 ? D_COPY : queue_ready ? D_RESP : D_PUSH;
        D_COPY: if (soft_reset_q || !ready_i) d_state_q <= D_RESP;
        else if (push_done_i) d_state_q <= D_PUSH;
        D_PUSH: if (queue_ready || soft_reset_q) d_state_q <= D_RESP;
        default: begin
          if (s_db_bready_i) begin
            d_state_q <= D_IDLE;
            daw_full_q <= 1'b0;
            dw_full_q <= 1'b0;
          end
        end
      endcase
    end
    if (s_db_awvalid_i && s_db_awready_o) d_slot_q <= s_db_awaddr_i[PageW+11:3];
    if (s_db_wvalid_i && s_db_wready_o) begin
      d_data_q <= s_db_wdata_i;
      d_strb_q <= s_db_wstrb_i;
    end
  end

  logic dr_valid_q;
  assign s_db_arready_o = !dr_valid_q;
  assign s_db_rvalid_o = dr_valid_q;
  assign s_db_rdata_o = '0;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) dr_valid_q <= 1'b0;
    else dr_valid_q <= dr_valid_q ? !s_db_rready_i : s_db_arvalid_i;
  end

  // ---------------------------------------------------------------------------------- what was dropped
  // Counted here until dingo_stats takes it: a bus access never waits for a counter.
  logic [15:0] mmio_drops_q, db_drops_q;
  logic stat_valid_q;
  rtl_pkg::stat_t stat_q;
  logic load_mmio, load_db;
  assign load_mmio = !stat_valid_q && mmio_drops_q != '0;
  assign load_db = !stat_valid_q && !load_mmio && db_drops_q != '0;
  assign stat_valid_o = stat_valid_q;
  assign stat_o = stat_q;
  always_ff @(posedge clk_i) begin : drops
    if (!rst_ni || soft_reset_q) begin
      mmio_drops_q <= '0;
      db_drops_q <= '0;
      stat_valid_q <= 1'b0;
    end else begin
      mmio_drops_q <= (load_mmio ? 16'd0 : mmio_drops_q) + 16'(step_dropped) + 16'(push_drop_i);
      db_drops_q <= (load_db ? 16'd0 : db_drops_q) + 16'(db_drop);
      stat_valid_q <= stat_valid_q ? !stat_ready_i : load_mmio || load_db;
    end
    if (load_mmio) stat_q <= {6'(dingo_pkg::CARD_MMIO_DROPPED), mmio_drops_q};
    else if (load_db) stat_q <= {6'(dingo_pkg::CARD_DB_DROPPED), db_drops_q};
  end

  assign idle_o = !aw_full_q && !w_full_q && !daw_full_q && !dw_full_q && !queue_valid && !settle_q && !soft_reset_q &&
                  producer_out_q == producer_q && !stat_valid_q && mmio_drops_q == '0 && db_drops_q == '0;

  always_ff @(posedge clk_i) begin
    if (rst_ni) enabled_is_sane: assert (!aq_enable_o || (depth_out_q != '0 && asq_out_q[11:0] == '0));
  end

  wire unused_ok = &{1'b0, strap_i.max_qp, strap_i.max_cq, strap_i.max_mr, strap_i.max_srq, s_reg_awaddr_i[2:0],
                     s_reg_araddr_i[1:0], s_db_awaddr_i[2:0]};
endmodule
