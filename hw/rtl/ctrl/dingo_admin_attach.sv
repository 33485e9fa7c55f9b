// SPDX-License-Identifier: BSD-2-Clause

/// Checks the page lists of a command's ring (CREATE_QP: send queue, then receive queue): the first entry of each level
/// must be readable and aligned. One host read for each level.
module dingo_admin_attach (
    input  logic                clk_i,
    input  logic                rst_ni,
    input  logic [1023:0]       cmd_i,
    output logic                none_o,        // the command's rings have no page list
    input  logic                start_i,       // one cycle, unless none_o; cmd_i is stable until done_o
    output logic                done_o,        // one cycle
    output logic [31:0]         status_o,      // with done_o: enum st
    output logic [31:0]         detail_o,      // with BAD_FIELD
    output logic                line_valid_o,
    input  logic                line_ready_i,
    output rtl_pkg::rdl_req_t   line_o,
    input  logic                line_rsp_valid_i,
    input  rtl_pkg::rdl_rsp_t   line_rsp_i
);
  typedef enum logic [1:0] {
    IDLE = 2'd0,
    ASK = 2'd1,
    WAIT = 2'd2
  } state_t;
  state_t state_q;
  logic second_q;                      // checking the receive queue (CREATE_QP)
  logic leaf_q;                        // checking the second level
  logic [63:0] addr_q;

  logic [31:0] op;
  dingo_pkg::admin_hdr_t hdr;
  dingo_pkg::cmd_create_eq_t eq;
  dingo_pkg::cmd_create_cq_t cq;
  dingo_pkg::cmd_create_qp_t qp;
  dingo_pkg::cmd_create_srq_t srq;
  dingo_pkg::cmd_create_eth_t eth;
  assign hdr = cmd_i[dingo_pkg::ADMIN_HDR_W-1:0];
  assign eq = cmd_i[dingo_pkg::CMD_CREATE_EQ_W-1:0];
  assign cq = cmd_i[dingo_pkg::CMD_CREATE_CQ_W-1:0];
  assign qp = cmd_i[dingo_pkg::CMD_CREATE_QP_W-1:0];
  assign srq = cmd_i[dingo_pkg::CMD_CREATE_SRQ_W-1:0];
  assign eth = cmd_i[dingo_pkg::CMD_CREATE_ETH_W-1:0];
  assign op = 32'(hdr.opcode);

  // The ring in work, and its byte offset in the command
  dingo_pkg::mem_t ring, first;
  logic [31:0] ring_at;
  logic two;
  assign two = op == dingo_pkg::OP_CREATE_QP;
  always_comb
    case (op)
      dingo_pkg::OP_CREATE_EQ: begin first = eq.ring; ring_at = dingo_pkg::CMD_CREATE_EQ_RING_AT; end
      dingo_pkg::OP_CREATE_CQ, dingo_pkg::OP_RESIZE_CQ: begin first = cq.ring; ring_at = dingo_pkg::CMD_CREATE_CQ_RING_AT; end
      dingo_pkg::OP_CREATE_SRQ: begin first = srq.ring; ring_at = dingo_pkg::CMD_CREATE_SRQ_RING_AT; end
      dingo_pkg::OP_CREATE_ETH: begin first = eth.mem; ring_at = dingo_pkg::CMD_CREATE_ETH_MEM_AT; end
      default: begin
        first = qp.sq;
        ring_at = second_q ? dingo_pkg::CMD_CREATE_QP_RQ_AT : dingo_pkg::CMD_CREATE_QP_SQ_AT;
      end
    endcase
  assign ring = second_q ? qp.rq : first;
  assign none_o = first.levels == '0 && !(two && qp.rq.levels != '0);

  logic [63:0] entry, entry_mask;
  logic bad, deeper, next;
  assign entry = line_rsp_i.data[addr_q[5:3]*64+:64];
  assign entry_mask = (64'd1 << (ring.levels[1:0] == 2'd2 && !leaf_q ? 6'd12 : {1'b0, ring.page_shift[4:0]})) - 64'd1;
  assign bad = (entry & entry_mask) != '0;
  assign deeper = ring.levels[1:0] == 2'd2 && !leaf_q;
  assign next = two && !second_q && qp.rq.levels != '0;

  assign line_valid_o = state_q == ASK;
  assign line_o.lines = 4'd1;
  assign line_o.addr = addr_q[63:6];
  assign done_o = state_q == WAIT && line_rsp_valid_i && (line_rsp_i.err || bad || !(deeper || next));
  assign status_o = line_rsp_i.err ? dingo_pkg::ST_BUS_ERROR : bad ? dingo_pkg::ST_BAD_FIELD : dingo_pkg::ST_OK;
  assign detail_o = ring_at;

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      state_q <= ASK;
      second_q <= first.levels == '0;
      leaf_q <= 1'b0;
      addr_q <= first.levels == '0 ? qp.rq.addr : first.addr;
    end
    if (line_valid_o && line_ready_i) state_q <= WAIT;
    if (state_q == WAIT && line_rsp_valid_i) begin
      state_q <= done_o ? IDLE : ASK;
      if (deeper) begin
        leaf_q <= 1'b1;
        addr_q <= entry;
      end else begin
        second_q <= 1'b1;
        leaf_q <= 1'b0;
        addr_q <= qp.rq.addr;
      end
    end
    if (!rst_ni) state_q <= IDLE;
  end

  wire unused_ok = &{1'b0, cmd_i, hdr, eq, cq, qp, srq, eth, ring, first, addr_q[2:0], line_rsp_i};
endmodule
