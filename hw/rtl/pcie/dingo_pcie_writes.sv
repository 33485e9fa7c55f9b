// SPDX-License-Identifier: BSD-2-Clause

/// Cuts AXI write bursts into pieces of at most one payload. A piece is announced only when it is whole, as its TLP
/// header has its length. The enabled bytes of a burst have no gap; lines without any (dingo_axi_guard after a reset)
/// make no TLP. 4 cycles from a piece's last line; stalls when the queue of 32 lines or that of 16 pieces is nearly
/// full.
module dingo_pcie_writes (
    input  logic         clk_i,
    input  logic         rst_ni,
    input  logic [1:0]   mps_i,          // 128 << n bytes; a piece has at most 512
    output logic         idle_o,
    // AXI4
    input  logic         awvalid_i,
    output logic         awready_o,
    input  logic [63:0]  awaddr_i,       // 64-byte aligned
    input  logic         wvalid_i,
    output logic         wready_o,
    input  logic [511:0] wdata_i,
    input  logic [63:0]  wstrb_i,
    input  logic         wlast_i,
    // pieces and their lines; a piece comes after its last line
    output logic         mwr_valid_o,
    input  logic         mwr_ready_i,
    output pcie_pkg::mwr_t mwr_o,
    output logic         line_valid_o,
    input  logic         line_ready_i,
    output logic [511:0] line_o
);
  // ---------------------------------------------------------------- a beat and its address
  logic open_q, take, room_q;
  logic [57:0] line_q;
  logic [2:0] ends;                      // a piece ends with a line in whose number the other bits are ones

  assign awready_o = !open_q || (take && wlast_i);
  assign wready_o = open_q && room_q;
  assign take = wvalid_i && wready_o;
  assign ends = mps_i == 2'd0 ? 3'b110 : mps_i == 2'd1 ? 3'b100 : 3'b000;

  logic b1_q, b1_end_q, b1_last_q;
  logic [57:0] b1_line_q;
  logic [511:0] b1_data_q;
  logic [63:0] b1_strb_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      open_q <= 1'b0;
      b1_q <= 1'b0;
    end else begin
      if (awready_o) open_q <= awvalid_i;
      b1_q <= take;
    end
    if (awready_o) line_q <= awaddr_i[63:6];
    else if (take) line_q[5:0] <= line_q[5:0] + 1'b1;  // a burst does not cross 4 KiB
    b1_line_q <= line_q;
    b1_data_q <= wdata_i;
    b1_strb_q <= wstrb_i;
    b1_last_q <= wlast_i;
    b1_end_q <= wlast_i || (line_q[2:0] | ends) == 3'b111;
  end

  // ---------------------------------------------------------------- the beat's first and last enabled byte
  logic b2_q, b2_any_q, b2_end_q, b2_last_q;
  logic [5:0] low, high, b2_low_q, b2_high_q;
  logic [57:0] b2_line_q;
  logic [511:0] b2_data_q;

  always_comb begin
    low = '0;
    high = '0;
    for (int unsigned i = 0; i < 64; i++) begin  // no gaps, so wstrb has one edge of each kind
      if (b1_strb_q[i] && (i == 0 || !b1_strb_q[i == 0 ? 0 : i - 1])) low |= 6'(i);
      if (b1_strb_q[i] && (i == 63 || !b1_strb_q[i == 63 ? 63 : i + 1])) high |= 6'(i);
    end
  end

  always_ff @(posedge clk_i) begin
    b2_q <= rst_ni && b1_q;
    b2_any_q <= b1_strb_q != '0;
    b2_low_q <= low;
    b2_high_q <= high;
    b2_line_q <= b1_line_q;
    b2_data_q <= b1_data_q;
    b2_end_q <= b1_end_q;
    b2_last_q <= b1_last_q;
  end

  // ---------------------------------------------------------------- the piece
  logic [3:0] beats_q, beats;
  logic [5:0] low_q, start, final_q, final_byte;
  logic [57:0] start_line_q;
  logic some, one;
  logic [7:0] dwords;
  pcie_pkg::mwr_t piece, piece_q;
  logic piece_valid_q, piece_room, line_room;
  logic [5:0] line_count;
  logic [4:0] piece_count;

  assign some = beats_q != '0;
  assign beats = beats_q + {3'd0, b2_any_q};
  assign start = some ? low_q : b2_low_q;
  assign final_byte = b2_any_q ? b2_high_q : final_q;
  assign dwords = {beats - 4'd1, 4'd0} + {4'd0, final_byte[5:2]} - {4'd0, start[5:2]} + 8'd1;
  assign one = beats == 4'd1 && final_byte[5:2] == start[5:2];

  always_comb begin
    piece.answer = b2_last_q;
    piece.empty = beats == '0;
    piece.beats = beats;
    piece.dwords = dwords;
    piece.first_be = (4'hf << start[1:0]) & (one ? 4'hf >> (2'd3 - final_byte[1:0]) : 4'hf);
    piece.last_be = one ? 4'h0 : 4'hf >> (2'd3 - final_byte[1:0]);
    piece.start = start[5:2];
    piece.line = some ? start_line_q : b2_line_q;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      beats_q <= '0;
      piece_valid_q <= 1'b0;
    end else begin
      if (b2_q) beats_q <= b2_end_q ? '0 : beats;
      // A piece without bytes is sent on only at the end of a burst, whose answer is due.
      piece_valid_q <= b2_q && b2_end_q && (beats != '0 || b2_last_q);
    end
    if (b2_q) begin
      if (!some) begin
        low_q <= b2_low_q;
        start_line_q <= b2_line_q;
      end
      final_q <= final_byte;
    end
    piece_q <= piece;
    // At most three accepted beats are not in the queues yet, so stop early.
    room_q <= rst_ni && line_count < 6'd27 && piece_count < 5'd11;
  end

  dingo_fifo #(.Width(512), .LogDepth(5)) u_lines (
      .clk_i, .rst_ni, .valid_i(b2_q && b2_any_q), .ready_o(line_room), .data_i(b2_data_q), .valid_o(line_valid_o),
      .ready_i(line_ready_i), .data_o(line_o), .count_o(line_count)
  );
  dingo_fifo #(.Width(pcie_pkg::MWR_W), .LogDepth(4)) u_pieces (
      .clk_i, .rst_ni, .valid_i(piece_valid_q), .ready_o(piece_room), .data_i(piece_q), .valid_o(mwr_valid_o),
      .ready_i(mwr_ready_i), .data_o(mwr_o), .count_o(piece_count)
  );

  assign idle_o = !open_q && !b1_q && !b2_q && !piece_valid_q && piece_count == '0;
  wire unused_ok = &{1'b0, awaddr_i[5:0]};

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      if (b2_q && b2_any_q) line_has_room: assert (line_room);
      if (piece_valid_q) piece_has_room: assert (piece_room);
      if (b1_q) no_gap: assert (b1_strb_q == (({64{b1_strb_q != '0}} << low) & ({64{1'b1}} >> (6'd63 - high))));
      if (b2_q && b2_any_q && some) no_gap_between: assert (b2_low_q == '0 && final_q == 6'd63);
    end
  end
endmodule
