// SPDX-License-Identifier: BSD-2-Clause

/// Distributes doorbells to their objects. SQ, RQ and SRQ doorbells are checked for QPN (index and tag) or SRQN and
/// page; a CQ doorbell is passed with its page, which dingo_cq checks; EQ and Ethernet doorbells only from page 0.
/// Wrong ones are dropped and counted (db_dropped). While the target is busy or doorbells are halted, they stay in
/// dingo_regs' queue; when that is half full, they move to dingo_db_store, which always has room. So a write to a
/// doorbell page never waits for the card's work. One doorbell at a time, two cycles.
module dingo_db (
    input  logic clk_i,
    input  logic rst_ni,
    input  logic halt_i,               // give no more doorbells, except those that are in the store when it rises
    output logic idle_o,               // no doorbell to give
    input  logic crowded_i,            // dingo_regs' queue is half full
    input  logic db_valid_i,
    output logic db_ready_o,
    input  rtl_pkg::db_t  db_i,
    // writes of contexts by commands
    input  logic       qp_we_i,
    input  rtl_pkg::qpi_t       qp_windex_i,
    input  rtl_pkg::qp_cfg_t    qp_wdata_i,
    input  logic       cq_we_i,
    input  rtl_pkg::cq_cfg_t    cq_wdata_i,
    input  logic       srq_we_i,
    input  rtl_pkg::srq_cfg_t   srq_wdata_i,
    output logic sq_valid_o,
    input  logic sq_ready_i,
    output logic rq_valid_o,           // RQ or SRQ
    input  logic rq_ready_i,
    output rtl_pkg::qdb_t q_o,                  // SQ, RQ and SRQ doorbells
    output logic q_srq_o,              // with rq_valid_o: q_o.qp is an SRQ
    output logic cq_valid_o,
    input  logic cq_ready_i,
    output logic eq_valid_o,
    input  logic eq_ready_i,
    output logic etx_valid_o,          // always taken; etx_bad_i, erx_bad_i answer in the same cycle
    input  logic etx_bad_i,
    output logic erx_valid_o,
    input  logic erx_bad_i,
    output rtl_pkg::db_t  db_o,                 // CQ, EQ and Ethernet doorbells
    output logic stat_valid_o,
    input  logic stat_ready_i,
    output rtl_pkg::stat_t stat_o
);
  localparam int unsigned IdxW = rtl_pkg::QP_LOG;
  localparam int unsigned PageW = rtl_pkg::DB_PAGE_LOG;

  localparam int unsigned CqW = rtl_pkg::CQ_LOG;
  localparam int unsigned EqW = rtl_pkg::EQ_LOG;
  localparam int unsigned QueueW = IdxW > CqW ? IdxW : CqW;
  localparam int unsigned SmallW = EqW + 1 > rtl_pkg::ETH_LOG + 3 ? EqW + 1 : rtl_pkg::ETH_LOG + 3;  // kinds that share a quarter of the keys
  localparam int unsigned ObjectW = QueueW > SmallW ? QueueW : SmallW;
  localparam int unsigned KeyW = ObjectW + 2;
  localparam int unsigned SrqW = rtl_pkg::SRQ_LOG;

  typedef enum logic [1:0] {
    IDLE  = 2'd0,
    CHECK = 2'd1,  // the object's entry has been read
    COUNT = 2'd2   // count a dropped doorbell
  } state_t;
  state_t state_q;
  rtl_pkg::db_t db_q, db, kept;
  logic qps_ready, cqs_ready, srqs_ready;  // entries not written since reset do not exist
  logic take, take_direct, get, turn_q;
  logic keep_q;           // CHECK, COUNT: the doorbell goes to the store
  logic got_q;            // the doorbell comes from the store
  logic give_q, given;    // give_q: a doorbell waits for SQ, RQ, CQ or EQ
  rtl_pkg::db_t give_db_q;
  logic to_sq_q, to_rq_q, to_cq_q, to_eq_q;

  // ---------------------------------------------------------------------------------- the next doorbell
  logic store_ready, waiting, more, keep;
  logic [KeyW-1:0] key, first;
  logic [KeyW:0] waits, left_q;
  logic halt_q, may_get;
  // A command waits for the doorbells that were rung before the halt, not for later ones: left_q counts the stored
  // ones.
  assign may_get = waiting && !give_q && (!halt_i || (halt_q && left_q != '0));
  assign take_direct = !waiting && !give_q && !halt_i;
  assign db_ready_o = state_q == IDLE && qps_ready && cqs_ready && srqs_ready && store_ready && (take_direct || (crowded_i && !(may_get && turn_q)));
  assign take = db_valid_i && db_ready_o;
  assign get = state_q == IDLE && may_get && !take;
  assign idle_o = !give_q && (halt_i ? (state_q == IDLE || keep_q) && (!waiting || (halt_q && left_q == '0))
      : state_q == IDLE && !waiting);

  // Key of an object in the store; `keep` excludes objects with bits above the index.
  function automatic logic [KeyW-1:0] key_of(input logic [3:0] kind_i, input logic [ObjectW-1:0] object_i);
    case (kind_i)
      dingo_pkg::DB_SQ[3:0]: key_of = {2'd0, object_i};
      dingo_pkg::DB_RQ[3:0]: key_of = {2'd1, object_i};
      dingo_pkg::DB_CQ[3:0]: key_of = {2'd2, object_i};
      dingo_pkg::DB_EQ[3:0]: key_of = {3'd6, object_i[ObjectW-2:0]};
      dingo_pkg::DB_SRQ[3:0]: key_of = {4'd15, (ObjectW - 2)'(object_i[SrqW-1:0])};
      default: key_of = {3'd7, (ObjectW - 1)'({kind_i == dingo_pkg::DB_ETH_TX[3:0], object_i[rtl_pkg::ETH_LOG-1:0]})};
    endcase
  endfunction
  rtl_pkg::db_word_t word_in;
  assign word_in = db_i.word0;
  assign key = key_of(word_in.kind, word_in.object[ObjectW-1:0]);

  dingo_db_store #(
      .KeyLog(KeyW)
  ) u_store (
      .clk_i,
      .rst_ni,
      .ready_o(store_ready),
      .put_i(take && !take_direct),
      .put_key_i(key),
      .keep_i(keep),
      .db_i(db_q),
      .get_i(get),
      .valid_o(waiting),
      .key_o(first),
      .db_o(kept),
      .more_o(more),
      .count_o(waits)
  );
  assign db = got_q ? kept : db_q;

  // Fields of a QP for the check: valid, QPN bits 23:16, doorbell page.
  logic [PageW+8:0] entry;
  logic entry_valid, entry_written;
  logic [7:0] entry_tag;
  logic [PageW-1:0] entry_page;
  assign {entry_valid, entry_tag, entry_page} = entry;
  dingo_marked_ram #(
      .Width(PageW + 9),
      .LogDepth(IdxW)
  ) u_table (
      .clk_i,
      .rst_ni,
      .ready_o(qps_ready),
      .we_i(qp_we_i),
      .waddr_i(qp_windex_i),
      .wdata_i({qp_wdata_i.valid, qp_wdata_i.tag, qp_wdata_i.db_page}),
      .re_i(take || get),
      .raddr_i(take ? word_in.object[IdxW-1:0] : first[IdxW-1:0]),
      .rdata_o(entry),
      .written_o(entry_written)
  );
  // CQs: existence and doorbell page. Only a valid doorbell may replace another one in the store.
  logic cq_on, cq_written;
  logic [PageW-1:0] cq_page;
  dingo_marked_ram #(
      .Width(PageW + 1),
      .LogDepth(CqW)
  ) u_cqs (
      .clk_i,
      .rst_ni,
      .ready_o(cqs_ready),
      .we_i(cq_we_i),
      .waddr_i(cq_wdata_i.cq),
      .wdata_i({cq_wdata_i.on, cq_wdata_i.db_page}),
      .re_i(take),
      .raddr_i(word_in.object[CqW-1:0]),
      .rdata_o({cq_on, cq_page}),
      .written_o(cq_written)
  );

  // SRQs: existence and doorbell page.
  logic srq_on, srq_written;
  logic [PageW-1:0] srq_page;
  dingo_marked_ram #(
      .Width(PageW + 1),
      .LogDepth(SrqW)
  ) u_srqs (
      .clk_i,
      .rst_ni,
      .ready_o(srqs_ready),
      .we_i(srq_we_i),
      .waddr_i(srq_wdata_i.srq),
      .wdata_i({srq_wdata_i.on, srq_wdata_i.db_page}),
      .re_i(take || get),
      .raddr_i(take ? word_in.object[SrqW-1:0] : first[SrqW-1:0]),
      .rdata_o({srq_on, srq_page}),
      .written_o(srq_written)
  );

  rtl_pkg::db_word_t word, word_out;
  logic [3:0] kind;
  logic [31:0] known;  // bits of word0 that this type uses
  logic form_ok, qp_ok, kernel_page;
  assign word = db.word0;
  assign word_out = give_db_q.word0;
  assign kind = word.kind;
  always_comb begin
    known = dingo_pkg::DOORBELL_WORD0_OBJECT_MASK | dingo_pkg::DOORBELL_WORD0_TYPE_MASK;
    if (kind == dingo_pkg::DB_SQ[3:0]) known = known | dingo_pkg::DOORBELL_WORD0_PUSHED_MASK;
    if (kind == dingo_pkg::DB_CQ[3:0])
      known = known | dingo_pkg::DOORBELL_WORD0_ARM_SOLICITED_MASK | dingo_pkg::DOORBELL_WORD0_ARM_SN_MASK;
    if (kind == dingo_pkg::DB_EQ[3:0]) known = known | dingo_pkg::DOORBELL_WORD0_ARM_MASK;
  end
  assign form_ok = (db.word0 & ~known) == '0;
  logic index_ok;  // QPN bits between the table's index and the tag
  if (IdxW < 16) begin : g_index
    assign index_ok = word.object[15:IdxW] == '0;
  end else begin : g_all
    assign index_ok = 1'b1;
  end
  assign qp_ok = index_ok && entry_written && entry_valid && entry_tag == word.object[23:16] && entry_page == db.page;
  assign kernel_page = db.page == dingo_pkg::DB_PAGE_KERNEL[PageW-1:0];

  logic ring_ok;
  assign ring_ok = word.object < 24'd1 << rtl_pkg::ETH_LOG;

  logic is_sq, is_rq, is_srq, is_cq, is_eq, is_etx, is_erx;
  assign is_sq = form_ok && qp_ok && kind == dingo_pkg::DB_SQ[3:0];
  assign is_rq = form_ok && qp_ok && kind == dingo_pkg::DB_RQ[3:0];
  assign is_srq = form_ok && srq_written && srq_on && srq_page == db.page && word.object[23:SrqW] == '0 && kind == dingo_pkg::DB_SRQ[3:0];
  assign is_cq = form_ok && kind == dingo_pkg::DB_CQ[3:0];
  assign is_eq = form_ok && kernel_page && kind == dingo_pkg::DB_EQ[3:0];
  assign is_etx = form_ok && kernel_page && ring_ok && kind == dingo_pkg::DB_ETH_TX[3:0];
  assign is_erx = form_ok && kernel_page && ring_ok && kind == dingo_pkg::DB_ETH_RX[3:0];
  assign keep = state_q == CHECK && keep_q && (is_sq || is_rq || is_srq || is_etx || is_erx
      || (is_cq && cq_written && cq_on && cq_page == db.page && word.object[23:CqW] == '0) || (is_eq && word.object[23:EqW] == '0));

  // ---------------------------------------------------------------------------------- to the objects
  assign etx_valid_o = state_q == CHECK && !keep_q && is_etx;
  assign erx_valid_o = state_q == CHECK && !keep_q && is_erx;
  assign sq_valid_o = give_q && to_sq_q;
  assign rq_valid_o = give_q && to_rq_q;
  assign cq_valid_o = give_q && to_cq_q;
  assign eq_valid_o = give_q && to_eq_q;
  assign db_o = give_q ? give_db_q : db;
  assign q_o.qp = word_out.object[IdxW-1:0];
  assign q_o.index = give_db_q.index;
  assign q_o.pushed = to_sq_q ? {word_out.arm_sn, word_out.arm} : 3'd0;
  assign q_srq_o = word_out.kind == dingo_pkg::DB_SRQ[3:0];
  assign stat_valid_o = state_q == COUNT;
  assign stat_o.idx = 6'(dingo_pkg::CARD_DB_DROPPED);
  assign stat_o.by = 16'd1;
  assign given = (to_sq_q && sq_ready_i) || (to_rq_q && rq_ready_i) || (to_cq_q && cq_ready_i) ||
                 (to_eq_q && eq_ready_i);

  always_ff @(posedge clk_i) begin
    halt_q <= halt_i;
    if (!rst_ni) begin
      state_q <= IDLE;
      give_q <= 1'b0;
      turn_q <= 1'b0;
      keep_q <= 1'b0;
      got_q <= 1'b0;
      left_q <= '0;
      {to_sq_q, to_rq_q, to_cq_q, to_eq_q} <= '0;
    end else begin
      if (!halt_q) left_q <= waits;
      else if (state_q == CHECK && got_q && !more && left_q != '0) left_q <= left_q - 1'b1;
      if (give_q && given) give_q <= 1'b0;
      case (state_q)
        IDLE:
        if (take || get) begin
          state_q <= CHECK;
          keep_q <= take && !take_direct;
          got_q <= get;
          turn_q <= take;
        end
        CHECK: begin
          state_q <= IDLE;
          if (keep_q) begin
            if (!keep) state_q <= COUNT;
          end else if (is_sq || is_rq || is_srq || is_cq || is_eq) begin
            {to_sq_q, to_rq_q, to_cq_q, to_eq_q} <= {is_sq, is_rq || is_srq, is_cq, is_eq};
            give_q <= 1'b1;
          end else if (!((is_etx && !etx_bad_i) || (is_erx && !erx_bad_i))) state_q <= COUNT;
        end
        default: if (stat_ready_i) state_q <= IDLE;
      endcase
    end
    if (take) db_q <= db_i;
    if (state_q == CHECK && !keep_q) give_db_q <= db;
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      one_target: assert (!give_q || $onehot({to_sq_q, to_rq_q, to_cq_q, to_eq_q}));
      one_place: assert (!(state_q == CHECK && !keep_q && give_q));
    end
  end

  wire unused_ok = &{1'b0, qp_wdata_i, cq_wdata_i, srq_wdata_i, first, word_in, word, word_out};
endmodule
