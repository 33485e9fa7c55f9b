// SPDX-License-Identifier: BSD-2-Clause

/// Packets that wait for their step. The key of a WRITE of one packet is looked up when the packet
/// comes in, while steps of others go on: its headers and its QP say all that the table wants to know.
module dingo_rsp_intake (
    input  logic             clk_i,
    input  logic             rst_ni,
    output logic             idle_o,
    input  logic             rxp_valid_i,
    output logic             rxp_ready_o,
    input  rtl_pkg::rxp_t    rxp_i,
    // the packet in front
    output logic             valid_o,        // and its key, when it has one to be looked up, is known
    output rtl_pkg::rxp_t    rxp_o,
    output logic             key_o,          // it has
    output rtl_pkg::mr_rsp_t mr_rsp_o,
    input  logic             pop_i,
    // the responder's port of the memory table: answers come in the order of the questions
    input  logic             ask_i,          // another part asks in this cycle: it goes first
    output logic             mr_valid_o,
    output rtl_pkg::mr_req_t mr_o,
    input  logic             mr_rsp_valid_i,
    input  rtl_pkg::mr_rsp_t mr_rsp_i,
    output logic             answer_o        // mr_rsp_i is another part's
);
  localparam int unsigned LogPackets = 2;
  localparam int unsigned LogAsked = 3;
  localparam int unsigned RXP_W = $bits(rxp_i);

  logic in_ready, in_key, push, out_valid, key_valid, asked_ready, asked_valid, asked_mine;
  logic key_ready, key_in;
  logic [LogPackets:0] count, key_count;
  logic [LogAsked:0] asked_count;

  assign in_key = rxp_i.h.opcode == roce_pkg::RC_WRITE_ONLY && rxp_i.ctx.cfg.kind == dingo_pkg::QPT_RC[2:0] && rxp_i.h.dma_len != '0;
  assign rxp_ready_o = in_ready && !(in_key && ask_i);
  assign push = rxp_valid_i && rxp_ready_o;
  dingo_fifo #(.Width(RXP_W + 1), .LogDepth(LogPackets)) u_packets (
      .clk_i, .rst_ni,
      .valid_i(push), .ready_o(in_ready), .data_i({in_key, rxp_i}),
      .valid_o(out_valid), .ready_i(pop_i), .data_o({key_o, rxp_o}), .count_o(count)
  );

  assign mr_valid_o = push && in_key;
  always_comb begin
    mr_o = '0;
    if (mr_valid_o) begin
      mr_o.key = rxp_i.h.rkey;
      mr_o.va = rxp_i.h.va;
      mr_o.len = rxp_i.h.dma_len;
      mr_o.access = dingo_pkg::ACC_REMOTE_WRITE[5:0];
      mr_o.pdn = rxp_i.ctx.cfg.pdn;
      mr_o.privileged = rxp_i.ctx.cfg.privileged;
    end
  end

  // Whose the answers are that come next
  dingo_fifo #(.Width(1), .LogDepth(LogAsked)) u_asked (
      .clk_i, .rst_ni,
      .valid_i(mr_valid_o || ask_i), .ready_o(asked_ready), .data_i(mr_valid_o),
      .valid_o(asked_valid), .ready_i(mr_rsp_valid_i), .data_o(asked_mine), .count_o(asked_count)
  );
  assign key_in = mr_rsp_valid_i && asked_mine;
  assign answer_o = mr_rsp_valid_i && !asked_mine;
  dingo_fifo #(.Width(rtl_pkg::MR_RSP_W), .LogDepth(LogPackets)) u_keys (
      .clk_i, .rst_ni,
      .valid_i(key_in), .ready_o(key_ready), .data_i(mr_rsp_i),
      .valid_o(key_valid), .ready_i(pop_i && key_o), .data_o(mr_rsp_o), .count_o(key_count)
  );

  assign valid_o = out_valid && (!key_o || key_valid);
  assign idle_o = !out_valid && !asked_valid;

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      a_asked: assert (asked_ready || !(mr_valid_o || ask_i));
      a_keys: assert (key_ready || !key_in);
      a_answer: assert (asked_valid || !mr_rsp_valid_i);
      a_pop: assert (valid_o || !pop_i);
    end
  end
  wire unused_ok = &{1'b0, count, key_count, asked_count, rxp_i};
endmodule
