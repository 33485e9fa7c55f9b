// SPDX-License-Identifier: BSD-2-Clause

/// A response arrives (phase 1): finds out what it answers, orders its payload, and makes the item
/// that comes back when the payload is in memory. ACKs and NAKs take the same way, to keep the order.
module dingo_req_order (
    input  logic        clk_i,
    input  logic        rst_ni,
    output logic        idle_o,        // nothing on its way out
    // order: stays until done. The item's psn is that of the wire
    input  logic        start_i,
    input  logic        up_i,          // the QP takes responses
    input  rtl_pkg::req_item_t   item_i,
    input  logic [7:0]  opcode_i,
    input  logic [12:0] len_i,
    input  logic [2:0]  path_mtu_i,
    input  logic [31:0] oldest_i,
    input  logic [31:0] sent_i,
    input  logic [31:0] ordered_i,
    input  logic [7:0]  head_i,
    input  logic [7:0]  tail_i,
    output logic        done_o,        // one cycle
    output logic        data_o,        // with done: READ data was ordered
    output logic [31:0] psn_o,         // of the response
    // records, in the next cycle
    output logic        rec_re_o,
    output logic [7:0]  rec_pos_o,
    input  rtl_pkg::req_rec_t    rec_i,
    // WQE of the READ and its SGEs
    output logic        load_o,
    output logic [31:0] index_o,
    input  logic        load_done_i,
    input  logic        load_miss_i,
    input  rtl_pkg::swqe_t       wqe_i,
    output logic        walk_o,
    output logic [31:0] offset_o,
    input  logic        walk_done_i,
    input  logic [7:0]  walk_verr_i,
    output logic [3:0]  seg_index_o,
    input  rtl_pkg::seg_t        seg_i,
    output logic        scat_valid_o,
    input  logic        scat_ready_i,
    output rtl_pkg::scat_t       scat_o
);
  localparam logic [7:0] ACKNOWLEDGE = 8'h11;
  localparam logic [7:0] READ_FIRST = 8'h0d;
  localparam logic [7:0] READ_MIDDLE = 8'h0e;
  localparam logic [7:0] READ_LAST = 8'h0f;
  localparam logic [7:0] READ_ONLY = 8'h10;

  typedef enum logic [3:0] {
    IDLE = 4'd0,
    FIND = 4'd1,                       // the record at pos_q is read
    TEST = 4'd2,
    FIT = 4'd3,
    LOAD = 4'd4,
    WALK = 4'd5,
    SEGS = 4'd6,
    LAST = 4'd7,
    DONE = 4'd8
  } state_t;

  state_t state_q;
  rtl_pkg::req_item_t item_q;
  rtl_pkg::req_rec_t rec_q;
  logic [7:0] pos_q;
  logic skipped_q;                     // an earlier READ waits for data
  logic [31:0] offset_q;
  logic [3:0] seg_q;
  logic scat_valid_q, go;
  rtl_pkg::scat_t scat_q;
  logic [31:0] ahead, span, psn, limit, rest, want;
  logic [23:0] place;
  logic [3:0] shift;
  logic [12:0] pmtu;
  logic is_read, op_first, op_last, fits;

  assign ahead = {8'd0, item_i.psn[23:0] - oldest_i[23:0]};
  assign span = sent_i - oldest_i;
  assign psn = oldest_i + ahead;
  // READ data is ordered ahead of what is acknowledged.
  assign limit = rtl_pkg::idx_before(ordered_i, oldest_i) ? oldest_i : ordered_i;
  assign is_read = rec_i.opcode == dingo_pkg::WR_READ[7:0] && rec_i.packets != 24'd0;

  // Opcode and length are those of the place. A repeated READ starts with FIRST or ONLY anywhere; the
  // others need a beginning.
  assign shift = 4'd7 + {1'b0, path_mtu_i};
  assign pmtu = rtl_pkg::pmtu_bytes(path_mtu_i);
  assign place = item_q.psn[23:0] - rec_q.first[23:0];
  assign rest = rec_q.length - ({8'd0, place} << shift);
  assign want = rest < {19'd0, pmtu} ? rest : {19'd0, pmtu};
  assign op_first = opcode_i == READ_FIRST || opcode_i == READ_ONLY;
  assign op_last = opcode_i == READ_LAST || opcode_i == READ_ONLY;
  assign fits = op_last == (place + 24'd1 == rec_q.packets) && (op_first || place != 24'd0) &&
                (opcode_i == READ_MIDDLE || item_q.syndrome[7:5] == 3'd0) && {19'd0, len_i} == want;

  assign go = !(scat_valid_q && !scat_ready_i);
  assign idle_o = !scat_valid_q;
  assign done_o = state_q == DONE;
  assign data_o = item_q.kind == rtl_pkg::REQ_DATA;
  assign psn_o = item_q.psn;
  assign rec_re_o = state_q == FIND;
  assign rec_pos_o = pos_q;
  assign load_o = state_q == LOAD;
  assign index_o = rec_q.index;
  assign walk_o = state_q == WALK;
  assign offset_o = offset_q;
  assign seg_index_o = seg_q;
  assign scat_valid_o = scat_valid_q;
  assign scat_o = scat_q;

  always_ff @(posedge clk_i) begin
    if (scat_ready_i) scat_valid_q <= 1'b0;
    if (!rst_ni) begin
      state_q <= IDLE;
      scat_valid_q <= 1'b0;
    end else
      case (state_q)
        IDLE: begin
          if (start_i) begin
            item_q <= item_i;
            item_q.psn <= psn;
            item_q.kind <= rtl_pkg::REQ_STALE;
            item_q.status <= dingo_pkg::WCS_BAD_RESP_ERR[7:0];
            item_q.verr <= dingo_pkg::VERR_BAD_RESPONSE[7:0];
            pos_q <= head_i;
            skipped_q <= 1'b0;
            state_q <= LAST;
            if (up_i && ahead < span) begin
              item_q.kind <= rtl_pkg::REQ_BAD;
              if (opcode_i == ACKNOWLEDGE) item_q.kind <= rtl_pkg::REQ_ACK;
              else if (opcode_i >= READ_FIRST && opcode_i <= READ_ONLY) state_q <= FIND;
            end
          end
        end
        FIND: state_q <= pos_q == tail_i ? LAST : TEST;
        TEST: begin
          rec_q <= rec_i;
          pos_q <= pos_q + 8'd1;
          state_q <= LAST;
          if (item_q.psn - rec_i.first < {8'd0, rec_i.packets}) begin
            if (is_read) begin
              if (skipped_q || item_q.psn != (rtl_pkg::idx_before(limit, rec_i.first) ? rec_i.first : limit))
                item_q.kind <= rtl_pkg::REQ_SKIP;
              else state_q <= FIT;
            end
          end else begin
            if (is_read && rtl_pkg::idx_before(limit, rec_i.first + {8'd0, rec_i.packets})) skipped_q <= 1'b1;
            state_q <= FIND;
          end
        end
        FIT: begin
          item_q.kind <= rtl_pkg::REQ_FAULT;
          offset_q <= {8'd0, place} << shift;
          state_q <= fits ? LOAD : LAST;
        end
        LOAD:                          // host memory always answers
        if (load_done_i && !load_miss_i) begin
          state_q <= WALK;
          if (wqe_i.status != 8'd0 || wqe_i.opcode != rec_q.opcode || wqe_i.length != rec_q.length) begin
            item_q.status <= wqe_i.status != 8'd0 ? wqe_i.status : dingo_pkg::WCS_LOC_QP_OP_ERR[7:0];
            item_q.verr <= wqe_i.status != 8'd0 ? wqe_i.verr : dingo_pkg::VERR_WQE_FETCH[7:0];
            state_q <= LAST;
          end else if (len_i == 13'd0) begin
            item_q.kind <= rtl_pkg::REQ_DATA;
            state_q <= LAST;
          end
        end
        WALK:
        if (walk_done_i) begin
          seg_q <= '0;
          item_q.status <= dingo_pkg::WCS_LOC_PROT_ERR[7:0];
          item_q.verr <= walk_verr_i;
          state_q <= LAST;
          if (walk_verr_i == 8'd0) begin
            item_q.kind <= rtl_pkg::REQ_DATA;
            state_q <= SEGS;
          end
        end
        SEGS:
        if (go) begin
          scat_valid_q <= 1'b1;
          scat_q.op <= rtl_pkg::SCAT_SEG;
          scat_q.seg <= seg_i;
          seg_q <= seg_q + 4'd1;
          if (seg_i.last) state_q <= LAST;
        end
        LAST:
        if (go) begin
          scat_valid_q <= 1'b1;
          scat_q.op <= rtl_pkg::SCAT_END;
          scat_q.no_item <= 1'b0;
          scat_q.to_rsp <= 1'b0;
          scat_q.has_payload <= len_i != 13'd0;
          scat_q.item <= rtl_pkg::ITEM_BITS'(item_q);
          state_q <= DONE;
        end
        default: state_q <= IDLE;
      endcase
  end

  wire unused_ok = &{1'b0, item_i, rec_i, rec_q, wqe_i};
endmodule
