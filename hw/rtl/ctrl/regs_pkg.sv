// SPDX-License-Identifier: BSD-2-Clause
//
// Types inside dingo_regs.

package regs_pkg;
  typedef struct packed {          // a write of half a 64-bit register
    logic        valid;
    logic        bad;              // invalid byte lanes or address
    logic [15:0] offset;
    logic [31:0] data;
  } step_t;
  typedef struct packed {          // read values of the admin queue's registers
    logic [63:0] asq_base;
    logic [63:0] acq_base;
    logic        enable;
    logic [3:0]  log_depth;
    logic [31:0] fatal;            // enum fatal
    logic [31:0] resets;
  } aq_t;
endpackage
