// SPDX-License-Identifier: BSD-2-Clause

/// Requests of the host: memory reads and writes of BAR 0 (registers; from 0x8000 on the MSI-X table) and BAR 2
/// (doorbells), one after the other, in steps of 8 bytes; a doorbell takes 3 cycles. A write waits only for the
/// card's port, which always makes progress. A read waits until earlier writes are answered; the core delivers it
/// only when there is room for its answer.
module dingo_pcie_cq (
    input  logic         clk_i,
    input  logic         rst_ni,
    // the core
    input  logic         tvalid_i,
    output logic         tready_o,
    input  logic [511:0] tdata_i,
    input  logic         tlast_i,
    input  logic [pcie_pkg::CQ_USER_W-1:0] tuser_i,
    output logic         np_req_o,         // grant: the core may deliver one more non-posted request
    // a function-level reset, which is served as a write of CTRL.RESET
    input  logic         reset_valid_i,
    output logic         reset_ready_o,
    // a step, by target: bit 0 registers, 1 doorbells, 2 MSI-X table
    output logic [2:0]   write_o,
    input  logic [2:0]   write_ready_i,
    output logic [2:0]   read_o,
    input  logic [2:0]   read_ready_i,
    output logic [21:0]  addr_o,
    output logic [63:0]  wdata_o,
    output logic [7:0]   wstrb_o,
    input  logic         settled_i,        // every write is answered
    input  logic         rvalid_i,
    input  logic [63:0]  rdata_i,
    // the completion: descriptor and at most 8 dwords
    output logic         cc_valid_o,
    output logic [351:0] cc_data_o,
    output logic [3:0]   cc_end_o,         // number of its last dword
    input  logic         cc_sent_i,
    output logic         dropped_o         // a posted request was not served
);
  localparam logic [10:0] MostRead = 11'd8;

  typedef enum logic [2:0] {
    IDLE  = 3'd0,
    JUDGE = 3'd1,   // which kind of request, which target
    WRITE = 3'd2,   // a step of a write
    READ  = 3'd3,   // a step of a read
    WAIT  = 3'd4,   // wait for the step's data
    DROP  = 3'd5,   // the rest of the packet
    SEND  = 3'd6    // the completion
  } state_t;
  state_t state_q;

  pcie_pkg::cq_t head_q;
  logic [3:0] first_be_q, last_be_q;
  logic [4:0] have_q;                  // dwords left in data_q
  logic [10:0] left_q;                 // dwords of the request left
  logic more_q, void_q, refuse_q, begun_q, flr_q;
  logic [511:0] data_q;
  logic [255:0] answer_q;
  logic [3:0] fill_q;                  // dwords in answer_q
  logic [19:0] dword_q;                // offset in the BAR / 4
  logic [2:0] target_q;

  // ---------------------------------------------------------------- judgement
  logic reads, writes, posted, mine;
  assign reads = head_q.kind == pcie_pkg::MEM_READ && head_q.dwords != '0 && head_q.dwords <= MostRead;
  assign writes = head_q.kind == pcie_pkg::MEM_WRITE;
  assign posted = writes || head_q.kind >= pcie_pkg::FIRST_MESSAGE;
  assign mine = head_q.bar == 3'd0 || head_q.bar == 3'd2;

  // ---------------------------------------------------------------- a step
  logic two, final_step, go, empty;
  logic [3:0] be_now, be_next;
  logic [1:0] n;
  assign two = !dword_q[0] && left_q != 11'd1 && !(state_q == WRITE && have_q == 5'd1);
  assign n = two ? 2'd2 : 2'd1;
  assign final_step = left_q == 11'(n);
  assign be_now = !begun_q ? first_be_q : left_q == 11'd1 ? last_be_q : 4'hf;
  assign be_next = left_q == 11'd2 ? last_be_q : 4'hf;
  assign wstrb_o = dword_q[0] ? {be_now, 4'h0} : {two ? be_next : 4'h0, be_now};
  assign wdata_o = dword_q[0] ? {data_q[31:0], 32'd0} : data_q[63:0];
  assign addr_o = {dword_q, 2'b00};
  assign empty = have_q == '0;
  assign write_o = state_q == WRITE && !empty && wstrb_o != '0 ? target_q : 3'd0;
  assign read_o = state_q == READ && settled_i ? target_q : 3'd0;
  assign go = !empty && (wstrb_o == '0 || (target_q & write_ready_i) != '0);
  assign tready_o = (state_q == IDLE && !reset_valid_i) || state_q == DROP || (state_q == WRITE && empty);
  assign reset_ready_o = state_q == IDLE;

  logic [63:0] come;                   // data read, from the first dword requested on
  assign come = dword_q[0] ? {32'd0, rdata_i[63:32]} : rdata_i;

  always_ff @(posedge clk_i) begin
    dropped_o <= 1'b0;
    if (!rst_ni) state_q <= IDLE;
    else begin
      case (state_q)
        IDLE: begin
          refuse_q <= 1'b0;
          begun_q <= 1'b0;
          fill_q <= '0;
          flr_q <= reset_valid_i;
          if (reset_valid_i || tvalid_i) state_q <= JUDGE;
        end
        JUDGE: begin
          target_q <= head_q.bar == 3'd2 ? 3'b010 : dword_q[13] ? 3'b100 : 3'b001;
          refuse_q <= !posted && !(reads && mine);
          if (flr_q || (writes && mine && !void_q)) state_q <= WRITE;
          else if (reads && mine) state_q <= READ;
          else if (more_q) state_q <= DROP;
          else state_q <= posted ? IDLE : SEND;
          dropped_o <= posted && !flr_q && !(writes && mine && !void_q);
        end
        WRITE: begin
          if (go && final_step) state_q <= more_q ? DROP : IDLE;
          if (empty && tvalid_i && tlast_i && tuser_i[96]) state_q <= IDLE;
        end
        READ: if ((read_o & read_ready_i) != '0) state_q <= WAIT;
        WAIT: if (rvalid_i) state_q <= final_step ? SEND : READ;
        DROP: if (tvalid_i && tlast_i) state_q <= posted ? IDLE : SEND;
        default: state_q <= IDLE;      // SEND
      endcase
    end
    if (state_q == IDLE) begin
      data_q <= {128'd0, tdata_i[511:128]};
      have_q <= 5'd12;
      head_q <= tdata_i[127:0];
      left_q <= tdata_i[74:64];
      dword_q <= {tdata_i[114:112] == 3'd2 ? tdata_i[21:16] : 6'd0, tdata_i[15:2]};
      first_be_q <= tuser_i[3:0];
      last_be_q <= tuser_i[11:8];
      void_q <= tlast_i && tuser_i[96];
      more_q <= !tlast_i;
      if (reset_valid_i) begin         // as if the host wrote CTRL.RESET
        head_q.kind <= pcie_pkg::MEM_WRITE;
        head_q.bar <= 3'd0;
        data_q[31:0] <= dingo_pkg::CTRL_RESET_MASK;
        left_q <= 11'd1;
        dword_q <= 20'(dingo_pkg::REG_CTRL >> 2);
        first_be_q <= 4'hf;
        more_q <= 1'b0;
      end
    end
    if (state_q == WRITE) begin
      if (empty && tvalid_i) begin
        data_q <= tdata_i;
        have_q <= 5'd16;
        more_q <= !tlast_i;
      end
    end
    if ((state_q == WRITE && go) || (state_q == WAIT && rvalid_i)) begin
      left_q <= left_q - 11'(n);
      dword_q <= dword_q + 20'(n);
      begun_q <= 1'b1;
    end
    if (state_q == WRITE && go) begin
      data_q <= two ? data_q >> 64 : data_q >> 32;
      have_q <= have_q - 5'(n);
    end
    if (state_q == WAIT && rvalid_i) begin
      for (int unsigned i = 0; i < 8; i++) begin
        if (fill_q == 4'(i)) answer_q[32*i +: 32] <= come[31:0];
        if (two && fill_q + 4'd1 == 4'(i)) answer_q[32*i +: 32] <= come[63:32];
      end
      fill_q <= fill_q + 4'(n);
    end
  end

  // ---------------------------------------------------------------- the answer
  pcie_pkg::cc_t cc;
  logic [1:0] skip, short_by;          // bytes not requested of the first and of the last dword
  logic [3:1] be_end;

  assign be_end = head_q.dwords == 11'd1 ? first_be_q[3:1] : last_be_q[3:1];
  assign skip = first_be_q[0] || first_be_q == '0 ? 2'd0 : first_be_q[1] ? 2'd1 : first_be_q[2] ? 2'd2 : 2'd3;
  assign short_by = be_end[3] ? 2'd0 : be_end[2] ? 2'd1 : be_end[1] ? 2'd2 : 2'd3;

  always_comb begin
    cc = '0;
    cc.attr = head_q.attr;
    cc.tc = head_q.tc;
    cc.completer = {8'd0, head_q.target};
    cc.tag = head_q.tag;
    cc.requester = head_q.requester;
    if (head_q.kind == pcie_pkg::MEM_READ || head_q.kind == pcie_pkg::MEM_READ_LOCKED) begin
      cc.lower = {head_q.dword[4:0], skip};
      cc.bytes = {head_q.dwords, 2'b00} - 13'(skip) - 13'(short_by);
    end else cc.bytes = 13'd4;
    cc.locked = head_q.kind == pcie_pkg::MEM_READ_LOCKED;
    cc.status = refuse_q ? pcie_pkg::STATUS_UR : pcie_pkg::STATUS_SC;
    cc.dwords = refuse_q ? '0 : head_q.dwords;
  end
  // A refusal (UR) carries the request's descriptor, for the core's error log.
  assign cc_data_o = {refuse_q ? {96'd0, head_q, 24'd0, last_be_q, first_be_q} : answer_q, cc};
  assign cc_end_o = refuse_q ? 4'd7 : 4'd2 + head_q.dwords[3:0];
  assign cc_valid_o = state_q == SEND;

  // ---------------------------------------------------------------- room for completions: four are granted
  logic [2:0] promised_q;
  assign np_req_o = promised_q != 3'd4 && rst_ni;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) promised_q <= '0;
    else promised_q <= promised_q + 3'(np_req_o) - 3'(cc_sent_i);
  end

  wire unused_ok = &{1'b0, tuser_i[182:97], tuser_i[95:12], tuser_i[7:4], head_q.reserved0, head_q.reserved1,
                     head_q.aperture, head_q.at};
endmodule
