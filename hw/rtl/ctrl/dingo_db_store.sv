// SPDX-License-Identifier: BSD-2-Clause

/// Waiting doorbells, one an object: a newer one replaces the older, so there is always room. Objects come out in the
/// order in which they began to wait, with the newest index. Requests for events are not lost: the `arm` bit of an EQ
/// is kept; a CQ is armed by a change of ARM_SN, so the value before the newest is kept, too, and given first. One
/// operation at a time, put_i or get_i, of two cycles.
module dingo_db_store #(
    parameter int unsigned KeyLog = 13
) (
    input  logic clk_i,
    input  logic rst_ni,
    output logic ready_o,                  // cleared after reset; no operation before
    input  logic put_i,                    // doorbell for put_key_i; in the next cycle db_i is stored if keep_i
    input  logic [KeyLog-1:0] put_key_i,
    input  logic keep_i,
    input  rtl_pkg::db_t db_i,
    input  logic get_i,                    // take the first; needs valid_o
    output logic valid_o,
    output logic [KeyLog-1:0] key_o,       // key of the first in the queue
    output rtl_pkg::db_t db_o,             // a cycle after get_i
    output logic more_o,                   // with db_o: the same object comes again
    output logic [KeyLog:0] count_o        // objects that wait
);
  localparam int unsigned DbW = rtl_pkg::DB_PAGE_LOG + 64;

  // An object's word holds {set: it waits, again, sn, doorbell}.
  logic put_q, get_q;
  logic [KeyLog-1:0] key_q;
  logic [KeyLog:0] wr_q, rd_q;
  logic waits, set, written, again, any;                 // again: give the doorbell with ARM_SN `sn` first
  logic [1:0] sn;
  rtl_pkg::db_t old;
  logic [DbW-1:0] old_bits;
  logic we;
  logic [DbW+3:0] word_d, word;

  assign count_o = wr_q - rd_q;
  assign valid_o = count_o != '0;

  dingo_marked_ram #(
      .Width(DbW + 4),
      .LogDepth(KeyLog)
  ) u_words (
      .clk_i,
      .rst_ni,
      .ready_o,
      .we_i(we),
      .waddr_i(key_q),
      .wdata_i(word_d),
      .re_i(put_i || get_i),
      .raddr_i(put_i ? put_key_i : key_o),
      .rdata_o(word),
      .written_o(written)
  );
  assign {set, again, sn, old_bits} = word;
  assign waits = set && written;
  assign old = old_bits;

  // The queue's first key is read when it becomes the first.
  logic first_push;
  logic [KeyLog-1:0] head_key, head_q;
  logic head_new_q;
  dingo_ram #(
      .Width(KeyLog),
      .LogDepth(KeyLog)
  ) u_queue (
      .clk_i,
      .we_i(first_push),
      .waddr_i(wr_q[KeyLog-1:0]),
      .wdata_i(key_q),
      .re_i(1'b1),
      .raddr_i(rd_d[KeyLog-1:0]),
      .rdata_o(head_key)
  );
  logic [KeyLog:0] rd_d;
  logic pop;
  assign pop = get_q && !again;
  assign rd_d = pop ? rd_q + 1'b1 : rd_q;
  // A key pushed into an empty queue comes from head_q.
  assign key_o = head_new_q ? head_q : head_key;

  logic cq, eq, arms;
  rtl_pkg::db_t merged;
  rtl_pkg::db_word_t in_word, old_word, merged_word, out_word;
  assign in_word = db_i.word0;
  assign old_word = old.word0;
  assign cq = in_word.kind == dingo_pkg::DB_CQ[3:0];
  assign eq = in_word.kind == dingo_pkg::DB_EQ[3:0];
  assign arms = cq && waits && in_word.arm_sn != old_word.arm_sn;
  always_comb begin
    merged_word = in_word;
    // Solicited only if all merged requests are: one event too many is harmless, a missing one is not.
    if (cq && waits) merged_word.arm = arms ? in_word.arm && old_word.arm : old_word.arm;
    if (eq && waits) merged_word.arm = in_word.arm || old_word.arm;
    merged = db_i;
    merged.word0 = merged_word;
    // The doorbell to give
    out_word = old_word;
    if (again) out_word.arm_sn = sn;
    db_o = old;
    db_o.word0 = out_word;
    more_o = again;
    any = again && waits;
    word_d = '0;
    if (put_q) word_d = {1'b1, arms || any, arms ? old_word.arm_sn : sn, merged};
    else if (get_q && again) word_d = {1'b1, 1'b0, 2'd0, old_bits};
  end
  assign first_push = put_q && keep_i && !waits;
  assign we = (put_q && keep_i) || get_q;

  always_ff @(posedge clk_i) begin
    put_q <= put_i;
    get_q <= get_i;
    if (put_i) key_q <= put_key_i;
    else if (get_i) key_q <= key_o;
    // The memory gives the old word when it is read in the cycle of a write.
    head_new_q <= first_push && wr_q == rd_d;
    head_q <= key_q;
    if (!rst_ni) begin
      wr_q <= '0;
      rd_q <= '0;
      put_q <= 1'b0;
      get_q <= 1'b0;
      head_new_q <= 1'b0;
    end else begin
      if (first_push) wr_q <= wr_q + 1'b1;
      rd_q <= rd_d;
      assert (!(put_i && get_i));
      assert (!((put_i || get_i) && (put_q || get_q)));
      assert (!get_i || valid_o);
      assert (!get_q || waits);
    end
  end
endmodule
