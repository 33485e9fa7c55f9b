// SPDX-License-Identifier: BSD-2-Clause
//
// Port, GIDs, and a card's constant inputs.

  typedef struct packed {
    logic         valid;
    logic         ipv4;            // v4-mapped
    logic [47:0]  mac;             // first octet in bits 7:0
    logic [15:0]  vlan;            // VLAN_NONE: untagged
    logic [127:0] gid;             // first octet in bits 7:0
  } gid_t;
  typedef struct packed {
    logic        enabled;
    logic        promisc;
    logic        allmulti;
    logic [15:0] mtu;
  } port_t;

  // Constant inputs of a card, from the board or the simulation.
  typedef struct packed {
    logic [31:0] withheld;         // capabilities that the card does not report; it rejects their commands
    logic        db_memory;        // doorbell pages are polled memory: report DB_MEMORY
    logic [47:0] mac;              // factory MAC, first octet on the wire in bits 47:40
    logic [31:0] max_qp;           // limits to report, at most the card's sizes
    logic [31:0] max_cq;
    logic [31:0] max_mr;
    logic [31:0] max_srq;
    logic [31:0] link_mbps;
    logic [31:0] engine;           // register ENGINE
  } strap_t;
