// SPDX-License-Identifier: BSD-2-Clause

/// Completions from the core to lines of the reorder buffer. Reads request whole lines, and completions end at a read
/// completion boundary (64 or 128 bytes) or with the request (PCIe base specification, 2.3.1.1). So each packet has
/// whole lines, three dwords behind their place in a beat; a read that gets another one fails. 2 cycles, then a line
/// a beat; never stalls, as each read has its slot.
module dingo_pcie_rc (
    input  logic           clk_i,
    input  logic           rst_ni,
    input  logic           tvalid_i,
    input  logic [511:0]   tdata_i,
    input  logic           tlast_i,
    input  logic           discontinue_i,   // with tlast: the packet is invalid
    output pcie_pkg::tag_t tag_o,           // len_i is of this tag, in the same cycle
    input  pcie_pkg::pos_t len_i,           // lines - 1
    output logic           we_o,
    output logic [pcie_pkg::TAG_LOG+pcie_pkg::SLOT_LOG-1:0] waddr_o,
    output logic [511:0]   wdata_o,
    output logic           done_o,          // the read of done_tag_o is complete, failed or not
    output logic           fail_o,          // the read of done_tag_o has failed
    output pcie_pkg::tag_t done_tag_o
);
  // ---------------------------------------------------------------- the beat, in registers
  logic begin_q, beat_q, first_q, last_q, void_q;
  logic [511:0] data_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      begin_q <= 1'b1;
      beat_q <= 1'b0;
    end else begin
      beat_q <= tvalid_i;
      if (tvalid_i) begin_q <= tlast_i;
    end
    if (tvalid_i) begin
      data_q <= tdata_i;
      first_q <= begin_q;
      last_q <= tlast_i;
      void_q <= discontinue_i;
    end
  end

  // ---------------------------------------------------------------- its packet
  pcie_pkg::rc_t head;
  logic [6:0] owed;              // lines that the request still lacks
  logic [3:0] all;
  logic nobodys, bad;
  logic known_q, good_q, ends_q, known, good, ends;
  pcie_pkg::tag_t packet_tag_q;
  pcie_pkg::pos_t pos_q;
  logic [415:0] hold_q;          // first 13 dwords of a line, from the beat before

  assign head = data_q[95:0];
  assign tag_o = head.tag;
  assign owed = head.bytes[12:6];
  assign all = {1'b0, len_i} + 4'd1;
  assign nobodys = head.error == pcie_pkg::ERROR_MISMATCH || head.error == pcie_pkg::ERROR_TAG;
  assign bad = head.error != pcie_pkg::ERROR_NONE || head.poisoned || head.status != pcie_pkg::STATUS_SC ||
               head.bytes[5:0] != '0 || owed > {3'b0, all} || owed == '0 || head.dwords[3:0] != '0 ||
               head.dwords[10:4] == '0 || head.dwords[10:4] > owed || head.completed != (head.dwords[10:4] == owed);
  assign known = first_q ? !nobodys : known_q;
  assign good = first_q ? !bad : good_q;
  assign ends = first_q ? head.completed : ends_q;

  always_ff @(posedge clk_i) begin
    if (beat_q) begin
      hold_q <= data_q[511:96];
      pos_q <= pos_q + 1'b1;
      if (first_q) begin
        known_q <= !nobodys;
        good_q <= !bad;
        ends_q <= head.completed;
        packet_tag_q <= head.tag;
        pos_q <= 3'(all - owed[3:0]);
      end
    end
  end

  // ---------------------------------------------------------------- a line, and the end
  logic we_q, done_q, fail_q;
  logic [pcie_pkg::TAG_LOG+pcie_pkg::SLOT_LOG-1:0] waddr_q;
  logic [511:0] wdata_q;
  pcie_pkg::tag_t done_tag_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      we_q <= 1'b0;
      done_q <= 1'b0;
      fail_q <= 1'b0;
    end else begin
      we_q <= beat_q && !first_q && known_q && good_q;
      done_q <= beat_q && last_q && known && ends;
      fail_q <= beat_q && last_q && known && (!good || void_q);
    end
    waddr_q <= {packet_tag_q, pos_q};
    wdata_q <= {data_q[95:0], hold_q};
    done_tag_q <= first_q ? head.tag : packet_tag_q;
  end
  assign we_o = we_q;
  assign waddr_o = waddr_q;
  assign wdata_o = wdata_q;
  assign done_o = done_q;
  assign fail_o = fail_q;
  assign done_tag_o = done_tag_q;

  wire unused_ok = &{1'b0, head.reserved0, head.reserved1, head.reserved2, head.reserved3, head.attr, head.tc,
                     head.completer, head.requester, head.locked, head.lower};
endmodule
