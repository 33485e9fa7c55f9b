// SPDX-License-Identifier: BSD-2-Clause

/// Frames from the MAC's receive clock to the card's. The MAC does not wait, and frames of 65 bytes back to back are
/// more beats than the card takes: a frame that finds no room for the longest one is dropped whole and
/// counted. One that ends because the MAC goes away is marked as bad.
/// `rst_ni` (of clk_i) is low for at least 8 cycles of both clocks.
module dingo_rx_cdc #(
    parameter int unsigned LogDepth = 9,  // beats
    parameter int unsigned MaxBeats = 145
) (
    input  logic         mac_clk_i,
    input  logic         mac_up_i,        // not in reset
    input  logic         s_tvalid_i,
    input  logic [511:0] s_tdata_i,
    input  logic [ 63:0] s_tkeep_i,
    input  logic         s_tlast_i,
    input  logic         s_tuser_i,       // with tlast: the MAC found an error
    input  logic         clk_i,
    input  logic         rst_ni,
    output logic         m_tvalid_o,
    input  logic         m_tready_i,
    output logic [511:0] m_tdata_o,
    output logic [ 63:0] m_tkeep_o,
    output logic         m_tlast_o,
    output logic         m_tuser_o,
    output logic [  2:0] dropped_o        // so many frames more
);
  localparam int unsigned W = 578;
  localparam int unsigned P = LogDepth + 1;

  logic [W-1:0] mem[0:(1<<LogDepth)-1];

  function automatic logic [P-1:0] to_gray(input logic [P-1:0] v);
    to_gray = v ^ (v >> 1);
  endfunction
  function automatic logic [P-1:0] from_gray(input logic [P-1:0] v);
    for (int i = 0; i < P; i++) from_gray[i] = ^(v >> i);
  endfunction

  // Each crosses by two registers; one bit of a gray number changes at a time.
  logic [P-1:0] wr_gray_q, rd_gray_q, drops_gray_q;
  (* ASYNC_REG = "TRUE" *) logic [P-1:0] wr_meta_q, wr_there_q, rd_meta_q, rd_there_q, drops_meta_q, drops_there_q;
  (* ASYNC_REG = "TRUE" *) logic [1:0] rst_there_q;

  // ---------------------------------------------------------------- the MAC's side
  logic [P-1:0] wr_q, drops_q, wr_d, drops_d, held;
  logic [7:0] n_q;                        // beats of the frame so far
  logic drop_q, drop, start, cut, beat, last, push;

  assign start = n_q == '0;
  assign held = wr_q - from_gray(rd_there_q);
  assign drop = start ? P'(1 << LogDepth) - held < P'(MaxBeats) : drop_q;
  assign cut = !mac_up_i && !start;       // the frame in work goes no further
  assign beat = (s_tvalid_i && mac_up_i) || cut;
  assign last = s_tlast_i || cut;
  // of a frame longer than any that the card takes, what is too much is left out
  assign push = beat && !drop && (last || n_q < 8'(MaxBeats - 1));
  assign wr_d = wr_q + P'(push);
  assign drops_d = drops_q + P'(beat && last && drop);

  always_ff @(posedge mac_clk_i) begin
    rst_there_q <= {rst_there_q[0], rst_ni};
    rd_meta_q <= rd_gray_q;
    rd_there_q <= rd_meta_q;
    if (push) mem[wr_q[LogDepth-1:0]] <= {cut || s_tuser_i, last, s_tkeep_i, s_tdata_i};
    if (!rst_there_q[1]) begin
      wr_q <= '0;
      wr_gray_q <= '0;
      drops_q <= '0;
      drops_gray_q <= '0;
      n_q <= '0;
      drop_q <= 1'b0;
    end else begin
      wr_q <= wr_d;
      wr_gray_q <= to_gray(wr_d);
      drops_q <= drops_d;
      drops_gray_q <= to_gray(drops_d);
      if (beat) begin
        drop_q <= drop;
        n_q <= last ? '0 : n_q == 8'(MaxBeats) ? n_q : n_q + 8'd1;
      end
    end
  end

  // ---------------------------------------------------------------- the card's side
  logic [P-1:0] rd_q, rd_d, drops_seen_q;
  logic take, valid_q;
  logic [W-1:0] word_q;

  assign take = (!valid_q || m_tready_i) && rd_gray_q != wr_there_q;
  assign rd_d = rd_q + P'(take);

  always_ff @(posedge clk_i) begin
    wr_meta_q <= wr_gray_q;
    wr_there_q <= wr_meta_q;
    drops_meta_q <= drops_gray_q;
    drops_there_q <= drops_meta_q;
    if (take) word_q <= mem[rd_q[LogDepth-1:0]];
    if (!rst_ni) begin
      rd_q <= '0;
      rd_gray_q <= '0;
      valid_q <= 1'b0;
      drops_seen_q <= '0;
      dropped_o <= '0;
    end else begin
      rd_q <= rd_d;
      rd_gray_q <= to_gray(rd_d);
      valid_q <= take || (valid_q && !m_tready_i);
      drops_seen_q <= from_gray(drops_there_q);
      dropped_o <= 3'(from_gray(drops_there_q) - drops_seen_q);
    end
  end
  assign m_tvalid_o = valid_q;
  assign {m_tuser_o, m_tlast_o, m_tkeep_o, m_tdata_o} = word_q;
endmodule
