// SPDX-License-Identifier: BSD-2-Clause

/// Evaluates a response after all PSNs before it are acknowledged (PH_RSP_DONE), and recovers from loss: NAKs, missing
/// READ data, going back to the oldest PSN, exhausted retries. Combinational: registers and memories are in
/// dingo_req_step.
module dingo_req_retry (
    input  req_pkg::work_t       w_i,
    input  req_pkg::ctx_t        c_i,
    input  rtl_pkg::qp_cfg_t     cfg_i,
    input  req_pkg::rec_t        rec_i,         // the oldest record
    input  logic [63:0]          now_ns_i,
    input  logic                 commit_err_i,  // host memory refused some of the response's bytes
    output req_pkg::work_t       w_o,
    output req_pkg::ctx_t        c_o,
    output req_pkg::report_t     report_o,
    output logic                 data_good_o    // PH_RSP_DONE: the next expected READ data of the oldest record
);
  localparam logic [63:0] NEVER = '1;

  // Delay of an RNR NAK's timer code, in units of 10 us
  function automatic logic [16:0] rnr_units(input logic [4:0] code);
    case (code)
      5'd0: rnr_units = 17'd65536;
      5'd1: rnr_units = 17'd1;
      5'd2: rnr_units = 17'd2;
      5'd3: rnr_units = 17'd3;
      default: begin  // 4 or 6 times a power of two
        rnr_units = code[0] ? 17'd6 : 17'd4;
        rnr_units = rnr_units << ((code - 5'd4) >> 1);
      end
    endcase
  endfunction
  logic [63:0] rnr_ns;
  assign rnr_ns = {47'd0, rnr_units(w_i.item.syndrome[4:0])} * 64'd10000;

  logic is_ack, is_rnr, is_seq, data_good;
  assign is_ack = w_i.item.syndrome[7:5] == roce_pkg::AETH_ACK;
  assign is_rnr = w_i.item.syndrome[7:5] == roce_pkg::AETH_RNR;
  assign is_seq = w_i.item.syndrome == roce_pkg::SYN_NAK_SEQ;
  assign data_good = w_i.phase == req_pkg::PH_RSP_DONE && w_i.item.kind == req_pkg::IT_DATA && w_i.complete && !commit_err_i
                     && c_i.head != c_i.tail && rec_i.fetch && rec_i.packets != 24'd0
                     && rec_i.received < rec_i.packets && w_i.item.psn == rec_i.first + {8'd0, rec_i.received};
  assign data_good_o = data_good;

  always_comb begin
    w_o = w_i;
    c_o = c_i;
    report_o = '0;
    case (w_i.phase)
      req_pkg::PH_RSP_DONE: begin
        w_o.phase = req_pkg::PH_BACK;
        w_o.retry_implied = 1'b0;
        case (w_i.item.kind)
          req_pkg::IT_ACK:
          if (!w_i.complete) w_o.phase = req_pkg::PH_IMPLIED;
          else if (is_rnr) begin
            if (rtl_pkg::idx_before(w_i.item.psn, c_i.send)) begin  // else the QP has gone back already
              if (cfg_i.rnr_retry != 3'd7 && c_i.rnr == 3'd0) begin
                report_o.card = req_pkg::count_card(6'(dingo_pkg::CARD_REQ_RNR_RETRIES_EXCEEDED));
                {w_o.status, w_o.verr} = {dingo_pkg::WCS_RNR_RETRY_EXC_ERR[7:0], dingo_pkg::VERR_RNR[7:0]};
                w_o.phase = req_pkg::PH_FAIL_READ;
              end else begin
                if (cfg_i.rnr_retry != 3'd7) c_o.rnr = c_i.rnr - 3'd1;
                w_o.phase = req_pkg::PH_GO_BACK;
                c_o.wait_at = now_ns_i + rnr_ns;
              end
            end
          end else if (is_seq) begin
            w_o.verr = dingo_pkg::VERR_NAK_SEQ[7:0];
            if (rtl_pkg::idx_before(w_i.item.psn, c_i.send)) w_o.phase = req_pkg::PH_RETRY;  // else done already
          end else if (!is_ack) w_o.phase = req_pkg::PH_FAIL_READ;
          req_pkg::IT_BAD:
          if (w_i.complete) w_o.phase = req_pkg::PH_FAIL_READ;
          else report_o.card = req_pkg::count_card(6'(dingo_pkg::CARD_RX_DROP_RESPONSE));
          req_pkg::IT_FAULT:
          if (w_i.complete) w_o.phase = req_pkg::PH_FAIL_READ;
          else begin
            report_o.card = req_pkg::count_card(6'(dingo_pkg::CARD_RX_DROP_RESPONSE));
            w_o.phase = req_pkg::PH_IMPLIED;
          end
          req_pkg::IT_DATA:
          if (!w_i.complete) begin
            report_o.card = req_pkg::count_card(6'(dingo_pkg::CARD_RX_DROP_RESPONSE));
            w_o.phase = req_pkg::PH_IMPLIED;
          end else if (commit_err_i) w_o.phase = req_pkg::PH_FAIL_READ;
          else if (data_good) begin
            if (c_i.read_psns != 24'd0) c_o.read_psns = c_i.read_psns - 24'd1;
            c_o.oldest = w_i.item.psn + 32'd1;
            w_o.oldest_then = w_i.item.psn;
            w_o.ack_psn = w_i.item.psn + 32'd1;
            w_o.ack_ret = req_pkg::PH_BACK;
            w_o.phase = rec_i.received + 24'd1 == rec_i.packets ? req_pkg::PH_ACK_READ : req_pkg::PH_ACK_END;
          end else begin
            report_o.card = req_pkg::count_card(6'(dingo_pkg::CARD_RX_DROP_RESPONSE));
          end
          req_pkg::IT_PAUSED: begin  // not a loss: uses no retry; a turn repeats the READ when the region is resumed
            report_o.card = req_pkg::count_card(6'(dingo_pkg::CARD_RX_DROP_RESPONSE));
            if (w_i.complete) begin
              c_o.ordered = c_i.oldest;
              c_o.implied = 1'b1;      // later responses of the READ are still arriving
              w_o.phase = req_pkg::PH_GO_BACK;
            end
          end
          default: begin             // req_pkg::IT_SKIP
            report_o.card = req_pkg::count_card(6'(dingo_pkg::CARD_RX_DROP_RESPONSE));
            if (!w_i.complete) w_o.phase = req_pkg::PH_IMPLIED;
          end
        endcase
      end
      req_pkg::PH_IMPLIED:
      // Only the first response after a lost one starts a retry.
      if (c_i.implied || !rtl_pkg::idx_before(c_i.oldest, c_i.send)) w_o.phase = req_pkg::PH_BACK;
      else begin
        report_o.card = req_pkg::count_card(6'(dingo_pkg::CARD_IMPLIED_NAK_SEQ_ERR));
        w_o.verr = dingo_pkg::VERR_NAK_SEQ[7:0];
        w_o.retry_implied = 1'b1;
        w_o.phase = req_pkg::PH_RETRY;
      end
      req_pkg::PH_GO_BACK: begin                 // retransmit from the oldest PSN on
        c_o.cursor = c_i.head;
        c_o.data_at = c_i.head;
        c_o.send = c_i.oldest;
        c_o.read_psns = '0;
        c_o.since_ackreq = '0;
        c_o.ackreq = c_i.oldest - 32'd1;
        c_o.ack_at = NEVER;         // the timer starts with the first retransmitted packet
        w_o.wake = 1'b1;
        w_o.phase = req_pkg::PH_BACK;
      end
      req_pkg::PH_RETRY:
      if (c_i.retries != 3'd0) begin
        c_o.retries = c_i.retries - 3'd1;
        if (w_i.retry_implied) c_o.implied = 1'b1;
        w_o.phase = req_pkg::PH_GO_BACK;
      end else begin
        report_o.card = req_pkg::count_card(6'(dingo_pkg::CARD_REQ_TRANSPORT_RETRIES_EXCEEDED));
        w_o.status = dingo_pkg::WCS_RETRY_EXC_ERR[7:0];
        w_o.phase = req_pkg::PH_FAIL_READ;
      end
      default: ;
    endcase
  end

  wire unused_ok = &{1'b0, cfg_i, rec_i};
endmodule
