// SPDX-License-Identifier: BSD-2-Clause
//
// Types that the modules of the requester share: the step in work, the context of a QP and its records, a send
// WQE, the item that follows a response through dingo_scatter, and what is reported.

package req_pkg;

  // ------------------------------------------------------------------------------------ steps
  /// What a step is about: one bit is set.
  typedef struct packed {
    logic fetch;                  // there is room to ask for the WQE that comes next
    logic ack;                    // a turn completed something without a packet
    logic qpa;                    // a command
    logic due;                    // a timer
    logic txerr;                  // a packet's payload was read, or could not be
    logic cq_fail;
    logic fail;                   // the responder moved the QP to ERR
    logic db;                     // a doorbell
    logic rxp;                    // a READ response arrives
    logic commit;                 // a response whose payload is in memory
  } step_t;
  // The same as values: a comparison with all bits is smaller than a choice by one bit after the other.
  localparam logic [9:0] STEP_COMMIT = 10'd1 << 0;
  localparam logic [9:0] STEP_RXP = 10'd1 << 1;
  localparam logic [9:0] STEP_DB = 10'd1 << 2;
  localparam logic [9:0] STEP_FAIL = 10'd1 << 3;
  localparam logic [9:0] STEP_CQ_FAIL = 10'd1 << 4;
  localparam logic [9:0] STEP_TXERR = 10'd1 << 5;
  localparam logic [9:0] STEP_DUE = 10'd1 << 6;
  localparam logic [9:0] STEP_QPA = 10'd1 << 7;
  localparam logic [9:0] STEP_ACK = 10'd1 << 8;
  localparam logic [9:0] STEP_FETCH = 10'd1 << 9;

  /// Where a step is.
  typedef enum logic [4:0] {
    PH_CLEAR = 5'd0,               // after reset: memories are being cleared
    PH_IDLE = 5'd1,
    PH_START = 5'd3,               // dingo_req_event
    PH_BACK = 5'd4,                // over: dingo_req_back has the context
    PH_ACK_READ = 5'd5,            // the oldest record is read
    PH_ACK_TEST = 5'd6,            // dingo_req_ack
    PH_ACK_END = 5'd7,
    PH_FAIL_READ = 5'd8,           // the oldest record is read
    PH_FAIL = 5'd9,                // dingo_req_fail
    PH_ENTER = 5'd10,
    PH_GO_BACK = 5'd11,            // dingo_req_retry
    PH_RETRY = 5'd12,
    PH_IMPLIED = 5'd13,
    PH_RSP_DONE = 5'd14,
    PH_RX = 5'd15,                 // dingo_req_order
    PH_FLUSH = 5'd16,              // dingo_req_turn
    PH_BEGIN_RTS = 5'd17,          // dingo_req_event
    PH_TXERR_FIND = 5'd18,         // the record at pos is read
    PH_TXERR_TEST = 5'd19          // dingo_req_fail
  } phase_t;

  // ------------------------------------------------------------------------------------ QPs
  // What the requester knows of a QP. PSNs and indices run free; the wire carries 24 bits.
  typedef struct packed {
    logic [31:0] producer;      // SQ blocks that the host has given away
    logic [31:0] next_index;    // block of the WQE behind the records
    logic [31:0] oldest;        // oldest PSN that is not acknowledged
    logic [31:0] send;          // next PSN to send; before `sent` while repeating
    logic [31:0] sent;          // behind the newest ever sent
    logic [31:0] new_psn;       // of the next new message
    logic [31:0] ackreq;        // newest packet that asked for an acknowledgement
    logic [31:0] ordered;       // behind the newest READ response whose payload was ordered
    logic [23:0] read_psns;     // PSNs between oldest and send that belong to READ responses
    logic [6:0]  since_ackreq;
    logic [4:0]  reads;         // and atomics: begun and not completed
    logic [7:0]  head;          // positions of records, free running
    logic [7:0]  tail;
    logic [7:0]  cursor;        // whose packets are being sent; tail: a new WQE comes next
    logic [7:0]  data_at;       // no READ before it waits for data to be ordered
    logic [2:0]  retries;
    logic [2:0]  rnr;
    logic        halted;        // a WQE failed locally; it completes when those before it have
    logic        implied;       // went back because a response skipped one; not again before progress
    logic        drained;       // SQD: everything begun has completed
    logic        fetching;      // the WQE that comes next is on its way or will be asked for, and a turn comes with it
    logic        asking;        // waits for room to be asked for, with all that is posted until then
    logic        down;          // what had begun is flushed: the rest may be
    logic        settles;       // what the WQE that comes next asks of a key is done; it completes when dingo_req_settle says so
    logic [5:0]  gen;           // of packets and their reports (rtl_pkg::gen_t)
    logic        odd;           // some records have no packet or have failed
    logic [63:0] ack_at;        // deadlines
    logic [63:0] wait_at;
  } ctx_t;
  // A send WQE between its first packet and its completion.
  typedef struct packed {
    logic [31:0] index;
    logic [31:0] first;         // PSN
    logic [23:0] packets;       // PSNs; 0: local operation or error
    logic [31:0] length;
    logic [23:0] received;      // READ: responses taken
    logic [7:0]  opcode;
    logic [3:0]  blocks;
    logic [7:0]  status;        // not SUCCESS: failed locally
    logic [7:0]  verr;
    logic        signaled;
    logic        fetch;         // READ or atomic: answered by data
    logic        kept;          // READ of one SGE: dingo_req_reads had its place
  } rec_t;

  // ------------------------------------------------------------------------------------ responses
  // A response on its way through dingo_scatter.
  typedef enum logic [2:0] {
    IT_STALE = 3'd0,             // acknowledged already, or never sent
    IT_ACK = 3'd1,               // ACK or NAK
    IT_DATA = 3'd2,              // READ data, ordered
    IT_SKIP = 3'd3,              // READ data behind others that are missing
    IT_BAD = 3'd4,               // READ data for what is no READ
    IT_FAULT = 3'd5,             // READ data that does not fit or cannot be stored
    IT_PAUSED = 3'd6             // READ data for a paused region: dropped
  } kind_t;
  typedef struct packed {
    kind_t       kind;
    logic [31:0] psn;
    logic [7:0]  syndrome;
    logic [7:0]  status;
    logic [7:0]  verr;
    logic [15:0] qp;
  } item_t;

  // ------------------------------------------------------------------------------------ send queues
  // A send WQE that has been checked: what the requester needs of it.
  typedef struct packed {
    logic [7:0]   status;          // enum wcs; not SUCCESS: it cannot be executed
    logic [7:0]   verr;            // enum verr
    logic [7:0]   opcode;          // as far as it could be read
    logic [3:0]   blocks;          // 1..8; 1 when the field is wrong
    logic         signaled;
    logic         solicited;
    logic         fence;
    logic         fetch;           // READ or atomic
    logic         atomic;
    logic         local_op;        // sends nothing: NOP, and what is asked of a key
    logic         inl;             // data is in the WQE
    logic [3:0]   num_sge;
    logic [31:0]  imm;
    logic [31:0]  length;          // of the message
  } wqe_t;

  // Blocks that one read of a send queue may take when n blocks are posted: up to 8.
  function automatic logic [3:0] fill_limit(input logic [31:0] n);
    fill_limit = n[31:3] == '0 ? n[3:0] : 4'd8;
  endfunction

  // ------------------------------------------------------------------------------------ between the modules
  /// What a turn or dingo_req_place asks of dingo_req_wqes; see dingo_wqe_load and dingo_sge_walk. Whose, and with
  /// which configuration, goes beside it: for Yosys a package knows no other's types.
  typedef struct packed {
    logic [31:0]      producer;
    logic             datagram;
    logic             uc;          // there are no READs, no invalidation of the peer's keys
    logic             load;        // a WQE
    logic [31:0]      index;
    logic             wake;        // what is missing brings the next turn
    logic             walk;        // its SGEs
    logic             whole;
    logic [31:0]      offset;
    logic [12:0]      bytes;
  } wqe_ask_t;
  typedef struct packed {
    logic             load_done;
    logic             load_miss;
    logic             load_asked;
    wqe_t             wqe;
    logic [383:0]     head;
    logic             walk_done;
    logic [7:0]       walk_verr;
    logic             walk_paused; // a region is; verr is NONE
  } wqe_answer_t;
  /// WQEs one behind the other, of the turn; see dingo_wqe_quick.
  typedef struct packed {
    logic             may_start;
    logic             start;
    logic             stop;
    logic [31:0]      index;
    logic             take;
  } quick_ask_t;
  typedef struct packed {
    logic             rest;
    logic             on;
    logic             valid;
    logic             plain;
    logic             missed;      // not plain: a block of it is not in the cache
    wqe_t             wqe;
    logic [255:0]     head;        // bytes 16..47 of it
    logic [511:0]     data;        // of wqe.inl
  } quick_answer_t;
  /// The turn and dingo_req_settle: its QP waits for what a key had granted.
  typedef struct packed {
    logic             room;
    logic             waits;       // the turn's QP does
  } settle_t;
  /// Blocks that will be needed soon; no harm if they do not come.
  typedef struct packed {
    logic             valid;
    logic             go;          // in this cycle, if at all
    logic [31:0]      index;
    logic [3:0]       limit;
    logic             wake;        // make the QP due when they have come
  } ahead_t;
  /// A context that goes back; see dingo_req_store.
  typedef struct packed {
    logic             valid;
    ctx_t             c;
    logic             wake;        // it wants a turn
  } back_t;
  /// Records of a QP: a read, which is answered in the next cycle, and a write.
  typedef struct packed {
    logic             re;
    logic [7:0]       rpos;
    logic             we;
    logic [7:0]       wpos;
    rec_t             rec;
  } rec_access_t;
  /// What dingo_req_order found for a READ response; see dingo_req_place.
  typedef struct packed {
    logic             data;        // it has a place: `offset` of what `rec` reads
    logic [31:0]      offset;
    logic [12:0]      len;         // of the packet's payload
    logic             atomic;      // the data is `word`
    logic [63:0]      word;
    item_t            item;
    rec_t             rec;
  } place_t;

  // ------------------------------------------------------------------------------------ the step in work
  /// An event that was chosen, with what came with it; whose it is goes beside it. See dingo_req_pick.
  typedef struct packed {
    step_t       kind;
    item_t       item;             // of a response; its PSN of a packet's report
    logic        commit_err;       // commit: host memory refused some bytes
    logic        txerr_ok;         // txerr: its payload was read
    logic [5:0]  txerr_gen;
    logic [31:0] db_index;
    logic [2:0]  db_pushed;        // blocks pushed before it
  } chosen_t;
  /// What a step has in work beside the QP's context; dingo_req_step has it in registers.
  typedef struct packed {
    phase_t      phase;
    phase_t      ack_ret;          // PH_ACK_*: what comes behind
    logic [2:0]  st;               // state of the QP, enum qps
    logic        wake;             // at the end of the step: ready for a turn
    logic        ahead;            // a doorbell's blocks are to be fetched,
    logic        ahead_on;         // when the step is over: such are
    logic        ahead_wake;       // with a turn when they are there
    logic [31:0] ahead_index;
    logic [3:0]  ahead_limit;
    logic [31:0] ack_psn;          // what is before it is acknowledged
    logic [31:0] oldest_then;      // the oldest PSN when the step began
    logic        adv;              // PH_ACK_*: with what follows from it
    logic        complete;         // nothing before was missing
    logic [7:0]  status;           // of a failure
    logic [7:0]  verr;
    logic        retry_implied;
    logic [7:0]  pos;              // of a record
    logic        to_sqe;           // the QP goes to SQE, not ERR
    logic [31:0] db_index;
    logic [2:0]  db_pushed;        // blocks pushed before it
    logic [31:0] info_consumer;    // for the answer to a command
    item_t       item;
  } work_t;

  // ------------------------------------------------------------------------------------ the turn in work
  localparam logic [4:0] TURN_PACKETS = 5'd16;  // packets of a turn

  typedef enum logic [4:0] {
    TN_IDLE = 5'd0,
    TN_TAKE = 5'd1,                // context and QP come from their memories
    TN_NEXT = 5'd2,                // dingo_req_plain: what comes next
    TN_QUICK = 5'd3,               // dingo_req_plain: plain WQEs, one a cycle
    TN_REC = 5'd4,                 // dingo_req_packet: the record of a message in progress has come
    TN_RELOAD = 5'd5,              // dingo_req_packet: its WQE is loaded
    TN_NEW = 5'd6,                 // dingo_req_new: a new WQE is loaded
    TN_BEGIN = 5'd7,               // dingo_req_new: may it begin?
    TN_KEY = 5'd8,                 // dingo_req_new: dingo_mr_work does what it asks of a key
    TN_CHECK = 5'd9,               // dingo_req_new: its SGEs are looked up
    TN_PUSH = 5'd10,               // dingo_req_new: its record is written
    TN_REFUSE = 5'd11,             // dingo_req_new: its record is written, as failed
    TN_FAULT = 5'd12,              // dingo_req_packet: the record is written as failed
    TN_PACKET = 5'd13,             // dingo_req_packet: offset and length of the next packet
    TN_WALK = 5'd14,               // dingo_req_packet: its SGEs are looked up
    TN_EMIT = 5'd15,               // dingo_req_packet: it goes to dingo_req_send
    TN_FLUSH_NEXT = 5'd16,         // dingo_req_flush
    TN_FLUSH_LOAD = 5'd17,
    TN_FLUSH_DO = 5'd18,
    TN_BACK = 5'd19,               // the context goes back
    TN_ACK = 5'd20                 // a step is to look for what has completed
  } turn_state_t;

  /// Registers of dingo_req_turn while a turn is in work
  typedef struct packed {
    turn_state_t  state;
    ctx_t         c;
    rec_t         r;               // of the message in progress
    logic [4:0]   used;            // packets of this turn
    logic [7:0]   status;          // of a failure
    logic [7:0]   verr;
    logic [31:0]  off;             // the packet: offset in its message,
    logic [12:0]  bytes;           // length,
    logic         last;            // whether it is the last one,
    logic [31:0]  rest;            // bytes of the message from it on,
    logic [31:0]  next_psn;        // PSN behind it
    logic         placed;          // its segments are known: it is all of its message
    logic         checked;         // the regions of the WQE are not paused
    logic         wake;            // with the context: the QP wants another turn,
    logic         fetch;           // the WQE that comes next is to be asked for
    logic         ack;             // something has completed without a packet
    logic [127:0] sge;             // of a new READ: its first SGE (dingo_pkg::sge_t)
  } turn_t;
  localparam int unsigned HEAD_SGE = 128;  // lowest bit of the first SGE of a SEND, WRITE or READ in a WQE's head

  /// How far a QP may send; see dingo_req_window.
  typedef struct packed {
    logic         waits;           // nothing before a time
    logic         closed;          // packets in flight fill the window
    logic         one_left;        // one more fills it
    logic         in_reach;        // fewer PSNs are outstanding than READs may have (READ_SPAN)
    logic [4:0]   max_reads;       // READs and atomics that the QP may have outstanding
    logic [32:0]  left;            // PSNs that a new message may take; signed
    logic [32:0]  left_reads;      // the same for a READ that is not the only one; signed
  } window_t;

  // ------------------------------------------------------------------------------------ what is reported
  typedef struct packed {         // a completion; CQ and QP are known beside it
    logic        valid;
    logic [31:0] wqe_index;
    logic [31:0] byte_len;
    logic [7:0]  opcode;
    logic [7:0]  status;
    logic [7:0]  verr;
  } cqe_t;
  typedef struct packed {         // an asynchronous event of the QP
    logic        valid;
    logic [7:0]  kind;            // enum ev
  } event_t;
  typedef struct packed {         // a counter of the card, by 1
    logic        valid;
    logic [5:0]  idx;
  } card_count_t;
  typedef struct packed {         // a counter of the QP, by 1
    logic        valid;
    logic [3:0]  idx;
  } qp_count_t;
  /// All that one cycle may report; see dingo_req_out.
  typedef struct packed {
    cqe_t        cqe;
    event_t      ev;
    card_count_t card;
    qp_count_t   qp;
  } report_t;

  // A cqe_t, event_t, card_count_t, qp_count_t that is valid
  function automatic logic [88:0] cqe(input logic [31:0] wqe_index, input logic [31:0] byte_len, input logic [7:0] opcode,
                                      input logic [7:0] status, input logic [7:0] verr);
    cqe = {1'b1, wqe_index, byte_len, opcode, status, verr};
  endfunction
  function automatic logic [8:0] raise(input logic [7:0] kind);
    raise = {1'b1, kind};
  endfunction
  function automatic logic [6:0] count_card(input logic [5:0] idx);
    count_card = {1'b1, idx};
  endfunction
  function automatic logic [4:0] count_qp(input logic [3:0] idx);
    count_qp = {1'b1, idx};
  endfunction

  // ------------------------------------------------------------------------------------ widths
  localparam int unsigned CTX_W = 472;
  localparam int unsigned REC_W = 175;
  localparam int unsigned ITEM_W = 75;

endpackage
