// SPDX-License-Identifier: BSD-2-Clause
// rtl_pkg's widths are those of its structures. Elaborated by run.sh: a false one is an error.
`define SAME(width, type) if (rtl_pkg::width != $bits(rtl_pkg::type)) $error(`"width is not that of type`");
module widths;
  `SAME(BEAT_W, beat_t)
  `SAME(RDL_REQ_W, rdl_req_t)
  `SAME(DMA_REQ_W, dma_req_t)
  `SAME(MR_W, mr_t)
  `SAME(MR_REQ_W, mr_req_t)
  `SAME(MR_RSP_W, mr_rsp_t)
  `SAME(QP_CFG_W, qp_cfg_t)
  `SAME(QP_W, qp_t)
  `SAME(CQE_REQ_W, cqe_req_t)
  `SAME(EV_W, ev_t)
  `SAME(GID_W, gid_t)
  `SAME(STAT_W, stat_t)
  `SAME(QSTAT_W, qstat_t)
endmodule
