// SPDX-License-Identifier: BSD-2-Clause

/// Effect of an operation of dingo_cq, other than a doorbell (dingo_cq_bell), on its CQ and entry. Combinational.
module dingo_cq_step (
    input  cq_pkg::work_t       work_i,
    input  rtl_pkg::cqe_req_t   req_i,       // OP_POST: the entry
    input  rtl_pkg::cq_cfg_t    cmd_i,       // OP_CFG: the command
    input  logic                resizes_i,   // OP_CFG: new ring
    input  logic                moderates_i, // OP_CFG: new count and period
    input  cq_pkg::cfg_t        cfg_i,
    input  cq_pkg::dyn_t        dyn_i,
    input  logic [63:0]         now_ns_i,
    output logic                solicited_o, // the entry is solicited or an error
    output logic [31:0]         slot_o,      // byte offset of the entry in the ring
    output dingo_pkg::cqe_t     entry_o,
    output cq_pkg::fate_t       fate_o,
    output cq_pkg::outcome_t    outcome_o
);
  cq_pkg::dyn_t dyn;
  cq_pkg::fate_t fate;
  dingo_pkg::cqe_t entry;
  logic [31:0] size, producer;
  logic full, fired, we, solicited, wanted, enough;
  logic [15:0] count;
  logic [25:0] period;

  assign size = 32'd1 << cfg_i.log_size;
  assign full = dyn_i.head - dyn_i.consumer == size;
  assign slot_o = (dyn_i.head & (size - 32'd1)) << 5;
  assign solicited = work_i.op == cq_pkg::OP_POST
      ? (req_i.flags & dingo_pkg::CQE_FLAGS_SOLICITED_MASK[7:0]) != '0 || req_i.status != dingo_pkg::WCS_SUCCESS[7:0]
      : work_i.solicited;
  assign wanted = dyn_i.armed && (solicited || !dyn_i.armed_solicited);
  // `enough`: moderation does not hold the event back; `producer` includes an entry done in this cycle
  assign count = moderates_i ? cmd_i.count : cfg_i.count;
  assign period = moderates_i ? cmd_i.period : cfg_i.period;
  assign producer = dyn_i.producer + {31'd0, work_i.op == cq_pkg::OP_DONE};
  assign enough = period == '0 || (count != '0 && producer - dyn_i.counted_from >= {16'd0, count});

  always_comb begin
    entry = '0;
    entry.wqe_index = req_i.wqe_index;
    entry.byte_len = req_i.byte_len;
    entry.imm = req_i.imm;
    entry.qpn_op = req_i.qpn_op;
    entry.src_qpn = req_i.src_qpn;
    entry.ts_lo = now_ns_i[31:0];
    entry.ts_hi = now_ns_i[47:32];
    entry.status = req_i.status;
    entry.vendor_err = req_i.verr;
    entry.vlan = req_i.vlan;
    entry.flags = req_i.flags;
    entry.owner[0] = (dyn_i.head & size) == '0;
  end

  always_comb begin
    dyn = dyn_i;
    we = 1'b0;
    fired = 1'b0;
    fate = '0;
    if (work_i.valid) begin
      case (work_i.op)
        cq_pkg::OP_CFG: begin
          we = !cmd_i.resize || resizes_i;
          if (cmd_i.moderate) begin
            if (cfg_i.period == '0) dyn.first_at = now_ns_i;
            fired = dyn_i.waits && enough;
          end else begin
            dyn = '0;
            if (cmd_i.resize) begin    // arming and a waiting event are kept
              dyn.armed = dyn_i.armed;
              dyn.armed_solicited = dyn_i.armed_solicited;
              dyn.arm_sn = dyn_i.arm_sn;
              dyn.waits = dyn_i.waits;
              dyn.counted_from = dyn_i.counted_from - dyn_i.producer;
              dyn.first_at = dyn_i.first_at;
            end
          end
        end
        cq_pkg::OP_POST: begin
          we = 1'b1;
          if (!cfg_i.on || dyn_i.error) begin
            fate.refused = 1'b1;
          end else if (full) begin
            fate.refused = 1'b1;
            fate.overflowed = 1'b1;
            fate.failed = 1'b1;
            dyn.error = 1'b1;
            fired = dyn_i.waits;
          end else begin
            fate.push = 1'b1;
            dyn.head = dyn_i.head + 32'd1;
          end
        end
        cq_pkg::OP_DONE: begin
          we = 1'b1;
          if (dyn_i.error || work_i.refused) begin
            fate.refused = 1'b1;
            fate.failed = !dyn_i.error;
            dyn.error = 1'b1;
            fired = dyn_i.waits || (wanted && !work_i.refused);  // it is in memory; the CQ failed afterwards
          end else begin
            dyn.producer = producer;
            if (solicited) dyn.last_solicited = producer;
            if (!dyn_i.waits && dyn_i.producer == dyn_i.notified) dyn.first_at = now_ns_i;
            fired = (dyn_i.waits || wanted) && enough;
            dyn.waits = dyn_i.waits || wanted;
          end
        end
        cq_pkg::OP_DUE: begin
          we = dyn_i.waits;
          fired = dyn_i.waits && dyn_i.first_at + {38'd0, period} <= now_ns_i;
        end
        default: ;
      endcase
      if (fired) begin
        dyn.waits = 1'b0;
        dyn.armed = 1'b0;
        dyn.notified = dyn.producer;
        dyn.counted_from = dyn.producer;
      end
    end
  end
  assign solicited_o = solicited;
  assign entry_o = entry;
  assign fate_o = fate;
  assign outcome_o.we = we;
  assign outcome_o.fired = fired;
  assign outcome_o.waited = dyn_i.waits;
  assign outcome_o.cq = work_i.cq;
  assign outcome_o.eq = cfg_i.eq;
  assign outcome_o.period = period;
  assign outcome_o.dyn = dyn;

  wire unused_ok = &{1'b0, work_i, req_i, cmd_i, cfg_i, now_ns_i[63:48]};
endmodule
