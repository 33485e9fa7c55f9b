// SPDX-License-Identifier: BSD-2-Clause

/// Orders to dingo_scatter for the data of plain READs (one SGE, one packet or many), without their WQE. A turn writes
/// a READ's SGE to a table here together with its record. A step that gets a response hands it over in one cycle; the
/// look-ups of its key are pipelined here: 7 cycles to END, one response in 2, at most 7 waiting. When another READ has
/// overwritten the entry, the response goes to dingo_req_place.
module dingo_req_reads (
    input  logic        clk_i,
    input  logic        rst_ni,
    output logic        idle_o,        // no response here, no order at the output
    output logic        ready_o,       // takes a response
    // a READ is sent: write its entry
    input  logic        put_i,
    input  rtl_pkg::qpi_t        put_qp_i,
    input  logic [7:0]  put_pos_i,     // of its record
    input  dingo_pkg::sge_t      put_sge_i,
    // a step reads the record of a READ: here_o says from the next cycle to the next look_i whether its entry exists
    input  logic        look_i,
    input  rtl_pkg::qpi_t        look_qp_i,
    input  logic [7:0]  look_pos_i,
    output logic        here_o,
    // a packet of its data has arrived; with here_o
    input  logic        start_i,
    input  logic [31:0] psn_i,
    input  logic [12:0] len_i,
    input  logic [31:0] offset_i,      // in the message
    input  logic [rtl_pkg::PD_BITS-1:0] pdn_i,
    input  logic        privileged_i,
    // memory table, with the lowest priority; only answers to requests from here
    output logic        mr_valid_o,
    input  logic        mr_ready_i,
    output rtl_pkg::mr_req_t     mr_o,
    input  logic        mr_rsp_valid_i,
    input  rtl_pkg::mr_rsp_t     mr_rsp_i,
    output logic        scat_valid_o,
    input  logic        scat_ready_i,
    output rtl_pkg::scat_t       scat_o
);
  // 16 positions of 64 QPs; further QP number bits are XORed into the position.
  localparam int unsigned LogPos = 4;
  localparam int unsigned LogQps = rtl_pkg::QP_LOG < 6 ? rtl_pkg::QP_LOG : 6;
  localparam int unsigned LogPlaces = LogQps + LogPos;
  localparam int unsigned TagW = rtl_pkg::QP_LOG + rtl_pkg::REC_LOG;
  localparam int unsigned PlaceW = TagW + 32 + 64;
  localparam int unsigned LOG = 3;     // log2 of the responses in work
  localparam int unsigned AskW = rtl_pkg::PD_BITS + 1 + 32 + 64 + 32 + 13;
  localparam int unsigned WaitW = rtl_pkg::QP_LOG + 32 + 13;

  function automatic logic [LogPlaces-1:0] place_of(input logic [rtl_pkg::QP_LOG-1:0] qp, input logic [LogPos-1:0] pos);
    place_of = {qp[LogQps-1:0], pos ^ LogPos'(qp >> LogQps)};
  endfunction

  // ---------------------------------------------------------------- table of SGEs
  logic [PlaceW-1:0] place;
  logic [TagW-1:0] tag, look_tag_q;
  logic [31:0] key;
  logic [63:0] va;
  rtl_pkg::qpi_t look_qp_q;
  dingo_ram #(.Width(PlaceW), .LogDepth(LogPlaces)) u_places (
      .clk_i, .we_i(put_i), .waddr_i(place_of(put_qp_i, put_pos_i[LogPos-1:0])),
      .wdata_i({put_qp_i, put_pos_i[rtl_pkg::REC_LOG-1:0], put_sge_i.lkey, put_sge_i.addr}),
      .re_i(look_i), .raddr_i(place_of(look_qp_i, look_pos_i[LogPos-1:0])), .rdata_o(place));
  assign {tag, key, va} = place;
  assign here_o = tag == look_tag_q;

  // ---------------------------------------------------------------- responses in work
  logic ask_valid, ask_ready, wait_valid, wait_ready, answer_valid, answer_ready, pop, seg_q, go;
  logic [LOG:0] ask_count, wait_count, answer_count;
  logic [31:0] ask_key, wait_psn;
  logic [63:0] ask_va;
  logic [31:0] ask_offset;
  logic [12:0] ask_len, wait_len;
  logic [rtl_pkg::PD_BITS-1:0] ask_pdn;
  logic ask_privileged;
  rtl_pkg::qpi_t wait_qp;
  rtl_pkg::mr_rsp_t answer;
  logic scat_valid_q;
  rtl_pkg::scat_t scat_q;
  req_pkg::item_t item;
  dingo_fifo #(.Width(AskW), .LogDepth(LOG)) u_ask (
      .clk_i, .rst_ni, .valid_i(start_i), .ready_o(ask_ready), .data_i({pdn_i, privileged_i, key, va, offset_i, len_i}),
      .valid_o(ask_valid), .ready_i(mr_ready_i), .data_o({ask_pdn, ask_privileged, ask_key, ask_va, ask_offset, ask_len}), .count_o(ask_count));
  dingo_fifo #(.Width(WaitW), .LogDepth(LOG)) u_wait (
      .clk_i, .rst_ni, .valid_i(start_i), .ready_o(wait_ready), .data_i({look_qp_q, psn_i, len_i}),
      .valid_o(wait_valid), .ready_i(pop), .data_o({wait_qp, wait_psn, wait_len}), .count_o(wait_count));
  dingo_fifo #(.Width(rtl_pkg::MR_RSP_W), .LogDepth(LOG)) u_answers (
      .clk_i, .rst_ni, .valid_i(mr_rsp_valid_i), .ready_o(answer_ready), .data_i(mr_rsp_i),
      .valid_o(answer_valid), .ready_i(pop), .data_o(answer), .count_o(answer_count));
  assign ready_o = wait_count < (LOG + 1)'((1 << LOG) - 1);  // one response that saw ready_o may still be on its way
  assign idle_o = !wait_valid && !scat_valid_q;
  assign mr_valid_o = ask_valid;
  always_comb begin
    mr_o.key = ask_key;
    mr_o.va = ask_va + {32'd0, ask_offset};
    mr_o.len = {19'd0, ask_len};
    mr_o.access = dingo_pkg::ACC_LOCAL_WRITE[5:0];
    mr_o.pdn = ask_pdn;
    mr_o.privileged = ask_privileged;
    mr_o.qp = '0;                      // for memory windows only, whose keys are never local
  end

  // ---------------------------------------------------------------- orders: the segment if the key is good, then END
  always_comb begin
    item = '0;
    item.kind = answer.ok ? req_pkg::IT_DATA : answer.paused ? req_pkg::IT_PAUSED : req_pkg::IT_FAULT;
    item.psn = wait_psn;
    item.status = dingo_pkg::WCS_LOC_PROT_ERR[7:0];
    item.verr = answer.verr;
    item.qp = 16'(wait_qp);
  end
  assign go = answer_valid && !(scat_valid_q && !scat_ready_i);
  assign pop = go && (seg_q || !answer.ok);
  assign scat_valid_o = scat_valid_q;
  assign scat_o = scat_q;

  always_ff @(posedge clk_i) begin
    if (look_i) look_tag_q <= {look_qp_i, look_pos_i[rtl_pkg::REC_LOG-1:0]};
    if (look_i) look_qp_q <= look_qp_i;
    if (scat_ready_i) scat_valid_q <= 1'b0;
    if (go) begin
      scat_valid_q <= 1'b1;
      scat_q.qp <= '0;
      scat_q.offset <= '0;
      scat_q.bare <= 1'b0;
      scat_q.op <= pop ? rtl_pkg::SCAT_END : rtl_pkg::SCAT_SEG;
      scat_q.no_item <= 1'b0;
      scat_q.to_rsp <= 1'b0;
      scat_q.has_payload <= 1'b1;
      scat_q.item <= rtl_pkg::ITEM_BITS'(item);
      scat_q.seg.last <= 1'b1;
      scat_q.seg.len <= {19'd0, wait_len};
      scat_q.seg.off <= answer.off;
      scat_q.seg.mem <= answer.mem;
    end
    if (!rst_ni) begin
      scat_valid_q <= 1'b0;
      seg_q <= 1'b0;
    end else begin
      if (go) seg_q <= !pop;
      a_start: assert (!start_i || (ask_ready && wait_ready && here_o));
      a_answer: assert ((answer_ready && wait_valid) || !mr_rsp_valid_i);
    end
  end

  wire unused_ok = &{1'b0, ask_count, wait_count, answer_count, put_pos_i, look_pos_i, put_sge_i};
endmodule
