// SPDX-License-Identifier: BSD-2-Clause

/// Layouts of AMD's UltraScale+ PCIe block (PCIE4, PCIE4C; PG213) on its 512-bit streams: descriptors, DW-aligned, no
/// straddle. docs/reference/rtl/pcie.md names the source of each field.
package pcie_pkg;
  // At most 256 reads are outstanding; each has a slot of 8 lines of 64 bytes in the reorder buffer.
  localparam int unsigned TAG_LOG = 8;
  localparam int unsigned SLOT_LOG = 3;
  localparam int unsigned SMALL_TAG_LOG = 5;  // without extended tags: 32
  localparam int unsigned ID_W = 7;           // ARID of the card
  localparam int unsigned RQ_USER_W = 137;
  localparam int unsigned RC_USER_W = 161;
  localparam int unsigned CQ_USER_W = 183;
  localparam int unsigned CC_USER_W = 81;

  typedef logic [TAG_LOG-1:0] tag_t;
  typedef logic [SLOT_LOG-1:0] pos_t;  // number of a line in a slot

  localparam logic [3:0] MEM_READ = 4'd0;
  localparam logic [3:0] MEM_WRITE = 4'd1;
  localparam logic [3:0] MEM_READ_LOCKED = 4'd7;
  localparam logic [3:0] FIRST_MESSAGE = 4'd12;  // 12 to 15 are messages, which are posted

  localparam logic [2:0] STATUS_SC = 3'd0;
  localparam logic [2:0] STATUS_UR = 3'd1;

  localparam logic [3:0] ERROR_NONE = 4'd0;
  localparam logic [3:0] ERROR_MISMATCH = 4'd4;  // of another requester: the tag's own completion still comes
  localparam logic [3:0] ERROR_TAG = 4'd6;       // the tag is not in use

  typedef struct packed {
    logic        force_ecrc;
    logic [2:0]  attr;
    logic [2:0]  tc;
    logic        requester_en;   // 0: the core fills in the requester ID
    logic [15:0] completer;
    logic [7:0]  tag;
    logic [15:0] requester;
    logic        poisoned;
    logic [3:0]  kind;
    logic [10:0] dwords;
    logic [61:0] dword;          // address / 4
    logic [1:0]  at;
  } rq_t;

  typedef struct packed {
    logic        reserved3;
    logic [2:0]  attr;
    logic [2:0]  tc;
    logic        reserved2;
    logic [15:0] completer;
    logic [7:0]  tag;
    logic [15:0] requester;
    logic        reserved1;
    logic        poisoned;
    logic [2:0]  status;
    logic [10:0] dwords;         // of this packet
    logic        reserved0;
    logic        completed;      // last packet of this tag
    logic        locked;
    logic [12:0] bytes;          // bytes that the request still lacks, this packet's included
    logic [3:0]  error;
    logic [11:0] lower;
  } rc_t;

  typedef struct packed {
    logic        reserved1;
    logic [2:0]  attr;
    logic [2:0]  tc;
    logic [5:0]  aperture;       // log2 of the BAR's bytes
    logic [2:0]  bar;
    logic [7:0]  target;         // function
    logic [7:0]  tag;
    logic [15:0] requester;
    logic        reserved0;
    logic [3:0]  kind;
    logic [10:0] dwords;
    logic [61:0] dword;
    logic [1:0]  at;
  } cq_t;

  typedef struct packed {
    logic        force_ecrc;
    logic [2:0]  attr;
    logic [2:0]  tc;
    logic        completer_en;   // 0: the core fills in the bus number
    logic [15:0] completer;      // bus, function
    logic [7:0]  tag;
    logic [15:0] requester;
    logic        reserved3;
    logic        poisoned;
    logic [2:0]  status;
    logic [10:0] dwords;
    logic [1:0]  reserved2;
    logic        locked;
    logic [12:0] bytes;
    logic [5:0]  reserved1;
    logic [1:0]  at;
    logic        reserved0;
    logic [6:0]  lower;
  } cc_t;

  /// A read request on its way to the core
  typedef struct packed {
    tag_t        tag;
    pos_t        len;            // lines - 1
    logic [57:0] line;
  } mrd_t;
  localparam int unsigned MRD_W = 69;

  /// A write of at most one payload, whose bytes have no gap
  typedef struct packed {
    logic        answer;         // it ends its burst, which is answered then
    logic        empty;          // no byte is enabled: no TLP
    logic [3:0]  beats;          // lines that it touches
    logic [7:0]  dwords;
    logic [3:0]  first_be;
    logic [3:0]  last_be;
    logic [3:0]  start;          // first dword in its first line
    logic [57:0] line;
  } mwr_t;
  localparam int unsigned MWR_W = 84;

  /// A beat of the requester stream.
  typedef struct packed {
    logic         first;
    logic         last;
    logic [3:0]   first_be;      // of the packet, valid with its first beat
    logic [3:0]   last_be;
    logic [3:0]   end_dword;     // last dword used in this beat
    logic [511:0] data;
  } rqbeat_t;
  localparam int unsigned RQBEAT_W = 526;

  /// tkeep of a beat with dwords 0 to n
  function automatic logic [15:0] keep(input logic [3:0] n);
    keep = 16'hffff >> (4'd15 - n);
  endfunction
endpackage
