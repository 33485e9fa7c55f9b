// SPDX-License-Identifier: BSD-2-Clause

/// MODIFY_QP: checks transition, mask and values for this QP, and gives the new context. Combinational, a multicycle
/// path of 8 cycles.
module dingo_admin_modify (
    input  dingo_pkg::cmd_modify_qp_t cmd_i,
    input  rtl_pkg::qp_t     qp_i,
    input  logic [(1<<rtl_pkg::GID_LOG)*rtl_pkg::GID_W-1:0] gids_i,
    output logic [31:0]      status_o,
    output logic [31:0]      detail_o,
    output rtl_pkg::qp_t     qp_o         // after the command
);
  localparam logic [20:0] Init = 21'(dingo_pkg::QPM_PKEY_INDEX | dingo_pkg::QPM_PORT | dingo_pkg::QPM_ACCESS);
  localparam logic [20:0] Path = 21'(dingo_pkg::QPM_AV | dingo_pkg::QPM_PATH_MTU | dingo_pkg::QPM_DEST_QPN
      | dingo_pkg::QPM_RQ_PSN);
  localparam logic [20:0] Timers = 21'(dingo_pkg::QPM_TIMEOUT | dingo_pkg::QPM_RETRY_CNT | dingo_pkg::QPM_RNR_RETRY
      | dingo_pkg::QPM_MAX_RD_ATOMIC);
  localparam logic [20:0] Rnr = 21'(dingo_pkg::QPM_MIN_RNR_TIMER);
  localparam logic [20:0] Key = 21'(dingo_pkg::QPM_PKEY_INDEX | dingo_pkg::QPM_QKEY);
  localparam logic [20:0] RunningRc = 21'(dingo_pkg::QPM_CUR_STATE | dingo_pkg::QPM_ACCESS) | Rnr;
  localparam logic [20:0] RunningUc = 21'(dingo_pkg::QPM_CUR_STATE | dingo_pkg::QPM_ACCESS);
  localparam logic [20:0] RunningUd = 21'(dingo_pkg::QPM_CUR_STATE | dingo_pkg::QPM_QKEY);
  localparam logic [20:0] SqPsn = 21'(dingo_pkg::QPM_SQ_PSN);
  localparam logic [20:0] Notify = 21'(dingo_pkg::QPM_EN_SQD_ASYNC_NOTIFY);
  localparam logic [31:0] Attr = dingo_pkg::CMD_MODIFY_QP_ATTR_AT;
  localparam logic [2:0] Reset = 3'd0, InitS = 3'd1, Rtr = 3'd2, Rts = 3'd3, Sqd = 3'd4, Sqe = 3'd5, Err = 3'd6;

  dingo_pkg::cmd_modify_qp_t cmd;
  dingo_pkg::qp_attr_t a;
  rtl_pkg::gid_t gid;
  logic [31:0] mask;
  logic new_state, cur_state, rc, uc, gsi;
  logic [2:0] from, to;
  logic allowed;
  logic [20:0] required, optional, given;
  logic dgid_ipv4, av;

  assign cmd = cmd_i;
  assign a = cmd.attr;
  assign mask = cmd.mask;
  assign new_state = (mask & dingo_pkg::QPM_STATE) != '0;
  assign cur_state = (mask & dingo_pkg::QPM_CUR_STATE) != '0;
  assign av = (mask & dingo_pkg::QPM_AV) != '0;
  assign from = qp_i.state;
  assign to = new_state ? cmd.next_state[2:0] : from;
  assign rc = qp_i.cfg.kind == 3'(dingo_pkg::QPT_RC);
  assign uc = qp_i.cfg.kind == 3'(dingo_pkg::QPT_UC);
  assign gsi = qp_i.cfg.kind == 3'(dingo_pkg::QPT_GSI);
  assign given = mask[20:0] & ~21'(dingo_pkg::QPM_STATE);
  assign gid = gids_i[a.sgid_index[rtl_pkg::GID_LOG-1:0]*rtl_pkg::GID_W+:rtl_pkg::GID_W];
  assign dgid_ipv4 = a.dgid[79:0] == '0 && a.dgid[95:80] == 16'hffff;

  always_comb begin
    allowed = 1'b1;
    required = '0;
    optional = '0;
    if (to == Reset) ;
    else if (to == Err) allowed = from != Reset;
    else if (rc)
      case ({from, to})
        {Reset, InitS}: required = Init;
        {InitS, InitS}: optional = Init;
        {InitS, Rtr}: begin
          required = Path | Rnr | 21'(dingo_pkg::QPM_MAX_DEST_RD_ATOMIC);
          optional = 21'(dingo_pkg::QPM_ACCESS | dingo_pkg::QPM_PKEY_INDEX);
        end
        {Rtr, Rts}: begin
          required = SqPsn | Timers;
          optional = RunningRc;
        end
        {Rts, Rts}, {Sqd, Rts}: optional = RunningRc;
        {Rts, Sqd}: optional = Notify;
        {Sqd, Sqd}: optional = 21'(dingo_pkg::QPM_AV | dingo_pkg::QPM_ACCESS | dingo_pkg::QPM_PKEY_INDEX
            | dingo_pkg::QPM_PORT | dingo_pkg::QPM_MAX_DEST_RD_ATOMIC) | Rnr | Timers;
        default: allowed = 1'b0;
      endcase
    else if (uc)
      case ({from, to})
        {Reset, InitS}: required = Init;
        {InitS, InitS}: optional = Init;
        {InitS, Rtr}: begin
          required = Path;
          optional = 21'(dingo_pkg::QPM_ACCESS | dingo_pkg::QPM_PKEY_INDEX);
        end
        {Rtr, Rts}: begin
          required = SqPsn;
          optional = RunningUc;
        end
        {Rts, Rts}, {Sqd, Rts}, {Sqe, Rts}: optional = RunningUc;
        {Rts, Sqd}: optional = Notify;
        {Sqd, Sqd}: optional = 21'(dingo_pkg::QPM_AV | dingo_pkg::QPM_ACCESS | dingo_pkg::QPM_PKEY_INDEX);
        default: allowed = 1'b0;
      endcase
    else
      case ({from, to})
        {Reset, InitS}: required = gsi ? Key : Key | 21'(dingo_pkg::QPM_PORT);
        {InitS, InitS}: optional = gsi ? Key : Key | 21'(dingo_pkg::QPM_PORT);
        {InitS, Rtr}, {Sqd, Sqd}: optional = Key;
        {Rtr, Rts}: begin
          required = SqPsn;
          optional = RunningUd;
        end
        {Rts, Rts}, {Sqd, Rts}, {Sqe, Rts}: optional = RunningUd;
        {Rts, Sqd}: optional = Notify;
        default: allowed = 1'b0;
      endcase
  end

  logic bad;
  logic [31:0] at;
