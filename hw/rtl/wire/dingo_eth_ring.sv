// SPDX-License-Identifier: BSD-2-Clause

/// A ring of Ethernet descriptors: what the driver has rung, what is done, and the descriptor that is
/// asked for. Descriptors come by lines of four; a line serves those that had been rung when it was read.
module dingo_eth_ring (
    input  logic     clk_i,
    input  logic     rst_ni,
    output logic     idle_o,            // no memory traffic
    input  logic     xl_flush_i,
    input  logic     cfg_valid_i,       // created or destroyed: begins at index 0
    input  logic     cfg_on_i,
    input  rtl_pkg::xmem_t cfg_mem_i,
    input  logic [3:0] cfg_log_size_i,
    input  rtl_pkg::cqi_t  cfg_cq_i,
    input  logic     db_valid_i,
    input  logic [31:0] db_index_i,
    output logic     db_bad_o,
    input  logic     stop_i,            // takes nothing more until it is created anew
    output logic     running_o,
    output rtl_pkg::cqi_t cq_o,
    output logic [12:0] size_o,
    output logic [31:0] consumer_o,
    output logic [31:0] producer_o,
    input  logic     consume_i,
    input  logic [6:0] consume_count_i,
    // descriptor `index_i`, which has been rung
    input  logic     want_i,
    input  logic [31:0] index_i,
    output logic     desc_valid_o,
    output logic     desc_err_o,        // instead: the ring could not be read
    output logic [63:0] addr_o,
    output logic [13:0] len_o,
    output logic     eop_o,
    output logic     good_o,            // length in range, nothing set that is reserved
    // dingo_host
    output logic     desc_valid_req_o,
    input  logic     desc_ready_i,
    output rtl_pkg::rdl_req_t desc_o,
    input  logic     desc_rsp_valid_i,
    output logic     line_valid_o,
    input  logic     line_ready_i,
    output rtl_pkg::rdl_req_t line_o,
    input  logic     line_rsp_valid_i,
    input  rtl_pkg::rdl_rsp_t line_rsp_i
);
  typedef enum logic [2:0] {
    IDLE  = 3'd0,
    ASK   = 3'd1,   // for the line's bus address
    WAIT  = 3'd2,
    READ  = 3'd3,
    DATA  = 3'd4,
    BAD   = 3'd5    // reported in this cycle
  } state_t;
  state_t state_q;

  // ---- configuration and indices
  logic           on_q, stopped_q;
  rtl_pkg::xmem_t mem_q;
  logic [3:0]     log_q;
  rtl_pkg::cqi_t  cq_q;
  logic [31:0]    producer_q, consumer_q, held, size;

  assign size = 32'd1 << log_q;
  assign size_o = size[12:0];
  assign held = db_index_i - consumer_q;
  assign db_bad_o = db_valid_i && (!on_q || held > size || held < producer_q - consumer_q);
  assign running_o = on_q && !stopped_q;
  assign cq_o = cq_q;
  assign consumer_o = consumer_q;
  assign producer_o = producer_q;

  always_ff @(posedge clk_i) begin
    if (cfg_valid_i) begin
      on_q <= cfg_on_i;
      stopped_q <= 1'b0;
      mem_q <= cfg_mem_i;
      log_q <= cfg_log_size_i;
      cq_q <= cfg_cq_i;
      producer_q <= '0;
      consumer_q <= '0;
    end else begin
      if (stop_i) stopped_q <= 1'b1;
      if (db_valid_i && !db_bad_o) producer_q <= db_index_i;
      if (consume_i) consumer_q <= consumer_q + 32'(consume_count_i);
    end
    if (!rst_ni) on_q <= 1'b0;
  end

  // ---- the line that is held
  logic [511:0] data_q;
  logic         line_q;
  logic [29:0]  tag_q;
  logic [31:0]  upto_q;      // descriptors before this one had been rung
  logic [31:0]  slot;
  localparam logic [7:0] EOP = 8'(dingo_pkg::ETH_DESC_FLAGS_EOP_MASK);
  dingo_pkg::eth_desc_t desc;

  assign slot = index_i & (size - 32'd1);
  assign desc_valid_o = want_i && line_q && tag_q == index_i[31:2] && rtl_pkg::idx_before(index_i, upto_q);
  assign desc_err_o = state_q == BAD;
  assign desc = data_q[{slot[1:0], 7'd0} +: 128];
  assign addr_o = desc.addr;
  assign len_o = desc.length[13:0];
  assign eop_o = (desc.flags & EOP) != '0;
  assign good_o = desc.length != '0 && desc.length <= dingo_pkg::MAX_FRAME && {desc.arg, desc.start, desc.flags & ~EOP} == '0;

  // ---- fetch
  logic             req_valid, req_ready, rsp_valid, xl_idle;
  rtl_pkg::xl_req_t req;
  rtl_pkg::xl_rsp_t rsp;
  logic [57:0]      bus_q;

  assign req_valid = state_q == ASK;
  assign req.off = {28'd0, slot[31:2], 6'd0};
  assign req.mem = mem_q;
  assign desc_valid_req_o = state_q == READ;
  assign desc_o.lines = 4'd1;
  assign desc_o.addr = bus_q;
  assign idle_o = state_q == IDLE && xl_idle;

  dingo_xlat #(.LogSets(1), .RootLogSets(1), .LogFlight(1)) u_xlat (
      .clk_i, .rst_ni, .flush_i(xl_flush_i), .idle_o(xl_idle),
      .req_valid_i(req_valid), .req_ready_o(req_ready), .req_i(req),
      .rsp_valid_o(rsp_valid), .rsp_ready_i(state_q == WAIT), .rsp_o(rsp),
      .line_valid_o, .line_ready_i, .line_o, .line_rsp_valid_i, .line_rsp_i
  );

  always_ff @(posedge clk_i) begin
    case (state_q)
      IDLE: if (want_i && !desc_valid_o) begin
        state_q <= ASK;
        tag_q <= index_i[31:2];
        upto_q <= producer_q;
        line_q <= 1'b0;
      end
      ASK: if (req_ready) state_q <= WAIT;
      WAIT: if (rsp_valid) begin
        state_q <= rsp.err ? BAD : READ;
        bus_q <= rsp.addr[63:6];
      end
      READ: if (desc_ready_i) state_q <= DATA;
      DATA: if (desc_rsp_valid_i) begin
        state_q <= line_rsp_i.err ? BAD : IDLE;
        line_q <= !line_rsp_i.err;
        data_q <= line_rsp_i.data;
      end
      default: state_q <= IDLE;
    endcase
    if (cfg_valid_i) line_q <= 1'b0;
    if (!rst_ni) begin
      state_q <= IDLE;
      line_q <= 1'b0;
    end else begin
      if (want_i) assert (rtl_pkg::idx_before(index_i, producer_q));
      if (cfg_valid_i) assert (state_q == IDLE);
    end
  end
  wire unused_ok = &{1'b0, rsp, line_rsp_i, slot, size};
endmodule
