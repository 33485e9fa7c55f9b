// SPDX-License-Identifier: BSD-2-Clause

/// Receive rings of the Ethernet function: filter, ring, descriptor, frame into memory, completion; one frame at a
/// time. Frames wait in a buffer of their own (dingo_eth_frames), as a frame's ring and descriptor are chosen only
/// when it is the oldest. While halted for a command, frames that find no room are dropped: a full buffer would stall
/// the RoCE frames behind them in dingo_wire_rx. Stalls: host memory, counters, CQ.
module dingo_eth_rx (
    input  logic     clk_i,
    input  logic     rst_ni,
    input  logic     halt_i,
    output logic     idle_o,
    input  logic     xl_flush_i,
    input  rtl_pkg::port_t    port_i,
    input  logic     offloads_i,       // capability ETH_OFFLOAD
    input  logic [(1<<rtl_pkg::MAC_LOG)-1:0]    mac_valid_i,
    input  logic [(1<<rtl_pkg::MAC_LOG)*48-1:0] macs_i,
    input  logic     cfg_valid_i,
    input  rtl_pkg::eth_cfg_t cfg_i,
    input  logic     rss_valid_i,      // command SET_RSS
    input  rtl_pkg::rss_t     rss_i,
    input  logic     db_valid_i,
    input  rtl_pkg::ethi_t    db_ring_i,
    input  logic [31:0] db_index_i,
    output logic     db_bad_o,
    input  logic     frame_valid_i,
    output logic     frame_ready_o,
    input  rtl_pkg::beat_t    frame_i,
    output logic     cqe_valid_o,
    input  logic     cqe_ready_i,
    output rtl_pkg::cqe_req_t cqe_o,
    input  logic     cq_failed_i,
    input  rtl_pkg::ethi_t    cq_failed_ring_i,
    output logic     stat_valid_o,
    input  logic     stat_ready_i,
    output rtl_pkg::stat_t    stat_o,
    // dingo_host
    output logic     write_valid_o,
    input  logic     write_ready_i,
    output rtl_pkg::dma_req_t write_o,
    output logic     wdata_valid_o,
    input  logic     wdata_ready_i,
    output rtl_pkg::beat_t    wdata_o,
    input  logic     done_valid_i,
    input  logic     done_err_i,
    output logic     desc_valid_o,    // LINE_ERX
    input  logic     desc_ready_i,
    output rtl_pkg::rdl_req_t desc_o,
    input  logic     desc_rsp_valid_i,
    output logic     line_valid_o,    // LINE_XL_ERX
    input  logic     line_ready_i,
    output rtl_pkg::rdl_req_t line_o,
    input  logic     line_rsp_valid_i,
    input  rtl_pkg::rdl_rsp_t line_rsp_i
);
  typedef enum logic [3:0] {
    IDLE    = 4'd0,
    FETCH   = 4'd1,   // read the descriptor
    CHECK   = 4'd2,
    ORDER   = 4'd3,   // order the frame into the descriptor's buffer
    END     = 4'd4,
    WRITE   = 4'd5,   // wait until the frame is in host memory
    DROP    = 4'd6,   // drop the frame, counted as stat_q
    COUNT   = 4'd7,   // count packets; BYTES, GROUP: bytes, multicast
    BYTES   = 4'd8,
    GROUP   = 4'd9,
    REFUSED = 4'd10,  // count no_buffer; a completion in error follows
    REPORT  = 4'd11,
    FLOW    = 4'd12,  // parse headers, hash
    PICK    = 4'd13,  // choose the ring: two cycles
    PICKED  = 4'd14,
    LOOK    = 4'd15   // does it have a descriptor?
  } state_t;
  state_t state_q;

  // ---- received frames that wait
  logic           f_valid, f_pop, f_send, f_cmd_ready, frames_idle, p_valid, p_ready, lost, lost_ready;
  logic [13:0]    f_len;
  logic [687:0]   f_head;
  rtl_pkg::beat_t p;

  dingo_eth_frames u_frames (
      .clk_i, .rst_ni, .idle_o(frames_idle), .drop_i(halt_i), .valid_i(frame_valid_i), .ready_o(frame_ready_o),
      .beat_i(frame_i), .lost_o(lost), .lost_ready_i(lost_ready),
      .frame_valid_o(f_valid), .frame_ready_i(f_pop), .send_i(f_send), .cmd_ready_o(f_cmd_ready),
      .len_o(f_len), .head_o(f_head),
      .valid_o(p_valid), .ready_i(p_ready), .beat_o(p)
  );

  // ---- which ring
  logic [(1<<rtl_pkg::ETH_LOG)-1:0] running, work;
  logic           begin_flow, flow_done, flow_ip, flow_ports, rss_on, summed, unused_tagged, unused_v4, unused_tcp;
  logic [6:0]     l4;
  logic [16:0]    packet_end;
  logic [15:0]    pseudo, unused_base;
  logic [319:0]   key;
  logic [31:0]    hash;
  rtl_pkg::ethi_t picked, ring_q;

  dingo_eth_flow u_flow (
      .clk_i, .rst_ni, .start_i(begin_flow), .head_i(f_head), .len_i(17'(f_len)), .key_i(key), .done_o(flow_done),
      .ip_o(flow_ip), .ports_o(flow_ports), .hash_o(hash), .tagged_o(unused_tagged), .v4_o(unused_v4),
      .tcp_o(unused_tcp), .l4_o(l4), .end_o(packet_end), .summed_o(summed), .base_o(unused_base), .pseudo_o(pseudo)
  );
  dingo_eth_rss u_rss (
      .clk_i, .rst_ni, .set_valid_i(rss_valid_i), .set_i(rss_i), .on_o(rss_on), .key_o(key), .running_i(running),
      .ip_i(flow_ip), .hash_i(hash), .ring_o(picked)
  );

  // ---- rings
  logic          ring_idle, d_valid, d_err, consume;
  dingo_pkg::eth_desc_t d;
  rtl_pkg::cqi_t cq;
  logic [12:0]   unused_size;
  logic [31:0]   consumer, unused_producer;
  logic [63:0]   addr_q;
  logic [13:0]   room_q;
  logic          good_q;

  dingo_eth_ring u_ring (
      .clk_i, .rst_ni, .idle_o(ring_idle), .xl_flush_i, .cfg_valid_i, .cfg_i,
      .db_valid_i, .db_ring_i, .db_index_i, .db_bad_o, .failed_i(cq_failed_i), .failed_ring_i(cq_failed_ring_i),
      .running_o(running), .work_o(work), .ring_i(ring_q), .park_i(1'b0),
      .cq_o(cq), .size_o(unused_size), .consumer_o(consumer), .producer_o(unused_producer),
      .consume_i(consume), .consume_count_i(7'd1),
      .want_i(state_q == FETCH), .index_i(consumer), .desc_valid_o(d_valid), .desc_err_o(d_err),
      .descriptor_o(d),
      .desc_valid_req_o(desc_valid_o), .desc_ready_i, .desc_o, .desc_rsp_valid_i,
      .line_valid_o, .line_ready_i, .line_o, .line_rsp_valid_i, .line_rsp_i
  );

  // ---- filter
  logic in_table, unused_ours, group, wanted, too_long;

  dingo_mac_match u_match (
      .gids_i('0), .mac_valid_i, .macs_i, .valid_i(f_valid), .mac_i(f_head[47:0]), .table_o(in_table), .ours_o(unused_ours)
  );
  assign group = f_head[0];
  assign wanted = port_i.promisc || f_head[47:0] == '1 || in_table || (port_i.allmulti && group);
  assign too_long = 17'(f_len) > 17'(port_i.mtu) + 17'd14 + (f_head[111:96] == roce_pkg::WIRE_VLAN ? 17'd4 : 17'd0);

  // ---- into memory
  logic               scat_valid, scat_ready, done, unused_room, unused_done, scatter_idle, unused_rsp, unused_line_valid, unused_word_valid;
  rtl_pkg::scat_t     scat;
  rtl_pkg::seg_t      seg;
  rtl_pkg::commit_t   commit;
  rtl_pkg::rdl_req_t  unused_line, unused_word;

  assign scat_valid = state_q == ORDER || state_q == END;
  always_comb begin                    // addr is a bus address: no page list, no offset
    seg = '0;
    seg.last = 1'b1;
    seg.len = 32'(f_len);
    seg.mem.addr = addr_q;
  end
  always_comb begin
    scat = '0;
    scat.op = state_q == ORDER ? rtl_pkg::SCAT_SEG : rtl_pkg::SCAT_END;
    scat.has_payload = 1'b1;
    scat.seg = seg;
  end

  // Descriptors have bus addresses: no page list is ever read.
  dingo_scatter #(.Atomics(1'b0)) u_scatter (
      .clk_i, .rst_ni, .room_o(unused_room), .idle_o(scatter_idle), .packet_done_o(unused_done), .xl_flush_i,
      .scat_valid_i(scat_valid), .scat_ready_o(scat_ready), .scat_i(scat),
      .payload_valid_i(p_valid), .payload_ready_o(p_ready), .payload_i(p),
      .req_valid_o(done), .req_ready_i(1'b1), .rsp_valid_o(unused_rsp), .rsp_ready_i(1'b1), .commit_o(commit),
      .write_valid_o, .write_ready_i, .write_o, .wdata_valid_o, .wdata_ready_i, .wdata_o, .done_valid_i,
      .done_err_i, .word_valid_o(unused_word_valid), .word_ready_i(1'b0), .word_o(unused_word), .word_rsp_valid_i(1'b0),
      .line_valid_o(unused_line_valid), .line_ready_i(1'b0), .line_o(unused_line),
      .line_rsp_valid_i(1'b0), .line_rsp_i
  );

  // ---- checksum of the frame, while it goes to memory
  logic        sum_done, added_q, folded_q, csum_ok_q, csum_there_q;
  logic [15:0] sum;
  logic [17:0] sum_q;
  logic [16:0] once_q;
  dingo_eth_sum u_sum (
      .clk_i, .rst_ni, .valid_i(p_valid && p_ready), .last_i(p.last), .data_i(p.data), .from_i(14'(l4)),
      .to_i(packet_end[13:0]), .done_o(sum_done), .sum_o(sum)
  );
  always_ff @(posedge clk_i) begin
    added_q <= sum_done && rst_ni;
    sum_q <= 18'(sum) + 18'(pseudo) + 18'(packet_end[15:0]) - 18'(l4);
    folded_q <= added_q && rst_ni;
    once_q <= 17'(sum_q[15:0]) + 17'(sum_q[17:16]);
    if (folded_q) csum_ok_q <= offloads_i && summed && (once_q == 17'h0ffff || once_q == 17'h1fffe);
    if (folded_q || state_q == IDLE) csum_there_q <= folded_q;
  end

  // ---- frame by frame
  logic [5:0]  stat_q;
  logic [31:0] index_q;
  logic [13:0] len_q;
  logic        group_q, ok_q, own_stat, begin_frame, ask_lost, asked_q, asked_lost_q, stat_done;

  assign begin_frame = state_q == IDLE && f_valid && f_cmd_ready && !halt_i;
  assign begin_flow = begin_frame && f_len >= 14'd14 && wanted && !too_long;
  assign consume = state_q == CHECK && (!good_q || room_q >= f_len);
  assign f_send = state_q == END;
  // The frame leaves the buffer for memory, or is discarded.
  assign f_pop = (state_q == END && scat_ready) || (state_q == DROP && stat_done) ||
                 (state_q == CHECK && !good_q);
  assign own_stat = state_q == DROP || state_q == COUNT || state_q == BYTES || state_q == GROUP ||
                    state_q == REFUSED;
  // Lost frames are counted in between; the first request stays until it is taken.
  assign ask_lost = asked_q ? asked_lost_q : lost && !own_stat;
  assign stat_valid_o = own_stat || ask_lost;
  assign stat_done = stat_ready_i && !ask_lost;
  assign lost_ready = stat_ready_i && ask_lost;

  always_comb begin
    stat_o = {6'(dingo_pkg::CARD_ETH_RX_NO_BUFFER), 16'd1};
    if (!ask_lost) begin
      case (state_q)
        DROP: stat_o = {stat_q, 16'd1};
        COUNT: stat_o = {6'(dingo_pkg::CARD_ETH_RX_PACKETS), 16'd1};
        BYTES: stat_o = {6'(dingo_pkg::CARD_ETH_RX_BYTES), 2'd0, len_q};
        GROUP: stat_o = {6'(dingo_pkg::CARD_ETH_RX_MULTICAST), 16'd1};
        default: stat_o = {6'(dingo_pkg::CARD_ETH_RX_NO_BUFFER), 16'd1};  // REFUSED
      endcase
    end
  end

  assign cqe_valid_o = state_q == REPORT;
  always_comb begin
    cqe_o = '0;
    cqe_o.cq = cq;
    cqe_o.qp = rtl_pkg::qpi_t'(ring_q);
    if (rss_on) cqe_o.src_qpn = hash;
    if (rss_on && flow_ip && flow_ports) cqe_o.flags = 8'(dingo_pkg::CQE_FLAGS_HASH_L4_MASK);
    cqe_o.wqe_index = index_q;
    if (ok_q && csum_ok_q) cqe_o.flags = cqe_o.flags | 8'(dingo_pkg::CQE_FLAGS_CSUM_OK_MASK);
    cqe_o.byte_len = ok_q ? 32'(len_q) : '0;
    cqe_o.qpn_op = {dingo_pkg::WC_ETH_RX[7:0], 24'(ring_q)};
    cqe_o.status = ok_q ? dingo_pkg::WCS_SUCCESS[7:0] : dingo_pkg::WCS_LOC_QP_OP_ERR[7:0];
  end

  always_ff @(posedge clk_i) begin
    asked_q <= rst_ni && stat_valid_o && !stat_ready_i;
    asked_lost_q <= ask_lost;
    case (state_q)
      IDLE: if (begin_frame) begin
        len_q <= f_len;
        group_q <= group;
        state_q <= DROP;
        if (f_len < 14'd14) stat_q <= 6'(dingo_pkg::CARD_ETH_RX_TOO_SHORT);
        else if (!wanted) stat_q <= 6'(dingo_pkg::CARD_ETH_RX_FILTERED);
        else if (too_long) stat_q <= 6'(dingo_pkg::CARD_ETH_RX_TOO_LONG);
        else state_q <= FLOW;
      end
      FLOW: if (flow_done) state_q <= PICK;
      PICK: state_q <= PICKED;
      PICKED: begin
        ring_q <= picked;
        state_q <= LOOK;
      end
      LOOK: begin
        index_q <= consumer;
        stat_q <= 6'(dingo_pkg::CARD_ETH_RX_NO_BUFFER);
        state_q <= work[ring_q] ? FETCH : DROP;
      end
      FETCH: if (d_err) begin
        stat_q <= 6'(dingo_pkg::CARD_ETH_RX_NO_BUFFER);
        state_q <= DROP;
      end else if (d_valid) begin
        addr_q <= d.addr;
        room_q <= d.length[13:0];
        good_q <= d.length != '0 && d.length <= dingo_pkg::MAX_FRAME && {d.arg, d.start, d.flags} == '0;
        state_q <= CHECK;
      end
      CHECK: begin
        stat_q <= 6'(dingo_pkg::CARD_ETH_RX_TOO_LONG);   // the descriptor stays for a frame that fits
        ok_q <= 1'b0;
        state_q <= !good_q ? REFUSED : room_q < f_len ? DROP : ORDER;
      end
      ORDER: if (scat_ready) state_q <= END;
      END: if (scat_ready) state_q <= WRITE;
      WRITE: if (done) begin
        ok_q <= !commit.err;
        state_q <= commit.err ? REFUSED : COUNT;
      end
      DROP: if (stat_done) state_q <= IDLE;
      COUNT: if (stat_done) state_q <= BYTES;
      BYTES: if (stat_done) state_q <= group_q ? GROUP : REPORT;
      GROUP: if (stat_done) state_q <= REPORT;
      REFUSED: if (stat_done) state_q <= REPORT;
      default: if (cqe_ready_i) state_q <= IDLE;
    endcase
    if (!rst_ni) state_q <= IDLE;
    else begin
      assert (!unused_line_valid && !unused_word_valid && !unused_rsp);
      if (f_pop) assert (f_cmd_ready);
      if (done) assert (state_q == WRITE);
      if (cqe_valid_o && ok_q) assert (csum_there_q);
      if (cfg_valid_i || rss_valid_i) assert (state_q == IDLE);
    end
  end

  assign idle_o = state_q == IDLE && ring_idle && scatter_idle && !lost && (halt_i || frames_idle);
  wire unused_ok = &{1'b0, unused_tagged, unused_v4, unused_tcp, unused_base, packet_end, d, unused_size, unused_producer, f_head, unused_ours, unused_room, unused_done, unused_line, unused_word, commit, port_i};
endmodule
