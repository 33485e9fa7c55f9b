// SPDX-License-Identifier: BSD-2-Clause

/// Packs pieces of beats into beats without holes: each input appends bytes [skip, skip + bytes) of its data. A stream
/// begins at byte `start` of its first beat (`first_i`; else byte 0) and ends with `end_i`; an error in any input
/// is reported in the stream's last beat. One input a cycle, and one cycle more at the end of a stream whose last piece
/// spills into another beat. Latency 4 stages and a queue; stalls when the queue of 16 may fill.
module dingo_pack (
    input  logic         clk_i,
    input  logic         rst_ni,
    output logic         idle_o,    // holds no byte
    input  logic         valid_i,
    output logic         ready_o,
    input  logic [511:0] data_i,
    input  logic [  5:0] skip_i,
    input  logic [  6:0] bytes_i,   // 1..64 - skip
    input  logic         first_i,
    input  logic [  5:0] start_i,   // used with first_i only
    input  logic         end_i,
    input  logic         err_i,
    output logic         valid_o,
    input  logic         ready_i,
    output rtl_pkg::beat_t beat_o,  // beat_o.bytes: position behind the last byte
    output logic [  5:0] low_o      // position of the first byte
);
  localparam int unsigned LogDepth = 4;
  localparam int unsigned Stages = 4;
  localparam int unsigned MetaW = 15;  // low, err, last, bytes

  // Front: position of the bytes, and whether they complete a beat.
  logic [5:0] fill_q, low_q;
  logic err_q, flush_q;   // flush: the stream has ended; its last fill_q bytes are in held_q
  logic room, take;
  logic [5:0] fill, low;
  logic [7:0] sum;
  logic full, spill;
  logic [LogDepth:0] count;

  assign room = count <= (LogDepth + 1)'((1 << LogDepth) - Stages - 1);
  assign ready_o = room && !flush_q;
  assign take = valid_i && ready_o;
  assign fill = first_i && !flush_q ? start_i : fill_q;
  assign low = first_i && !flush_q ? start_i : low_q;
  assign sum = {2'b0, fill} + {1'b0, bytes_i};
  assign full = sum >= 8'd64;
  assign spill = sum > 8'd64;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      fill_q <= '0;
      low_q <= '0;
      err_q <= 1'b0;
      flush_q <= 1'b0;
    end else if (take) begin
      fill_q <= end_i && !spill ? 6'd0 : sum[5:0];
      low_q <= full || end_i ? 6'd0 : low;
      err_q <= (err_q || err_i) && !(end_i && !spill);
      flush_q <= end_i && spill;
    end else if (flush_q && room) begin
      fill_q <= '0;
      err_q <= 1'b0;
      flush_q <= 1'b0;
    end
  end

  // Stages: rotate in steps of 16 bytes, then of single bytes, then merge with the bytes before.
  logic v1_q, v2_q, v3_q, v4_q;
  logic e1_q, e2_q, e3_q;  // the input completes a beat
  logic [511:0] d1_q, d2_q, d3_q, d4_q, held_q;
  logic [5:0] rot1_q, f1_q, f2_q, f3_q;
  logic [3:0] rot2_q;
  logic [MetaW-1:0] m1_q, m2_q, m3_q, m4_q;

  always_ff @(posedge clk_i) begin
    v1_q <= rst_ni && (take || (flush_q && room));
    v2_q <= rst_ni && v1_q;
    v3_q <= rst_ni && v2_q;
    v4_q <= rst_ni && v3_q && e3_q;
    if (take) begin
      d1_q <= data_i;
      rot1_q <= fill - skip_i;
      f1_q <= fill;
      e1_q <= full || end_i;
      m1_q <= {low, (err_q || err_i) && end_i && !spill, end_i && !spill, full ? 7'd64 : sum[6:0]};
    end else if (flush_q) begin
      f1_q <= fill_q;
      e1_q <= 1'b1;
      m1_q <= {6'd0, err_q, 1'b1, 1'b0, fill_q};
    end
    if (v1_q) begin
      case (rot1_q[5:4])
        2'd0: d2_q <= d1_q;
        2'd1: d2_q <= {d1_q[383:0], d1_q[511:384]};
        2'd2: d2_q <= {d1_q[255:0], d1_q[511:256]};
        default: d2_q <= {d1_q[127:0], d1_q[511:128]};
      endcase
      rot2_q <= rot1_q[3:0];
      f2_q <= f1_q;
      e2_q <= e1_q;
      m2_q <= m1_q;
    end
    if (v2_q) begin
      d3_q <= 512'(({d2_q, d2_q[511:392]} << {rot2_q, 3'b0}) >> 120);
      f3_q <= f2_q;
      e3_q <= e2_q;
      m3_q <= m2_q;
    end
    // The first f3_q bytes come from held_q, the others from d3_q; the xor form needs only one mask.
    if (v3_q && e3_q) begin
      held_q <= d3_q;
      d4_q <= ((held_q ^ d3_q) & ~({512{1'b1}} << {f3_q, 3'b0})) ^ d3_q;
      m4_q <= m3_q;
    end else if (v3_q) begin
      held_q <= ((held_q ^ d3_q) & ~({512{1'b1}} << {f3_q, 3'b0})) ^ d3_q;
    end
  end

  logic fifo_ready;
  dingo_fifo #(.Width(MetaW + 512), .LogDepth(LogDepth)) u_out (
      .clk_i, .rst_ni,
      .valid_i(v4_q), .ready_o(fifo_ready), .data_i({m4_q, d4_q}),
      .valid_o, .ready_i, .data_o({low_o, beat_o}), .count_o(count)
  );

  assign idle_o = !v1_q && !v2_q && !v3_q && !v4_q && !flush_q && fill_q == '0 && count == '0;

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      no_overflow: assert (!v4_q || fifo_ready);
      if (take) bytes_in_beat: assert (bytes_i != '0 && {1'b0, skip_i} + bytes_i <= 7'd64);
      if (take && first_i) nothing_before: assert (fill_q == '0);
    end
  end
endmodule
