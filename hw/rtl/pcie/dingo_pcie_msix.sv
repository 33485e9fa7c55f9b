// SPDX-License-Identifier: BSD-2-Clause

/// MSI-X table and pending bits (PCIe base specification, 6.1.4). A message is a write in the requester stream. The
/// card requests it when the write of its event is answered, so it is behind the event on PCIe. A vector that is
/// masked, or requested again before its message has left, is pending once. 8 cycles to the message; stalls with
/// msg_ready_i.
module dingo_pcie_msix (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        enable_i,       // Enable bit of the MSI-X capability
    input  logic        mask_i,         // Function Mask bit
    input  logic        clear_i,        // function-level reset
    // the card
    input  logic        valid_i,
    output logic        ready_o,
    input  logic [5:0]  vector_i,
    // the host: offset in BAR 0 behind 0x8000
    input  logic        write_i,
    input  logic        read_i,
    input  logic [14:0] addr_i,
    input  logic [63:0] wdata_i,
    input  logic [7:0]  wstrb_i,
    output logic        rvalid_o,
    output logic [63:0] rdata_o,
    // the message
    output logic        msg_valid_o,
    input  logic        msg_ready_i,
    output logic [61:0] msg_dword_o,
    output logic [31:0] msg_data_o
);
  typedef enum logic [2:0] {
    IDLE  = 3'd0,
    LOOK  = 3'd1,   // vectors that want a message: those behind the last one, else all
    PICK  = 3'd2,   // the lowest of them, one-hot
    CODE  = 3'd3,   // its number, binary
    ADDR  = 3'd4,   // read its address
    DATA  = 3'd5,   // read its data
    SEND  = 3'd6
  } state_t;
  state_t state_q;

  logic [31:0] low[0:127];              // two words an entry: address; data (low), mask (high)
  logic [31:0] high[0:127];
  logic [63:0] masked_q, pending_q, ask_q, behind_q, turn_q, grant_q;
  logic [5:0] vector_q, chosen;
  logic [61:0] dword_q;
  logic [31:0] data_q;
  logic in_table, in_pba, rvalid_q;
  logic [6:0] word;
  logic [63:0] entry, rdata_q;

  assign in_table = addr_i[14:10] == '0;
  assign in_pba = addr_i[14:3] == 12'((dingo_pkg::MSIX_PBA_OFFSET - dingo_pkg::MSIX_TABLE_OFFSET) >> 3);
  assign word = read_i ? addr_i[9:3] : {vector_q, state_q == DATA};
  assign entry = {high[word], low[word]};
  assign ready_o = 1'b1;

  always_ff @(posedge clk_i) begin
    if (write_i && in_table && wstrb_i[0]) low[addr_i[9:3]] <= wdata_i[31:0];
    if (write_i && in_table && wstrb_i[4]) high[addr_i[9:3]] <= wdata_i[63:32];
    rvalid_q <= rst_ni && read_i;
    rdata_q <= in_table ? entry : in_pba ? pending_q : '0;
    if (in_table && addr_i[3]) rdata_q[63:32] <= {31'd0, masked_q[addr_i[9:4]]};
  end
  assign rvalid_o = rvalid_q;
  assign rdata_o = rdata_q;

  // ---------------------------------------------------------------- the next turn
  always_comb begin
    chosen = '0;
    for (int unsigned i = 0; i < 64; i++) if (grant_q[i]) chosen |= 6'(i);
  end

  always_ff @(posedge clk_i) begin
    ask_q <= pending_q & ~masked_q & {64{enable_i && !mask_i}};
    if (state_q == LOOK) turn_q <= (ask_q & behind_q) != '0 ? ask_q & behind_q : ask_q;
    grant_q <= turn_q & (~turn_q + 1'b1);
    if (state_q == CODE) vector_q <= chosen;
    if (state_q == ADDR && !read_i) dword_q <= entry[63:2];
    if (state_q == DATA && !read_i) data_q <= entry[31:0];
    if (!rst_ni || clear_i) begin
      state_q <= IDLE;
      behind_q <= '0;
      masked_q <= '1;
      pending_q <= '0;
    end else begin
      if (state_q == CODE) behind_q <= ~(grant_q | (grant_q - 1'b1));
      case (state_q)
        IDLE: if (ask_q != '0) state_q <= LOOK;
        LOOK: state_q <= ask_q == '0 ? IDLE : PICK;
        PICK: state_q <= CODE;
        CODE: state_q <= ADDR;
        ADDR: if (!read_i) state_q <= DATA;
        DATA: if (!read_i) state_q <= SEND;
        default: if (msg_ready_i || !msg_valid_o) state_q <= IDLE;
      endcase
      if (write_i && in_table && addr_i[3] && wstrb_i[4]) masked_q[addr_i[9:4]] <= wdata_i[32];
      if (msg_valid_o && msg_ready_i) pending_q[vector_q] <= 1'b0;
      if (valid_i) pending_q[vector_i] <= 1'b1;
    end
  end

  // A vector that has been masked meanwhile stays pending.
  assign msg_valid_o = state_q == SEND && pending_q[vector_q] && !masked_q[vector_q] && enable_i && !mask_i;
  assign msg_dword_o = dword_q;
  assign msg_data_o = data_q;
  wire unused_ok = &{1'b0, wstrb_i[7:5], wstrb_i[3:1], addr_i[2:0]};
endmodule
