// SPDX-License-Identifier: BSD-2-Clause

/// Writes an answer to the host in writes of at most 64 bytes, none across a 4 KiB page: bytes of data_i, or counters,
/// read from dingo_stats eight at a time. One host access at a time.
module dingo_admin_out (
    input  logic                clk_i,
    input  logic                rst_ni,
    input  logic                start_i,        // one cycle: write the first len_i bytes of data_i (at most 128)
    input  logic                start_stats_i,  // one cycle: write len_i bytes of counters
    input  logic [63:0]         addr_i,
    input  logic [15:0]         len_i,          // not 0
    input  logic [1023:0]       data_i,
    output logic                done_o,         // one cycle: all is written, or a write failed
    output logic                err_o,          // with done_o: bus error
    // dingo_stats
    output logic                read_valid_o,
    input  logic                read_ready_i,
    output logic [5:0]          read_idx_o,
    input  logic                value_valid_i,
    input  logic [63:0]         value_i,
    // dingo_host
    output logic                write_valid_o,
    input  logic                write_ready_i,
    output rtl_pkg::dma_req_t   write_o,
    output logic                wdata_valid_o,
    input  logic                wdata_ready_i,
    output rtl_pkg::beat_t      wdata_o,
    input  logic                written_i,      // the write's response,
    input  logic                written_err_i   // with bus error
);
  typedef enum logic [2:0] {
    IDLE = 3'd0,
    STATS = 3'd1,    // read eight counters into data_q
    WRITE = 3'd2,    // request, then its data
    DATA = 3'd3,
    DONE = 3'd4
  } state_t;
  state_t state_q;
  logic [1023:0] data_q;
  logic [63:0] addr_q;
  logic [15:0] left_q, have_q;         // bytes still to write; bytes in data_q
  logic [6:0] stat_q;                  // next counter; counters from 64 on are not implemented and read as 0
  logic [2:0] fill_q;
  logic asked_q;

  logic [12:0] page_left;
  logic [15:0] most;
  logic [6:0] chunk;                   // bytes of the present write
  assign page_left = 13'd4096 - {1'b0, addr_q[11:0]};
  assign most = left_q < have_q ? left_q : have_q;
  assign chunk = page_left < 13'd64 && 16'(page_left) < most ? page_left[6:0] : most < 16'd64 ? most[6:0] : 7'd64;

  assign read_valid_o = state_q == STATS && !asked_q;
  assign read_idx_o = stat_q[5:0];
  assign write_valid_o = state_q == WRITE;
  assign write_o.len = 13'(chunk);
  assign write_o.addr = addr_q;
  assign wdata_valid_o = state_q == DATA;
  assign wdata_o.err = 1'b0;
  assign wdata_o.last = 1'b1;
  assign wdata_o.bytes = chunk;
  assign wdata_o.data = data_q[511:0];
  assign done_o = state_q == DONE && written_i && (written_err_i || left_q == 16'(chunk));
  assign err_o = written_err_i;

  always_ff @(posedge clk_i) begin
    case (state_q)
      STATS: begin
        if (read_valid_o && read_ready_i) asked_q <= 1'b1;
        if (value_valid_i) begin
          data_q[511:0] <= {stat_q[6] ? 64'd0 : value_i, data_q[511:64]};
          asked_q <= 1'b0;
          stat_q <= stat_q + 1'b1;
          fill_q <= fill_q + 1'b1;
          if (fill_q == '1) begin
            have_q <= 16'd64;
            state_q <= WRITE;
          end
        end
      end
      WRITE: if (write_ready_i) state_q <= DATA;
      DATA: if (wdata_ready_i) state_q <= DONE;
      DONE:
      if (written_i) begin
        addr_q <= addr_q + 64'(chunk);
        left_q <= left_q - 16'(chunk);
        have_q <= have_q - 16'(chunk);
        data_q <= data_q >> {chunk, 3'd0};
        if (done_o) state_q <= IDLE;
        else state_q <= have_q == 16'(chunk) ? STATS : WRITE;
      end
      default: ;
    endcase
    if (start_i || start_stats_i) begin
      addr_q <= addr_i;
      left_q <= len_i;
      stat_q <= '0;
      fill_q <= '0;
      asked_q <= 1'b0;
      state_q <= start_stats_i ? STATS : WRITE;
    end
    if (start_i) begin
      data_q <= data_i;
      have_q <= 16'd128;
    end
    if (!rst_ni) state_q <= IDLE;
  end
endmodule
