// SPDX-License-Identifier: BSD-2-Clause

/// A response arrives (phase 1, second part): gives dingo_scatter the orders for its payload, and the item that comes
/// back when the payload is in memory. READ data needs its WQE and the memory table, which takes too long for a step,
/// so this runs while the requester handles other events. ACKs and NAKs come here without a step; they are evaluated
/// when their items come back, in the order of arrival.
module dingo_req_place (
    input  logic        clk_i,
    input  logic        rst_ni,
    output logic        idle_o,        // no response here, no order at the output
    output logic        ready_o,       // takes a response in this cycle
    output logic        soon_o,        // ready_o, or only orders remain to be given, for which there is room
    output logic        using_o,       // uses dingo_req_wqes
    // an ACK or NAK, in a cycle with ready_o
    input  logic        ack_i,
    input  rtl_pkg::qpi_t        ack_qp_i,
    input  logic [23:0] ack_psn_i,
    input  logic [7:0]  ack_syndrome_i,
    input  logic [12:0] ack_len_i,
    // a result of dingo_req_order, in a cycle with ready_o; never together with ack_i
    input  logic        start_i,
    input  req_pkg::place_t  place_i,
    input  logic [31:0] producer_i,
    input  rtl_pkg::qp_cfg_t     cfg_i,
    // dingo_req_wqes: WQE of the READ and its SGEs
    input  logic        free_i,        // the turn and its last packet have finished with dingo_req_wqes
    output rtl_pkg::qpi_t        qp_o,
    output rtl_pkg::qp_cfg_t     cfg_o,         // log_sq, sq, pdn and privileged only
    output req_pkg::wqe_ask_t    ask_o,
    input  req_pkg::wqe_answer_t answer_i,
    output logic [3:0]  seg_index_o,
    input  rtl_pkg::seg_t        seg_i,
    output logic        scat_valid_o,
    input  logic        scat_ready_i,
    output rtl_pkg::scat_t       scat_o
);
  typedef enum logic [2:0] {
    IDLE = 3'd0,
    LOAD = 3'd1,
    WALK = 3'd2,
    SEGS = 3'd3,
    LAST = 3'd4,
    WORD = 3'd5                        // ATOMIC ACK: the word, before the segment
  } state_t;

  state_t state_q;
  req_pkg::item_t item_q;
  logic [31:0] index_q, length_q, offset_q, producer_q;
  logic [7:0] opcode_q;
  logic [12:0] len_q, payload_q;       // bytes to write; payload bytes of the packet
  logic atomic_q, bare_q;
  logic [63:0] word_q;
  logic [4:0] log_sq_q;
  rtl_pkg::xmem_t sq_q;
  logic [rtl_pkg::PD_BITS-1:0] pdn_q;
  logic privileged_q;
  logic [3:0] seg_q;
  logic scat_valid_q, go;
  rtl_pkg::scat_t scat_q;

  assign go = !(scat_valid_q && !scat_ready_i);
  assign idle_o = state_q == IDLE && !scat_valid_q;
  assign ready_o = state_q == IDLE;
  assign soon_o = state_q == IDLE || state_q == SEGS || state_q == LAST;
  assign using_o = state_q == LOAD || state_q == WALK || state_q == WORD || state_q == SEGS;
  assign qp_o = item_q.qp[rtl_pkg::QP_LOG-1:0];
  assign ask_o.producer = producer_q;
  assign ask_o.load = state_q == LOAD && free_i;
  assign ask_o.index = index_q;
  assign ask_o.walk = state_q == WALK;
  assign ask_o.offset = offset_q;
  assign ask_o.bytes = len_q;
  assign ask_o.datagram = 1'b0;
  assign ask_o.uc = 1'b0;
  assign ask_o.wake = 1'b0;
  assign ask_o.whole = 1'b0;
  assign seg_index_o = seg_q;
  assign scat_valid_o = scat_valid_q;
  assign scat_o = scat_q;
  always_comb begin
    cfg_o = '0;
    cfg_o.log_sq = log_sq_q;
    cfg_o.sq = sq_q;
    cfg_o.pdn = pdn_q;
    cfg_o.privileged = privileged_q;
  end

  always_ff @(posedge clk_i) begin
    if (scat_ready_i) scat_valid_q <= 1'b0;
    scat_q.qp <= '0;
    scat_q.offset <= '0;
    if (!rst_ni) begin
      state_q <= IDLE;
      scat_valid_q <= 1'b0;
    end else begin
      assert (!(ack_i && start_i));
      case (state_q)
        IDLE: begin
          if (ack_i) begin
            item_q.kind <= req_pkg::IT_ACK;
            item_q.psn <= {8'd0, ack_psn_i};
            item_q.syndrome <= ack_syndrome_i;
            item_q.status <= dingo_pkg::WCS_BAD_RESP_ERR[7:0];
            item_q.verr <= dingo_pkg::VERR_BAD_RESPONSE[7:0];
            item_q.qp <= 16'(ack_qp_i);
            payload_q <= ack_len_i;
            bare_q <= ack_len_i == '0;
            state_q <= LAST;
          end
          if (start_i) begin
            item_q <= place_i.item;
            index_q <= place_i.rec.index;
            opcode_q <= place_i.rec.opcode;
            length_q <= place_i.rec.length;
            offset_q <= place_i.offset;
            len_q <= place_i.atomic ? 13'd8 : place_i.len;
            payload_q <= place_i.len;
            bare_q <= 1'b0;
            atomic_q <= place_i.atomic;
            word_q <= place_i.word;
            producer_q <= producer_i;
            log_sq_q <= cfg_i.log_sq;
            sq_q <= cfg_i.sq;
            pdn_q <= cfg_i.pdn;
            privileged_q <= cfg_i.privileged;
            state_q <= place_i.data ? LOAD : LAST;
          end
        end
        LOAD:                          // waits for a turn's end and for host memory, which always answers
        if (free_i && answer_i.load_done && !answer_i.load_miss) begin
          state_q <= WALK;
          if (answer_i.wqe.status != 8'd0 || answer_i.wqe.opcode != opcode_q || answer_i.wqe.length != length_q) begin
            item_q.kind <= req_pkg::IT_FAULT;
            item_q.status <= answer_i.wqe.status != 8'd0 ? answer_i.wqe.status : dingo_pkg::WCS_LOC_QP_OP_ERR[7:0];
            item_q.verr <= answer_i.wqe.status != 8'd0 ? answer_i.wqe.verr : dingo_pkg::VERR_WQE_FETCH[7:0];
            state_q <= LAST;
          end else if (len_q == 13'd0) state_q <= LAST;
        end
        WALK:
        if (answer_i.walk_done) begin
          seg_q <= '0;
          state_q <= atomic_q ? WORD : SEGS;
          if (answer_i.walk_verr != 8'd0) begin
            item_q.kind <= req_pkg::IT_FAULT;
            item_q.status <= dingo_pkg::WCS_LOC_PROT_ERR[7:0];
            item_q.verr <= answer_i.walk_verr;
            state_q <= LAST;
          end else if (answer_i.walk_paused) begin
            item_q.kind <= req_pkg::IT_PAUSED;
            state_q <= LAST;
          end
        end
        WORD:
        if (go) begin
          scat_valid_q <= 1'b1;
          scat_q.bare <= 1'b0;
          scat_q.op <= rtl_pkg::SCAT_GRH;
          scat_q.to_rsp <= 1'b0;
          scat_q.has_payload <= payload_q != 13'd0;
          scat_q.item <= rtl_pkg::ITEM_BITS'(word_q);
          state_q <= SEGS;
        end
        SEGS:
        if (go) begin
          scat_valid_q <= 1'b1;
          scat_q.bare <= 1'b0;
          scat_q.op <= rtl_pkg::SCAT_SEG;
          scat_q.to_rsp <= 1'b0;
          scat_q.has_payload <= payload_q != 13'd0;
          scat_q.seg <= seg_i;
          seg_q <= seg_q + 4'd1;
          if (seg_i.last) state_q <= LAST;
        end
        default:
        if (go) begin
          scat_valid_q <= 1'b1;
          scat_q.bare <= bare_q;
          scat_q.op <= rtl_pkg::SCAT_END;
          scat_q.no_item <= 1'b0;
          scat_q.to_rsp <= 1'b0;
          scat_q.has_payload <= payload_q != 13'd0;
          scat_q.item <= rtl_pkg::ITEM_BITS'(item_q);
          state_q <= IDLE;
        end
      endcase
    end
  end

  wire unused_ok = &{1'b0, place_i, cfg_i, answer_i};
endmodule
