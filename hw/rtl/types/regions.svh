// SPDX-License-Identifier: BSD-2-Clause
//
// Memory regions and windows: table entry, look-up, changes.

  typedef struct packed {
    logic        valid;
    logic        free;             // gives no access: an unbound window, or an FRWR region without a valid REG_MR
    logic        paused;           // region: after PAUSE_MR it and its windows give no access until REREG_MR
    logic [2:0]  kind;             // enum mrt
    logic [15:0] tag;
    logic [PD_BITS-1:0] pdn;
    logic [5:0]  access;           // enum acc
    logic [63:0] iova;
    logic [63:0] length;
    qpi_t        qp;               // window of type 2: the QP that bound it
    logic [15:0] more;             // region: windows bound to it; FRWR: page limit; bound window: its region's index
    logic [47:0] place;            // offset of the first byte in `mem`: a window has its region's `mem`
    xmem_t       mem;
  } mr_t;

  typedef struct packed {
    logic [31:0] key;
    logic [63:0] va;
    logic [31:0] len;              // not 0
    logic [5:0]  access;           // rights needed, enum acc
    logic [PD_BITS-1:0] pdn;
    logic        privileged;
    qpi_t        qp;               // remote access: only windows of type 2 of this QP count
  } mr_req_t;
  typedef struct packed {
    logic        ok;
    logic        paused;           // not ok only because the region is paused: repeat the look-up after `resume`
    logic [7:0]  verr;             // enum verr when not ok: KEY, KEY_PD, KEY_STATE, KEY_ACCESS, KEY_BOUNDS; NONE when paused
    logic [63:0] off;              // offset of va in mem
    xmem_t       mem;
  } mr_rsp_t;

  // Changes of table entries, other than by CREATE_MR and REREG_MR; see dingo_mr_work.
  typedef enum logic [2:0] {
    MRW_INVALIDATE = 3'd0,         // LOCAL_INV, SEND_INV: `key`
    MRW_BIND = 3'd1,               // `body` is a wqe_bind_t
    MRW_REGISTER = 3'd2,           // `body` is a wqe_reg_t
    MRW_DESTROY = 3'd3,            // command: the entry of `key` is removed
    MRW_FORGET = 3'd4              // command: windows of type 2 that `qp` bound are unbound
  } mrw_op_t;
  typedef struct packed {
    mrw_op_t      op;
    qpi_t         qp;              // QP of the work request, its PD and privilege
    logic [PD_BITS-1:0] pdn;
    logic         privileged;
    logic [31:0]  key;
    logic [383:0] body;            // bytes 16..63 of the WQE
  } mrw_req_t;
  typedef struct packed {
    logic [7:0]  verr;             // enum verr; NONE: done
    logic        under_way;        // an access granted before the change may still be in progress
  } mrw_rsp_t;
  // Progress of granted accesses: pulses (but for tx_open) that dingo_req_settle counts.
  typedef struct packed {
    logic        rx_in;            // a received packet that is not bare goes to its engine
    logic        rx_out;           // its bytes are in memory or dropped; in the order of rx_in
    logic        tx_open;          // level: the responder has checked a READ's key, and has not ordered the payload yet
    logic        tx_in;            // the responder has ordered it
    logic        tx_order;         // payload of a packet is ordered to be read
    logic        tx_order_rsp;     // with tx_order: the packet is the responder's
    logic        tx_out;           // it has been read; in the order of tx_order
  } flow_t;
