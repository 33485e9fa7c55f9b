// SPDX-License-Identifier: BSD-2-Clause
//
// Types that the modules of the requester share: the current step, the context of a QP and its records, a send WQE,
// the item that follows a response through dingo_scatter, and reports (completions, events, counts).

package req_pkg;

  // ------------------------------------------------------------------------------------ steps
  /// The event that a step handles, one-hot.
  typedef struct packed {
    logic fetch;                  // the WQE cache has room to fetch the QP's next WQE
    logic ack;                    // a turn completed a WQE that sends no packet
    logic qpa;                    // a command of the admin queue
    logic due;                    // a timer expired
    logic txerr;                  // report for a sent packet: its payload was read, or the read failed
    logic cq_fail;                // the send CQ failed
    logic fail;                   // the responder moved the QP to ERR
    logic db;                     // a doorbell
    logic rxp;                    // a READ response arrives
    logic commit;                 // an item came back from dingo_scatter: the response's payload is in memory
  } step_t;
  // The same as values: a comparison with all bits takes less logic than a priority chain.
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

  /// Phase of a step, with the module that executes it.
  typedef enum logic [4:0] {
    PH_CLEAR = 5'd0,               // after reset, until the memories are cleared
    PH_IDLE = 5'd1,
    PH_START = 5'd3,               // dingo_req_event
    PH_BACK = 5'd4,                // the step is over: dingo_req_back has the context
    PH_ACK_READ = 5'd5,            // reads the oldest record
    PH_ACK_TEST = 5'd6,            // dingo_req_ack
    PH_ACK_END = 5'd7,
    PH_FAIL_READ = 5'd8,           // reads the oldest record
    PH_FAIL = 5'd9,                // dingo_req_fail
    PH_ENTER = 5'd10,
    PH_GO_BACK = 5'd11,            // dingo_req_retry
    PH_RETRY = 5'd12,
    PH_IMPLIED = 5'd13,
    PH_RSP_DONE = 5'd14,
    PH_RX = 5'd15,                 // dingo_req_order
    PH_FLUSH = 5'd16,              // dingo_req_turn
    PH_BEGIN_RTS = 5'd17,          // dingo_req_event
    PH_TXERR_FIND = 5'd18,         // reads the record at pos
    PH_TXERR_TEST = 5'd19          // dingo_req_fail
  } phase_t;

  // ------------------------------------------------------------------------------------ QPs
  // Context of a QP. PSNs and indices are free running, 32 bits; packets carry the low 24 bits of a PSN.
  typedef struct packed {
    logic [31:0] producer;      // producer index of the SQ, in blocks, from the last doorbell
    logic [31:0] next_index;    // SQ block of the next WQE, which has no record yet
    logic [31:0] oldest;        // oldest PSN that is not acknowledged
    logic [31:0] send;          // next PSN to send; less than `sent` during a retransmission
    logic [31:0] sent;          // 1 + newest PSN ever sent
    logic [31:0] new_psn;       // first PSN of the next new message
    logic [31:0] ackreq;        // PSN of the newest packet that requested an ACK
    logic [31:0] ordered;       // 1 + PSN of the newest READ response whose payload was ordered (dingo_scatter)
    logic [23:0] read_psns;     // PSNs between oldest and send that belong to READ responses
    logic [6:0]  since_ackreq;  // packets since the last ACK request
    logic [4:0]  reads;         // READs and atomics that have begun and not completed
    logic [7:0]  head;          // position of the oldest record; positions are free running
    logic [7:0]  tail;          // position of the next new record
    logic [7:0]  cursor;        // record whose packets are being sent; equal to tail: a new WQE comes next
    logic [7:0]  data_at;       // record of the first READ that may wait for data to be ordered
    logic [2:0]  retries;
    logic [2:0]  rnr;
    logic        halted;        // a WQE failed locally; it completes after those before it
    logic        implied;       // has gone back for missing response data; not again before progress
    logic        drained;       // SQD: everything begun has completed
    logic        fetching;      // the next WQE is being fetched or will be; its arrival makes the QP ready for a turn
    logic        asking;        // with fetching: waits for room in the WQE cache to request it
    logic        down;          // in ERR or SQE: the WQEs that had begun are flushed, a turn may flush the rest
    logic        settles;       // the next WQE has changed its key; it completes when dingo_req_settle wakes the QP
    logic [5:0]  gen;           // generation of packets and their reports (rtl_pkg::gen_t)
    logic        odd;           // some records have no packet or have failed
    logic [63:0] ack_at;        // deadlines in ns: ACK timeout
    logic [63:0] wait_at;       // and end of an RNR wait
  } ctx_t;
  // Record: a send WQE between its first packet and its completion.
  typedef struct packed {
    logic [31:0] index;         // SQ block
    logic [31:0] first;         // first PSN
    logic [23:0] packets;       // number of PSNs; 0: local operation or error
    logic [31:0] length;
    logic [23:0] received;      // READ: response packets received
    logic [7:0]  opcode;
    logic [3:0]  blocks;
    logic [7:0]  status;        // enum wcs; not SUCCESS: failed locally
    logic [7:0]  verr;
    logic        signaled;
    logic        fetch;         // READ or atomic: the response has data
    logic        kept;          // READ of one SGE: dingo_req_reads was given its SGE
  } rec_t;

  // ------------------------------------------------------------------------------------ responses
  // Kind of a response on its way through dingo_scatter.
  typedef enum logic [2:0] {
    IT_STALE = 3'd0,             // its PSN is acknowledged already or was never sent
    IT_ACK = 3'd1,               // ACK or NAK
    IT_DATA = 3'd2,              // READ data or atomic's word, ordered
    IT_SKIP = 3'd3,              // READ data after missing packets
    IT_BAD = 3'd4,               // READ data for a PSN that is not a READ's
    IT_FAULT = 3'd5,             // READ data of the wrong length, or that cannot be stored
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
  // The fields of a checked send WQE that the requester uses.
  typedef struct packed {
    logic [7:0]   status;          // enum wcs; not SUCCESS: the WQE cannot be executed
    logic [7:0]   verr;            // enum verr
    logic [7:0]   opcode;          // valid if the WQE could be read
    logic [3:0]   blocks;          // 1..8; 1 when the field is wrong
    logic         signaled;
    logic         solicited;
    logic         fence;
    logic         fetch;           // READ or atomic
    logic         atomic;
    logic         local_op;        // sends nothing: NOP, LOCAL_INV, BIND_MW, REG_MR
    logic         inl;             // data is in the WQE
    logic [3:0]   num_sge;
    logic [31:0]  imm;
    logic [31:0]  length;          // of the message
  } wqe_t;

  // Number of blocks that one read of a send queue may fetch when n blocks are posted: at most 8.
  function automatic logic [3:0] fill_limit(input logic [31:0] n);
    fill_limit = n[31:3] == '0 ? n[3:0] : 4'd8;
  endfunction

  // ------------------------------------------------------------------------------------ between the modules
  /// Request of a turn or dingo_req_place to dingo_req_wqes; see dingo_wqe_load and dingo_sge_walk. QP and its
  /// configuration are separate ports: in Yosys a package cannot use types of another package.
  typedef struct packed {
    logic [31:0]      producer;
    logic             datagram;
    logic             uc;          // no READs, no SEND with invalidate
    logic             load;        // load the WQE at index
    logic [31:0]      index;       // SQ block
    logic             wake;        // on a miss: the QP gets a turn when the blocks arrive
    logic             walk;        // walk its SGEs
    logic             whole;       // each SGE as a whole; else bytes of the message from offset on
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
    logic             walk_paused; // a region is paused; walk_verr is NONE
  } wqe_answer_t;
  /// Requests of the turn to dingo_wqe_quick; see its ports.
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
    logic             missed;      // not plain: one of its blocks is not in the cache
    wqe_t             wqe;
    logic [255:0]     head;        // bytes 16..47 of the WQE
    logic [511:0]     data;        // wqe.inl: inline data
  } quick_answer_t;
  /// Status from dingo_req_settle for the turn.
  typedef struct packed {
    logic             room;        // one more QP may wait
    logic             waits;       // the turn's QP waits for accesses by a revoked key to end
  } settle_t;
  /// Request to fetch blocks ahead; it may be refused.
  typedef struct packed {
    logic             valid;
    logic             go;          // with valid: the request may be taken in this cycle
    logic [31:0]      index;
    logic [3:0]       limit;
    logic             wake;        // wake the QP when the blocks have arrived
  } ahead_t;
  /// A context to write back; see dingo_req_store.
  typedef struct packed {
    logic             valid;
    ctx_t             c;
    logic             wake;        // the QP is ready for a turn
  } back_t;
  /// Access to the records of a QP: a read, with data in the next cycle, and a write.
  typedef struct packed {
    logic             re;
    logic [7:0]       rpos;
    logic             we;
    logic [7:0]       wpos;
    rec_t             rec;
  } rec_access_t;
  /// Result of dingo_req_order for a READ response; see dingo_req_place.
  typedef struct packed {
    logic             data;        // the payload belongs at `offset` of the message of `rec`
    logic [31:0]      offset;
    logic [12:0]      len;         // payload bytes
    logic             atomic;      // ATOMIC ACK: the data is `word`
    logic [63:0]      word;
    item_t            item;
    rec_t             rec;
  } place_t;

  // ------------------------------------------------------------------------------------ the step in work
  /// A chosen event with its data; its QP is a separate port. See dingo_req_pick.
  typedef struct packed {
    step_t       kind;
    item_t       item;             // commit, rxp: the response; txerr: only the PSN
    logic        commit_err;       // commit: host memory refused some bytes
    logic        txerr_ok;         // txerr: the packet's payload was read
    logic [5:0]  txerr_gen;
    logic [31:0] db_index;
    logic [2:0]  db_pushed;        // pushed blocks directly before db_index: not to be fetched
  } chosen_t;
  /// Variables of a step besides the QP's context; registers are in dingo_req_step.
  typedef struct packed {
    phase_t      phase;
    phase_t      ack_ret;          // PH_ACK_*: the phase that follows them
    logic [2:0]  st;               // state of the QP, enum qps
    logic        wake;             // the QP is ready for a turn when the step ends
    logic        ahead;            // blocks from ahead_index on are to be fetched
    logic        ahead_on;         // at the end of the step: dingo_req_back requests them
    logic        ahead_wake;       // and the QP gets a turn when they have arrived
    logic [31:0] ahead_index;
    logic [3:0]  ahead_limit;
    logic [31:0] ack_psn;          // all PSNs before it are acknowledged
    logic [31:0] oldest_then;      // `oldest` when the step began
    logic        adv;              // PH_ACK_*: progress resets retries and timer
    logic        complete;         // no READ data before ack_psn is missing
    logic [7:0]  status;           // of a failure
    logic [7:0]  verr;
    logic        retry_implied;    // PH_RETRY: for an implied NAK
    logic [7:0]  pos;              // position of a record
    logic        to_sqe;           // the QP goes to SQE, not ERR
    logic [31:0] db_index;
    logic [2:0]  db_pushed;        // pushed blocks directly before db_index: not to be fetched
    logic [31:0] info_consumer;    // consumer index, for the answer to a command
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
  typedef struct packed {         // a completion; CQ and QP are separate ports
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
  /// All reports of one cycle; see dingo_req_out.
  typedef struct packed {
    cqe_t        cqe;
    event_t      ev;
    card_count_t card;
    qp_count_t   qp;
  } report_t;

  // Constructors of a valid cqe_t, event_t, card_count_t, qp_count_t
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
