// SPDX-License-Identifier: BSD-2-Clause

/// Queue of 8 packets that wait for their steps, with early look-ups of keys in the memory table (4 cycles), during
/// steps of other packets. For a WRITE of one packet, a READ or an atomic, headers and QP have all that the look-up
/// needs. For later packets of a WRITE, key and address are guessed from the packet before. For a SEND of one packet
/// dingo_rsp_ahead looks up receive WQE and key. A packet with a look-up waits at the input while another part uses the
/// memory table.
module dingo_rsp_intake (
    input  logic             clk_i,
    input  logic             rst_ni,
    output logic             idle_o,
    input  logic             rxp_valid_i,
    output logic             rxp_ready_o,
    input  rtl_pkg::rxp_t    rxp_i,
    // the oldest packet
    output logic             valid_o,        // there is one, and its early look-up, if any, is done
    output rtl_pkg::rxp_t    rxp_o,
    output logic             key_o,          // its key was looked up: mr_rsp_o
    output logic             send_o,         // SEND of one packet: ahead_o is valid, and if that is good, mr_rsp_o
    output rsp_pkg::ahead_t  ahead_o,
    output rtl_pkg::mr_rsp_t mr_rsp_o,
    input  logic             pop_i,
    input  logic             void_i,         // a key was invalidated: look-ups of the packets here no longer count
    // see dingo_rsp_ahead
    input  logic             look_en_i,
    input  logic             store_i,
    input  rtl_pkg::qpi_t    store_qp_i,
    input  logic [31:0]      store_prod_i,
    input  logic [31:0]      store_cons_i,
    input  logic             store_send_i,
    output logic             look_valid_o,
    input  logic             look_ready_i,
    output rsp_pkg::look_t   look_o,
    input  logic             look_here_i,
    input  logic             look_coming_i,
    input  logic             look_err_i,
    input  logic [255:0]     look_data_i,
    // the responder's port of the memory table: answers are in the order of requests
    input  logic             ask_i,          // another part has a request in this cycle, which goes first
    output logic             mr_valid_o,
    output rtl_pkg::mr_req_t mr_o,
    input  logic             mr_rsp_valid_i,
    input  rtl_pkg::mr_rsp_t mr_rsp_i,
    output logic             answer_o        // mr_rsp_i is for another part
);
  localparam int unsigned LogPackets = 3;
  localparam int unsigned LogAsked = 3;
  localparam int unsigned RXP_W = $bits(rxp_i);

  logic in_ready, in_key, push, out_valid, key_valid, asked_ready, asked_valid, asked_mine;
  logic key_ready, key_in, in_send, ahead_valid, ahead_ask, send_key_valid, send_key_ready, send_key_in, asked_send;
  logic [LogPackets:0] send_key_count;
  rtl_pkg::mr_req_t ahead_mr;
  rtl_pkg::mr_rsp_t write_mr_rsp, send_mr_rsp;
  logic [LogPackets:0] count, key_count;
  logic [LogAsked:0] asked_count;

  logic connected, reads, changes;
  logic [4:0] op;
  assign connected = rxp_i.ctx.cfg.kind == dingo_pkg::QPT_RC[2:0] || rxp_i.ctx.cfg.kind == dingo_pkg::QPT_UC[2:0];
  assign op = rxp_i.h.opcode[4:0];
  assign reads = op == roce_pkg::OP_READ_REQUEST;
  assign changes = op == roce_pkg::OP_COMPARE_SWAP || op == roce_pkg::OP_FETCH_ADD;
  assign in_key = connected && (((op == roce_pkg::OP_WRITE_ONLY || reads || changes) && rxp_i.h.dma_len != '0) || guessed);
  // Key and address of the next packet of a QP's WRITE; 16 entries, indexed by the low bits of the QP's number. The
  // guess is put into header fields that such a packet does not use, where dingo_rsp_quick compares it with the
  // context.
  localparam int unsigned LogGuesses = 4;
  localparam int unsigned GUESS_W = rtl_pkg::QP_LOG + 32 + 64;
  logic [GUESS_W-1:0] guesses[1 << LogGuesses];
  logic [(1<<LogGuesses)-1:0] guess_q;
  logic [LogGuesses-1:0] guess_index;
  rtl_pkg::qpi_t guess_qp;
  logic [31:0] guess_key;
  logic [63:0] guess_va;
  logic begins, follows, guessed;
  rtl_pkg::rxp_t rxp;                       // rxp_i with the guess
  assign guess_index = rxp_i.qp[LogGuesses-1:0];
  assign {guess_qp, guess_key, guess_va} = guesses[guess_index];
  assign begins = op == roce_pkg::OP_WRITE_FIRST;
  assign follows = op == roce_pkg::OP_WRITE_MIDDLE || op == roce_pkg::OP_WRITE_LAST;
  assign guessed = follows && guess_q[guess_index] && guess_qp == rxp_i.qp && rxp_i.h.len != '0;
  always_comb begin
    rxp = rxp_i;
    if (follows) begin
      rxp.h.rkey = guess_key;
      rxp.h.va = guess_va;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) guess_q <= '0;
    else if (push && connected && begins) guess_q[guess_index] <= 1'b1;
    if (push && (begins || guessed))
      guesses[guess_index] <= {rxp_i.qp, rxp.h.rkey, rxp.h.va + {51'd0, rxp_i.h.len}};
  end
  // No guess for a QP with an SRQ: another QP's SEND may take the next entry.
  assign in_send = connected && !rxp_i.ctx.cfg.has_srq && (op == roce_pkg::OP_SEND_ONLY || op == roce_pkg::OP_SEND_ONLY_IMM) && rxp_i.h.len != '0;
  assign rxp_ready_o = in_ready && !(in_key && (ask_i || ahead_ask));
  assign push = rxp_valid_i && rxp_ready_o;
  dingo_fifo #(.Width(RXP_W + 2), .LogDepth(LogPackets)) u_packets (
      .clk_i, .rst_ni,
      .valid_i(push), .ready_o(in_ready), .data_i({in_send, in_key, rxp}),
      .valid_o(out_valid), .ready_i(pop_i), .data_o({send_o, key_o, rxp_o}), .count_o(count)
  );
  dingo_rsp_ahead u_ahead (
      .clk_i, .rst_ni, .en_i(look_en_i), .push_i(push && in_send), .rxp_i, .store_i, .store_qp_i, .store_prod_i, .store_cons_i,
      .store_send_i, .look_valid_o, .look_ready_i, .look_o, .look_here_i, .look_coming_i, .look_err_i, .look_data_i,
      .mr_valid_o(ahead_ask), .mr_ready_i(!ask_i), .mr_o(ahead_mr), .valid_o(ahead_valid), .ahead_o, .pop_i(pop_i && send_o)
  );

  assign mr_valid_o = (push && in_key) || (ahead_ask && !ask_i);
  always_comb begin
    mr_o = '0;
    if (ahead_ask) mr_o = ahead_mr;
    else if (mr_valid_o) begin
      mr_o.key = rxp.h.rkey;
      mr_o.va = rxp.h.va;
      mr_o.len = follows ? {19'd0, rxp_i.h.len} : rxp_i.h.dma_len;
      mr_o.access = reads ? dingo_pkg::ACC_REMOTE_READ[5:0] : changes ? dingo_pkg::ACC_REMOTE_ATOMIC[5:0] : dingo_pkg::ACC_REMOTE_WRITE[5:0];
      mr_o.pdn = rxp_i.ctx.cfg.pdn;
      mr_o.privileged = rxp_i.ctx.cfg.privileged;
      mr_o.qp = rxp_i.qp;
    end
  end

  // Requester of each look-up in the memory table, in order
  dingo_fifo #(.Width(2), .LogDepth(LogAsked)) u_asked (
      .clk_i, .rst_ni,
      .valid_i(mr_valid_o || ask_i), .ready_o(asked_ready), .data_i({ahead_ask, mr_valid_o}),
      .valid_o(asked_valid), .ready_i(mr_rsp_valid_i), .data_o({asked_send, asked_mine}), .count_o(asked_count)
  );
  assign key_in = mr_rsp_valid_i && asked_mine && !asked_send;
  assign send_key_in = mr_rsp_valid_i && asked_mine && asked_send;
  assign answer_o = mr_rsp_valid_i && !asked_mine;
  dingo_fifo #(.Width(rtl_pkg::MR_RSP_W), .LogDepth(LogPackets)) u_keys (
      .clk_i, .rst_ni,
      .valid_i(key_in), .ready_o(key_ready), .data_i(mr_rsp_i),
      .valid_o(key_valid), .ready_i(pop_i && key_o), .data_o(write_mr_rsp), .count_o(key_count)
  );
  dingo_fifo #(.Width(rtl_pkg::MR_RSP_W), .LogDepth(LogPackets)) u_send_keys (
      .clk_i, .rst_ni,
      .valid_i(send_key_in), .ready_o(send_key_ready), .data_i(mr_rsp_i),
      .valid_o(send_key_valid), .ready_i(pop_i && send_o && ahead_o.good), .data_o(send_mr_rsp), .count_o(send_key_count)
  );
  logic [LogPackets:0] void_q;              // number of oldest packets whose look-ups no longer count
  always_comb begin
    mr_rsp_o = send_o ? send_mr_rsp : write_mr_rsp;
    if (void_q != '0) mr_rsp_o.ok = 1'b0;
  end

  assign valid_o = out_valid && (!key_o || key_valid) && (!send_o || (ahead_valid && (!ahead_o.good || send_key_valid)));
  assign idle_o = !out_valid && !asked_valid;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) void_q <= '0;
    else if (void_i) void_q <= count + {3'd0, push} - {3'd0, pop_i};
    else if (pop_i && void_q != '0) void_q <= void_q - 1'b1;
    if (rst_ni) begin
      a_asked: assert (asked_ready || !(mr_valid_o || ask_i));
      a_keys: assert ((key_ready || !key_in) && (send_key_ready || !send_key_in));
      a_answer: assert (asked_valid || !mr_rsp_valid_i);
      a_pop: assert (valid_o || !pop_i);
    end
  end
  wire unused_ok = &{1'b0, key_count, send_key_count, asked_count, rxp_i};
endmodule
