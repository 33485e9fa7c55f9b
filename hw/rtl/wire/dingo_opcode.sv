// SPDX-License-Identifier: BSD-2-Clause

/// Which extension headers follow a BTH of this opcode (InfiniBand specification, 9.2.1; CNP: annex A17), and whether
/// the opcode is known: all of RC, UC, UD and CNP are. Which ones a QP accepts is decided behind the parser.
/// Combinational.
module dingo_opcode (
    input  logic [7:0] opcode_i,
    output logic       known_o,
    output logic       deth_o,
    output logic       reth_o,
    output logic       aeth_o,
    output logic       atomic_o,         // AtomicETH
    output logic       atomic_ack_o,     // AtomicAckETH: the original word, behind the AETH
    output logic       imm_o,            // ImmDt or IETH (key to invalidate)
    output logic [6:0] header_bytes_o    // bytes of BTH and all extension headers
);
  logic       rc, uc, ud, cnp;
  logic [4:0] op;

  assign op = opcode_i[4:0];
  assign rc = opcode_i[7:5] == roce_pkg::TRANSPORT_RC && op <= roce_pkg::OP_SEND_ONLY_INV && op != roce_pkg::OP_RESERVED;
  assign uc = opcode_i[7:5] == roce_pkg::TRANSPORT_UC && op <= roce_pkg::OP_WRITE_ONLY_IMM;
  assign ud = opcode_i == roce_pkg::UD_SEND || opcode_i == roce_pkg::UD_SEND_IMM;
  assign cnp = opcode_i == roce_pkg::CNP;
  assign known_o = rc || uc || ud || cnp;

  always_comb begin
    deth_o = ud;
    reth_o = (rc || uc) && (op == roce_pkg::OP_WRITE_FIRST || op == roce_pkg::OP_WRITE_ONLY ||
                            op == roce_pkg::OP_WRITE_ONLY_IMM || (rc && op == roce_pkg::OP_READ_REQUEST));
    // READ response middle packets have no AETH
    aeth_o = rc && (op == roce_pkg::OP_READ_FIRST || (op >= roce_pkg::OP_READ_LAST && op <= roce_pkg::OP_ATOMIC_ACK));
    atomic_ack_o = rc && op == roce_pkg::OP_ATOMIC_ACK;
    atomic_o = rc && (op == roce_pkg::OP_COMPARE_SWAP || op == roce_pkg::OP_FETCH_ADD);
    imm_o = ((rc || uc) && (op == roce_pkg::OP_SEND_LAST_IMM || op == roce_pkg::OP_SEND_ONLY_IMM ||
                            op == roce_pkg::OP_WRITE_LAST_IMM || op == roce_pkg::OP_WRITE_ONLY_IMM)) ||
            (rc && op >= roce_pkg::OP_SEND_LAST_INV) || (ud && opcode_i[0]);
    header_bytes_o = 7'd12 + (deth_o ? 7'd8 : 7'd0) + (reth_o || cnp ? 7'd16 : 7'd0) +
                     (aeth_o || imm_o ? 7'd4 : 7'd0) +
                     (atomic_o ? 7'd28 : 7'd0) + (atomic_ack_o ? 7'd8 : 7'd0);
  end
endmodule