`define BAD(condition, offset) if (!bad && (condition)) begin bad = 1'b1; at = (offset); end
`define WHEN(bit_name, condition, offset) `BAD((mask & dingo_pkg::bit_name) != '0 && (condition), offset)
  always_comb begin
    bad = 1'b0;
    at = '0;
    status_o = dingo_pkg::ST_OK;
    `BAD((mask & ~dingo_pkg::QPM_ALL) != '0, dingo_pkg::CMD_MODIFY_QP_MASK_AT)
    `BAD(cur_state && (cmd.cur_state < 8'(dingo_pkg::QPS_RTR) || cmd.cur_state > 8'(dingo_pkg::QPS_SQE)), dingo_pkg::CMD_MODIFY_QP_CUR_STATE_AT)
    `BAD(new_state && cmd.next_state > 8'(dingo_pkg::QPS_ERR), dingo_pkg::CMD_MODIFY_QP_NEXT_STATE_AT)
    `BAD(cmd.rsvd != '0, dingo_pkg::CMD_MODIFY_QP_RSVD_AT)
    if (!bad && ((cur_state && cmd.cur_state[2:0] != from) || !allowed)) status_o = dingo_pkg::ST_BAD_STATE;
    `BAD((given & required) != required || (given & ~(required | optional)) != '0, dingo_pkg::CMD_MODIFY_QP_MASK_AT)
    `WHEN(QPM_RQ_PSN, a.rq_psn[31:24] != '0, Attr + dingo_pkg::QP_ATTR_RQ_PSN_AT)
    `WHEN(QPM_SQ_PSN, a.sq_psn[31:24] != '0, Attr + dingo_pkg::QP_ATTR_SQ_PSN_AT)
    `WHEN(QPM_DEST_QPN, a.dest_qpn[31:24] != '0, Attr + dingo_pkg::QP_ATTR_DEST_QPN_AT)
    `WHEN(QPM_ACCESS, a.access[31:5] != '0, Attr + dingo_pkg::QP_ATTR_ACCESS_AT)
    `WHEN(QPM_PATH_MTU, a.path_mtu < 8'(dingo_pkg::QP_ATTR_PATH_MTU_MIN) || a.path_mtu > 8'(dingo_pkg::QP_ATTR_PATH_MTU_MAX), Attr + dingo_pkg::QP_ATTR_PATH_MTU_AT)
    `WHEN(QPM_MAX_RD_ATOMIC, a.max_rd_atomic > 8'd1 << rtl_pkg::RD_LOG, Attr + dingo_pkg::QP_ATTR_MAX_RD_ATOMIC_AT)
    `WHEN(QPM_MAX_DEST_RD_ATOMIC, a.max_dest_rd_atomic > 8'd1 << rtl_pkg::RD_LOG, Attr + dingo_pkg::QP_ATTR_MAX_DEST_RD_ATOMIC_AT)
    `WHEN(QPM_MIN_RNR_TIMER, a.min_rnr_timer > 8'(dingo_pkg::QP_ATTR_MIN_RNR_TIMER_MAX), Attr + dingo_pkg::QP_ATTR_MIN_RNR_TIMER_AT)
    `WHEN(QPM_TIMEOUT, a.timeout > 8'(dingo_pkg::QP_ATTR_TIMEOUT_MAX), Attr + dingo_pkg::QP_ATTR_TIMEOUT_AT)
    `WHEN(QPM_RETRY_CNT, a.retry_cnt > 8'(dingo_pkg::QP_ATTR_RETRY_CNT_MAX), Attr + dingo_pkg::QP_ATTR_RETRY_CNT_AT)
    `WHEN(QPM_RNR_RETRY, a.rnr_retry > 8'(dingo_pkg::QP_ATTR_RNR_RETRY_MAX), Attr + dingo_pkg::QP_ATTR_RNR_RETRY_AT)
    `WHEN(QPM_PORT, a.port != 8'(dingo_pkg::PORT), Attr + dingo_pkg::QP_ATTR_PORT_AT)
    `WHEN(QPM_PKEY_INDEX, a.pkey_index != '0, Attr + dingo_pkg::QP_ATTR_PKEY_INDEX_AT)
    `WHEN(QPM_EN_SQD_ASYNC_NOTIFY, a.sqd_notify > 8'd1, Attr + dingo_pkg::QP_ATTR_SQD_NOTIFY_AT)
    `BAD(a.rsvd0 != '0, Attr + dingo_pkg::QP_ATTR_RSVD0_AT)
    `BAD(av && (a.sgid_index >= 16'd1 << rtl_pkg::GID_LOG || !gid.valid), Attr + dingo_pkg::QP_ATTR_SGID_INDEX_AT)
    `BAD(av && gid.ipv4 != dgid_ipv4, Attr + dingo_pkg::QP_ATTR_DGID_AT)
    `BAD(av && a.dmac[0], Attr + dingo_pkg::QP_ATTR_DMAC_AT)
    `BAD(av && a.flow_label[31:20] != '0, Attr + dingo_pkg::QP_ATTR_FLOW_LABEL_AT)
    `BAD(av && a.udp_sport < 16'hc000 && a.udp_sport != 16'(dingo_pkg::ROCE_UDP_PORT), Attr + dingo_pkg::QP_ATTR_UDP_SPORT_AT)
    `BAD(av && a.sl > 8'(dingo_pkg::MAX_SL), Attr + dingo_pkg::QP_ATTR_SL_AT)
    `BAD(a.rsvd1 != '0, Attr + dingo_pkg::QP_ATTR_RSVD1_AT)
    if (status_o == dingo_pkg::ST_OK && bad) status_o = dingo_pkg::ST_BAD_FIELD;
    detail_o = status_o == dingo_pkg::ST_BAD_FIELD ? at : '0;
  end
`undef BAD
`undef WHEN

  // New context: attributes in the mask are replaced; RESET clears all.
  function automatic logic has(input logic [31:0] m, input logic [31:0] one);
    has = (m & one) != 32'd0;
  endfunction
  rtl_pkg::qp_cfg_t c;
  always_comb begin
    c = qp_i.cfg;
    if (to == Reset) begin
      c.qkey = '0;
      c.rq_psn = '0;
      c.sq_psn = '0;
      c.dest_qpn = '0;
      c.access = '0;
      c.path_mtu = '0;
      c.max_rd = '0;
      c.max_dest_rd = '0;
      c.min_rnr_timer = '0;
      c.timeout = '0;
      c.retry_cnt = '0;
      c.rnr_retry = '0;
      c.port = 1'b0;
      c.sqd_notify = 1'b0;
      c.dgid = '0;
      c.dmac = '0;
      c.sgid = '0;
      c.flow_label = '0;
      c.udp_sport = '0;
      c.hop_limit = '0;
      c.tclass = '0;
      c.sl = '0;
    end else begin
      if (has(mask, dingo_pkg::QPM_QKEY)) c.qkey = a.qkey;
      if (has(mask, dingo_pkg::QPM_RQ_PSN)) c.rq_psn = a.rq_psn[23:0];
      if (has(mask, dingo_pkg::QPM_SQ_PSN)) c.sq_psn = a.sq_psn[23:0];
      if (has(mask, dingo_pkg::QPM_DEST_QPN)) c.dest_qpn = a.dest_qpn[23:0];
      if (has(mask, dingo_pkg::QPM_ACCESS)) c.access = a.access[4:0];
      if (has(mask, dingo_pkg::QPM_PATH_MTU)) c.path_mtu = a.path_mtu[2:0];
      if (has(mask, dingo_pkg::QPM_MAX_RD_ATOMIC)) c.max_rd = a.max_rd_atomic;
      if (has(mask, dingo_pkg::QPM_MAX_DEST_RD_ATOMIC)) c.max_dest_rd = a.max_dest_rd_atomic;
      if (has(mask, dingo_pkg::QPM_MIN_RNR_TIMER)) c.min_rnr_timer = a.min_rnr_timer[4:0];
      if (has(mask, dingo_pkg::QPM_TIMEOUT)) c.timeout = a.timeout[4:0];
      if (has(mask, dingo_pkg::QPM_RETRY_CNT)) c.retry_cnt = a.retry_cnt[2:0];
      if (has(mask, dingo_pkg::QPM_RNR_RETRY)) c.rnr_retry = a.rnr_retry[2:0];
      if (has(mask, dingo_pkg::QPM_PORT)) c.port = a.port[0];
      if (has(mask, dingo_pkg::QPM_EN_SQD_ASYNC_NOTIFY)) c.sqd_notify = a.sqd_notify[0];
      if (av) begin
        c.dgid = a.dgid;
        c.dmac = a.dmac;
        c.sgid = a.sgid_index[rtl_pkg::GID_LOG-1:0];
        c.flow_label = a.flow_label[19:0];
        c.udp_sport = a.udp_sport;
        c.hop_limit = a.hop_limit;
        c.tclass = a.tclass;
        c.sl = a.sl[3:0];
      end
    end
    qp_o = {to, c};
  end

  wire unused_ok = &{1'b0, cmd.hdr, cmd.qpn, gid, mask[31:21]};
endmodule
