// SPDX-License-Identifier: BSD-2-Clause

/// Looks up SGEs of a WQE in the memory table: either each as a whole, to check a WQE before it begins (whole_i), or
/// the parts that [offset_i, offset_i + bytes_i) of the message covers, which become segments. One SGE a cycle, 5
/// cycles more for all; nothing stalls it.
module dingo_sge_walk (
    input  logic        clk_i,
    input  logic        rst_ni,
    // request: stable until done_o
    input  logic        start_i,
    input  logic        whole_i,
    input  logic [31:0] offset_i,
    input  logic [12:0] bytes_i,
    input  logic [5:0]  access_i,
    input  logic [rtl_pkg::PD_BITS-1:0] pdn_i,
    input  logic        privileged_i,
    input  logic        datagram_i,
    input  logic        atomic_i,
    input  logic [3:0]  num_sge_i,
    output logic        done_o,        // one cycle
    output logic [7:0]  verr_o,        // from done_o until the next request: error of the first SGE refused, or NONE
    output logic        paused_o,      // as verr_o: the first SGE that was not granted is in a paused region
    // segments, from the cycle after done_o until the next request
    input  logic [3:0]  seg_index_i,
    output rtl_pkg::seg_t        seg_o,
    // blocks of the WQE, in the next cycle
    output logic        re_o,
    output logic [2:0]  block_o,
    input  logic [511:0] block_i,
    output logic        mr_valid_o,
    output rtl_pkg::mr_req_t     mr_o,
    input  logic        mr_rsp_valid_i,
    input  rtl_pkg::mr_rsp_t     mr_rsp_i
);
  logic run_q, have_q, mr_valid_q;
  logic [3:0] sge_q, sge_next;         // the SGE to read next
  logic [1:0] quarter_q;
  logic [31:0] offset_q, left_q;
  logic [4:0] asked_q, answered_q;
  logic [7:0] verr_q;
  logic paused_q, granted;             // granted: all answers so far were good
  rtl_pkg::mr_req_t mr_q;
  logic [31:0] lens[16];               // of segments
  logic [166:0] places[16];            // offset and memory of segments
  logic [4:0] place;
  dingo_pkg::sge_t sge;
  logic [31:0] part;
  logic fresh, more, ended, skip;

  // The first block is read in the first cycle of start_i; done_o comes with the last answer.
  assign fresh = start_i && !run_q;
  assign sge_next = run_q ? sge_q : 4'd0;
  assign place = {1'b0, sge_next} + (datagram_i ? 5'd4 : atomic_i ? 5'd3 : 5'd2);
  assign more = (fresh || run_q) && sge_next != num_sge_i && (whole_i || (run_q ? left_q != 32'd0 : bytes_i != 13'd0));
  assign re_o = more;
  assign block_o = place[4:2];
  assign sge = block_i[{quarter_q, 7'd0}+:128];
  assign skip = whole_i ? sge.length == 32'd0 : offset_q >= sge.length || left_q == 32'd0;
  assign part = whole_i ? sge.length : sge.length - offset_q < left_q ? sge.length - offset_q : left_q;
  // All SGEs are looked up even after a refusal, so that no answer is left over.
  assign ended = run_q && !more && !have_q && asked_q == answered_q + {4'd0, mr_rsp_valid_i};
  assign done_o = ended;
  assign granted = verr_q == 8'd0 && !paused_q;
  assign verr_o = granted && mr_rsp_valid_i && !mr_rsp_i.ok ? mr_rsp_i.verr : verr_q;
  assign paused_o = paused_q || (granted && mr_rsp_valid_i && mr_rsp_i.paused);
  assign mr_valid_o = mr_valid_q;
  assign mr_o = mr_q;
  assign seg_o = {{1'b0, seg_index_i} + 5'd1 == answered_q, lens[seg_index_i], places[seg_index_i]};

  always_ff @(posedge clk_i) begin
    mr_valid_q <= 1'b0;
    if (more) quarter_q <= place[1:0];
    if (have_q && !skip) begin
      mr_q.key <= sge.lkey;
      mr_q.va <= sge.addr + (whole_i ? 64'd0 : {32'd0, offset_q});
      mr_q.len <= part;
      mr_q.access <= access_i;
      mr_q.pdn <= pdn_i;
      mr_q.privileged <= privileged_i;
      mr_q.qp <= '0;                   // for memory windows only, whose keys are never local
      lens[asked_q[3:0]] <= part;
    end
    if (mr_rsp_valid_i) places[answered_q[3:0]] <= {mr_rsp_i.off, mr_rsp_i.mem};
    if (!rst_ni) begin
      run_q <= 1'b0;
      have_q <= 1'b0;
      verr_q <= '0;
      paused_q <= 1'b0;
      asked_q <= '0;
      answered_q <= '0;
    end else begin
      have_q <= more;
      if (more) sge_q <= sge_next + 1'b1;
      if (fresh) begin
        run_q <= 1'b1;
        if (!more) sge_q <= '0;
        offset_q <= offset_i;
        left_q <= {19'd0, bytes_i};
        asked_q <= '0;
        answered_q <= '0;
        verr_q <= '0;
        paused_q <= 1'b0;
      end else begin
        if (have_q) begin
          if (skip) offset_q <= offset_q - sge.length;
          else begin
            mr_valid_q <= 1'b1;
            asked_q <= asked_q + 1'b1;
            offset_q <= '0;
            left_q <= left_q - part;
          end
        end
        if (mr_rsp_valid_i) begin
          answered_q <= answered_q + 1'b1;
          verr_q <= verr_o;
          paused_q <= paused_o;
        end
        if (ended) run_q <= 1'b0;
      end
      assert (asked_q <= 5'd15);
    end
  end
endmodule
