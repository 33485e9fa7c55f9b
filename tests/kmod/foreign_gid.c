// SPDX-License-Identifier: BSD-2-Clause
/*
 * Tries to send from an address that may belong to another network namespace: asks the driver for
 * it, then writes its GID index into a work request itself.
 *
 * usage: foreign_gid DEVICE OWN-INDEX FOREIGN-INDEX
 *
 * Prints a line with the result of each way.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dingo_hw.h"

#define QKEY 0x11111111
#define BYTES 4096
#define SECONDS 60

struct card {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	char *memory;
};

static void need(int good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(2);
}

static void open_card(struct card *c, const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	need(!!list, "ibv_get_device_list");
	for (int i = 0; list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			c->context = ibv_open_device(list[i]);
	need(!!c->context, "ibv_open_device");
	c->pd = ibv_alloc_pd(c->context);
	c->cq = ibv_create_cq(c->context, 16, NULL, NULL, 0);
	c->memory = aligned_alloc(BYTES, BYTES);
	need(c->pd && c->cq && c->memory, "objects");
	c->mr = ibv_reg_mr(c->pd, c->memory, BYTES, IBV_ACCESS_LOCAL_WRITE);
	need(!!c->mr, "objects");
}

static struct ibv_qp *make_qp(struct card *c, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr init = {
		.send_cq = c->cq,
		.recv_cq = c->cq,
		.qp_type = type,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY };
	struct ibv_qp *qp = ibv_create_qp(c->pd, &init);

	need(!!qp, "ibv_create_qp");
	need(!ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				    (type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)),
	     "INIT");
	return qp;
}

static struct ibv_qp *ud_qp(struct card *c)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };
	struct ibv_qp *qp = make_qp(c, IBV_QPT_UD);

	need(!ibv_modify_qp(qp, &attr, IBV_QP_STATE), "RTR");
	attr.qp_state = IBV_QPS_RTS;
	need(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), "RTS");
	return qp;
}

/* An address vector from the GID of this index to itself. */
static struct ibv_ah_attr address(const struct card *c, int index)
{
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = 1,
		.grh = { .sgid_index = index, .hop_limit = 64 },
	};

	need(!ibv_query_gid(c->context, 1, index, &attr.grh.dgid), "ibv_query_gid");
	return attr;
}

/* Waits for the next completion; returns its status as text. */
static const char *completed(struct card *c)
{
	time_t end = time(NULL) + SECONDS;
	struct ibv_wc wc;
	int n;

	while (!(n = ibv_poll_cq(c->cq, 1, &wc)))
		if (time(NULL) > end)
			return "nothing";
	need(n == 1, "ibv_poll_cq");
	return ibv_wc_status_str(wc.status);
}

/* Posts a receive and sends a datagram to itself; returns the result as text. */
static const char *send_to_itself(struct card *c, struct ibv_qp *qp, struct ibv_ah *ah)
{
	struct ibv_sge sge = { (uintptr_t)c->memory, BYTES, c->mr->lkey };
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.ud = { .ah = ah, .remote_qpn = qp->qp_num, .remote_qkey = QKEY },
	}, *bad;

	need(!ibv_post_recv(qp, &recv, &bad_recv), "ibv_post_recv");
	need(!ibv_post_send(qp, &wr, &bad), "ibv_post_send");
	return completed(c);
}

static void try_datagrams(struct card *c, int own, int foreign)
{
	struct ibv_ah_attr attr = address(c, own), of_foreign = address(c, foreign);
	struct ibv_ah *ah = ibv_create_ah(c->pd, &attr), *other;
	struct ibv_qp *qp = ud_qp(c);
	struct dingo_wqe_ud *av;

	need(!!ah, "ibv_create_ah");
	printf("datagram with the own address: %s\n", send_to_itself(c, qp, ah));
	printf("it arrives: %s\n", completed(c));

	other = ibv_create_ah(c->pd, &of_foreign);
	printf("address handle: %s\n", other ? "made" : strerror(errno));

	/* The provider keeps the address vector after libibverbs' struct. */
	av = (struct dingo_wqe_ud *)(ah + 1);
	if (av->sgid_index != htole16(own) || memcmp(av->dgid, &attr.grh.dgid, sizeof(av->dgid))) {
		fprintf(stderr, "the provider's address handle is another one\n");
		exit(2);
	}
	av->sgid_index = htole16(foreign);
	printf("datagram with the foreign address: %s\n", send_to_itself(c, qp, ah));
}

static void try_connection(struct card *c, int index, const char *whose)
{
	struct ibv_qp *qp = make_qp(c, IBV_QPT_RC);
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = qp->qp_num,
		.ah_attr = address(c, index),
	};
	int err = ibv_modify_qp(qp, &attr,
				IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
					IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);

	printf("connection with the %s address: %s\n", whose, err ? strerror(err) : "made");
}

int main(int argc, char **argv)
{
	struct card c = {};

	if (argc != 4) {
		fprintf(stderr, "usage: foreign_gid DEVICE OWN-INDEX FOREIGN-INDEX\n");
		return 2;
	}
	open_card(&c, argv[1]);
	try_datagrams(&c, atoi(argv[2]), atoi(argv[3]));
	try_connection(&c, atoi(argv[2]), "own");
	try_connection(&c, atoi(argv[3]), "foreign");
	return 0;
}
