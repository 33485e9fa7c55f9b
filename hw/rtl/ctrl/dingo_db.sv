// SPDX-License-Identifier: BSD-2-Clause

/// Doorbells by object. SQ and RQ doorbells are checked here for QPN (index and tag) and page; CQ, EQ
/// and Ethernet doorbells go on as they are (their modules check object and page: cq_db carries the page, EQ and Ethernet are
/// passed from page 0 only). What is wrong is dropped and counted (db_dropped).
module dingo_db (
    input  logic clk_i,
    input  logic rst_ni,
    input  logic halt_i,               // take no more doorbells
    output logic idle_o,               // holds none
    input  logic db_valid_i,
    output logic db_ready_o,
    input  rtl_pkg::db_t  db_i,
    // contexts as they are written
    input  logic       qp_we_i,
    input  rtl_pkg::qpi_t       qp_windex_i,
    input  rtl_pkg::qp_cfg_t    qp_wdata_i,
    output logic sq_valid_o,
    input  logic sq_ready_i,
    output logic rq_valid_o,
    input  logic rq_ready_i,
    output rtl_pkg::qdb_t q_o,                  // of both
    output logic cq_valid_o,
    input  logic cq_ready_i,
    output logic eq_valid_o,
    input  logic eq_ready_i,
    output logic etx_valid_o,          // always taken; etx_bad_i, erx_bad_i answer in the same cycle
    input  logic etx_bad_i,
    output logic erx_valid_o,
    input  logic erx_bad_i,
    output rtl_pkg::db_t  db_o,                 // of CQ, EQ, Ethernet
    output logic stat_valid_o,
    input  logic stat_ready_i,
    output rtl_pkg::stat_t stat_o
);
  localparam int unsigned IdxW = rtl_pkg::QP_LOG;
  localparam int unsigned PageW = rtl_pkg::DB_PAGE_LOG;

  typedef enum logic [1:0] {
    IDLE  = 2'd0,
    CHECK = 2'd1,  // the QP's entry has been read
    GIVE  = 2'd2,  // to SQ, RQ, CQ or EQ
    COUNT = 2'd3   // dropped
  } state_t;
  state_t state_q;
  rtl_pkg::db_t db_q;
  logic [IdxW:0] walk_q;  // the table is cleared after reset
  logic clearing;
  logic take;
  logic to_sq_q, to_rq_q, to_cq_q, to_eq_q;

  assign clearing = !walk_q[IdxW];
  assign db_ready_o = state_q == IDLE && !clearing && !halt_i;
  assign take = db_valid_i && db_ready_o;
  assign idle_o = state_q == IDLE;

  // What a doorbell must know of a QP: that it exists, QPN bits 23:16, its page.
  logic [PageW+8:0] entry;
  logic entry_valid;
  logic [7:0] entry_tag;
  logic [PageW-1:0] entry_page;
  assign {entry_valid, entry_tag, entry_page} = entry;
  dingo_ram #(
      .Width(PageW + 9),
      .LogDepth(IdxW)
  ) u_table (
      .clk_i,
      .we_i(clearing || qp_we_i),
      .waddr_i(clearing ? walk_q[IdxW-1:0] : qp_windex_i),
      .wdata_i(clearing ? '0 : {qp_wdata_i.valid, qp_wdata_i.tag, qp_wdata_i.db_page}),
      .re_i(take),
      .raddr_i(db_i.word0[IdxW-1:0]),
      .rdata_o(entry)
  );

  logic [3:0] kind;
  logic [31:0] known;  // bits of word0 that this type uses
  logic form_ok, qp_ok, kernel_page;
  assign kind = db_q.word0[27:24];
  always_comb begin
    known = dingo_pkg::DOORBELL_WORD0_OBJECT_MASK | dingo_pkg::DOORBELL_WORD0_TYPE_MASK;
    if (kind == dingo_pkg::DB_CQ[3:0])
      known = known | dingo_pkg::DOORBELL_WORD0_ARM_SOLICITED_MASK | dingo_pkg::DOORBELL_WORD0_ARM_SN_MASK;
    if (kind == dingo_pkg::DB_EQ[3:0]) known = known | dingo_pkg::DOORBELL_WORD0_ARM_MASK;
  end
  assign form_ok = (db_q.word0 & ~known) == '0;
  logic index_ok;  // QPN bits between the table's index and the tag
  if (IdxW < 16) begin : g_index
    assign index_ok = db_q.word0[15:IdxW] == '0;
  end else begin : g_all
    assign index_ok = 1'b1;
  end
  assign qp_ok = index_ok && entry_valid && entry_tag == db_q.word0[23:16] && entry_page == db_q.page;
  assign kernel_page = db_q.page == dingo_pkg::DB_PAGE_KERNEL[PageW-1:0];

  logic ring_zero;  // this card has one Ethernet ring each way
  assign ring_zero = db_q.word0[23:0] == '0;

  logic is_sq, is_rq, is_cq, is_eq, is_etx, is_erx;
  assign is_sq = form_ok && qp_ok && kind == dingo_pkg::DB_SQ[3:0];
  assign is_rq = form_ok && qp_ok && kind == dingo_pkg::DB_RQ[3:0];
  assign is_cq = form_ok && kind == dingo_pkg::DB_CQ[3:0];
  assign is_eq = form_ok && kernel_page && kind == dingo_pkg::DB_EQ[3:0];
  assign is_etx = form_ok && kernel_page && ring_zero && kind == dingo_pkg::DB_ETH_TX[3:0];
  assign is_erx = form_ok && kernel_page && ring_zero && kind == dingo_pkg::DB_ETH_RX[3:0];

  assign etx_valid_o = state_q == CHECK && is_etx;
  assign erx_valid_o = state_q == CHECK && is_erx;
  assign sq_valid_o = state_q == GIVE && to_sq_q;
  assign rq_valid_o = state_q == GIVE && to_rq_q;
  assign cq_valid_o = state_q == GIVE && to_cq_q;
  assign eq_valid_o = state_q == GIVE && to_eq_q;
  assign db_o = db_q;
  assign q_o = {db_q.word0[IdxW-1:0], db_q.index};
  assign stat_valid_o = state_q == COUNT;
  assign stat_o = {6'(dingo_pkg::CARD_DB_DROPPED), 16'd1};

  logic given;
  assign given = (to_sq_q && sq_ready_i) || (to_rq_q && rq_ready_i) || (to_cq_q && cq_ready_i) ||
                 (to_eq_q && eq_ready_i);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      walk_q <= '0;
      state_q <= IDLE;
      {to_sq_q, to_rq_q, to_cq_q, to_eq_q} <= '0;
    end else begin
      if (clearing) walk_q <= walk_q + 1'b1;
      case (state_q)
        IDLE: if (take) state_q <= CHECK;
        CHECK: begin
          {to_sq_q, to_rq_q, to_cq_q, to_eq_q} <= {is_sq, is_rq, is_cq, is_eq};
          if (is_sq || is_rq || is_cq || is_eq) state_q <= GIVE;
          else if ((is_etx && !etx_bad_i) || (is_erx && !erx_bad_i)) state_q <= IDLE;
          else state_q <= COUNT;
        end
        GIVE: if (given) state_q <= IDLE;
        default: if (stat_ready_i) state_q <= IDLE;
      endcase
    end
    if (take) db_q <= db_i;
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) one_target: assert (state_q != GIVE || $onehot({to_sq_q, to_rq_q, to_cq_q, to_eq_q}));
  end

  wire unused_ok = &{1'b0, qp_wdata_i};
endmodule
