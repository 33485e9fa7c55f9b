// SPDX-License-Identifier: BSD-2-Clause

/// Types and constants of the adapter to a MAC with clocks of its own: beats, MAC control frames, counters.
package mac_pkg;
  localparam int unsigned BEAT_W = 578;            // bits of beat_t: Yosys has no $bits of a type

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

  // Ends a frame whose rest is lost
  localparam beat_t VOID_END = {1'b1, 1'b1, ~64'd0, 512'd0};

  // What happens to a frame that is being written
  typedef enum logic [1:0] {
    KEEP,
    NO_ROOM,
    BAD,
    LOST                    // the FIFO is being emptied
  } fate_e;

  // What a reader does while its FIFO is emptied
  typedef enum logic [1:0] {
    PASS,
    HELD,                   // the beat at the FIFO's output waits to be taken
    FINISH                  // the frame needs a VOID_END
  } end_e;

  // Source of the frame that the MAC takes
  typedef enum logic [1:0] {
    NOBODY,
    PFC,
    ROCE,
    ETHERNET
  } sender_e;

  typedef struct packed {
    logic [7:0]  enabled;   // classes that have PFC, both ways; 0: PFC is off
    logic [2:0]  untagged;  // class of untagged RoCE frames; tagged ones have their PCP
    logic [47:0] mac;       // source address of PFC frames
  } cfg_t;

  // Levels, and counters since the device was configured
  typedef struct packed {
    logic        rx_high;       // the peer has been asked to pause
    logic        tx_paused;     // a pause that the peer asked for lasts
    logic [31:0] tx_pauses;     // PFC frames sent that begin or prolong a pause
    logic [31:0] rx_pauses;     // PFC frames received that begin or prolong a pause
    logic [31:0] rx_control;    // MAC control frames received
    logic [31:0] rx_lost;       // frames that came while the FIFO was being emptied
    logic [31:0] rx_no_room;    // whole frames that found no room
    logic [31:0] rx_bad;        // frames with an error of the MAC, too long, or cut by a reset
    logic [31:0] tx_lost;       // frames dropped: no link, paused, or FIFOs being emptied
    logic [31:0] tx_void;       // frames that the card cut short
  } status_t;
endpackage
