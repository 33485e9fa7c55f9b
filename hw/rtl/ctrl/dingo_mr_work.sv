// SPDX-License-Identifier: BSD-2-Clause

/// Changes entries of the memory table for work requests and commands, one at a time: bind, register, invalidate,
/// destroy. Look-ups that begin after `done` see the change; accesses granted before may still be in progress. A region
/// counts its windows. A QP that has bound windows of type 2 has a mark; when it is destroyed, a walk over the table
/// unbinds them while other requests are served in between. About 6 cycles each, REG_MR 9, BIND_MW 13; stalls with
/// hold_i.
module dingo_mr_work (
    input  logic               clk_i,
    input  logic               rst_ni,
    output logic               ready_o,
    // A request is held until its done; done is held until valid is 0.
    input  logic               rsp_valid_i,   // priority: responder, requester, commands
    input  rtl_pkg::mrw_req_t  rsp_i,
    output logic               rsp_done_o,
    input  logic               req_valid_i,
    input  rtl_pkg::mrw_req_t  req_i,
    output logic               req_done_o,
    input  logic               cmd_valid_i,
    input  rtl_pkg::mrw_req_t  cmd_i,
    output logic               cmd_done_o,
    output rtl_pkg::mrw_rsp_t  answer_o,
    // the table's port; not used in cycles of hold_i, when a command uses it
    input  logic               hold_i,
    output logic               re_o,
    output logic               we_o,
    output rtl_pkg::mri_t      index_o,
    output rtl_pkg::mr_t       wdata_o,
    input  rtl_pkg::mr_t       rdata_i        // in the cycle after re_o
);
  typedef enum logic [4:0] {
    IDLE = 5'd1,
    READ = 5'd2,       // read the entry
    GOT = 5'd3,
    JUDGE = 5'd4,
    READ_MR = 5'd5,    // read BIND_MW's region
    GOT_MR = 5'd6,
    SUM = 5'd7,
    FIT = 5'd8,
    SECOND = 5'd9,     // result of dingo_mr_judge with sums
    JOIN = 5'd10,      // count the window in its new region
    READ_OLD = 5'd11,  // read its old region
    GOT_OLD = 5'd12,
    LEAVE = 5'd13,     // and count it out there
    WRITE = 5'd14,     // write the entry
    WALK = 5'd15,      // MRW_FORGET
    DONE = 5'd16
  } state_t;
  typedef enum logic [1:0] {
    BY_RSP = 2'd0,
    BY_REQ = 2'd1,
    BY_CMD = 2'd2
  } by_t;

  state_t state_q;
  by_t by_q;
  rtl_pkg::mrw_req_t req_q;
  rtl_pkg::mr_t mr_q, region_q, mr_new, new_q;
  rtl_pkg::mri_t index_q, region_index;
  logic [63:0] end_q, room_q;
  logic fits, fits_q;
  rtl_pkg::mrw_rsp_t answer_q;
  logic leaves_q;                      // the window leaves another region
  logic for_walk_q;                    // the entry in work was found by the walk
  logic walking_q, look_q;             // look_q: rdata_i is the entry of index walk_q - 1
  logic [rtl_pkg::MR_LOG:0] walk_q;
  rtl_pkg::qpi_t walk_qp_q;

  logic [31:0] key, region_key;
  logic [7:0] verr;
  logic unbinds, binds, sums, waits, destroys, same_region, bound, found, mark, mark_q, go;
  dingo_pkg::wqe_bind_t bind_mw;
  dingo_pkg::wqe_reg_t reg_mr;
  assign bind_mw = req_q.body;
  assign reg_mr = req_q.body;
  dingo_mr_judge i_judge (
      .req_i(req_q), .mr_i(mr_q), .region_i(region_q), .second_i(state_q == SECOND), .end_i(end_q),
      .room_i(room_q), .fits_i(fits_q), .key_o(key), .region_key_o(region_key), .verr_o(verr), .unbinds_o(unbinds), .binds_o(binds), .sums_o(sums),
      .fits_o(fits), .mr_o(mr_new)
  );
  assign destroys = req_q.op == rtl_pkg::MRW_DESTROY;
  assign region_index = region_key[16 +: rtl_pkg::MR_LOG];
  assign same_region = mr_q.more[rtl_pkg::MR_LOG-1:0] == region_index;
  assign bound = !mr_q.free && (mr_q.kind == dingo_pkg::MRT_MW1[2:0] || mr_q.kind == dingo_pkg::MRT_MW2[2:0]);
  assign waits = rsp_valid_i || req_valid_i;
  assign found = look_q && rdata_i.valid && rdata_i.kind == dingo_pkg::MRT_MW2[2:0] && !rdata_i.free && rdata_i.qp == walk_qp_q;
  assign answer_o = answer_q;
  assign rsp_done_o = state_q == DONE && by_q == BY_RSP;
  assign req_done_o = state_q == DONE && by_q == BY_REQ;
  assign cmd_done_o = state_q == DONE && by_q == BY_CMD;

  // ---------------------------------------------------------------- marks
  logic mark_we;
  assign mark_we = (state_q == JOIN && go && mr_q.kind == dingo_pkg::MRT_MW2[2:0])
                   || (state_q == WALK && walk_q[rtl_pkg::MR_LOG] && !found);
  dingo_marks #(
      .Log(rtl_pkg::QP_LOG)
  ) u_marks (
      .clk_i, .rst_ni, .ready_o, .we_i(mark_we), .waddr_i(state_q == WALK ? walk_qp_q : req_q.qp),
      .wdata_i(state_q == JOIN), .raddr_i(cmd_i.qp), .rdata_o(mark)
  );

  // ---------------------------------------------------------------- the table
  logic walks;
  assign walks = state_q == WALK && !walk_q[rtl_pkg::MR_LOG] && !found && !waits;
  assign go = !hold_i;
  assign re_o = go && (state_q == READ || state_q == READ_MR || state_q == READ_OLD || walks);
  assign we_o = go && (state_q == LEAVE || state_q == JOIN || state_q == WRITE);
  always_comb begin
    index_o = index_q;
    wdata_o = new_q;
    case (state_q)
      READ_MR: index_o = region_index;
      READ_OLD, LEAVE: begin
        index_o = mr_q.more[rtl_pkg::MR_LOG-1:0];
        wdata_o = region_q;
        wdata_o.more = region_q.more - 16'd1;
      end
      JOIN: begin
        index_o = region_index;
        wdata_o = region_q;
        wdata_o.more = region_q.more + 16'd1;
      end
      READ: index_o = key[16 +: rtl_pkg::MR_LOG];
      WALK: index_o = walk_q[rtl_pkg::MR_LOG-1:0];
      default: ;
    endcase
  end

  always_ff @(posedge clk_i) begin
    case (state_q)
      IDLE: begin
        answer_q <= '0;
        mark_q <= mark;
        leaves_q <= 1'b0;
        for_walk_q <= 1'b0;
        state_q <= READ;
        if (rsp_valid_i) begin
          by_q <= BY_RSP;
          req_q <= rsp_i;
        end else if (req_valid_i) begin
          by_q <= BY_REQ;
          req_q <= req_i;
        end else if (walking_q) state_q <= WALK;
        else if (cmd_valid_i) begin
          by_q <= BY_CMD;
          req_q <= cmd_i;
        end else state_q <= IDLE;
      end
      READ: begin
        index_q <= key[16 +: rtl_pkg::MR_LOG];
        if (req_q.op == rtl_pkg::MRW_FORGET) begin
          walk_q <= '0;
          walk_qp_q <= req_q.qp;
          walking_q <= mark_q;
          state_q <= mark_q ? IDLE : DONE;
        end else if (go) state_q <= GOT;
      end
      GOT: begin
        mr_q <= rdata_i;
        state_q <= JUDGE;
      end
      JUDGE: begin
        answer_q.verr <= destroys ? dingo_pkg::VERR_NONE[7:0] : verr;
        answer_q.under_way <= !mr_q.free && !destroys;
        new_q <= destroys ? '0 : mr_new;
        if (destroys) state_q <= bound ? READ_OLD : WRITE;
        else if (verr != dingo_pkg::VERR_NONE[7:0]) state_q <= DONE;
        else state_q <= binds ? READ_MR : sums ? SUM : unbinds ? READ_OLD : WRITE;
      end
      READ_MR: if (go) state_q <= GOT_MR;
      GOT_MR: begin
        region_q <= rdata_i;
        state_q <= SUM;
      end
      SUM: begin
        end_q <= req_q.op == rtl_pkg::MRW_REGISTER ? {32'd0, reg_mr.offset} + reg_mr.length - 64'd1 : bind_mw.addr - region_q.iova;
        room_q <= req_q.op == rtl_pkg::MRW_REGISTER ? reg_mr.length - 64'd1 : region_q.length - bind_mw.length;
        state_q <= FIT;
      end
      FIT: begin
        fits_q <= fits;
        state_q <= SECOND;
      end
      SECOND: begin
        answer_q.verr <= verr;
        new_q <= mr_new;
        leaves_q <= unbinds && !same_region;
        if (verr != dingo_pkg::VERR_NONE[7:0]) state_q <= DONE;
        else state_q <= binds && !(unbinds && same_region) ? JOIN : WRITE;
      end
      JOIN: if (go) state_q <= leaves_q ? READ_OLD : WRITE;
      READ_OLD: if (go) state_q <= GOT_OLD;
      GOT_OLD: begin
        region_q <= rdata_i;
        state_q <= LEAVE;
      end
      LEAVE: if (go) state_q <= WRITE;
      WRITE: if (go) state_q <= for_walk_q ? WALK : DONE;
      WALK: begin
        if (walks && go) walk_q <= walk_q + 1'b1;
        if (found) begin
          for_walk_q <= 1'b1;
          index_q <= walk_q[rtl_pkg::MR_LOG-1:0] - 1'b1;
          mr_q <= rdata_i;
          new_q <= rdata_i;
          new_q.free <= 1'b1;
          state_q <= READ_OLD;
        end else if (walk_q[rtl_pkg::MR_LOG]) begin
          walking_q <= 1'b0;
          by_q <= BY_CMD;
          state_q <= DONE;
        end else if (waits) state_q <= IDLE;
      end
      default: if (!(by_q == BY_RSP ? rsp_valid_i : by_q == BY_REQ ? req_valid_i : cmd_valid_i)) state_q <= IDLE;  // DONE
    endcase
    look_q <= walks && go;
    if (!rst_ni) begin
      state_q <= IDLE;
      walking_q <= 1'b0;
      look_q <= 1'b0;
    end else begin
      a_left: assert (state_q != LEAVE || (region_q.kind == dingo_pkg::MRT_MR[2:0] && region_q.more != '0));
    end
  end

  wire unused_ok = &{1'b0, key, region_key, bind_mw, reg_mr, mr_q};
endmodule
