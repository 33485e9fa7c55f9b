// SPDX-License-Identifier: BSD-2-Clause

/// Chooses the ring of a received frame: by key and table of SET_RSS, else by a hash with the card's own key, spread
/// over the running rings. Frames that are not IP, or whose ring does not run, go to the first running ring. 2
/// cycles, never stalls.
module dingo_eth_rss (
    input  logic         clk_i,
    input  logic         rst_ni,
    input  logic         set_valid_i,   // SET_RSS
    input  rtl_pkg::rss_t set_i,
    output logic         on_o,
    output logic [319:0] key_o,
    input  logic [(1<<rtl_pkg::ETH_LOG)-1:0] running_i,
    input  logic         ip_i,
    input  logic [31:0]  hash_i,
    output rtl_pkg::ethi_t ring_o       // two cycles later; undefined if no ring runs
);
  // Any key with well-mixed bits would do: these are words of pi's fraction.
  localparam logic [319:0] OwnKey = {
      64'h8979fb1b_d1310ba6, 64'hc97c50dd_38d01377, 64'h34e90c6c_452821e6, 64'h082efa98_a4093822,
      64'h299f31d0_243f6a88
  };

  logic         on_q;
  logic [319:0] key_q;
  logic [127:0] rings_q;
  assign on_o = on_q;
  assign key_o = key_q;
  always_ff @(posedge clk_i) begin
    if (set_valid_i) rings_q <= set_i.rings;
    if (!rst_ni) begin
      on_q <= 1'b0;
      key_q <= OwnKey;
    end else if (set_valid_i) begin
      on_q <= set_i.on;
      key_q <= set_i.on ? set_i.key : OwnKey;
    end
  end

  // ---- stage 1: the table's entry, and hash * rings / 256
  logic [2:0]     count;
  logic [7:0]     sum;
  logic [10:0]    scaled;
  logic [1:0]     nth_q;
  rtl_pkg::ethi_t first, entry_q;
  logic           by_table_q;
  logic [3:0]     running_q;

  assign count = 3'(running_i[0]) + 3'(running_i[1]) + 3'(running_i[2]) + 3'(running_i[3]);
  assign sum = hash_i[7:0] + hash_i[15:8] + hash_i[23:16] + hash_i[31:24];
  assign scaled = (count[0] ? 11'(sum) : '0) + (count[1] ? {2'd0, sum, 1'b0} : '0) + (count[2] ? {1'b0, sum, 2'd0} : '0);
  always_ff @(posedge clk_i) begin
    nth_q <= scaled[9:8];
    entry_q <= rings_q[{hash_i[5:0], 1'b0} +: 2];
    by_table_q <= on_q;
    running_q <= running_i;
  end

  // ---- stage 2: the ring
  logic           take_entry;
  rtl_pkg::ethi_t nth, ring_q;
  logic [1:0]     at;
  logic           ip_q;
  always_comb begin
    first = '0;
    for (int i = 3; i >= 0; i--) if (running_q[i]) first = 2'(i);
  end
  always_comb begin
    nth = '0;
    at = '0;
    for (int i = 0; i < 4; i++) begin
      if (running_q[i]) begin
        if (at == nth_q) nth = 2'(i);
        at = at + 2'd1;
      end
    end
  end
  assign take_entry = ip_q && running_q[entry_q];
  always_ff @(posedge clk_i) begin
    ip_q <= ip_i;
    ring_q <= by_table_q ? (take_entry ? entry_q : first) : ip_q ? nth : first;
  end
  assign ring_o = ring_q;
  wire unused_ok = &{1'b0, scaled};
endmodule
