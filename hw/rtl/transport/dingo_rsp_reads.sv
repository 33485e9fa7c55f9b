// SPDX-License-Identifier: BSD-2-Clause

/// READs and atomics of all QPs that are being answered or may be repeated, 16 slots a QP. One operation at a time,
/// with priority NEW, FIND, GET; `done_o` ends each: NEW takes 1 cycle, GET 2, FIND 1 or 3 for each slot it tries.
module dingo_rsp_reads (
    input  logic           clk_i,
    input  logic           rst_ni,
    input  rtl_pkg::qpi_t  qp_i,             // stable during an operation
    input  logic [2:0]     path_mtu_i,
    input  logic           new_i,            // NEW: writes a READ or atomic into `slot_i`, to be answered in full
    input  logic           find_i,           // FIND: searches `used_i` for a repeated request, the newest slot first
    input  logic           get_i,            // GET: reads `slot_i` to res_o
    input  logic           step_i,           // res_o.next was sent: adds 1 to it; takes one cycle, no done_o
    input  logic [3:0]     slot_i,
    input  logic [15:0]    used_i,
    input  logic [3:0]     oldest_i,         // oldest slot; the newest one is before it
    input  logic [23:0]    psn_i,
    input  logic           atomic_i,
    input  logic [63:0]    va_i,             // NEW of an atomic: the word before the operation
    input  logic [31:0]    rkey_i,
    input  logic [31:0]    length_i,
    input  logic [23:0]    msn_i,
    output logic           done_o,
    output logic           hit_o,            // FIND: found, slot_o is to be answered again
    output logic [3:0]     slot_o,
    output rsp_pkg::rres_t res_o
);
  typedef enum logic [2:0] {
    IDLE = 3'd0,
    GET = 3'd1,
    LOOK = 3'd2,       // reads a slot
    LOAD = 3'd3,       // takes its contents
    MATCH = 3'd4,      // compares PSNs
    WITHIN = 3'd5      // PSN matches: compares the rest, writes the slot
  } state_t;
  state_t state_q;
  logic [3:0] slot_q;
  rsp_pkg::rres_t r_q, w_d;
  logic we, re;
  logic [rtl_pkg::QP_LOG+3:0] waddr, raddr;
  logic [rsp_pkg::RRES_W-1:0] rdata;

  dingo_ram #(
      .Width(rsp_pkg::RRES_W),
      .LogDepth(rtl_pkg::QP_LOG + 4)
  ) u_ram (
      .clk_i,
      .we_i(we),
      .waddr_i(waddr),
      .wdata_i(w_d),
      .re_i(re),
      .raddr_i(raddr),
      .rdata_o(rdata)
  );

  // Comparison of a repetition with the slot's READ or atomic
  logic [23:0] start;
  logic [35:0] offset;
  logic inside_read;
  assign start = psn_i - r_q.first_psn;
  assign offset = {12'd0, start} << (4'd7 + {1'b0, path_mtu_i});
  assign inside_read = atomic_i ? r_q.atomic : !r_q.atomic && rkey_i == r_q.rkey && va_i == r_q.va + {28'd0, offset}
                  && {4'd0, length_i} + offset <= {4'd0, r_q.length};

  assign re = (state_q == IDLE && get_i) || state_q == LOOK;
  assign raddr = {qp_i, state_q == IDLE ? slot_i : slot_q};
  assign we = (state_q == IDLE && (new_i || step_i)) || (state_q == WITHIN && inside_read);
  assign waddr = {qp_i, state_q == IDLE && !step_i ? slot_i : slot_q};

  always_comb begin
    w_d = r_q;
    if (state_q == WITHIN) begin
      w_d.start = start;
      w_d.next = start;
      w_d.stop = start + rsp_pkg::packets_of(length_i, path_mtu_i);
      w_d.finish = offset[31:0] + length_i;
    end else if (step_i) begin
      w_d.next = r_q.next + 24'd1;
    end else begin
      w_d.atomic = atomic_i;
      w_d.va = va_i;
      w_d.rkey = rkey_i;
      w_d.length = length_i;
      w_d.first_psn = psn_i;
      w_d.packets = rsp_pkg::packets_of(length_i, path_mtu_i);
      w_d.msn = msn_i;
      w_d.start = '0;
      w_d.next = '0;
      w_d.stop = w_d.packets;
      w_d.finish = length_i;
    end
  end

  assign res_o = r_q;
  assign slot_o = slot_q;

  always_ff @(posedge clk_i) begin
    done_o <= 1'b0;
    case (state_q)
      IDLE:
      if (step_i) r_q.next <= r_q.next + 24'd1;
      else if (new_i) done_o <= 1'b1;
      else if (find_i) begin
        slot_q <= oldest_i - 4'd1;
        hit_o <= 1'b0;
        state_q <= LOOK;
      end else if (get_i) begin
        slot_q <= slot_i;
        state_q <= GET;
      end
      GET: begin
        r_q <= rsp_pkg::rres_t'(rdata);
        done_o <= 1'b1;
        state_q <= IDLE;
      end
      LOOK:
      if (used_i[slot_q]) state_q <= LOAD;
      else if (slot_q == oldest_i) begin
        done_o <= 1'b1;
        state_q <= IDLE;
      end else slot_q <= slot_q - 4'd1;
      LOAD: begin
        r_q <= rsp_pkg::rres_t'(rdata);
        state_q <= MATCH;
      end
      MATCH:
      if (start < r_q.packets) state_q <= WITHIN;
      else if (slot_q == oldest_i) begin
        done_o <= 1'b1;
        state_q <= IDLE;
      end else begin
        slot_q <= slot_q - 4'd1;
        state_q <= LOOK;
      end
      WITHIN: begin  // the search ends: an older slot with the same PSN would be 2^24 packets old
        hit_o <= inside_read;
        done_o <= 1'b1;
        state_q <= IDLE;
      end
      default: state_q <= IDLE;
    endcase
    if (!rst_ni) begin
      state_q <= IDLE;
      done_o <= 1'b0;
    end
  end
endmodule
