// SPDX-License-Identifier: BSD-2-Clause

/// Four rings of Ethernet descriptors of one kind: configuration, producer and consumer index, and reading of
/// descriptors. State of a ring is a word in each memory here; the user works on one ring at a time (ring_i).
/// Descriptors are read in lines of four, and each ring keeps the line read last; it serves those descriptors that
/// had been rung when it was read. A new line costs an address translation and a read of host memory.
module dingo_eth_ring (
    input  logic     clk_i,
    input  logic     rst_ni,
    output logic     idle_o,            // no memory traffic
    input  logic     xl_flush_i,
    input  logic     cfg_valid_i,       // a ring is created or destroyed: begins at index 0
    input  rtl_pkg::eth_cfg_t cfg_i,
    input  logic     db_valid_i,
    input  rtl_pkg::ethi_t db_ring_i,
    input  logic [31:0] db_index_i,     // new producer index
    output logic     db_bad_o,          // in the cycle of db_valid_i: no ring, or a bad index
    input  logic     failed_i,          // its CQ took no entry: the ring stops until it is created again
    input  rtl_pkg::ethi_t failed_ring_i,
    output logic [(1<<rtl_pkg::ETH_LOG)-1:0] running_o,  // on and not stopped
    output logic [(1<<rtl_pkg::ETH_LOG)-1:0] work_o,     // running, has rung descriptors, not parked
    // the ring of all ports below
    input  rtl_pkg::ethi_t ring_i,
    input  logic     park_i,            // no work until its next doorbell
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
    output logic     desc_err_o,        // instead: the ring cannot be read and stops
    output dingo_pkg::eth_desc_t descriptor_o,  // as the driver wrote it
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
  localparam int unsigned Rings = 1 << rtl_pkg::ETH_LOG;

  typedef enum logic [2:0] {
    IDLE  = 3'd0,
    ASK   = 3'd1,   // ask for the line's bus address
    WAIT  = 3'd2,
    READ  = 3'd3,
    DATA  = 3'd4,
    BAD   = 3'd5    // reported in this cycle
  } state_t;
  state_t state_q;

  // ---- configuration and indices
  logic [Rings-1:0]   running_q, on_q, work_q, work_d;
  logic [$bits(cfg_i)-1:0] cfgs [Rings];
  logic [31:0]        producers [Rings], consumers [Rings];
  rtl_pkg::eth_cfg_t  cfg, db_cfg;
  logic [31:0]        producer, consumer, rung, db_consumer, held, size, db_size;
  logic               db_good, db_here;

  assign cfg = cfgs[ring_i];
  assign producer = producers[ring_i];
  assign consumer = consumers[ring_i];
  assign size = 32'd1 << cfg.log_size;
  assign db_cfg = cfgs[db_ring_i];
  assign db_size = 32'd1 << db_cfg.log_size;
  assign db_consumer = consumers[db_ring_i];
  assign held = db_index_i - db_consumer;
  assign db_bad_o = db_valid_i && (!on_q[db_ring_i] || held > db_size || held < producers[db_ring_i] - db_consumer);
  assign db_good = db_valid_i && !db_bad_o;
  assign db_here = db_good && db_ring_i == ring_i;
  assign rung = db_here ? db_index_i : producer;
  assign running_o = running_q;
  assign work_o = work_q & running_q;
  assign cq_o = cfg.cq;
  assign size_o = size[12:0];
  assign consumer_o = consumer;
  assign producer_o = producer;

  always_comb begin
    work_d = work_q;
    if (db_good) work_d[db_ring_i] = held != '0;
    if (consume_i) work_d[ring_i] = rung - consumer != 32'(consume_count_i);
    if (park_i && !db_here) work_d[ring_i] = 1'b0;
    if (cfg_valid_i) work_d[cfg_i.ring] = 1'b0;
  end

  always_ff @(posedge clk_i) begin
    work_q <= work_d;
    if (cfg_valid_i) begin
      on_q[cfg_i.ring] <= cfg_i.on;
      running_q[cfg_i.ring] <= cfg_i.on;
      cfgs[cfg_i.ring] <= cfg_i;
    end else begin
      if (failed_i) running_q[failed_ring_i] <= 1'b0;
      if (state_q == BAD) running_q[ring_i] <= 1'b0;
    end
    if (cfg_valid_i) producers[cfg_i.ring] <= '0;
    else if (db_good) producers[db_ring_i] <= db_index_i;
    if (cfg_valid_i) consumers[cfg_i.ring] <= '0;
    else if (consume_i) consumers[ring_i] <= consumer + 32'(consume_count_i);
    if (!rst_ni) begin
      on_q <= '0;
      running_q <= '0;
      work_q <= '0;
    end
  end

  // ---- the lines that are held
  logic [511:0]     lines [Rings];
  logic [29:0]      tags [Rings];
  logic [31:0]      uptos [Rings];      // descriptors before this one had been rung when the line was read
  logic [Rings-1:0] line_q;
  logic [511:0]     line;
  logic [31:0]      slot;

  assign slot = index_i & (size - 32'd1);
  assign line = lines[ring_i];
  assign desc_valid_o = want_i && line_q[ring_i] && tags[ring_i] == index_i[31:2] && rtl_pkg::idx_before(index_i, uptos[ring_i]);
  assign desc_err_o = state_q == BAD;
  assign descriptor_o = line[{slot[1:0], 7'd0} +: 128];

  // ---- fetch
  logic             req_valid, req_ready, rsp_valid, xl_idle, begins;
  rtl_pkg::xl_req_t req;
  rtl_pkg::xl_rsp_t rsp;
  logic [57:0]      bus_q;

  assign begins = state_q == IDLE && want_i && !desc_valid_o;
  assign req_valid = state_q == ASK;
  assign req.off = {28'd0, slot[31:2], 6'd0};
  assign req.mem = cfg.mem;
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
      IDLE: if (begins) begin
        state_q <= ASK;
        line_q[ring_i] <= 1'b0;
      end
      ASK: if (req_ready) state_q <= WAIT;
      WAIT: if (rsp_valid) begin
        state_q <= rsp.err ? BAD : READ;
        bus_q <= rsp.addr[63:6];
      end
      READ: if (desc_ready_i) state_q <= DATA;
      DATA: if (desc_rsp_valid_i) begin
        state_q <= line_rsp_i.err ? BAD : IDLE;
        line_q[ring_i] <= !line_rsp_i.err;
      end
      default: state_q <= IDLE;
    endcase
    if (begins) tags[ring_i] <= index_i[31:2];
    if (begins) uptos[ring_i] <= producer;
    if (state_q == DATA && desc_rsp_valid_i) lines[ring_i] <= line_rsp_i.data;
    if (cfg_valid_i) line_q[cfg_i.ring] <= 1'b0;
    if (!rst_ni) begin
      state_q <= IDLE;
      line_q <= '0;
    end else begin
      if (want_i) assert (rtl_pkg::idx_before(index_i, producer));
      if (cfg_valid_i) assert (state_q == IDLE);
    end
  end
  wire unused_ok = &{1'b0, cfg, db_cfg, rsp, line_rsp_i, slot, size};
endmodule
