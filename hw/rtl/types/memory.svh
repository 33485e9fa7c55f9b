// SPDX-License-Identifier: BSD-2-Clause
//
// Beats of a stream; host memory: reads, writes, translation, and the clients' numbers.

  // ------------------------------------------------------------------------------------ streams
  // A frame, message or packet as beats. Byte k of the stream is bits 8k+7:8k of its beat. All beats
  // are full but the last one.
  typedef struct packed {
    logic         err;     // with last: the whole stream is unusable
    logic         last;
    logic [6:0]   bytes;   // 1..64; 64 unless last
    logic [511:0] data;
  } beat_t;

  // ------------------------------------------------------------------------------------ host memory
  // Place of a ring or region (contract: struct mem). Levels 0: its byte `off` is at addr + offset + off; else
  // addr is the page list.
  localparam logic [1:0] LEVELS_FRESH = 2'd3;       // one level, not cached: REG_MR may change the list at any time
  typedef struct packed {
    logic [1:0]  levels;
    logic [4:0]  shift;    // page size 2^shift, levels > 0
    logic [31:0] offset;
    logic [63:0] addr;
  } xmem_t;

  // Read of whole 64-byte lines, at most 8, not across a 4 KiB boundary.
  typedef struct packed {
    logic [3:0]  lines;    // 1..8
    logic [57:0] addr;     // bus address >> 6
  } rdl_req_t;
  typedef struct packed {
    logic         err;     // bus error: data is invalid
    logic         last;    // last line of the request
    logic [511:0] data;
  } rdl_rsp_t;

  // Clients of dingo_dma_lines, dingo_dma_read and dingo_dma_write
  localparam int unsigned LINE_ADMIN = 0;           // commands
  localparam int unsigned LINE_XL_TX = 1;           // page lists of payload that is sent
  localparam int unsigned LINE_XL_RX = 2;           // page lists of payload that is received
  localparam int unsigned LINE_XL_SQ = 3;           // page lists of send queues
  localparam int unsigned LINE_XL_RQ = 4;           // page lists of receive queues
  localparam int unsigned LINE_XL_CQ = 5;           // page lists of CQs
  localparam int unsigned LINE_XL_ETX = 6;          // page lists of Ethernet rings
  localparam int unsigned LINE_XL_ERX = 7;
  localparam int unsigned LINE_SQ = 8;              // WQEs
  localparam int unsigned LINE_RQ = 9;              // receive WQEs
  localparam int unsigned LINE_ETX = 10;            // Ethernet descriptors
  localparam int unsigned LINE_ERX = 11;
  localparam int unsigned LINE_XL_EQ = 12;          // page lists of EQs
  localparam int unsigned LINE_ATOMIC = 13;         // words of atomics
  localparam int unsigned LINES = 14;
  localparam int unsigned READ_TX = 0;              // payload
  localparam int unsigned READ_ETX = 1;             // Ethernet frames
  localparam int unsigned READS = 2;
  localparam int unsigned WRITE_RX = 0;             // payload
  localparam int unsigned WRITE_CQ = 1;             // CQEs
  localparam int unsigned WRITE_EQ = 2;             // EQEs
  localparam int unsigned WRITE_ADMIN = 3;          // command completions and answers
  localparam int unsigned WRITE_ERX = 4;            // Ethernet frames
  localparam int unsigned WRITES = 5;

  // Bytes of host memory, 1..4096, not across a 4 KiB boundary.
  typedef struct packed {
    logic [12:0] len;
    logic [63:0] addr;
  } dma_req_t;

  // Address translation: byte `off` of `mem`.
  typedef struct packed {
    logic [63:0] off;
    xmem_t       mem;
  } xl_req_t;
  typedef struct packed {
    logic        err;      // the page list could not be read
    logic [63:0] addr;     // bus address; valid up to the end of its 4 KiB page
  } xl_rsp_t;

  // A piece of payload in host memory, of any length.
  typedef struct packed {
    logic        last;     // the last one of its packet
    logic [31:0] len;      // bytes, not 0
    logic [63:0] off;
    xmem_t       mem;
  } seg_t;
