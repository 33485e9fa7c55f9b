// SPDX-License-Identifier: BSD-2-Clause

/// The sending half of all QPs: send queues to request packets; acknowledgements, NAKs and READ data to
/// completions; loss recovery, timers, flushing. One QP's step after the other. It never waits
/// for the cable in the middle of a step: a packet is begun when tx_room says that it fits.
module dingo_requester (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        halt_tx_i,       // start no packet and no flush
    output logic        tx_idle_o,       // is in the middle of none
    output logic        idle_o,          // no event waits, nothing is in work
    output logic        work_o,          // a QP is ready for a turn
    output logic        timer_valid_o,   // some timer runs
    output logic [63:0] timer_next_o,    // no timer fires before this time
    input  logic [63:0] now_ns_i,
    input  logic        xl_flush_i,
    input  logic [15:0] port_mtu_i,
    input  logic [(1<<rtl_pkg::GID_LOG)-1:0] gid_valid_i,
    // events
    input  logic        db_valid_i,
    output logic        db_ready_o,
    input  rtl_pkg::qdb_t        db_i,
    output logic        db_bad_o,        // one cycle: an index that the ring cannot have (counted by dingo_db)
    input  logic        rxp_valid_i,     // responses
    output logic        rxp_ready_o,
    input  rtl_pkg::rxp_t        rxp_i,
    input  logic        commit_valid_i,
    output logic        commit_ready_o,
    input  rtl_pkg::commit_t     commit_i,
    input  logic        txerr_valid_i,
    output logic        txerr_ready_o,
    input  rtl_pkg::txerr_t      txerr_i,
    input  logic        cq_fail_valid_i, // always taken
    input  rtl_pkg::qpi_t        cq_fail_qp_i,
    input  logic        fail_valid_i,    // the responder moved this QP to ERR; always taken
    input  rtl_pkg::qpi_t        fail_qp_i,
    output logic        fail_valid_o,    // one cycle: this QP is in ERR now
    output rtl_pkg::qpi_t        fail_qp_o,
    input  logic        qpa_valid_i,
    input  rtl_pkg::qpa_req_t    qpa_i,
    output logic        qpa_done_o,
    output rtl_pkg::req_info_t   qpa_info_o,
    // tables
    output logic        qp_re_o,
    output rtl_pkg::qpi_t        qp_raddr_o,
    input  rtl_pkg::qp_t         qp_rdata_i,
    output logic        state_we_o,
    output rtl_pkg::qpi_t        state_index_o,
    output rtl_pkg::qps_t        state_o,
    output logic        mr_valid_o,
    output rtl_pkg::mr_req_t     mr_o,
    input  logic        mr_rsp_valid_i,
    input  rtl_pkg::mr_rsp_t     mr_rsp_i,
    // packets
    input  logic        tx_room_i,
    output logic        txd_valid_o,
    input  logic        txd_ready_i,
    output rtl_pkg::txd_t        txd_o,
    output logic        seg_valid_o,
    input  logic        seg_ready_i,
    output rtl_pkg::seg_t        seg_o,
    output logic        inl_valid_o,
    input  logic        inl_ready_i,
    output rtl_pkg::beat_t       inl_o,
    // payload of responses
    input  logic        scat_room_i,     // a packet's orders (18) are taken without waiting
    output logic        scat_valid_o,
    input  logic        scat_ready_i,
    output rtl_pkg::scat_t       scat_o,
    // completions, events, counters
    output logic        cqe_valid_o,
    input  logic        cqe_ready_i,
    output rtl_pkg::cqe_req_t    cqe_o,
    output logic        ev_valid_o,
    input  logic        ev_ready_i,
    output rtl_pkg::ev_t         ev_o,
    output logic        stat_valid_o,
    input  logic        stat_ready_i,
    output rtl_pkg::stat_t       stat_o,
    output logic        qstat_valid_o,
    input  logic        qstat_ready_i,
    output rtl_pkg::qstat_t      qstat_o,
    // dingo_host
    output logic        wqe_valid_o,     // LINE_SQ
    input  logic        wqe_ready_i,
    output rtl_pkg::rdl_req_t    wqe_o,
    input  logic        wqe_rsp_valid_i,
    output logic        line_valid_o,    // LINE_XL_SQ
    input  logic        line_ready_i,
    output rtl_pkg::rdl_req_t    line_o,
    input  logic        line_rsp_valid_i,
    input  rtl_pkg::rdl_rsp_t    line_rsp_i       // of both
);
endmodule
