// SPDX-License-Identifier: BSD-2-Clause

/// Transmit rings of the Ethernet function, in turn: descriptors, frame, completion. A frame is looked at as a
/// whole before any of it is consumed: descriptors up to EOP, 64 at most.
module dingo_eth_tx (
    input  logic     clk_i,
    input  logic     rst_ni,
    input  logic     halt_i,          // finish the frame in work, then stand still
    output logic     idle_o,          // stands still, and so does its memory traffic
    input  logic     xl_flush_i,
    input  rtl_pkg::port_t    port_i,
    input  logic     link_i,
    input  logic     cfg_valid_i,     // command
    input  rtl_pkg::eth_cfg_t cfg_i,
    input  logic     db_valid_i,      // producer index, page is good
    input  rtl_pkg::ethi_t    db_ring_i,
    input  logic [31:0] db_index_i,
    output logic     db_bad_o,        // in the cycle of db_valid_i: no ring, or an index that it cannot have
    output logic     frame_valid_o,
    input  logic     frame_ready_i,
    output rtl_pkg::beat_t    frame_o,
    output logic     cqe_valid_o,
    input  logic     cqe_ready_i,
    output rtl_pkg::cqe_req_t cqe_o,
    input  logic     cq_failed_i,     // its CQ took no entry: the ring stops
    input  rtl_pkg::ethi_t    cq_failed_ring_i,
    output logic     stat_valid_o,
    input  logic     stat_ready_i,
    output rtl_pkg::stat_t    stat_o,
    // dingo_host
    output logic     read_valid_o,
    input  logic     read_ready_i,
    output rtl_pkg::dma_req_t read_o,
    input  logic     read_rsp_valid_i,
    output logic     read_rsp_ready_o,
    input  rtl_pkg::beat_t    read_rsp_i,
    output logic     desc_valid_o,    // LINE_ETX
    input  logic     desc_ready_i,
    output rtl_pkg::rdl_req_t desc_o,
    input  logic     desc_rsp_valid_i,
    output logic     line_valid_o,    // LINE_XL_ETX
    input  logic     line_ready_i,
    output rtl_pkg::rdl_req_t line_o,
    input  logic     line_rsp_valid_i,
    input  rtl_pkg::rdl_rsp_t line_rsp_i       // of both
);
  localparam logic [6:0] MaxPieces = 7'd64;
  localparam logic [19:0] EthernetHeader = 20'd14;

  typedef enum logic [2:0] {
    IDLE  = 3'd0,
    FETCH = 3'd1,   // descriptors of a frame
    CHECK = 3'd2,   // of the whole frame
    SEND  = 3'd3,   // pieces are asked for, the frame passes
    COUNT = 3'd4,   // packets, or errors
    BYTES = 3'd5,
    REPORT = 3'd6
  } state_t;
  state_t state_q;

  // ---- rings
  localparam int unsigned Rings = 1 << rtl_pkg::ETH_LOG;
  logic [Rings-1:0] work, grant, unused_running;
  rtl_pkg::ethi_t   next, ring_q;
  logic          ring_idle, want, d_valid, d_err, d_eop, d_good, consume;
  rtl_pkg::cqi_t cq;
  logic [12:0]   size;
  logic [31:0]   consumer, producer, waiting;
  logic [63:0]   d_addr;
  logic [13:0]   d_len;
  logic [6:0]    count_q, limit;
  logic          start, incomplete, ring_err_q;

  dingo_eth_ring u_ring (
      .clk_i, .rst_ni, .idle_o(ring_idle), .xl_flush_i, .cfg_valid_i, .cfg_i,
      .db_valid_i, .db_ring_i, .db_index_i, .db_bad_o, .failed_i(cq_failed_i), .failed_ring_i(cq_failed_ring_i),
      .running_o(unused_running), .work_o(work), .ring_i(ring_q), .park_i(incomplete),
      .cq_o(cq), .size_o(size), .consumer_o(consumer), .producer_o(producer),
      .consume_i(consume), .consume_count_i(count_q),
      .want_i(want), .index_i(consumer + 32'(count_q)), .desc_valid_o(d_valid), .desc_err_o(d_err),
      .addr_o(d_addr), .len_o(d_len), .eop_o(d_eop), .good_o(d_good),
      .desc_valid_req_o(desc_valid_o), .desc_ready_i, .desc_o, .desc_rsp_valid_i,
      .line_valid_o, .line_ready_i, .line_o, .line_rsp_valid_i, .line_rsp_i
  );

  assign waiting = producer - consumer;
  assign limit = size > 13'(MaxPieces) ? MaxPieces : size[6:0];
  assign start = state_q == IDLE && work != '0 && !halt_i && !ring_err_q;
  // The rest has not been rung yet.
  assign incomplete = want && d_valid && !d_eop && count_q + 7'd1 != limit && 32'(count_q) + 32'd1 == waiting;

  dingo_arb #(.N(Rings)) u_turn (.clk_i, .rst_ni, .req_i(work), .take_i(start), .grant_o(grant));
  always_comb begin
    next = '0;
    for (int i = 0; i < Rings; i++) if (grant[i]) next = next | rtl_pkg::ethi_t'(i);
  end
  assign want = state_q == FETCH;

  // ---- pieces of the frame
  typedef struct packed {
    logic [13:0] len;
    logic [63:0] addr;
  } piece_t;
  localparam int unsigned PieceW = 78;
  logic [PieceW-1:0] pieces [64];
  piece_t piece, piece_in;
  logic [6:0]  next_q;
  logic [19:0] length_q, length, most;
  logic        good_q;

  assign piece = pieces[next_q[5:0]];
  assign piece_in.len = d_len;
  assign piece_in.addr = d_addr;
  assign length = length_q + 20'(d_len);
  assign most = 20'(port_i.mtu) + EthernetHeader + 20'd4;

  always_ff @(posedge clk_i) begin
    if (want && d_valid) pieces[count_q[5:0]] <= piece_in;
  end

  // ---- their bytes
  logic           seg_valid, seg_ready, g_valid, g_ready, gather_idle, unused_read, unused_line_valid;
  rtl_pkg::seg_t  seg;
  rtl_pkg::beat_t g;
  rtl_pkg::rdl_req_t unused_line;

  assign seg_valid = state_q == SEND && next_q != count_q;
  always_comb begin                    // a bus address: no list, no offset
    seg = '0;
    seg.last = next_q + 7'd1 == count_q;
    seg.len = 32'(piece.len);
    seg.mem.addr = piece.addr;
  end

  // The addresses in descriptors are bus addresses: no list is ever read.
  dingo_gather u_gather (
      .clk_i, .rst_ni, .idle_o(gather_idle), .packet_read_o(unused_read), .xl_flush_i, .seg_valid_i(seg_valid), .seg_ready_o(seg_ready),
      .seg_i(seg), .beat_valid_o(g_valid), .beat_ready_i(g_ready), .beat_o(g),
      .read_valid_o, .read_ready_i, .read_o, .read_rsp_valid_i, .read_rsp_ready_o, .read_rsp_i,
      .line_valid_o(unused_line_valid), .line_ready_i(1'b0), .line_o(unused_line), .line_rsp_valid_i(1'b0),
      .line_rsp_i
  );

  // A frame without tag may be four bytes shorter only, and that shows in its first beat.
  logic first_q, tag_q, has_tag, too_long, bad, passed;

  assign has_tag = first_q ? g.data[111:96] == roce_pkg::WIRE_VLAN : tag_q;
  assign too_long = !has_tag && length_q > most - 20'd4;
  assign bad = g.err || too_long;
  assign frame_valid_o = g_valid;
  assign g_ready = frame_ready_i;
  assign frame_o.err = g.last && bad;
  assign frame_o.last = g.last;
  assign frame_o.bytes = g.bytes;
  assign frame_o.data = g.data;
  assign passed = g_valid && frame_ready_i;

  always_ff @(posedge clk_i) begin
    if (passed) begin
      first_q <= g.last;
      tag_q <= has_tag;
    end
    if (!rst_ni) first_q <= 1'b1;
  end

  // ---- frame by frame
  logic       stat_done;
  logic [31:0] last_q;

  assign consume = (state_q == CHECK && !(good_q && length_q >= EthernetHeader && length_q <= most && link_i &&
                                          port_i.enabled)) ||
                   (state_q == SEND && passed && g.last);
  // A ring that cannot be read counts its error while nothing else is to be counted.
  assign stat_valid_o = state_q == COUNT || state_q == BYTES || ring_err_q;
  assign stat_done = stat_ready_i && !ring_err_q;
  assign stat_o = ring_err_q || !good_q ? {6'(dingo_pkg::CARD_ETH_TX_ERRORS), 16'd1} :
                  state_q == COUNT ? {6'(dingo_pkg::CARD_ETH_TX_PACKETS), 16'd1} :
                                     {6'(dingo_pkg::CARD_ETH_TX_BYTES), length_q[15:0]};
  assign cqe_valid_o = state_q == REPORT;

  always_comb begin
    cqe_o = '0;
    cqe_o.cq = cq;
    cqe_o.qp = rtl_pkg::qpi_t'(ring_q);
    cqe_o.wqe_index = last_q;
    cqe_o.byte_len = good_q ? 32'(length_q) : '0;
    cqe_o.qpn_op = {dingo_pkg::WC_ETH_TX[7:0], 24'(ring_q)};
    cqe_o.status = good_q ? dingo_pkg::WCS_SUCCESS[7:0] : dingo_pkg::WCS_LOC_QP_OP_ERR[7:0];
  end

  always_ff @(posedge clk_i) begin
    if (stat_ready_i) ring_err_q <= 1'b0;
    if (consume) last_q <= consumer + 32'(count_q) - 32'd1;
    case (state_q)
      IDLE: if (start) begin
        state_q <= FETCH;
        ring_q <= next;
        count_q <= '0;
        next_q <= '0;
        length_q <= '0;
        good_q <= 1'b1;
      end
      FETCH: if (d_err) begin
        state_q <= IDLE;
        ring_err_q <= 1'b1;
      end else if (d_valid) begin
        count_q <= count_q + 7'd1;
        good_q <= good_q && d_good;
        length_q <= length;
        if (d_eop) begin
          state_q <= CHECK;
        end else if (count_q + 7'd1 == limit) begin
          good_q <= 1'b0;              // more pieces than this, or than the ring holds
          state_q <= CHECK;
        end else if (incomplete) begin
          state_q <= IDLE;
        end
      end
      CHECK: begin
        good_q <= !consume;
        state_q <= consume ? COUNT : SEND;
      end
      SEND: begin
        if (seg_valid && seg_ready) next_q <= next_q + 7'd1;
        if (passed && g.last) begin
          good_q <= !bad;
          state_q <= COUNT;
        end
      end
      COUNT: if (stat_done) state_q <= good_q ? BYTES : REPORT;
      BYTES: if (stat_done) state_q <= REPORT;
      default: if (cqe_ready_i) state_q <= IDLE;
    endcase
    if (!rst_ni) begin
      state_q <= IDLE;
      ring_err_q <= 1'b0;
    end else begin
      assert (!unused_line_valid);
      if (cfg_valid_i) assert (state_q == IDLE);
      if (passed) assert (state_q == SEND);
    end
  end

  assign idle_o = state_q == IDLE && ring_idle && gather_idle && !ring_err_q && (halt_i || work == '0);
  wire unused_ok = &{1'b0, unused_running, unused_read, unused_line, port_i, size};
endmodule
