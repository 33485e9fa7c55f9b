// SPDX-License-Identifier: BSD-2-Clause

/// Properties of an opcode. Combinational.
module dingo_admin_kind (
    input  logic [31:0] op_i,       // enum op
    output logic        known_o,
    output logic [31:0] needs_o,    // capabilities; all ones: not implemented
    output logic [7:0]  size_o,     // bytes of the command's structure
    output logic        halt_o      // the command needs the card at rest
);
  always_comb begin
    known_o = 1'b1;
    needs_o = '0;
    halt_o = 1'b0;
    size_o = 8'(dingo_pkg::CMD_DESTROY_BYTES);  // default for all structures of this size
    case (op_i)
      dingo_pkg::OP_NOP: size_o = 8'(dingo_pkg::ADMIN_HDR_BYTES);
      dingo_pkg::OP_QUERY_DEVICE: size_o = 8'(dingo_pkg::CMD_QUERY_DEVICE_BYTES);
      dingo_pkg::OP_QUERY_STATS: size_o = 8'(dingo_pkg::CMD_QUERY_STATS_BYTES);
      dingo_pkg::OP_QUERY_COMPUTE: needs_o = dingo_pkg::CAP_COMPUTE;
      dingo_pkg::OP_SET_COMPUTE: begin size_o = 8'(dingo_pkg::CMD_SET_COMPUTE_BYTES); needs_o = dingo_pkg::CAP_COMPUTE; end  // no halt: the QP cannot send, or receive, yet
      dingo_pkg::OP_SET_PORT: halt_o = 1'b1;
      dingo_pkg::OP_SET_MAC: begin size_o = 8'(dingo_pkg::CMD_SET_MAC_BYTES); halt_o = 1'b1; end
      dingo_pkg::OP_SET_GID: begin size_o = 8'(dingo_pkg::CMD_SET_GID_BYTES); halt_o = 1'b1; end
      dingo_pkg::OP_CREATE_EQ: size_o = 8'(dingo_pkg::CMD_CREATE_EQ_BYTES);
      dingo_pkg::OP_CREATE_CQ: size_o = 8'(dingo_pkg::CMD_CREATE_CQ_BYTES);
      dingo_pkg::OP_CREATE_MR: size_o = 8'(dingo_pkg::CMD_CREATE_MR_BYTES);
      dingo_pkg::OP_RESIZE_CQ: begin size_o = 8'(dingo_pkg::CMD_CREATE_CQ_BYTES); needs_o = dingo_pkg::CAP_RESIZE_CQ; halt_o = 1'b1; end
      dingo_pkg::OP_MODIFY_CQ: begin size_o = 8'(dingo_pkg::CMD_MODIFY_CQ_BYTES); needs_o = dingo_pkg::CAP_CQ_MODERATION; end
      dingo_pkg::OP_REREG_MR: begin size_o = 8'(dingo_pkg::CMD_CREATE_MR_BYTES); needs_o = dingo_pkg::CAP_REREG_MR; halt_o = 1'b1; end
      dingo_pkg::OP_PAUSE_MR: begin needs_o = dingo_pkg::CAP_PAUSE_MR; halt_o = 1'b1; end
      dingo_pkg::OP_DESTROY_EQ, dingo_pkg::OP_DESTROY_CQ, dingo_pkg::OP_DESTROY_MR, dingo_pkg::OP_DESTROY_QP: halt_o = 1'b1;
      dingo_pkg::OP_DESTROY_ETH: begin needs_o = dingo_pkg::CAP_ETH; halt_o = 1'b1; end
      dingo_pkg::OP_CREATE_QP: begin size_o = 8'(dingo_pkg::CMD_CREATE_QP_BYTES); halt_o = 1'b1; end
      dingo_pkg::OP_MODIFY_QP: begin size_o = 8'(dingo_pkg::CMD_MODIFY_QP_BYTES); halt_o = 1'b1; end
      dingo_pkg::OP_QUERY_QP: begin size_o = 8'(dingo_pkg::CMD_QUERY_QP_BYTES); halt_o = 1'b1; end
      dingo_pkg::OP_CREATE_SRQ: begin size_o = 8'(dingo_pkg::CMD_CREATE_SRQ_BYTES); needs_o = dingo_pkg::CAP_SRQ; end
      // The halt of MODIFY and QUERY completes all doorbells that were rung before.
      dingo_pkg::OP_DESTROY_SRQ, dingo_pkg::OP_MODIFY_SRQ, dingo_pkg::OP_QUERY_SRQ: begin needs_o = dingo_pkg::CAP_SRQ; halt_o = 1'b1; end
      dingo_pkg::OP_CREATE_ETH: begin size_o = 8'(dingo_pkg::CMD_CREATE_ETH_BYTES); needs_o = dingo_pkg::CAP_ETH; halt_o = 1'b1; end
      dingo_pkg::OP_SET_RSS: begin size_o = 8'(dingo_pkg::CMD_SET_RSS_BYTES); needs_o = dingo_pkg::CAP_ETH_RSS; halt_o = 1'b1; end
      dingo_pkg::OP_ATTACH_MCAST, dingo_pkg::OP_DETACH_MCAST: needs_o = '1;
      default: known_o = 1'b0;
    endcase
  end
endmodule
