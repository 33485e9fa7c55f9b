// SPDX-License-Identifier: BSD-2-Clause

/// Doorbell pages (BAR_DB): puts doorbells into the queue before dingo_db; if one has blocks in its push page, after
/// dingo_push has copied these. Reads give 0.
module dingo_regs_bell (
    input  logic        clk_i,
    input  logic        rst_ni,
    output logic        idle_o,
    input  logic        soft_reset_i,
    input  logic        ready_i,         // STATUS.READY
    input  logic        enabled_i,       // no fatal error; else doorbells are dropped
    input  logic        push_on_i,       // capability PUSH
    input  logic        rung_i,          // ASQ_DB was written, after all doorbells in the queue
    output logic        held_o,          // some of these are still in the queue
    output logic        busy_o,          // a doorbell is on its way to the queue
    output logic        drop_o,          // pulse: an invalid write was dropped
    output logic        db_valid_o,
    input  logic        db_ready_i,
    output rtl_pkg::db_t db_o,
    output logic        db_crowded_o,    // the queue is half full
    output logic        push_valid_o,
    output rtl_pkg::push_order_t push_o,
    input  logic        push_done_i,
    input  logic        awvalid_i,
    output logic        awready_o,
    input  logic [rtl_pkg::DB_PAGE_LOG+11:0] awaddr_i,
    input  logic        wvalid_i,
    output logic        wready_o,
    input  logic [63:0] wdata_i,
    input  logic [ 7:0] wstrb_i,
    output logic        bvalid_o,
    input  logic        bready_i,
    input  logic        arvalid_i,
    output logic        arready_o,
    output logic        rvalid_o,
    input  logic        rready_i,
    output logic [63:0] rdata_o
);
  localparam int unsigned PageW = rtl_pkg::DB_PAGE_LOG;
  localparam int unsigned PushW = rtl_pkg::PUSH_PAGE_LOG;
  localparam int unsigned LogQueue = 6;           // 64 doorbells

  typedef enum logic [2:0] {
    D_IDLE  = 3'd0,
    D_CHECK = 3'd1,
    D_PUSH  = 3'd2,  // wait for room in the queue
    D_RESP  = 3'd3,
    D_COPY  = 3'd4   // dingo_push copies blocks of the push page
  } dstate_t;
  dstate_t d_state_q;
  logic daw_full_q, dw_full_q, db_ok, db_push;
  logic [PageW+8:0] d_slot_q;  // page and slot
  logic [63:0] d_data_q;
  logic [7:0] d_strb_q;

  assign awready_o = !daw_full_q;
  assign wready_o = !dw_full_q;
  assign bvalid_o = d_state_q == D_RESP;
  rtl_pkg::db_word_t d_word;
  logic [2:0] pushed;                // blocks; SQ doorbells only
  logic [PageW-1:0] d_page;
  logic push_ok;
  assign d_word = d_data_q[31:0];
  assign d_page = d_slot_q[9 +: PageW];
  assign pushed = d_word.kind == dingo_pkg::DB_SQ[3:0] ? {d_word.arm_sn, d_word.arm} : 3'd0;
  assign push_ok = pushed == 3'd0 || (push_on_i && 32'(pushed) <= dingo_pkg::PUSH_BLOCKS && d_page[PageW-1:PushW] == '0);
  assign push_valid_o = d_state_q == D_COPY;
  assign push_o.page = d_page[PushW-1:0];
  assign push_o.qpn = d_word.object;
  assign push_o.index = d_data_q[63:32];
  assign push_o.blocks = pushed;
  assign db_ok = d_strb_q == 8'hff && 32'(d_slot_q[8:0]) >= dingo_pkg::DB_FIRST_SLOT && enabled_i && ready_i && push_ok;
  assign drop_o = d_state_q == D_CHECK && !db_ok;
  assign db_push = d_state_q == D_PUSH || (d_state_q == D_CHECK && db_ok && pushed == 3'd0);
  assign busy_o = d_state_q == D_CHECK || d_state_q == D_PUSH || d_state_q == D_COPY || (d_state_q == D_IDLE && (daw_full_q || dw_full_q)) ||
                   awvalid_i || wvalid_i;

  logic [LogQueue:0] ahead_q;                   // doorbells in the queue that were rung before the last write of ASQ_DB
  logic queue_ready, queue_valid, queue_pop;
  logic [LogQueue:0] queue_count;
  dingo_fifo #(
      .Width(PageW + 64),
      .LogDepth(LogQueue)
  ) u_queue (
      .clk_i,
      .rst_ni(rst_ni && !soft_reset_i),
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
    if (!rst_ni || soft_reset_i) ahead_q <= '0;
    else if (rung_i) ahead_q <= queue_count - (LogQueue+1)'(queue_pop);
    else if (queue_pop && ahead_q != '0) ahead_q <= ahead_q - 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      d_state_q <= D_IDLE;
      daw_full_q <= 1'b0;
      dw_full_q <= 1'b0;
    end else begin
      if (awvalid_i && awready_o) daw_full_q <= 1'b1;
      if (wvalid_i && wready_o) dw_full_q <= 1'b1;
      case (d_state_q)
        D_IDLE: if ((daw_full_q || awvalid_i) && (dw_full_q || wvalid_i)) d_state_q <= D_CHECK;
        D_CHECK: d_state_q <= !db_ok || soft_reset_i ? D_RESP : pushed != 3'd0 ? D_COPY : queue_ready ? D_RESP : D_PUSH;
        D_COPY: if (soft_reset_i || !ready_i) d_state_q <= D_RESP;
        else if (push_done_i) d_state_q <= D_PUSH;
        D_PUSH: if (queue_ready || soft_reset_i) d_state_q <= D_RESP;
        default: begin
          if (bready_i) begin
            d_state_q <= D_IDLE;
            daw_full_q <= 1'b0;
            dw_full_q <= 1'b0;
          end
        end
      endcase
    end
    if (awvalid_i && awready_o) d_slot_q <= awaddr_i[PageW+11:3];
    if (wvalid_i && wready_o) begin
      d_data_q <= wdata_i;
      d_strb_q <= wstrb_i;
    end
  end

  logic dr_valid_q;
  assign arready_o = !dr_valid_q;
  assign rvalid_o = dr_valid_q;
  assign rdata_o = '0;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) dr_valid_q <= 1'b0;
    else dr_valid_q <= dr_valid_q ? !rready_i : arvalid_i;
  end

  assign held_o = ahead_q != '0;
  assign idle_o = !daw_full_q && !dw_full_q && !queue_valid;

  wire unused_ok = &{1'b0, awaddr_i[2:0]};
endmodule
