// SPDX-License-Identifier: BSD-2-Clause

/// For each waiting SEND of one packet, in order: looks up the receive WQE that it will take if the packets before it
/// succeed, then the key of that WQE's single SGE. The result is a guess that dingo_rsp_quick compares with the
/// context; if it is wrong or not plain, dingo_rsp_receive starts from the beginning. 9 cycles, a packet in 2.
module dingo_rsp_ahead (
    input  logic                clk_i,
    input  logic                rst_ni,
    input  logic                en_i,          // no step uses the data output of dingo_rq_cache
    input  logic                push_i,        // such a packet arrives; there is always room for it
    input  rtl_pkg::rxp_t       rxp_i,
    // contexts that are stored
    input  logic                store_i,
    input  rtl_pkg::qpi_t       store_qp_i,
    input  logic [31:0]         store_prod_i,
    input  logic [31:0]         store_cons_i,
    input  logic                store_send_i,  // with store_i: by the step of the oldest of these packets
    // dingo_rq_cache: an entry; here, coming in the next cycle, err and its first 32 bytes in the one after
    output logic                look_valid_o,
    input  logic                look_ready_i,
    output rsp_pkg::look_t      look_o,
    input  logic                look_here_i,
    input  logic                look_coming_i,
    input  logic                look_err_i,
    input  logic [255:0]        look_data_i,
    output logic                mr_valid_o,
    input  logic                mr_ready_i,
    output rtl_pkg::mr_req_t    mr_o,
    // result for the oldest packet; if good, its key's answer is the next one to look-ups from here
    output logic                valid_o,
    output rsp_pkg::ahead_t     ahead_o,
    input  logic                pop_i
);
  localparam int unsigned LogPackets = 3;
  localparam int unsigned PACKETS = (1 << LogPackets) + 2;   // waiting, one in a step, one being stored
  typedef struct packed {
    logic               posted;
    rsp_pkg::look_t     look;
    logic [12:0]        len;
    logic [rtl_pkg::PD_BITS-1:0] pdn;
    logic               privileged;
  } want_t;
  localparam int unsigned WantW = 1 + 53 + 13 + rtl_pkg::PD_BITS + 1;

  // ---------------------------------------------------------------- which entry
  // The packet's entry: rq_cons as last stored, and one more for each packet of its QP that is not stored yet.
  logic [PACKETS*rtl_pkg::QP_LOG-1:0] pending_q;             // QPs of packets not stored yet, oldest in the low bits
  logic [3:0] pending_count_q, earlier, earlier_q;
  logic store_send, push_q;
  logic [63:0] head_bits;
  logic heads_clear, head_written;                           // cleared no later than the contexts
  logic [31:0] prod, cons;
  want_t new_q, new_want;
  assign store_send = store_i && store_send_i;
  always_comb begin
    earlier = '0;
    for (int unsigned i = 0; i < PACKETS; i++)
      if (4'(i) < pending_count_q && pending_q[i*rtl_pkg::QP_LOG +: rtl_pkg::QP_LOG] == rxp_i.qp) earlier = earlier + 4'd1;
  end
  dingo_marked_ram #(
      .Width(64),
      .LogDepth(rtl_pkg::QP_LOG)
  ) u_heads (
      .clk_i, .rst_ni, .ready_o(heads_clear), .we_i(store_i), .waddr_i(store_qp_i), .wdata_i({store_prod_i, store_cons_i}), .re_i(push_i), .raddr_i(rxp_i.qp),
      .rdata_o(head_bits), .written_o(head_written)
  );
  assign {prod, cons} = head_written ? head_bits : '0;
  always_comb begin
    new_want = new_q;
    new_want.posted = prod - cons > 32'(earlier_q);
    new_want.look.index = cons + 32'(earlier_q);
  end
  always_ff @(posedge clk_i) begin
    push_q <= push_i;
    if (push_i) begin
      earlier_q <= earlier;
      new_q <= '0;
      new_q.look.qp <= 16'(rxp_i.qp);
      new_q.look.log_stride <= rxp_i.ctx.cfg.log_rq_stride;
      new_q.look.pairs <= rxp_i.ctx.cfg.log_rq_stride == 4'd5 && rxp_i.ctx.cfg.log_rq != '0;
      new_q.len <= rxp_i.h.len;
      new_q.pdn <= rxp_i.ctx.cfg.pdn;
      new_q.privileged <= rxp_i.ctx.cfg.privileged;
    end
    if (store_send) pending_q <= pending_q >> rtl_pkg::QP_LOG;
    for (int unsigned i = 0; i < PACKETS; i++)
      if (push_i && 4'(i) == pending_count_q - {3'd0, store_send}) pending_q[i*rtl_pkg::QP_LOG +: rtl_pkg::QP_LOG] <= rxp_i.qp;
    pending_count_q <= pending_count_q + {3'd0, push_i} - {3'd0, store_send};
    if (!rst_ni) begin
      push_q <= 1'b0;
      pending_count_q <= '0;
    end
  end

  // ---------------------------------------------------------------- look-up: is the entry in the cache
  logic want_ready, want_valid, want_pop;
  logic [LogPackets:0] want_count;
  logic [WantW-1:0] want_bits;
  want_t want;
  logic looked_q, tag_q, line_q;                             // looked_q: entry posted; tag_q, line_q: tag, line valid
  dingo_fifo #(.Width(WantW), .LogDepth(LogPackets)) u_wanted (
      .clk_i, .rst_ni,
      .valid_i(push_q), .ready_o(want_ready), .data_i(new_want),
      .valid_o(want_valid), .ready_i(want_pop), .data_o(want_bits), .count_o(want_count)
  );
  assign want = want_t'(want_bits);
  assign look_o = want.look;
  assign look_valid_o = want_valid && want.posted && !tag_q && !stuck && en_i;
  assign want_pop = tag_q && !(looked_q && look_coming_i);   // a group on its way: repeat until it is here

  // ---------------------------------------------------------------- line: is the WQE plain
  want_t line_want_q;
  logic here_q, good, ask_q, go, stuck;
  dingo_pkg::rq_wqe_t head;
  dingo_pkg::sge_t entry;
  rsp_pkg::ahead_t ahead_q;
  rtl_pkg::mr_req_t mr_q;
  assign head = look_data_i[127:0];
  assign entry = look_data_i[255:128];
  assign good = here_q && !look_err_i && head.rsvd0 == '0 && head.rsvd1 == '0 && head.num_sge == 16'd1
                && entry.length >= {19'd0, line_want_q.len};
  assign mr_valid_o = ask_q && ahead_q.good;
  assign mr_o = mr_q;
  assign go = !ahead_q.good || mr_ready_i;
  assign stuck = ask_q && !go;

  always_ff @(posedge clk_i) begin
    tag_q <= want_valid && !tag_q && !stuck && (want.posted ? look_valid_o && look_ready_i : 1'b1);
    looked_q <= want.posted;
    line_q <= want_pop;
    if (want_pop) begin
      line_want_q <= want;
      here_q <= looked_q && look_here_i;
    end
    if (line_q) begin
      ask_q <= 1'b1;
      ahead_q.good <= good;
      ahead_q.index <= line_want_q.look.index;
      ahead_q.tag <= head.tag;
      mr_q <= '0;
      mr_q.key <= entry.lkey;
      mr_q.va <= entry.addr;
      mr_q.len <= {19'd0, line_want_q.len};
      mr_q.access <= dingo_pkg::ACC_LOCAL_WRITE[5:0];
      mr_q.pdn <= line_want_q.pdn;
      mr_q.privileged <= line_want_q.privileged;
    end else if (go) ask_q <= 1'b0;
    if (!rst_ni) begin
      tag_q <= 1'b0;
      line_q <= 1'b0;
      ask_q <= 1'b0;
    end else begin
      a_pending: assert (!(store_send && pending_count_q == '0) && !(push_i && pending_count_q == 4'(PACKETS)));
      a_wanted: assert (want_ready || !push_q);
      a_line: assert (!(line_q && stuck));
      a_ahead: assert (ahead_ready || !(ask_q && go));
    end
  end

  logic ahead_ready;
  logic [LogPackets:0] ahead_count;
  logic [rsp_pkg::AHEAD_W-1:0] ahead_bits;
  dingo_fifo #(.Width(rsp_pkg::AHEAD_W), .LogDepth(LogPackets)) u_ahead (
      .clk_i, .rst_ni,
      .valid_i(ask_q && go), .ready_o(ahead_ready), .data_i(ahead_q),
      .valid_o(valid_o), .ready_i(pop_i), .data_o(ahead_bits), .count_o(ahead_count)
  );
  assign ahead_o = rsp_pkg::ahead_t'(ahead_bits);

  wire unused_ok = &{1'b0, rxp_i, want_count, ahead_count, line_want_q, heads_clear};
endmodule
