// SPDX-License-Identifier: BSD-2-Clause
// Checks that each width constant of a package equals $bits of its structure. Elaborated by run.sh; a difference is an error.
`define SAME(pkg, width, type) if (pkg::width != $bits(pkg::type)) $error(`"width is not that of type`");
module widths;
  `SAME(rtl_pkg, BEAT_W, beat_t)
  `SAME(rtl_pkg, RDL_REQ_W, rdl_req_t)
  `SAME(rtl_pkg, DMA_REQ_W, dma_req_t)
  `SAME(rtl_pkg, MR_W, mr_t)
  `SAME(rtl_pkg, MR_REQ_W, mr_req_t)
  `SAME(rtl_pkg, MR_RSP_W, mr_rsp_t)
  `SAME(rtl_pkg, QP_CFG_W, qp_cfg_t)
  `SAME(rtl_pkg, QP_W, qp_t)
  `SAME(rtl_pkg, CQE_REQ_W, cqe_req_t)
  `SAME(rtl_pkg, EV_W, ev_t)
  `SAME(rtl_pkg, GID_W, gid_t)
  `SAME(rtl_pkg, SCAT_ATOMIC_W, scat_atomic_t)
  `SAME(rtl_pkg, STAT_W, stat_t)
  `SAME(rtl_pkg, QSTAT_W, qstat_t)
  `SAME(cq_pkg, CFG_W, cfg_t)
  `SAME(cq_pkg, DYN_W, dyn_t)
  `SAME(req_pkg, CTX_W, ctx_t)
  `SAME(req_pkg, REC_W, rec_t)
  `SAME(req_pkg, ITEM_W, item_t)
  `SAME(rsp_pkg, RCTX_W, rctx_t)
  `SAME(rsp_pkg, EMIT_W, emit_t)
  `SAME(rsp_pkg, RRES_W, rres_t)
  `SAME(rsp_pkg, SRQ_W, srq_t)
  `SAME(pcie_pkg, MRD_W, mrd_t)
  `SAME(pcie_pkg, MWR_W, mwr_t)
  `SAME(pcie_pkg, RQBEAT_W, rqbeat_t)
  if ($bits(pcie_pkg::rq_t) != 128 || $bits(pcie_pkg::cq_t) != 128 || $bits(pcie_pkg::rc_t) != 96 || $bits(pcie_pkg::cc_t) != 96)
    $error("a descriptor of the PCIe block has not its length");
endmodule
