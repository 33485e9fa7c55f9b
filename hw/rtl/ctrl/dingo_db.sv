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
endmodule
