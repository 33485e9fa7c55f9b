// SPDX-License-Identifier: BSD-2-Clause
//
// Memory regions and windows: entry, look-up, and what changes them.

  typedef struct packed {
    logic        valid;
    logic        free;             // gives no access: a window that is not bound, an FRWR region that no REG_MR has made valid
    logic        paused;           // region: PAUSE_MR, neither it nor its windows give access before REREG_MR
    logic [2:0]  kind;             // enum mrt
    logic [15:0] tag;
    logic [PD_BITS-1:0] pdn;
    logic [5:0]  access;           // enum acc
    logic [63:0] iova;
    logic [63:0] length;
    qpi_t        qp;               // window of type 2: the QP that bound it
    logic [15:0] more;             // region: windows bound to it; FRWR: most pages; bound window: index of its region
    logic [47:0] place;            // of the first byte in `mem`: a window has the memory of its region
    xmem_t       mem;
  } mr_t;

  typedef struct packed {
    logic [31:0] key;
    logic [63:0] va;
    logic [31:0] len;              // not 0
    logic [5:0]  access;           // rights needed, enum acc
    logic [PD_BITS-1:0] pdn;
    logic        privileged;
    qpi_t        qp;               // remote rights: whose windows of type 2 count
  } mr_req_t;
  typedef struct packed {
    logic        ok;
    logic        paused;           // not ok, and nothing but a pause is in the way: once more when it is over
    logic [7:0]  verr;             // enum verr when not ok: KEY, KEY_PD, KEY_STATE, KEY_ACCESS, KEY_BOUNDS; NONE when paused
    logic [63:0] off;              // offset of va in mem
    xmem_t       mem;
  } mr_rsp_t;

  // What changes an entry of the table beside CREATE_MR and REREG_MR; see dingo_mr_work
  typedef enum logic [2:0] {
    MRW_INVALIDATE = 3'd0,         // LOCAL_INV, SEND_INV: `key`
    MRW_BIND = 3'd1,               // `body` is a wqe_bind_t
    MRW_REGISTER = 3'd2,           // `body` is a wqe_reg_t
    MRW_DESTROY = 3'd3,            // a command: the entry of `key` goes
    MRW_FORGET = 3'd4              // a command: windows of type 2 that `qp` bound are unbound
  } mrw_op_t;
  typedef struct packed {
    mrw_op_t      op;
    qpi_t         qp;              // the asking QP, its PD and privilege
    logic [PD_BITS-1:0] pdn;
    logic         privileged;
    logic [31:0]  key;
    logic [383:0] body;            // bytes 16..63 of the WQE
  } mrw_req_t;
  typedef struct packed {
    logic [7:0]  verr;             // enum verr; NONE: done
    logic        under_way;        // some access that it ended may have been granted already and not be over
  } mrw_rsp_t;
  // How far what was granted has come: pulses, by which dingo_req_settle counts
  typedef struct packed {
    logic        rx_in;            // a received packet that is not bare goes to its engine,
    logic        rx_out;           // its bytes are in memory, or dropped; in the same order
    logic        tx_open;          // level: the responder has the key of a READ response's payload, and its order not given yet
    logic        tx_in;            // it has given one
    logic        tx_order;         // payload of a packet is about to be read,
    logic        tx_order_rsp;     // with it: of the responder
    logic        tx_out;           // has been read; in the order of tx_order
  } flow_t;
