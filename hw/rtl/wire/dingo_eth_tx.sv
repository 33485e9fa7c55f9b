// SPDX-License-Identifier: BSD-2-Clause

/// Transmit rings of the Ethernet function, in turn: descriptors, frame, completion, one frame or TSO segment at a
/// time. All descriptors of a frame (up to EOP, 64 at most) are checked before any is consumed. A frame that is cut
/// (TSO) is consumed with its last segment; each segment is a turn of its ring and reads the frame's headers again.
/// Stalls: host memory, frame_ready_i, counters, CQ.
module dingo_eth_tx (
    input  logic     clk_i,
    input  logic     rst_ni,
    input  logic     halt_i,          // finish the frame or segment in work, then stop
    output logic     idle_o,          // stopped, with no memory access outstanding
    input  logic     xl_flush_i,
    input  rtl_pkg::port_t    port_i,
    input  logic     link_i,
    input  logic     offloads_i,      // capability ETH_OFFLOAD
    input  logic     cfg_valid_i,     // command
    input  rtl_pkg::eth_cfg_t cfg_i,
    input  logic     db_valid_i,      // producer index, from a page that may use the ring
    input  rtl_pkg::ethi_t    db_ring_i,
    input  logic [31:0] db_index_i,
    output logic     db_bad_o,        // in the cycle of db_valid_i: no such ring, or a bad index
    output logic     frame_valid_o,
    input  logic     frame_ready_i,
    output rtl_pkg::beat_t    frame_o,
    output rtl_pkg::eth_csum_t csum_o,         // of the frame, with each of its beats
    output logic     cqe_valid_o,
    input  logic     cqe_ready_i,
    output rtl_pkg::cqe_req_t cqe_o,
    input  logic     cq_failed_i,     // the ring's CQ took no entry: the ring stops
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
    input  rtl_pkg::rdl_rsp_t line_rsp_i       // for desc_o and line_o
);
  localparam logic [6:0] MaxPieces = 7'd64;
  localparam logic [22:0] EthernetHeader = 23'd14;
  localparam logic [16:0] Head = 17'd98;   // bytes up to the end of a TCP header without options

  typedef enum logic [3:0] {
    IDLE  = 4'd0,
    FETCH = 4'd1,   // read the descriptors of a frame
    CHECK = 4'd2,   // check the whole frame
    SEND  = 4'd3,   // read the pieces, the frame passes
    COUNT = 4'd4,   // count packets or errors
    BYTES = 4'd5,   // count bytes
    REPORT = 4'd6,  // completion
    HEAD  = 4'd7,   // read the head of a frame to be cut
    JUDGE = 4'd8,   // can it be cut?
    CUT   = 4'd9,   // compute the next segment
    SIZED = 4'd10   // may the segment be sent?
  } state_t;
  state_t state_q;

  // ---- rings
  localparam int unsigned Rings = 1 << rtl_pkg::ETH_LOG;
  logic [Rings-1:0] work, grant, unused_running;
  rtl_pkg::ethi_t   next, ring_q;
  logic          ring_idle, want, d_valid, d_err, d_eop, d_good, consume;
  dingo_pkg::eth_desc_t d;
  rtl_pkg::cqi_t cq;
  logic [12:0]   size;
  logic [31:0]   consumer, producer, waiting;
  logic [6:0]    count_q, limit;
  logic          start, incomplete, ring_err_q;

  dingo_eth_ring u_ring (
      .clk_i, .rst_ni, .idle_o(ring_idle), .xl_flush_i, .cfg_valid_i, .cfg_i,
      .db_valid_i, .db_ring_i, .db_index_i, .db_bad_o, .failed_i(cq_failed_i), .failed_ring_i(cq_failed_ring_i),
      .running_o(unused_running), .work_o(work), .ring_i(ring_q), .park_i(incomplete),
      .cq_o(cq), .size_o(size), .consumer_o(consumer), .producer_o(producer),
      .consume_i(consume), .consume_count_i(count_q),
      .want_i(want), .index_i(consumer + 32'(count_q)), .desc_valid_o(d_valid), .desc_err_o(d_err), .descriptor_o(d),
      .desc_valid_req_o(desc_valid_o), .desc_ready_i, .desc_o, .desc_rsp_valid_i,
      .line_valid_o, .line_ready_i, .line_o, .line_rsp_valid_i, .line_rsp_i
  );

  assign waiting = producer - consumer;
  assign limit = size > 13'(MaxPieces) ? MaxPieces : size[6:0];
  assign start = state_q == IDLE && work != '0 && !halt_i && !ring_err_q;
  // The doorbell for the rest of the frame has not come yet.
  assign incomplete = want && d_valid && !d_eop && count_q + 7'd1 != limit && 32'(count_q) + 32'd1 == waiting;

  dingo_arb #(.N(Rings)) u_turn (.clk_i, .rst_ni, .req_i(work), .take_i(start), .grant_o(grant));
  always_comb begin
    next = '0;
    for (int i = 0; i < Rings; i++) if (grant[i]) next = next | rtl_pkg::ethi_t'(i);
  end
  assign want = state_q == FETCH;

  // ---- what the first descriptor asks for, and the pieces of the frame
  logic        csum, tso, cutting_q, seg_valid, seg_ready, good_q;
  logic [8:0]  csum_start;
  logic [15:0] arg;
  logic [22:0] length_q, most;
  logic [6:0]  at;
  logic [16:0] skip, head_bytes;
  rtl_pkg::seg_t seg;
  dingo_eth_desc u_desc (
      .clk_i, .offloads_i, .desc_i(d), .first_i(count_q == '0), .clear_i(start), .take_i(want && !d_err && d_valid), .eop_o(d_eop),
      .good_o(d_good), .csum_o(csum), .tso_o(tso), .start_o(csum_start), .arg_o(arg)
  );
  assign most = tso ? 23'(dingo_pkg::MAX_TSO) : 23'(port_i.mtu) + EthernetHeader + 23'd4;
  assign head_bytes = length_q < 23'(Head) ? length_q[16:0] : Head;
  dingo_eth_walk u_walk (
      .clk_i, .ring_i(ring_q), .we_i(want && d_valid), .index_i(count_q[5:0]), .desc_i(d),
      .begin_i(state_q == CHECK || state_q == SIZED),
      .bytes_i(state_q == SIZED ? 17'(cut_headers) : tso ? head_bytes : length_q[16:0]),
      .payload_i(state_q == SIZED ? cut_bytes - 17'(cut_headers) : '0), .elsewhere_i(cut_begun), .piece_i(cut_piece),
      .skip_i(cut_skip), .go_i(state_q == SEND || state_q == HEAD), .piece_o(at), .skip_o(skip), .seg_valid_o(seg_valid),
      .seg_ready_i(seg_ready), .seg_o(seg)
  );

  // ---- frames that are cut
  logic [Rings-1:0] under_way;
  logic        judged, cut_good, next_valid, cut_tagged, cut_last, cut_begun, judging_q, asking_q, cut_sent, cut_end, second;
  logic [16:0] cut_length, cut_skip, cut_bytes;
  logic [6:0]  cut_count, cut_piece, cut_l4;
  logic [7:0]  cut_headers;
  logic [511:0] cut_data;
  dingo_eth_cut u_cut (
      .clk_i, .rst_ni, .forget_i(cfg_valid_i), .forget_ring_i(cfg_i.ring), .under_way_o(under_way), .ring_i(ring_q),
      .head_valid_i(state_q == HEAD && g_valid), .head_second_i(second), .head_i(g.data), .judge_i(judging_q),
      .length_i(length_q[16:0]), .count_i(count_q), .start_i(csum_start), .mss_i(arg), .judged_o(judged), .good_o(cut_good),
      .length_o(cut_length), .count_o(cut_count), .piece_o(cut_piece), .skip_o(cut_skip), .begun_o(cut_begun),
      .next_i(asking_q), .next_valid_o(next_valid), .bytes_o(cut_bytes), .headers_o(cut_headers), .tagged_o(cut_tagged),
      .l4_o(cut_l4), .last_o(cut_last), .sent_i(cut_sent), .piece_i(at), .skip_i(skip), .end_i(cut_end),
      .second_i(second), .data_i(g.data), .data_o(cut_data)
  );

  // ---- their bytes
  logic           g_valid, gather_idle, bad, taken;
  rtl_pkg::beat_t g;
  dingo_eth_pass u_pass (
      .clk_i, .rst_ni, .idle_o(gather_idle), .xl_flush_i, .seg_valid_i(seg_valid), .seg_ready_o(seg_ready), .seg_i(seg),
      .send_i(state_q == SEND), .head_i(state_q == HEAD), .fresh_i(state_q == CHECK), .segment_i(state_q == SIZED),
      .cutting_i(cutting_q), .length_i(length_q), .most_i(most), .valid_o(g_valid), .taken_o(taken), .beat_o(g),
      .second_o(second), .patched_i(cut_data), .bad_o(bad), .frame_valid_o, .frame_ready_i, .frame_o,
      .read_valid_o, .read_ready_i, .read_o, .read_rsp_valid_i, .read_rsp_ready_o, .read_rsp_i, .line_rsp_i
  );

  // ---- frame by frame
  logic        stat_done, fits, up, sent, csum_fits, frame_end;
  logic [31:0] last_q;
  logic [15:0] bytes_q;                 // bytes of the frame or segment
  logic        more_q;                  // segments follow

  assign up = link_i && port_i.enabled;
  assign csum_fits = csum_start >= 9'd14 && 23'(csum_start) + 23'(arg) + 23'd2 <= length_q;
  assign fits = good_q && length_q >= EthernetHeader && length_q <= most && up && (!csum || csum_fits);
  assign sent = state_q == SEND && taken && g.last;
  // The frame ends: refused, or its last byte has passed.
  assign frame_end = (state_q == CHECK && !fits) || (state_q == HEAD && taken && g.last && g.err) ||
                     (state_q == JUDGE && judged && !cut_good) || (state_q == SIZED && !cut_fits) ||
                     (sent && (bad || !cutting_q || cut_last));
  logic cut_fits;
  assign cut_fits = up && cut_bytes <= 17'(port_i.mtu) + 17'd14 + (cut_tagged ? 17'd4 : 17'd0);
  assign cut_sent = sent && cutting_q && !bad;
  assign cut_end = cutting_q && frame_end;
  assign consume = frame_end;

  always_comb begin
    csum_o.on = csum || cutting_q;
    csum_o.nonzero = csum;
    csum_o.from = cutting_q ? 14'(cut_l4) : 14'(csum_start);
    csum_o.at = cutting_q ? 14'(cut_l4) + 14'd16 : 14'(csum_start) + arg[13:0];
    csum_o.length = bytes_q[13:0];
  end
  // The error of a ring that cannot be read is counted in IDLE; no frame begins until that is done.
  assign stat_valid_o = state_q == COUNT || state_q == BYTES || ring_err_q;
  assign stat_done = stat_ready_i && !ring_err_q;
  assign stat_o = ring_err_q || !good_q ? {6'(dingo_pkg::CARD_ETH_TX_ERRORS), 16'd1} :
                  state_q == COUNT ? {6'(dingo_pkg::CARD_ETH_TX_PACKETS), 16'd1} :
                                     {6'(dingo_pkg::CARD_ETH_TX_BYTES), bytes_q};
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
    judging_q <= 1'b0;
    asking_q <= 1'b0;
    if (consume) last_q <= consumer + 32'(count_q) - 32'd1;
    case (state_q)
      IDLE: if (start) begin
        state_q <= under_way[next] ? CUT : FETCH;
        cutting_q <= under_way[next];
        asking_q <= under_way[next];
        ring_q <= next;
        count_q <= '0;
        length_q <= '0;
        good_q <= 1'b1;
        more_q <= 1'b0;
      end
      FETCH: if (d_err) begin
        state_q <= IDLE;
        ring_err_q <= 1'b1;
      end else if (d_valid) begin
        count_q <= count_q + 7'd1;
        good_q <= good_q && d_good;
        length_q <= length_q + 23'(d.length[16:0]);
        if (d_eop) begin
          state_q <= CHECK;
        end else if (count_q + 7'd1 == limit) begin
          good_q <= 1'b0;              // more pieces than 64 or than the ring has
          state_q <= CHECK;
        end else if (incomplete) begin
          state_q <= IDLE;
        end
      end
      CHECK: begin
        good_q <= fits;
        bytes_q <= length_q[15:0];
        state_q <= !fits ? COUNT : tso ? HEAD : SEND;
      end
      HEAD: if (taken && g.last) begin
        good_q <= !g.err;
        judging_q <= !g.err;
        state_q <= g.err ? COUNT : JUDGE;
      end
      JUDGE: if (judged) begin
        good_q <= cut_good;
        cutting_q <= cut_good;
        asking_q <= cut_good;
        state_q <= cut_good ? CUT : COUNT;
      end
      CUT: begin                       // under way before, or from now on
        count_q <= cut_count;
        length_q <= 23'(cut_length);
        if (next_valid) state_q <= SIZED;
      end
      SIZED: begin
        good_q <= cut_fits;
        bytes_q <= cut_bytes[15:0];
        state_q <= cut_fits ? SEND : COUNT;
      end
      SEND: if (sent) begin
        good_q <= !bad;
        more_q <= cutting_q && !bad && !cut_last;
        state_q <= COUNT;
      end
      COUNT: if (stat_done) state_q <= good_q ? BYTES : REPORT;
      BYTES: if (stat_done) state_q <= more_q ? IDLE : REPORT;
      default: if (cqe_ready_i) state_q <= IDLE;
    endcase
    if (!rst_ni) begin
      state_q <= IDLE;
      ring_err_q <= 1'b0;
      judging_q <= 1'b0;
      asking_q <= 1'b0;
      cutting_q <= 1'b0;
    end else begin
      if (cfg_valid_i) assert (state_q == IDLE);
      if (g_valid) assert (state_q == SEND || state_q == HEAD);
    end
  end

  assign idle_o = state_q == IDLE && ring_idle && gather_idle && !ring_err_q && (halt_i || work == '0);
  wire unused_ok = &{1'b0, unused_running, port_i, size, g};
endmodule
