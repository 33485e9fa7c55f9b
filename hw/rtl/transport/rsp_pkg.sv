// SPDX-License-Identifier: BSD-2-Clause
//
// Types that the modules of the responder share: the context of a QP, the item that follows a packet through
// dingo_scatter, and a READ that is being answered or may be repeated.

package rsp_pkg;

  // Kind of the message in progress
  typedef enum logic [1:0] {
    MSG_NONE = 2'd0,
    MSG_SEND = 2'd1,
    MSG_WRITE = 2'd2
  } message_t;

  // Kind of the responder's current step
  typedef enum logic [3:0] {
    STEP_COMMIT = 4'd0,            // an item came back from dingo_scatter
    STEP_CQ_FAIL = 4'd1,           // the receive CQ failed
    STEP_FAIL = 4'd2,              // the requester moved the QP to ERR
    STEP_TXERR = 4'd3,             // report: the payload of a READ response could not be read
    STEP_DB = 4'd4,                // a doorbell of the RQ
    STEP_QPA = 4'd5,               // a command about the QP
    STEP_TURN = 4'd6,              // READ responses, ACK or NAK, flush
    STEP_RXP = 4'd7,               // a packet
    STEP_SRQ_DB = 4'd8,            // a doorbell of an SRQ; the SRQ's number is in place of the QP's
    STEP_SRQA = 4'd9,              // a command about an SRQ; number as for STEP_SRQ_DB
    STEP_RESUME = 4'd10            // a paused region may have been resumed: READ responses that wait go on
  } step_t;

  localparam int unsigned GRH_BYTES = 40;

  /// Context of a QP. `p1` fields belong to phase 1 (packets), `p2` fields to phase 2 (commits) and turns.
  typedef struct packed {
    logic [5:0]  gen;              // generation of packets and their reports (rtl_pkg::gen_t)
    logic        queued;           // is in the queue for turns
    logic        err;              // the QP is in ERR: flush
    logic        failed;           // p1: a fatal NAK will be sent; no more requests are accepted
    logic        fatal;            // p2: the pending reply is a fatal NAK, or one has left
    logic        dead;             // p2: a packet failed; items after its item are void
    logic        comm_est;         // p1: event COMM_EST was raised
    logic        nak_sent;         // p1: sequence or RNR NAK sent; no further NAK until the expected packet arrives
    logic        rnr_sent;         // p1: that was an RNR NAK: later PSNs are not a gap
    message_t    message;          // p1
    logic [7:0]  items;            // number of packets whose items have not come back
    logic [23:0] exp_psn;          // p1
    logic [23:0] msn;              // p2
    logic        reply_pending;    // p2: an ACK or NAK is owed, after all READ responses
    logic [1:0]  waited;           // p2: short packets whose ACK waits for that of a later packet
    logic [7:0]  reply_syn;
    logic [23:0] reply_psn;
    logic [31:0] write_rkey;       // p1: WRITE in progress
    logic [63:0] write_va;         // p1: address of its next packet
    logic [31:0] remaining;        // p1: WRITE: bytes still to be received
    logic [31:0] bytes;            // p1: SEND: bytes received; WRITE: length of the message
    logic [31:0] rq_prod;          // with an SRQ: the SRQ's, valid only during a step of the QP
    logic [31:0] rq_cons;          // p1
    logic        open;             // p2: an entry of an SRQ was taken and not completed; its tag is held_tag
    logic        last_wqe;         // event QP_LAST_WQE was raised
    logic        held;             // p1: the fields below describe the receive WQE of the message in progress
    logic [31:0] held_index;
    logic [31:0] held_tag;
    logic [35:0] held_cap;         // capacity: bytes of all its SGEs
    logic [3:0]  held_nsge;
    logic [3:0]  held_sge;         // destination of the next byte: SGE ...
    logic [31:0] held_off;         // ... and offset in it
    logic [4:0]  rd_inflight;      // p1: accepted READs and atomics whose items have not come back
    logic [3:0]  rd_take;          // p1: slot for the next READ or atomic that arrives
    logic [3:0]  rd_next;          // p2: slot for the next READ or atomic whose item comes back
    logic [15:0] rd_used;          // p2: slots that were ever used
    logic [15:0] rd_pending;       // p2: slots with packets to send
    logic [15:0] rd_answered;      // p2: slots that were answered in full once; pending ones are repetitions
    logic        rd_refused;       // p2: the oldest pending one waits for a paused region, and an RNR NAK has left for it
  } rctx_t;
  localparam int unsigned RCTX_W = 536;

  typedef enum logic [2:0] {
    IT_DATA = 3'd0,                // SEND, WRITE, datagram: payload is in memory
    IT_READ = 3'd1,                // READ, or an atomic that is done
    IT_DUP_ACK = 3'd2,             // repeated SEND or WRITE
    IT_DUP_READ = 3'd3,            // repeated READ or atomic
    IT_SEQ = 3'd4,                 // PSN gap
    IT_RNR = 3'd5,
    IT_NAK = 3'd6,                 // fatal NAK
    IT_SILENT_FAIL = 3'd7          // the receive WQE of a QP without NAKs (UC, UD) failed
  } kind_t;

  /// A packet's data for phase 2; rtl_pkg::ITEM_BITS wide.
  typedef struct packed {
    // A READ of one packet has the location of its bytes here instead, from bit ITEM_PLACE on.
    logic [41:0] rsvd;
    logic [31:0] imm;
    logic [7:0]  opcode;           // enum wc
    logic [7:0]  flags;            // of the CQE
    logic [31:0] src_qpn;
    logic [15:0] vlan;
    logic [7:0]  status;           // enum wcs, of a failed receive
    logic [7:0]  verr;
    logic [7:0]  syn;              // RNR, NAK: syndrome
    logic [7:0]  ev;               // NAK: event, 0 none
    // all packets
    logic        single;           // READ, atomic: its response is one packet and can be sent with the item's step
    kind_t       kind;
    logic [15:0] qp;
    logic [23:0] psn;
    logic        silent;           // no ACK, no NAK: UC, UD
    logic        write;
    logic        first;            // DATA: first packet of a message, counted as a request
    logic        last;             // DATA: ends a message of a connected QP
    logic        ack;              // the packet requests an ACK
    logic        took;             // the packet took an entry of an SRQ
    logic        cqe;              // DATA: completes a receive WQE; NAK, SILENT_FAIL: fails one
    logic        nak_sent;         // DUP_ACK: ctx.nak_sent when the packet arrived
    logic        atomic;           // READ, DUP_READ
    logic        scattered;        // NAK, SILENT_FAIL: some of its payload was ordered
    logic [31:0] rq_after;         // rq_cons when this packet fails
    logic [31:0] tag;              // of the receive WQE; READ: rkey
    logic [31:0] bytes;            // of the message; READ: length
    logic [63:0] va;               // READ
  } item_t;
  localparam int unsigned ITEM_PLACE = 214;  // lowest bit of offset and memory in the item of a READ of one packet
  localparam int unsigned PLACE_W = 167;

  /// Report of a part of the responder: counters, event, completion; each stays until its `ready`.
  typedef struct packed {
    logic        stat;
    logic [5:0]  stat_idx;
    logic        qstat;
    logic [3:0]  qstat_idx;
    logic        ev;
    logic [7:0]  ev_kind;
    logic        cqe;              // status SUCCESS: the other fields come from the item that came back
    logic [7:0]  cqe_status;
    logic [7:0]  cqe_verr;
    logic [31:0] cqe_tag;
  } emit_t;
  localparam int unsigned EMIT_W = 70;
  typedef struct packed {
    logic stat;
    logic qstat;
    logic ev;
    logic cqe;
  } emit_ready_t;

  // Constructor of an emit_t: a receive WQE completes in error, counted for the card and for the QP
  function automatic logic [EMIT_W-1:0] emit_failure(input logic [5:0] stat_idx, input logic [3:0] qstat_idx, input logic [7:0] status,
                                               input logic [7:0] verr, input logic [31:0] tag);
    emit_failure = {1'b1, stat_idx, 1'b1, qstat_idx, 1'b0, 8'd0, 1'b1, status, verr, tag};
  endfunction

  // ------------------------------------------------------------------------------------ phase 1 of a packet
  /// A request's headers, alone and against the responder's context; see dingo_rsp_check.
  typedef struct packed {
    logic        rc;               // kind of the QP
    logic        uc;
    logic        ud;               // UD or GSI: a datagram
    logic        send;             // operation
    logic        write;
    logic        read;
    logic        atomic;
    logic        fetch;            // READ or atomic
    logic        first;            // first packet of its message
    logic        last;
    logic        imm;              // with immediate data
    logic        inv;              // with a key to invalidate
    logic        duplicate;        // PSN before the expected one
    logic        ahead;            // PSN behind the expected one
    logic        order_ok;         // the opcode follows the message in progress
    logic        valid_ok;         // the QP's access flags allow the operation
    logic        takes_rq;         // needs a receive WQE
    logic        rd_ok;            // READ, atomic: its slot is free
    logic        rd_cancel;        // its slot holds a repetition, which ends
    logic [3:0]  rd_slot;
    logic        fits;             // payload length agrees with PMTU and message length
  } request_t;

  typedef enum logic [3:0] {
    RX_IDLE = 4'd0,
    RX_CHECK = 4'd1,               // dingo_rsp_admit: PSN, opcode, state of the QP
    RX_OPEN = 4'd2,                // dingo_rsp_buffer: waits for the receive WQE
    RX_LENGTH = 4'd3,              // dingo_rsp_buffer
    RX_KEY = 4'd4,                 // the key is looked up
    RX_KEY_WAIT = 4'd5,
    RX_GRH = 4'd6,                 // datagram: order for the GRH in front of its payload
    RX_SCATTER = 4'd7,             // orders for the pieces of a receive WQE
    RX_DONE = 4'd8,                // dingo_rsp_accept: all orders for its payload are given
    RX_END = 4'd9,                 // order SCAT_END with the item
    RX_UC = 4'd10,                 // dingo_rsp_admit: does it begin or continue a message?
    RX_TAKE = 4'd11,               // dingo_rsp_buffer: UC takes its receive WQE after all checks
    RX_DROP = 4'd12,               // dingo_rsp_buffer: UC message ends; the next one gets its receive WQE
    RX_INV = 4'd13,                // the key is invalidated after all orders that were granted through it
    RX_PAUSED = 4'd14              // a region is paused: as if the packet had not come
  } rx_state_t;

  /// Registers of dingo_rsp_receive while a packet is in work
  typedef struct packed {
    rx_state_t   state;
    rctx_t       c;
    item_t       item;
    logic        no_item;          // no item comes back: nothing follows the packet
    logic        taken;            // it took a receive WQE
    logic        bus;              // its receive WQE could not be read
    logic        open;             // one cycle, to dingo_rsp_rq: the receive WQE is wanted
    logic        scatter;          // one cycle: the pieces of the receive WQE are wanted
  } rx_t;

  // ------------------------------------------------------------------------------------ ends of steps, tables
  // How a part's step ends
  typedef enum logic [1:0] {
    EXIT_STORE = 2'd0,
    EXIT_NAK = 2'd1,               // the QP gets a fatal NAK to send
    EXIT_ERR = 2'd2                // the QP goes to ERR
  } exit_t;
  typedef struct packed {
    logic [7:0]  syn;
    logic [7:0]  ev;               // event, 0 none
    logic [23:0] psn;
  } nak_t;

  // Where the step in work is; see dingo_rsp_step.
  typedef enum logic [3:0] {
    ST_INIT = 4'd0,                // memories are cleared after reset
    ST_IDLE = 4'd1,
    ST_LOAD = 4'd2,                // context and QP come from their memories
    ST_PART = 4'd3,                // dingo_rsp_work has it
    ST_EVENT = 4'd4,               // dingo_rsp_event, and in the next two states
    ST_NAK = 4'd5,                 // the QP gets its fatal NAK
    ST_ENTER_ERR = 4'd6,
    ST_STORE = 4'd7,               // the context goes back
    ST_SRQ = 4'd8,                 // the state of an SRQ has come
    ST_SRQ_DONE = 4'd9             // and goes back
  } state_t;

  /// The step in work: registers of dingo_rsp_step
  typedef struct packed {
    state_t      state;
    step_t       step;
    rctx_t       c;                // the context, while no part has it
    logic        loading;          // its context and QP are loaded in this cycle
    item_t       item;             // STEP_COMMIT
    logic        item_err;
    logic [63:0] item_word;        // result of an atomic
    logic        again;            // STEP_TURN: the turn was cut short
    logic        rx_send;          // STEP_RXP: a SEND of one packet
    item_t       cqe_item;         // of the plain step before: its completion is this one's, or (put) its READ or atomic
    logic        put;              // one cycle: the plain step before puts a READ or atomic into its slot
    logic [3:0]  put_slot;
    logic [63:0] put_word;         // result of an atomic
  } now_t;

  /// What dingo_rsp_quick does in the cycle in which a plain step is loaded; all 0 for other steps.
  typedef struct packed {
    logic        any;              // the step is plain
    logic        rx;               // a packet
    logic        read;             // rx: a READ
    logic        atomic;           // rx: an atomic
    logic        reply;            // an ACK or NAK leaves
    logic        data;             // a response to a READ or atomic leaves
    item_t       item;             // rx
    logic [31:0] offset;           // rx: of the payload in its message
  } quick_t;

  /// How the part that works ends its step; see dingo_rsp_work
  typedef struct packed {
    logic        done;             // the rest counts
    rctx_t       ctx;              // also while it works
    exit_t       leave;
    nak_t        nak;              // EXIT_NAK
    logic        wake;             // the QP wants a turn
    logic        again;            // with wake: this turn was cut short
    logic        prefetch;         // the receive queue moved on
  } part_t;

  /// What dingo_rsp_wqe found out of a receive WQE
  typedef struct packed {
    logic        bad;              // OPEN: not a WQE; SCATTER: verr says why
    logic        bus;              // the WQE could not be read
    logic        paused;           // SCATTER: bad only because a region is paused
    logic [7:0]  verr;
    logic [31:0] tag;              // OPEN
    logic [3:0]  nsge;
    logic [35:0] cap;              // capacity: bytes of all its SGEs
    logic [3:0]  sge;              // SCATTER: destination of the next byte
    logic [31:0] off;
  } rwqe_t;

  /// State of an SRQ
  typedef struct packed {
    logic        error;            // an entry could not be read: the SRQ gives out no more entries
    logic [3:0]  log_size;         // log2 of the number of entries
    logic [15:0] limit;            // event SRQ_LIMIT below so many entries; 0: no event
    logic [31:0] prod;
    logic [31:0] cons;
  } srq_t;
  localparam int unsigned SRQ_W = 85;

  /// Look-up of dingo_rsp_ahead in dingo_rq_cache: an entry of a receive queue
  typedef struct packed {
    logic [15:0] qp;
    logic [31:0] index;
    logic [3:0]  log_stride;       // 5..8
    logic        pairs;            // a line holds two entries
  } look_t;

  /// Result of dingo_rsp_ahead for a SEND of one packet
  typedef struct packed {
    logic        good;             // the WQE has one SGE that is long enough, and the SGE's key is being looked up
    logic [31:0] index;            // of the WQE, free running
    logic [31:0] tag;
  } ahead_t;
  localparam int unsigned AHEAD_W = 65;

  /// A READ or atomic that the peer may repeat, and the state of its response.
  typedef struct packed {
    logic        atomic;
    logic [63:0] va;               // atomic: the word before the operation
    logic [31:0] rkey;
    logic [31:0] length;
    logic [23:0] first_psn;
    logic [23:0] packets;
    logic [23:0] msn;
    logic [23:0] start;            // first packet of the current response, counted from first_psn
    logic [23:0] next;             // packet to send next
    logic [23:0] stop;             // 1 + last packet of the current response
    logic [31:0] finish;           // end of the current response, in bytes from the READ's start
  } rres_t;
  localparam int unsigned RRES_W = 305;

  // The next slot after this one, of `slots`
  function automatic logic [3:0] rd_behind(input logic [3:0] slot, input logic [7:0] slots);
    rd_behind = {4'd0, slot} + 8'd1 == slots ? 4'd0 : slot + 4'd1;
  endfunction

  // Number of packets of a message; an empty message has one.
  function automatic logic [23:0] packets_of(input logic [31:0] length, input logic [2:0] path_mtu);
    packets_of = length == 32'd0 ? 24'd1
                 : 24'((length + {19'd0, (13'd128 << path_mtu) - 13'd1}) >> (4'd7 + {1'b0, path_mtu}));
  endfunction

endpackage
