// SPDX-License-Identifier: BSD-2-Clause

/// What a BTH opcode means on the wire: known or not, and which extension headers follow the BTH. The
/// table holds all opcodes of RC, UC, UD and CNP: which ones a QP takes is decided behind the parser.
module dingo_opcode (
    input  logic [7:0] opcode_i,
    output logic       known_o,
    output logic       deth_o,
    output logic       reth_o,
    output logic       aeth_o,
    output logic       imm_o,            // immediate data, or the key to invalidate
    output logic [6:0] header_bytes_o    // BTH and all extension headers
);
  logic       rc, uc, ud, cnp, atomic, atomic_ack;
  logic [4:0] op;

  assign op = opcode_i[4:0];
  assign rc = opcode_i[7:5] == 3'b000 && op <= 5'h17 && op != 5'h15;
  assign uc = opcode_i[7:5] == 3'b001 && op <= 5'h0b;
  assign ud = opcode_i == 8'h64 || opcode_i == 8'h65;
  assign cnp = opcode_i == 8'h81;
  assign known_o = rc || uc || ud || cnp;

  always_comb begin
    deth_o = ud;
    // WRITE_FIRST, WRITE_ONLY, WRITE_ONLY_IMM, READ_REQUEST
    reth_o = (rc || uc) && (op == 5'h06 || op == 5'h0a || op == 5'h0b || (rc && op == 5'h0c));
    // READ_RESPONSE_FIRST, _LAST, _ONLY, ACK, ATOMIC_ACK
    aeth_o = rc && (op == 5'h0d || (op >= 5'h0f && op <= 5'h12));
    atomic_ack = rc && op == 5'h12;
    atomic = rc && (op == 5'h13 || op == 5'h14);
    // ..._LAST_IMM, ..._ONLY_IMM; SEND_LAST_INV, SEND_ONLY_INV
    imm_o = ((rc || uc) && (op == 5'h03 || op == 5'h05 || op == 5'h09 || op == 5'h0b)) ||
            (rc && op >= 5'h16) || (ud && opcode_i[0]);
    header_bytes_o = 7'd12 + (deth_o ? 7'd8 : 7'd0) + (reth_o || cnp ? 7'd16 : 7'd0) +
                     (aeth_o || imm_o ? 7'd4 : 7'd0) +
                     (atomic ? 7'd28 : 7'd0) + (atomic_ack ? 7'd8 : 7'd0);
  end
endmodule
