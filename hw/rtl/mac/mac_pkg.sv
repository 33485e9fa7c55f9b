// SPDX-License-Identifier: BSD-2-Clause

/// Between the card and a MAC that has clocks of its own: beats, MAC control frames, counters.
package mac_pkg;
  localparam int unsigned BEAT_W = 578;            // of beat_t: Yosys has no $bits of a type

  typedef struct packed {
    logic         user;     // with last: the frame is void
    logic         last;
    logic [63:0]  keep;
    logic [511:0] data;     // byte i in bits 8*i+7:8*i
  } beat_t;

  // IEEE 802.3 annex 31A, 31D; IEEE 802.1Q clause 36
  localparam logic [15:0] TYPE_CONTROL = 16'h8808;
  localparam logic [15:0] OPCODE_PFC = 16'h0101;
  localparam logic [47:0] ADDRESS_PFC = 48'h01_80_C2_00_00_01;
  localparam logic [15:0] QUANTA_MOST = 16'hFFFF;
  localparam logic [15:0] TYPE_VLAN = 16'h8100;

  // Ends a frame whose rest is not there
  localparam beat_t VOID_END = {1'b1, 1'b1, ~64'd0, 512'd0};

  // What becomes of a frame that is being written
  typedef enum logic [1:0] {
    KEEP,
    NO_ROOM,
    BAD,
    LOST                    // the FIFO is being emptied
  } fate_e;

  // What a reader does while its FIFO is emptied
  typedef enum logic [1:0] {
    PASS,
    HELD,                   // the last beat of before waits
    FINISH                  // the frame needs an end
  } end_e;

  // Whose frame is on its way to the MAC
  typedef enum logic [1:0] {
    NOBODY,
    PFC,
    ROCE,
    ETHERNET
  } sender_e;

  typedef struct packed {
    logic [7:0]  enabled;   // classes that have PFC, both ways; none: it is off
    logic [2:0]  untagged;  // class of RoCE frames without a tag; with one it is their PCP
    logic [47:0] mac;       // source of PFC frames
  } cfg_t;

  // Since the device was configured
  typedef struct packed {
    logic        rx_high;       // the peer has been asked to pause
    logic        tx_paused;     // the peer asked for a pause, which lasts
    logic [31:0] tx_pauses;     // PFC frames sent that ask for a pause, or prolong it
    logic [31:0] rx_pauses;     // PFC frames received that do
    logic [31:0] rx_control;    // MAC control frames received
    logic [31:0] rx_lost;       // came while the FIFO was being emptied
    logic [31:0] rx_no_room;    // whole frames that found no room
    logic [31:0] rx_bad;        // the MAC found an error, too long, cut by a reset
    logic [31:0] tx_lost;       // met a link that is down, or came while the FIFOs were being emptied
    logic [31:0] tx_void;       // the card cut them short
  } status_t;
endpackage
