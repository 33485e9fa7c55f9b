// SPDX-License-Identifier: BSD-2-Clause

/// The admin queue: fetches commands one after the other, checks every field (dingo_admin_check), does them, writes the
/// completion. Commands that change what engines use are done while everything stands still (dingo_admin_halt).
/// A command takes two host accesses, 8 cycles for the checks, 8 for what the tables say, and the halt.
module dingo_admin (
    input  logic        clk_i,
    input  logic        rst_ni,
    output logic        idle_o,
    input  rtl_pkg::strap_t      strap_i,
    // dingo_regs
    input  logic        aq_enable_i,
    input  logic [ 3:0] aq_log_depth_i,
    input  logic [63:0] asq_base_i,
    input  logic [63:0] acq_base_i,
    input  logic [31:0] asq_producer_i,
    output logic [31:0] asq_consumer_o,   // commands completed since enabling
    output logic        fatal_valid_o,
    output logic [31:0] fatal_code_o,
    // standing still
    output logic        halt_tx_o,
    input  logic        tx_idle_i,
    output logic        halt_rx_o,
    input  logic        rx_idle_i,
    output logic        halt_db_o,
    output logic        xl_flush_o,       // pulse: page lists may be gone
    // tables
    output logic        qp_re_o,
    output rtl_pkg::qpi_t        qp_rindex_o,
    input  rtl_pkg::qp_t         qp_rdata_i,
    output logic        qp_we_o,
    output rtl_pkg::qpi_t        qp_windex_o,
    output rtl_pkg::qp_cfg_t     qp_wdata_o,
    output logic        state_we_o,
    output rtl_pkg::qps_t        state_o,          // of qp_windex_o
    output logic        mr_re_o,
    output logic        mr_we_o,
    output rtl_pkg::mri_t        mr_index_o,
    output rtl_pkg::mr_t         mr_wdata_o,
    input  rtl_pkg::mr_t         mr_rdata_i,
    output logic        port_we_o,
    output rtl_pkg::port_t       port_o,
    output logic        gid_we_o,
    output rtl_pkg::gidi_t       gid_index_o,
    output rtl_pkg::gid_t        gid_o,
    input  logic [(1<<rtl_pkg::GID_LOG)*rtl_pkg::GID_W-1:0] gids_i,
    output logic        mac_we_o,
    output logic [rtl_pkg::MAC_LOG-1:0] mac_index_o,
    output logic        mac_valid_o,
    output logic [47:0] mac_o,
    output logic        cq_valid_o,
    output rtl_pkg::cq_cfg_t     cq_o,
    output logic        eq_valid_o,
    output rtl_pkg::eq_cfg_t     eq_o,
    output logic        forget_valid_o,
    output rtl_pkg::ev_t         forget_o,
    output logic        etx_valid_o,
    output logic        erx_valid_o,
    output logic        eth_on_o,
    output rtl_pkg::xmem_t       eth_mem_o,
    output logic [ 3:0] eth_log_size_o,
    output rtl_pkg::cqi_t        eth_cq_o,
    // engines: both get every request; done is one cycle, with the answer
    output logic        qpa_valid_o,      // one cycle
    output rtl_pkg::qpa_req_t    qpa_o,
    input  logic        req_done_i,
    input  rtl_pkg::req_info_t   req_info_i,
    input  logic        rsp_done_i,
    input  rtl_pkg::rsp_info_t   rsp_info_i,
    // dingo_compute_slot
    output logic        compute_valid_o,
    input  logic        compute_ready_i,
    output rtl_pkg::qpi_t        compute_qp_o,
    output rtl_pkg::kernel_t     compute_kernel_o,
    output logic [31:0] compute_param_o,
    // dingo_stats
    output logic        clear_valid_o,
    input  logic        clear_ready_i,
    output rtl_pkg::qpi_t        clear_qp_o,
    output logic        read_valid_o,
    input  logic        read_ready_i,
    output logic        read_qp_o,
    output rtl_pkg::qpi_t        read_qpi_o,
    output logic [ 5:0] read_idx_o,
    input  logic        value_valid_i,
    input  logic [63:0] value_i,
    output logic        stat_valid_o,
    input  logic        stat_ready_i,
    output rtl_pkg::stat_t       stat_o,
    output logic        irq_o,            // pulse: the completion is in host memory
    // dingo_host
    output logic        line_valid_o,
    input  logic        line_ready_i,
    output rtl_pkg::rdl_req_t    line_o,
    input  logic        line_rsp_valid_i,
    input  rtl_pkg::rdl_rsp_t    line_rsp_i,
    output logic        write_valid_o,
    input  logic        write_ready_i,
    output rtl_pkg::dma_req_t    write_o,
    output logic        wdata_valid_o,
    input  logic        wdata_ready_i,
    output rtl_pkg::beat_t       wdata_o,
    input  logic        done_valid_i,
    input  logic        done_err_i
);
  typedef enum logic [4:0] {
    IDLE    = 5'd0,
    FETCH   = 5'd1,    // two lines
    CHECK   = 5'd2,
    HALT    = 5'd3,    // wait for rest
    LOOKUP  = 5'd4,    // tables
    LOOKED  = 5'd5,
    DECIDE  = 5'd6,
    ATTACH  = 5'd7,    // first page of a ring: list line
    ATTACHW = 5'd8,
    WRITE   = 5'd9,    // tables change
    USERS   = 5'd10,   // second CQ of a QP
    ENGINE  = 5'd11,   // engines take note
    AFTER   = 5'd12,
    FORGET  = 5'd13,
    STATS   = 5'd14,   // eight counters into the buffer
    OUT     = 5'd15,   // buffer to the host
    OUTDATA = 5'd16,
    OUTDONE = 5'd17,
    COUNT   = 5'd18,
    REPLY   = 5'd19,
    REPLYD  = 5'd20,
    REPLYW  = 5'd21,
    CLEARC  = 5'd22,   // counters of a new QP
    DEAD    = 5'd23,
    COMPUTE = 5'd24    // the QP's kernel
  } state_e;

  state_e state_q;
  logic [1023:0] cmd_q;
  logic line_q;                       // second line comes
  logic [31:0] status_q, detail_q;
  logic [63:0] result_q;
  logic [31:0] consumer_q;
  logic enable_q;
  logic [2:0] settle_q;               // the checks are long sums: they have 8 cycles (a multicycle path)
  logic at_rest;
  rtl_pkg::qp_t qp_q;
  rtl_pkg::mr_t mr_q;
  logic req_seen_q, rsp_seen_q;
  rtl_pkg::req_info_t req_info_q;
  rtl_pkg::rsp_info_t rsp_info_q;
  logic cq_second_q;                  // the receive CQ of a QP
  logic ring_q;                       // CREATE_QP: 0 send queue, 1 receive queue
  logic leaf_q;                       // second level
  logic [63:0] attach_addr_q;
  logic [1023:0] out_q;               // bytes for the host
  logic [63:0] out_addr_q;
  logic [15:0] out_left_q, out_have_q;  // bytes still to write; bytes in out_q
  logic [6:0] stat_q;                 // next counter; from 64 on they are 0: what is not built counts nothing
  logic [3:0] stat_fill_q;
  logic stat_asked_q;
  logic counted_q, forgot_q;
  logic counted_all;                  // the command; the error besides when it is one
  logic irq_q;

  // ------------------------------------------------------------------------------------ the command
  logic [31:0] op, check_status, check_detail, modify_status, modify_detail;
  logic check_halt;
  rtl_pkg::qp_t modified;
  dingo_pkg::admin_hdr_t hdr;
  dingo_pkg::cmd_query_device_t qd;
  dingo_pkg::cmd_query_stats_t qs;
  dingo_pkg::cmd_set_port_t sp;
  dingo_pkg::cmd_set_mac_t sm;
  dingo_pkg::cmd_set_gid_t sg;
  dingo_pkg::cmd_create_eq_t eq;
  dingo_pkg::cmd_destroy_t destroy;
  dingo_pkg::cmd_create_cq_t cq;
  dingo_pkg::cmd_create_mr_t mr;
  dingo_pkg::cmd_create_qp_t qp;
  dingo_pkg::cmd_modify_qp_t mq;
  dingo_pkg::cmd_query_qp_t qq;
  dingo_pkg::cmd_create_eth_t eth;
  dingo_pkg::cmd_set_compute_t sc;
  assign hdr = cmd_q[63:0];
  assign qd = cmd_q[191:0];
  assign qs = cmd_q[255:0];
  assign sp = cmd_q[127:0];
  assign sm = cmd_q[191:0];
  assign sg = cmd_q[319:0];
  assign eq = cmd_q[319:0];
  assign destroy = cmd_q[127:0];
  assign cq = cmd_q[383:0];
  assign mr = cmd_q[511:0];
  assign qp = cmd_q[639:0];
  assign mq = cmd_q[831:0];
  assign qq = cmd_q[191:0];
  assign eth = cmd_q[319:0];
  assign sc = cmd_q[255:0];
  assign op = 32'(hdr.opcode);

  dingo_admin_check i_check (
      .cmd_i(cmd_q),
      .strap_i,
      .status_o(check_status),
      .detail_o(check_detail),
      .halt_o(check_halt)
  );
  dingo_admin_modify i_modify (
      .cmd_i(cmd_q[831:0]),
      .qp_i(qp_q),
      .gids_i,
      .status_o(modify_status),
      .detail_o(modify_detail),
      .qp_o(modified)
  );

  // QPN of the command: find_qp compares index and tag
  logic [31:0] qpn;
  logic qp_found;
  always_comb
    case (op)
      dingo_pkg::OP_CREATE_QP: qpn = qp.qpn;
      dingo_pkg::OP_MODIFY_QP: qpn = mq.qpn;
      dingo_pkg::OP_QUERY_QP: qpn = qq.qpn;
      dingo_pkg::OP_QUERY_STATS: qpn = qs.id;
      dingo_pkg::OP_SET_COMPUTE: qpn = sc.qpn;
      default: qpn = destroy.id;
    endcase
  assign qp_found = qp_q.cfg.valid && qp_q.cfg.tag == qpn[23:16] && qpn[31:24] == '0
      && 32'(qpn[15:0]) < 32'd1 << rtl_pkg::QP_LOG;

  // The kernel that QUERY_COMPUTE asks for
  logic kernel_known;
  logic [319:0] kernel_result;
  logic [63:0] unused_range;
  dingo_compute_info i_kernel (
      .index_i(destroy.id), .known_o(kernel_known), .smallest_o(unused_range[31:0]), .largest_o(unused_range[63:32]),
      .result_o(kernel_result)
  );

  // What there is, and who uses it
  rtl_pkg::cqi_t cqi;
  rtl_pkg::eqi_t eqi, cq_eq;
  logic cq_there, cq_used, eq_there, eq_used, send_cq_there, recv_cq_there, has_async, eth_tx, eth_there;
  dingo_admin_users i_users (
      .clk_i,
      .rst_ni,
      .cmd_i(cmd_q),
      .qp_i(qp_q),
      .second_i(cq_second_q),
      .write_i(state_q == WRITE),
      .write_second_i(state_q == USERS),
      .cqi_o(cqi),
      .eqi_o(eqi),
      .cq_eq_o(cq_eq),
      .cq_there_o(cq_there),
      .cq_used_o(cq_used),
      .eq_there_o(eq_there),
      .eq_used_o(eq_used),
      .send_cq_there_o(send_cq_there),
      .recv_cq_there_o(recv_cq_there),
      .async_o(has_async),
      .eth_tx_o(eth_tx),
      .eth_there_o(eth_there)
  );

  // What the tables say about the command; OK: go on
  logic [31:0] verdict;
  always_comb begin
    verdict = dingo_pkg::ST_OK;
    case (op)
      dingo_pkg::OP_CREATE_EQ: if (eq_there || (eq.flags[0] && has_async)) verdict = dingo_pkg::ST_IN_USE;
      dingo_pkg::OP_DESTROY_EQ:
        if (!eq_there) verdict = dingo_pkg::ST_BAD_ID;
        else if (eq_used) verdict = dingo_pkg::ST_BUSY;
      dingo_pkg::OP_CREATE_CQ:
        if (cq_there) verdict = dingo_pkg::ST_IN_USE;
        else if (!eq_there) verdict = dingo_pkg::ST_BAD_ID;
      dingo_pkg::OP_DESTROY_CQ:
        if (!cq_there) verdict = dingo_pkg::ST_BAD_ID;
        else if (cq_used) verdict = dingo_pkg::ST_BUSY;
      dingo_pkg::OP_CREATE_MR: if (mr_q.valid) verdict = dingo_pkg::ST_IN_USE;
      dingo_pkg::OP_DESTROY_MR:
        // the low 8 bits of a key are its owner's
        if (32'(destroy.id[31:16]) >= 32'd1 << rtl_pkg::MR_LOG || !mr_q.valid
            || mr_q.tag[15:8] != destroy.id[15:8]) verdict = dingo_pkg::ST_BAD_ID;
      dingo_pkg::OP_CREATE_QP:
        if (qp_q.cfg.valid) verdict = dingo_pkg::ST_IN_USE;
        else if (!send_cq_there || !recv_cq_there) verdict = dingo_pkg::ST_BAD_ID;
      dingo_pkg::OP_DESTROY_QP, dingo_pkg::OP_QUERY_QP: if (!qp_found) verdict = dingo_pkg::ST_BAD_ID;
      dingo_pkg::OP_MODIFY_QP: verdict = qp_found ? modify_status : dingo_pkg::ST_BAD_ID;
      dingo_pkg::OP_SET_COMPUTE:  // not once it may have sent
        if (!qp_found) verdict = dingo_pkg::ST_BAD_ID;
        else if (qp_q.state > 3'(dingo_pkg::QPS_RTR)) verdict = dingo_pkg::ST_BAD_STATE;
      dingo_pkg::OP_QUERY_COMPUTE: if (!kernel_known) verdict = dingo_pkg::ST_BAD_ID;
      dingo_pkg::OP_QUERY_STATS: if (qs.scope[0] && !qp_found) verdict = dingo_pkg::ST_BAD_ID;
      dingo_pkg::OP_CREATE_ETH:
        if (eth_there) verdict = dingo_pkg::ST_IN_USE;
        else if (!cq_there) verdict = dingo_pkg::ST_BAD_ID;
      dingo_pkg::OP_DESTROY_ETH: if (!eth_there) verdict = dingo_pkg::ST_BAD_ID;
      default: ;
    endcase
  end

  // Ring whose page list is looked at
  dingo_pkg::mem_t ring;
  logic [31:0] ring_at;
  always_comb
    case (op)
      dingo_pkg::OP_CREATE_EQ: begin ring = eq.ring; ring_at = 32'd16; end
      dingo_pkg::OP_CREATE_CQ: begin ring = cq.ring; ring_at = 32'd24; end
      dingo_pkg::OP_CREATE_ETH: begin ring = eth.mem; ring_at = 32'd16; end
      default: begin
        ring = ring_q ? qp.rq : qp.sq;
        ring_at = ring_q ? 32'd56 : 32'd40;
      end
    endcase
  logic [63:0] entry, entry_mask;
  assign entry = line_rsp_i.data[attach_addr_q[5:3]*64+:64];
  assign entry_mask = (64'd1 << (ring.levels[1:0] == 2'd2 && !leaf_q ? 6'd12 : {1'b0, ring.page_shift[4:0]})) - 64'd1;

  // ------------------------------------------------------------------------------------ answers
  logic [1023:0] limits, info;
  dingo_pkg::admin_cpl_t cpl;
  dingo_admin_answers i_answers (
      .strap_i,
      .qp_i(qp_q),
      .req_info_i(req_info_q),
      .rsp_info_i(rsp_info_q),
      .limits_o(limits),
      .qp_info_o(info)
  );
  always_comb begin
    cpl = '0;
    cpl.cmd_id = hdr.cmd_id;
    cpl.opcode = hdr.opcode;
    cpl.status = status_q;
    cpl.detail = detail_q;
    cpl.result[63:0] = result_q;
    if (op == dingo_pkg::OP_QUERY_COMPUTE && status_q == dingo_pkg::ST_OK) cpl.result = kernel_result;
    cpl.owner = {7'd0, !consumer_q[{1'b0, aq_log_depth_i}]};
  end

  // ------------------------------------------------------------------------------------ outputs by state
  logic [31:0] slot;
  logic [12:0] page_left;
  logic [15:0] chunk_most;
  logic [6:0] chunk;                  // bytes of the present write
  assign slot = consumer_q & ((32'd1 << aq_log_depth_i) - 32'd1);
  assign page_left = 13'd4096 - {1'b0, out_addr_q[11:0]};
  assign chunk_most = out_left_q < out_have_q ? out_left_q : out_have_q;
  assign chunk = page_left < 13'd64 && 16'(page_left) < chunk_most ? page_left[6:0]
      : chunk_most < 16'd64 ? chunk_most[6:0] : 7'd64;

  assign line_valid_o = (state_q == FETCH && !line_q) || state_q == ATTACH;
  assign line_o.lines = state_q == ATTACH ? 4'd1 : 4'd2;
  assign line_o.addr = state_q == ATTACH ? attach_addr_q[63:6] : asq_base_i[63:6] + 58'({slot, 1'b0});
  assign write_valid_o = state_q == OUT || state_q == REPLY;
  assign write_o.len = state_q == OUT ? 13'(chunk) : 13'd64;
  assign write_o.addr = state_q == OUT ? out_addr_q : acq_base_i + {26'd0, slot, 6'd0};
  assign wdata_valid_o = state_q == OUTDATA || state_q == REPLYD;
  assign wdata_o.err = 1'b0;
  assign wdata_o.last = 1'b1;
  assign wdata_o.bytes = state_q == OUTDATA ? chunk : 7'd64;
  assign wdata_o.data = state_q == OUTDATA ? out_q[511:0] : cpl;

  dingo_admin_halt i_halt (
      .clk_i,
      .rst_ni,
      .start_i(state_q == CHECK && &settle_q && check_status == dingo_pkg::ST_OK && op != dingo_pkg::OP_NOP && check_halt),
      .wait_i(state_q == HALT),
      .release_i((state_q == COUNT && stat_ready_i && counted_all) || state_q == DEAD),
      .tx_idle_i,
      .rx_idle_i,
      .halt_tx_o,
      .halt_rx_o,
      .rest_o(at_rest)
  );
  assign halt_db_o = halt_rx_o;
  assign asq_consumer_o = consumer_q;
  assign irq_o = irq_q;
  assign fatal_code_o = dingo_pkg::FATAL_ADMIN_BUS;
  assign idle_o = (state_q == IDLE && !irq_q && !(aq_enable_i && enable_q && asq_producer_i != consumer_q) && aq_enable_i == enable_q)
      || state_q == DEAD;

  assign qp_re_o = state_q == LOOKUP;
  assign qp_rindex_o = qpn[rtl_pkg::QP_LOG-1:0];
  assign mr_re_o = state_q == LOOKUP;
  assign mr_index_o = op == dingo_pkg::OP_CREATE_MR ? mr.key[16+:rtl_pkg::MR_LOG] : destroy.id[16+:rtl_pkg::MR_LOG];
  assign mr_we_o = state_q == WRITE && (op == dingo_pkg::OP_CREATE_MR || op == dingo_pkg::OP_DESTROY_MR);
  rtl_pkg::qp_cfg_t created;
  dingo_admin_entries i_entries (
      .cmd_i(cmd_q),
      .cqi_i(cqi),
      .eqi_i(eqi),
      .cq_eq_i(cq_eq),
      .mr_o(mr_wdata_o),
      .qp_o(created),
      .port_o,
      .gid_o,
      .cq_o,
      .eq_o,
      .eth_mem_o,
      .eth_log_size_o
  );
  logic destroy_qp_now;
  assign destroy_qp_now = state_q == AFTER && op == dingo_pkg::OP_DESTROY_QP;
  assign qp_windex_o = qpn[rtl_pkg::QP_LOG-1:0];
  assign qp_we_o = (state_q == WRITE && (op == dingo_pkg::OP_CREATE_QP || op == dingo_pkg::OP_MODIFY_QP)) || destroy_qp_now;
  assign qp_wdata_o = op == dingo_pkg::OP_CREATE_QP ? created : op == dingo_pkg::OP_MODIFY_QP ? modified.cfg : '0;
  assign state_we_o = qp_we_o;
  assign state_o = op == dingo_pkg::OP_MODIFY_QP ? modified.state : 3'(dingo_pkg::QPS_RESET);

  logic to_reset;
  assign to_reset = op == dingo_pkg::OP_MODIFY_QP && modified.state == 3'(dingo_pkg::QPS_RESET);
  assign qpa_valid_o = state_q == WRITE && (op == dingo_pkg::OP_CREATE_QP || op == dingo_pkg::OP_MODIFY_QP
      || op == dingo_pkg::OP_DESTROY_QP || op == dingo_pkg::OP_QUERY_QP);
  always_comb begin
    qpa_o = '0;
    qpa_o.op = op == dingo_pkg::OP_QUERY_QP ? rtl_pkg::QPA_QUERY
        : op == dingo_pkg::OP_MODIFY_QP && !to_reset ? rtl_pkg::QPA_MODIFY : rtl_pkg::QPA_CLEAR;
    qpa_o.destroy = op == dingo_pkg::OP_DESTROY_QP;
    qpa_o.old_state = qp_q.state;
    qpa_o.mask = op == dingo_pkg::OP_MODIFY_QP ? mq.mask[20:0] : '0;
    qpa_o.qp = qp_windex_o;
    qpa_o.ctx = op == dingo_pkg::OP_MODIFY_QP ? modified
        : op == dingo_pkg::OP_CREATE_QP ? {3'(dingo_pkg::QPS_RESET), created} : qp_q;
  end

  assign port_we_o = state_q == WRITE && op == dingo_pkg::OP_SET_PORT;
  assign gid_we_o = state_q == WRITE && op == dingo_pkg::OP_SET_GID;
  assign gid_index_o = sg.index[rtl_pkg::GID_LOG-1:0];
  assign mac_we_o = state_q == WRITE && op == dingo_pkg::OP_SET_MAC;
  assign mac_index_o = sm.index[rtl_pkg::MAC_LOG-1:0];
  assign mac_valid_o = sm.valid[0];
  assign mac_o = sm.mac;
  assign cq_valid_o = state_q == WRITE && (op == dingo_pkg::OP_CREATE_CQ || op == dingo_pkg::OP_DESTROY_CQ);
  assign eq_valid_o = state_q == WRITE && (op == dingo_pkg::OP_CREATE_EQ || op == dingo_pkg::OP_DESTROY_EQ);
  assign etx_valid_o = state_q == WRITE && (op == dingo_pkg::OP_CREATE_ETH || op == dingo_pkg::OP_DESTROY_ETH) && eth_tx;
  assign erx_valid_o = state_q == WRITE && (op == dingo_pkg::OP_CREATE_ETH || op == dingo_pkg::OP_DESTROY_ETH) && !eth_tx;
  assign eth_on_o = op == dingo_pkg::OP_CREATE_ETH;
  assign eth_cq_o = cqi;

  assign forget_valid_o = state_q == FORGET;
  assign forget_o.kind = op == dingo_pkg::OP_DESTROY_QP ? 8'(dingo_pkg::EV_QP_FATAL)
      : forgot_q ? 8'(dingo_pkg::EV_CQ_ERR) : 8'(dingo_pkg::EV_COMPLETION);
  assign forget_o.id = destroy.id;
  assign forget_o.data = '0;
  assign xl_flush_o = state_q == FORGET
      || (state_q == AFTER && (to_reset || op == dingo_pkg::OP_DESTROY_MR || op == dingo_pkg::OP_DESTROY_EQ || op == dingo_pkg::OP_DESTROY_ETH));
  assign compute_valid_o = state_q == COMPUTE;
  assign compute_qp_o = qp_windex_o;
  assign compute_kernel_o = op == dingo_pkg::OP_SET_COMPUTE ? sc.kernel[1:0] : rtl_pkg::KERNEL_PASS;
  assign compute_param_o = op == dingo_pkg::OP_SET_COMPUTE ? sc.param : '0;
  assign clear_valid_o = state_q == CLEARC;
  assign clear_qp_o = qp_windex_o;
  assign read_valid_o = state_q == STATS && !stat_asked_q;
  assign read_qp_o = qs.scope[0];
  assign read_qpi_o = qp_windex_o;
  assign read_idx_o = stat_q[5:0];
  assign counted_all = counted_q || status_q == dingo_pkg::ST_OK;
  assign stat_valid_o = state_q == COUNT;
  assign stat_o.idx = counted_q ? 6'(dingo_pkg::CARD_ADMIN_ERRORS) : 6'(dingo_pkg::CARD_ADMIN_COMMANDS);
  assign stat_o.by = 16'd1;

  // ------------------------------------------------------------------------------------ steps
  logic [31:0] counters;
  logic [31:0] stats_len;
  assign counters = qs.scope[0] ? dingo_pkg::QP_COUNTERS : dingo_pkg::CARD_COUNTERS;
  assign stats_len = qs.out_len < {counters[28:0], 3'd0} ? qs.out_len : {counters[28:0], 3'd0};
  assign fatal_valid_o = (state_q == FETCH && line_rsp_valid_i && line_rsp_i.err)
      || (state_q == REPLYW && done_valid_i && done_err_i);

  always_ff @(posedge clk_i) begin
    irq_q <= 1'b0;
    if (!rst_ni) begin
      state_q      <= IDLE;
      enable_q     <= 1'b0;
      consumer_q   <= '0;
      settle_q     <= '0;
      line_q       <= 1'b0;
    end else begin
      settle_q <= state_q == CHECK || state_q == DECIDE ? settle_q + 1'b1 : '0;
      // Enabling starts both rings afresh.
      if (state_q == IDLE) begin
        enable_q <= aq_enable_i;
        if (!aq_enable_i || !enable_q) consumer_q <= '0;
      end
      case (state_q)
        IDLE:
        if (aq_enable_i && enable_q && asq_producer_i != consumer_q) begin
          state_q  <= FETCH;
          line_q   <= 1'b0;
          status_q <= dingo_pkg::ST_OK;
          detail_q <= '0;
          result_q <= '0;
          counted_q <= 1'b0;
          forgot_q <= 1'b0;
          cq_second_q <= 1'b0;
          ring_q   <= 1'b0;
        end
        FETCH: begin
          if (line_valid_o && line_ready_i) line_q <= 1'b1;
          if (line_rsp_valid_i) begin
            cmd_q <= {line_rsp_i.data, cmd_q[1023:512]};
            if (line_rsp_i.err) state_q <= DEAD;
            else if (line_rsp_i.last) state_q <= CHECK;
          end
        end
        CHECK:
        if (&settle_q) begin
          status_q <= check_status;
          detail_q <= check_detail;
          if (check_status != dingo_pkg::ST_OK) state_q <= COUNT;
          else if (op == dingo_pkg::OP_NOP) state_q <= COUNT;
          else state_q <= check_halt ? HALT : LOOKUP;
        end
        HALT: if (at_rest) state_q <= LOOKUP;
        LOOKUP: state_q <= LOOKED;
        LOOKED: begin
          qp_q    <= qp_rdata_i;
        mr_q    <= mr_rdata_i;
          state_q <= DECIDE;
        end
        DECIDE:
        if (&settle_q) begin
          status_q <= verdict;
          if (verdict == dingo_pkg::ST_BAD_FIELD) detail_q <= modify_detail;
          stat_q       <= '0;
          stat_fill_q  <= '0;
          stat_asked_q <= 1'b0;
          req_seen_q   <= 1'b0;
          rsp_seen_q   <= 1'b0;
          leaf_q       <= 1'b0;
          attach_addr_q <= ring.addr;
          if (verdict != dingo_pkg::ST_OK) state_q <= COUNT;
          else
            case (op)
              dingo_pkg::OP_QUERY_DEVICE: begin
                out_q      <= limits;
                out_addr_q <= qd.out_addr;
                out_have_q <= 16'd128;
                out_left_q <= qd.out_len < 32'd128 ? qd.out_len[15:0] : 16'd128;
                state_q    <= qd.out_len == '0 ? COUNT : OUT;
              end
              dingo_pkg::OP_QUERY_STATS: begin
                out_addr_q <= qs.out_addr;
                out_left_q <= stats_len[15:0];
                result_q   <= {32'd0, stats_len};
                state_q    <= stats_len == '0 ? COUNT : STATS;
              end
              dingo_pkg::OP_CREATE_EQ, dingo_pkg::OP_CREATE_CQ, dingo_pkg::OP_CREATE_ETH, dingo_pkg::OP_CREATE_QP:
                state_q <= ring.levels != '0 ? ATTACH : WRITE;
              default: state_q <= WRITE;
            endcase
          if (op == dingo_pkg::OP_CREATE_QP && verdict == dingo_pkg::ST_OK && ring.levels == '0) begin
            ring_q  <= 1'b1;
            state_q <= qp.rq.levels != '0 ? ATTACH : WRITE;
            attach_addr_q <= qp.rq.addr;
          end
        end
        ATTACH: if (line_ready_i) state_q <= ATTACHW;
        ATTACHW:
        if (line_rsp_valid_i) begin
          if (line_rsp_i.err) begin
            status_q <= dingo_pkg::ST_BUS_ERROR;
            state_q  <= COUNT;
          end else if ((entry & entry_mask) != '0) begin
            status_q <= dingo_pkg::ST_BAD_FIELD;
            detail_q <= ring_at;
            state_q  <= COUNT;
          end else if (ring.levels[1:0] == 2'd2 && !leaf_q) begin
            leaf_q        <= 1'b1;
            attach_addr_q <= entry;
            state_q       <= ATTACH;
          end else if (op == dingo_pkg::OP_CREATE_QP && !ring_q && qp.rq.levels != '0) begin
            ring_q        <= 1'b1;
            leaf_q        <= 1'b0;
            attach_addr_q <= qp.rq.addr;
            state_q       <= ATTACH;
          end else state_q <= WRITE;
        end
        WRITE: begin
          if (op == dingo_pkg::OP_CREATE_QP || op == dingo_pkg::OP_DESTROY_QP) cq_second_q <= 1'b1;
          case (op)
            dingo_pkg::OP_DESTROY_CQ: state_q <= FORGET;
            dingo_pkg::OP_DESTROY_EQ, dingo_pkg::OP_DESTROY_MR, dingo_pkg::OP_DESTROY_ETH: state_q <= AFTER;
            dingo_pkg::OP_SET_COMPUTE: state_q <= COMPUTE;
            dingo_pkg::OP_CREATE_QP, dingo_pkg::OP_DESTROY_QP: state_q <= USERS;
            dingo_pkg::OP_MODIFY_QP, dingo_pkg::OP_QUERY_QP: state_q <= ENGINE;
            default: state_q <= COUNT;
          endcase
        end
        USERS: state_q <= ENGINE;
        ENGINE:
        if (req_seen_q && rsp_seen_q) begin
          if (op == dingo_pkg::OP_QUERY_QP) begin
            out_q      <= info;
            out_addr_q <= qq.out_addr;
            out_have_q <= 16'd128;
            out_left_q <= 16'd128;
            state_q    <= OUT;
          end else if (op == dingo_pkg::OP_CREATE_QP) state_q <= CLEARC;
          else state_q <= AFTER;
        end
        CLEARC: if (clear_ready_i) state_q <= COMPUTE;
        AFTER: state_q <= op == dingo_pkg::OP_DESTROY_QP ? FORGET : to_reset ? COMPUTE : COUNT;
        COMPUTE: if (compute_ready_i) state_q <= COUNT;
        FORGET: begin
          forgot_q <= 1'b1;
          if (op == dingo_pkg::OP_DESTROY_QP || forgot_q) state_q <= COUNT;
        end
        STATS: begin
          if (read_valid_o && read_ready_i) stat_asked_q <= 1'b1;
          if (value_valid_i) begin
            out_q[511:0] <= {stat_q[6] ? 64'd0 : value_i, out_q[511:64]};
            stat_asked_q <= 1'b0;
            stat_q       <= stat_q + 1'b1;
            stat_fill_q  <= stat_fill_q + 1'b1;
            if (stat_fill_q == 4'd7) begin
              stat_fill_q <= '0;
              out_have_q  <= 16'd64;
              state_q     <= OUT;
            end
          end
        end
        OUT: if (write_ready_i) state_q <= OUTDATA;
        OUTDATA: if (wdata_ready_i) state_q <= OUTDONE;
        OUTDONE:
        if (done_valid_i) begin
          out_addr_q <= out_addr_q + 64'(chunk);
          out_left_q <= out_left_q - 16'(chunk);
          out_have_q <= out_have_q - 16'(chunk);
          out_q      <= out_q >> {chunk, 3'd0};
          if (done_err_i) begin
            status_q <= dingo_pkg::ST_BUS_ERROR;
            result_q <= '0;
            state_q  <= COUNT;
          end else if (out_left_q == 16'(chunk)) state_q <= COUNT;
          else if (out_have_q == 16'(chunk)) state_q <= STATS;
          else state_q <= OUT;
        end
        COUNT:
        if (stat_ready_i) begin
          counted_q <= 1'b1;
          if (counted_all) state_q <= REPLY;
        end
        REPLY: if (write_ready_i) state_q <= REPLYD;
        REPLYD: if (wdata_ready_i) state_q <= REPLYW;
        REPLYW:
        if (done_valid_i) begin
          consumer_q <= consumer_q + 1'b1;
          irq_q      <= !done_err_i;
          state_q    <= done_err_i ? DEAD : IDLE;
        end
        default: ;  // DEAD: only a reset helps
      endcase
      if (qpa_valid_o) begin
        req_seen_q <= 1'b0;
        rsp_seen_q <= 1'b0;
      end
      if (req_done_i) begin
        req_seen_q <= 1'b1;
        req_info_q <= req_info_i;
      end
      if (rsp_done_i) begin
        rsp_seen_q <= 1'b1;
        rsp_info_q <= rsp_info_i;
      end
    end
  end

  wire unused_ok = &{1'b0, hdr, qd, qs, sp, sm, sg, eq, cq, mr, qp, mq, qq, eth, sc, unused_range, mr_q, asq_base_i[5:0], attach_addr_q[2:0], destroy, ring, counters, stats_len};
endmodule
