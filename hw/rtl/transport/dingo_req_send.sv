// SPDX-License-Identifier: BSD-2-Clause

/// Gives a request packet to dingo_tx_mux: descriptor, then segments or inline data, one a cycle. A packet is started
/// only when dingo_tx_mux has room for all of it, so its outputs never stall (asserted).
module dingo_req_send (
    input  logic        clk_i,
    input  logic        rst_ni,
    output logic        idle_o,        // no packet here, outputs empty
    // a packet: taken in a cycle with ready_o
    input  logic        start_i,
    output logic        ready_o,       // takes a packet; seg_i and block_i of the last one are no longer used
    output logic        soon_o,        // ready_o, or it will be in the next cycle: the last segment is used in this one
    input  rtl_pkg::txd_t        txd_i,
    input  logic        datagram_i,
    input  logic [31:0] offset_i,      // of the packet in its message
    input  logic        quick_i,       // quick_seg_i or quick_data_i comes with it, a second segment in the next cycle
    input  rtl_pkg::seg_t        quick_seg_i,
    input  logic [511:0] quick_data_i,
    // segments and blocks of the WQE; blocks in the next cycle. A single segment leaves with the descriptor
    output logic [3:0]  seg_index_o,
    input  rtl_pkg::seg_t        seg_i,
    output logic        inl_re_o,
    output logic [2:0]  inl_block_o,
    input  logic [511:0] block_i,
    output logic        txd_valid_o,
    input  logic        txd_ready_i,
    output rtl_pkg::txd_t        txd_o,
    output logic        seg_valid_o,
    input  logic        seg_ready_i,
    output rtl_pkg::seg_t        seg_o,
    output logic        inl_valid_o,
    input  logic        inl_ready_i,
    output rtl_pkg::beat_t       inl_o
);
  typedef enum logic [2:0] {
    HEAD = 3'd0,
    SEGS = 3'd1,
    FIRST = 3'd2,                      // reads the first block of inline data
    DATA = 3'd3,
    SECOND = 3'd4                      // second segment of a quick WQE
  } state_t;

  state_t state_q;
  logic txd_valid_q, seg_valid_q, inl_valid_q, go;
  rtl_pkg::txd_t txd_q;
  rtl_pkg::seg_t seg_q;
  rtl_pkg::beat_t inl_q;
  logic [3:0] index_q;                 // of the segment
  logic [3:0] block_q;                 // the block that was read last
  logic [3:0] block;
  logic [12:0] left_q;
  logic [255:0] half_q;                // RC: inline data begins in the middle of a block
  logic prime_q, datagram_q;
  logic last, one;

  assign txd_valid_o = txd_valid_q;
  assign txd_o = txd_q;
  assign seg_valid_o = seg_valid_q;
  assign seg_o = seg_q;
  assign inl_valid_o = inl_valid_q;
  assign inl_o = inl_q;
  assign idle_o = state_q == HEAD && !txd_valid_q && !seg_valid_q && !inl_valid_q;
  assign go = !(txd_valid_q && !txd_ready_i) && !(seg_valid_q && !seg_ready_i) && !(inl_valid_q && !inl_ready_i);
  assign ready_o = state_q == HEAD && go;
  assign soon_o = go && (state_q == HEAD || (state_q == SEGS && seg_i.last));
  assign seg_index_o = state_q == SEGS ? index_q : 4'd0;
  assign one = !quick_i && !txd_i.inl && seg_i.last;
  assign block = state_q == DATA ? block_q + 4'd1 : block_q;
  assign inl_re_o = go && (state_q == FIRST || state_q == DATA);
  assign inl_block_o = block[2:0];
  assign last = left_q <= 13'd64;

  always_ff @(posedge clk_i) begin
    if (txd_ready_i) txd_valid_q <= 1'b0;
    if (seg_ready_i) seg_valid_q <= 1'b0;
    if (inl_ready_i) inl_valid_q <= 1'b0;
    if (!rst_ni) begin
      state_q <= HEAD;
      txd_valid_q <= 1'b0;
      seg_valid_q <= 1'b0;
      inl_valid_q <= 1'b0;
    end else if (go) begin
      case (state_q)
        HEAD: begin                      // start_i is late, so the inputs are registered in every cycle
          txd_q <= txd_i;
          index_q <= '0;
          left_q <= txd_i.len;
          block_q <= datagram_i ? 4'd1 : offset_i[9:6];
          prime_q <= !datagram_i;
          datagram_q <= datagram_i;
          seg_q <= quick_i ? quick_seg_i : seg_i;
          inl_q.err <= 1'b0;
          inl_q.last <= 1'b1;
          inl_q.bytes <= txd_i.len[6:0];
          inl_q.data <= quick_data_i;
          if (start_i) begin
            txd_valid_q <= 1'b1;
            state_q <= txd_i.len == 13'd0 || quick_i || one ? HEAD : txd_i.inl ? FIRST : SEGS;
            if ((quick_i || one) && txd_i.len != 13'd0) begin
              if (quick_i && !txd_i.inl && !quick_seg_i.last) state_q <= SECOND;
              seg_valid_q <= !txd_i.inl;
              inl_valid_q <= txd_i.inl;
            end
          end
        end
        SEGS: begin
          seg_valid_q <= 1'b1;
          seg_q <= seg_i;
          index_q <= index_q + 4'd1;
          if (seg_i.last) state_q <= HEAD;
        end
        SECOND: begin
          seg_valid_q <= 1'b1;
          seg_q <= quick_seg_i;
          state_q <= HEAD;
        end
        FIRST: state_q <= DATA;
        default: begin
          half_q <= block_i[511:256];
          block_q <= block_q + 4'd1;
          prime_q <= 1'b0;
          if (!prime_q) begin
            inl_valid_q <= 1'b1;
            inl_q.err <= 1'b0;
            inl_q.last <= last;
            inl_q.bytes <= last ? left_q[6:0] : 7'd64;
            inl_q.data <= datagram_q ? block_i : {block_i[255:0], half_q};
            left_q <= left_q - 13'd64;
            if (last) state_q <= HEAD;
          end
        end
      endcase
    end
    // dingo_tx_mux had room for the whole packet when it was started.
    if (rst_ni) assert (go);
  end

  wire unused_ok = &{1'b0, offset_i, block[3]};
endmodule
