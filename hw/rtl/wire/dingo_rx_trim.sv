// SPDX-License-Identifier: BSD-2-Clause

/// Cuts the payload out of the beats of a RoCE frame: rotates it so that it begins at byte 0 of its first beat, and
/// ends it after len_i bytes. 3 stages, a beat a cycle; stalls when the taker of beat_o does. The last beat of a
/// packet may leave in the cycle in which the first one of the next packet arrives.
module dingo_rx_trim (
    input  logic           clk_i,
    input  logic           rst_ni,
    output logic           idle_o,
    input  logic           valid_i,
    output logic           ready_o,
    input  logic [511:0]   data_i,
    input  logic           first_i,    // first beat with payload, which begins at byte offset_i
    input  logic           last_i,     // last beat with payload
    input  logic [5:0]     offset_i,   // 4 * n + 2, as all RoCE headers end there
    input  logic [12:0]    len_i,      // payload bytes, not 0
    output logic           valid_o,
    input  logic           ready_i,
    output rtl_pkg::beat_t beat_o
);
  // ---- turn
  logic         en, valid1_q, valid2_q, first1_q, first2_q, last1_q, last2_q;
  logic [3:0]   steps1_q, steps2_q;
  logic [12:0]  len1_q, len2_q;
  logic [511:0] turned;

  assign ready_o = en;

  dingo_rotate u_rotate (
      .clk_i, .en_i(en), .valid_i, .steps_i(~offset_i[5:2]), .data_i, .data_o(turned)
  );

  always_ff @(posedge clk_i) begin
    if (en) begin
      valid1_q <= valid_i;
      valid2_q <= valid1_q;
      if (valid_i) begin
        first1_q <= first_i;
        last1_q <= last_i;
        steps1_q <= ~offset_i[5:2];
        len1_q <= len_i;
      end
      if (valid1_q) begin
        first2_q <= first1_q;
        last2_q <= last1_q;
        steps2_q <= steps1_q;
        len2_q <= len1_q;
      end
    end
    if (!rst_ni) begin
      valid1_q <= 1'b0;
      valid2_q <= 1'b0;
    end else if (en && valid_i) begin
      assert (offset_i[1:0] == 2'd2);
      assert (len_i != '0);
    end
  end

  // ---- join with the beat before
  logic [511:0] rest_q, data_q;
  logic [12:0]  left_q, left;      // bytes of the packet not yet out
  logic         over_q, emit, valid_q, last_q;
  logic [6:0]   bytes_q;
  logic [3:0]   steps_q;

  // over_q: the rest of the packet is in rest_q alone, no further input beat holds any of it
  assign en = !valid_q || ready_i;
  assign emit = over_q || (valid2_q && !first2_q);
  assign left = valid2_q && first2_q ? len2_q : emit ? left_q - 13'd64 : left_q;

  always_ff @(posedge clk_i) begin
    if (en) begin
      valid_q <= emit;
      if (emit) begin
        last_q <= left_q <= 13'd64;
        bytes_q <= left_q <= 13'd64 ? left_q[6:0] : 7'd64;
        if (over_q) begin
          data_q <= rest_q;
        end else begin
          for (int w = 0; w < 16; w++) begin
            if (4'(w) < steps_q) data_q[w*32 +: 32] <= rest_q[w*32 +: 32];
            else if (4'(w) == steps_q) data_q[w*32 +: 32] <= {turned[w*32+16 +: 16], rest_q[w*32 +: 16]};
            else data_q[w*32 +: 32] <= turned[w*32 +: 32];
          end
        end
      end
      if (valid2_q) begin
        rest_q <= turned;
        if (first2_q) steps_q <= steps2_q;
      end
      left_q <= left;
      // After the last input beat: more is left than this output beat takes, so one more follows.
      over_q <= valid2_q && last2_q && (first2_q || left_q > 13'd64);
    end
    if (!rst_ni) begin
      valid_q <= 1'b0;
      over_q <= 1'b0;
    end else if (en && over_q) begin
      assert (!valid2_q || first2_q);
      assert (left_q <= 13'd64);
    end
  end

  assign valid_o = valid_q;
  assign beat_o.err = 1'b0;
  assign beat_o.last = last_q;
  assign beat_o.bytes = bytes_q;
  assign beat_o.data = data_q;
  assign idle_o = !valid1_q && !valid2_q && !over_q && !valid_q;
  wire unused_ok = &{1'b0, offset_i[1:0]};
endmodule
