// SPDX-License-Identifier: BSD-2-Clause

/// Walks a receive WQE. OPEN reads its header and sums the lengths of its SGEs; SCATTER looks up the keys for the next
/// bytes of a message and gives their segments. Lines come from dingo_rsp_rq. Stalls for lines, keys and seg_ready_i.
module dingo_rsp_wqe (
    input  logic               clk_i,
    input  logic               rst_ni,
    input  logic               open_i,        // pulse: OPEN of WQE index_i
    input  logic               head_only_i,   // OPEN: only the tag is needed
    input  logic               scatter_i,     // pulse: SCATTER of bytes_i (not 0) to WQE index_i from sge_i, off_i on
    input  logic               again_i,       // SCATTER: directly after OPEN of the same WQE
    input  logic [31:0]        index_i,       // all inputs are stable until done_o
    input  logic [3:0]         log_stride_i,
    input  logic [12:0]        bytes_i,
    input  logic [3:0]         sge_i,
    input  logic [31:0]        off_i,
    input  logic [3:0]         nsge_i,
    output logic               done_o,        // one cycle
    output logic               bad_o,         // OPEN: not a valid WQE; SCATTER: verr_o says why
    output logic               bus_o,         // the WQE could not be read
    output logic               paused_o,      // SCATTER, with bad_o: a region is paused
    output logic [7:0]         verr_o,
    output logic [31:0]        tag_o,         // OPEN
    output logic [3:0]         nsge_o,
    output logic [35:0]        cap_o,
    output logic [3:0]         sge_o,         // SCATTER: destination of the next byte
    output logic [31:0]        off_o,
    output logic               line_valid_o,  // held until line_rsp_valid_i
    output logic [31:0]        line_index_o,
    output logic [1:0]         line_part_o,
    input  logic               line_rsp_valid_i,
    input  logic               line_err_i,
    input  logic [511:0]       line_data_i,
    output logic               mr_valid_o,    // dingo_rsp_keys adds PD, privilege and QP
    output rtl_pkg::mr_req_t   mr_o,
    input  logic               mr_rsp_valid_i,
    input  rtl_pkg::mr_rsp_t   mr_rsp_i,
    output logic               seg_valid_o,
    input  logic               seg_ready_i,
    output rtl_pkg::seg_t      seg_o
);
  typedef enum logic [3:0] {
    IDLE = 4'd0,
    HEAD = 4'd1,       // waits for line 0
    CHECK = 4'd2,
    SUM = 4'd3,
    SUM_LINE = 4'd4,
    PART = 4'd5,       // next part of a SCATTER
    PART_LINE = 4'd6,
    KEY = 4'd7,
    KEY_WAIT = 4'd8,
    SEG = 4'd9
  } state_t;
  state_t state_q;
  logic head_only_q;
  logic have_q;                // line_data_i is line part_q of the WQE
  logic [1:0] part_q;
  logic [3:0] sge_q;
  logic [31:0] off_q, len_q;
  logic [12:0] left_q;

  // SGE sge_q is 16-byte piece sge_q + 1 of the WQE
  logic [4:0] piece;
  dingo_pkg::sge_t entry;
  logic [31:0] rest, take;
  assign piece = {1'b0, sge_q} + 5'd1;
  assign entry = line_data_i[{piece[1:0], 7'd0} +: 128];
  assign rest = entry.length - off_q;
  assign take = rest < {19'd0, left_q} ? rest : {19'd0, left_q};

  logic here;                  // line_data_i has the SGE
  assign here = have_q && part_q == piece[3:2];

  dingo_pkg::rq_wqe_t head;    // the WQE's header
  logic bad_head;
  assign head = line_data_i[127:0];
  assign bad_head = head.rsvd0 != '0 || head.rsvd1 != '0 || head.num_sge > 16'd15
                    || {5'd0, head.num_sge[3:0], 4'd0} + 13'd16 > 13'd1 << log_stride_i;

  assign line_valid_o = state_q == HEAD || state_q == SUM_LINE || state_q == PART_LINE;
  assign line_index_o = index_i;
  assign line_part_o = state_q == HEAD ? 2'd0 : piece[3:2];

  always_comb begin
    mr_o = '0;
    mr_o.key = entry.lkey;
    mr_o.va = entry.addr + {32'd0, off_q};
    mr_o.len = take;
    mr_o.access = dingo_pkg::ACC_LOCAL_WRITE[5:0];
  end
  assign mr_valid_o = state_q == KEY;

  assign sge_o = sge_q;
  assign off_o = off_q;

  always_ff @(posedge clk_i) begin
    done_o <= 1'b0;
    case (state_q)
      IDLE:
      if (open_i) begin
        head_only_q <= head_only_i;
        bad_o <= 1'b0;
        bus_o <= 1'b0;
        tag_o <= '0;
        cap_o <= '0;
        nsge_o <= '0;
        sge_q <= '0;
        off_q <= '0;
        part_q <= '0;
        state_q <= HEAD;
      end else if (scatter_i) begin
        bad_o <= 1'b0;
        bus_o <= 1'b0;
        paused_o <= 1'b0;
        left_q <= bytes_i;
        sge_q <= sge_i;
        off_q <= off_i;
        have_q <= have_q && again_i;
        state_q <= PART;
      end
      HEAD:
      if (line_rsp_valid_i) begin
        have_q <= 1'b1;
        bus_o <= line_err_i;
        if (line_err_i) begin
          done_o <= 1'b1;
          state_q <= IDLE;
        end else state_q <= CHECK;
      end
      CHECK: begin
        tag_o <= head.tag;
        nsge_o <= head.num_sge[3:0];
        bad_o <= bad_head;
        if (bad_head || head_only_q || head.num_sge == '0) begin
          done_o <= 1'b1;
          state_q <= IDLE;
        end else state_q <= SUM;
      end
      SUM:
      if (!here) begin
        part_q <= piece[3:2];
        state_q <= SUM_LINE;
      end else begin
        cap_o <= cap_o + {4'd0, entry.length};
        if (piece == {1'b0, nsge_o}) begin
          done_o <= 1'b1;
          state_q <= IDLE;
          sge_q <= '0;
        end else sge_q <= sge_q + 4'd1;
      end
      SUM_LINE:
      if (line_rsp_valid_i) begin
        bus_o <= line_err_i;
        if (line_err_i) begin
          done_o <= 1'b1;
          state_q <= IDLE;
        end else state_q <= SUM;
      end
      PART:
      if (sge_q == nsge_i) begin  // the host shortened the WQE between two packets
        bad_o <= 1'b1;
        verr_o <= dingo_pkg::VERR_WQE_SIZE[7:0];
        done_o <= 1'b1;
        state_q <= IDLE;
      end else if (!here) begin
        part_q <= piece[3:2];
        state_q <= PART_LINE;
      end else if (off_q >= entry.length) begin
        sge_q <= sge_q + 4'd1;
        off_q <= off_q - entry.length;
      end else state_q <= KEY;
      PART_LINE:
      if (line_rsp_valid_i) begin
        have_q <= 1'b1;
        bus_o <= line_err_i;
        verr_o <= dingo_pkg::VERR_BUS[7:0];
        if (line_err_i) begin
          bad_o <= 1'b1;
          done_o <= 1'b1;
          state_q <= IDLE;
        end else state_q <= PART;
      end
      KEY: begin
        len_q <= take;
        state_q <= KEY_WAIT;
      end
      KEY_WAIT:
      if (mr_rsp_valid_i) begin
        seg_o.mem <= mr_rsp_i.mem;
        seg_o.off <= mr_rsp_i.off;
        seg_o.len <= len_q;
        seg_o.last <= len_q == {19'd0, left_q};
        if (mr_rsp_i.ok) begin
          seg_valid_o <= 1'b1;
          state_q <= SEG;
        end else begin
          bad_o <= 1'b1;
          paused_o <= mr_rsp_i.paused;
          verr_o <= mr_rsp_i.verr;
          done_o <= 1'b1;
          state_q <= IDLE;
        end
      end
      SEG:
      if (seg_ready_i) begin
        seg_valid_o <= 1'b0;
        left_q <= left_q - len_q[12:0];
        off_q <= off_q + len_q;
        if (seg_o.last) begin
          done_o <= 1'b1;
          state_q <= IDLE;
        end else state_q <= PART;
      end
      default: state_q <= IDLE;
    endcase
    if (!rst_ni) begin
      state_q <= IDLE;
      done_o <= 1'b0;
      seg_valid_o <= 1'b0;
      have_q <= 1'b0;
    end
  end
endmodule
