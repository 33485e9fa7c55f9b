// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Interrupts and event queues. Vector 0: admin completions and the asynchronous
 * EQ; vectors 1..n: one completion EQ each. If there is a single vector, the
 * completion EQ shares it.
 */
#include <linux/log2.h>
#include <linux/slab.h>

#include "dingo.h"

/* Further events wait on the card (counter eq_overflow); none are lost. */
#define DINGO_EQ_MAX_LOG_SIZE 14
/* Largest number of events handled per interrupt. */
#define DINGO_EQ_BUDGET 128
#define DINGO_EQN_ASYNC 0

static int dingo_irq(struct dingo_dev *dev, unsigned int vector)
{
	return pci_irq_vector(dev->pdev, vector);
}

static void dingo_eq_doorbell(struct dingo_eq *eq, bool arm)
{
	u32 word0 = dingo_db_word0(DINGO_DB_EQ, eq->eqn);

	if (arm)
		word0 |= DINGO_DOORBELL_WORD0_ARM_MASK;
	dingo_db_ring(eq->dev, &eq->db, word0, eq->consumer);
}

/* Ignores events for a CQ that was destroyed or whose number was reused. */
static void dingo_eq_completion(struct dingo_eq *eq, const struct dingo_eqe *eqe)
{
	struct dingo_cq_core *cq = xa_load(&eq->dev->cqs, le32_to_cpu(eqe->id));

	/* A CQ's handler must run only in its own EQ's interrupt. */
	if (cq && cq->eqn == eq->eqn)
		cq->comp(cq);
}

static void dingo_eq_dispatch(struct dingo_eq *eq, const struct dingo_eqe *eqe)
{
	u32 id = le32_to_cpu(eqe->id);
	struct dingo_dev *dev = eq->dev;
	struct dingo_cq_core *cq;

	if (eqe->kind == DINGO_EV_COMPLETION) {
		dingo_eq_completion(eq, eqe);
		return;
	}
	if (eq->eqn != DINGO_EQN_ASYNC) {
		dev_warn_once(&dev->pdev->dev,
			      "event of kind 0x%02x among completions, ignored\n",
			      eqe->kind);
		return;
	}
	switch (eqe->kind) {
	case DINGO_EV_CQ_ERR:
		cq = xa_load(&dev->cqs, id);
		if (cq && cq->error)
			cq->error(cq);
		break;
	case DINGO_EV_PORT_UP:
	case DINGO_EV_PORT_DOWN:
		dingo_netdev_link(dev, eqe->kind == DINGO_EV_PORT_UP);
		dingo_tell(dev, eqe);
		break;
	case DINGO_EV_DEVICE_FATAL:
		dingo_fail(dev, "the card reported a fatal error");
		break;
	case DINGO_EV_QP_FATAL:
	case DINGO_EV_QP_REQ_ERR:
	case DINGO_EV_QP_ACCESS_ERR:
	case DINGO_EV_COMM_EST:
	case DINGO_EV_SQ_DRAINED:
	case DINGO_EV_QP_LAST_WQE:
	case DINGO_EV_SRQ_ERR:
	case DINGO_EV_SRQ_LIMIT:
		dingo_tell(dev, eqe);
		break;
	default:
		dev_warn_once(&dev->pdev->dev, "event of unknown kind 0x%02x\n",
			      eqe->kind);
	}
}

/* Returns true if there is an unhandled entry. */
static bool dingo_eq_waits(const struct dingo_eq *eq)
{
	const struct dingo_eqe *ring = eq->ring.va;
	u32 size = BIT(eq->log_size);

	return (READ_ONCE(ring[eq->consumer & (size - 1)].owner) & 1) ==
	       !(eq->consumer & size);
}

static void dingo_eq_poll(struct dingo_eq *eq)
{
	const struct dingo_eqe *ring;
	struct dingo_eqe eqe;
	u32 taken, size;

	if (!smp_load_acquire(&eq->created)) /* pairs with dingo_eq_create() */
		return;
	size = BIT(eq->log_size);
	ring = eq->ring.va;
	/* If events are left, arming the EQ raises the next interrupt. */
	for (taken = 0; READ_ONCE(eq->created) && taken < DINGO_EQ_BUDGET;
	     taken++) {
		if (!dingo_eq_waits(eq))
			break;
		dma_rmb(); /* read the rest of the entry after owner */
		eqe = ring[eq->consumer & (size - 1)];
		eq->consumer++;
		if (taken % (size / 4) == size / 4 - 1)
			dingo_eq_doorbell(eq, false);
		dingo_eq_dispatch(eq, &eqe);
	}
	if (taken) {
		eq->events += taken;
		dingo_eq_doorbell(eq, true);
	}
}

static irqreturn_t dingo_irq_control(int irq, void *data)
{
	struct dingo_dev *dev = data;

	dingo_admin_irq(dev);
	dingo_eq_poll(&dev->async_eq);
	if (dev->num_vectors == 1)
		dingo_eq_poll(&dev->comp_eqs[0]);
	return IRQ_HANDLED;
}

static irqreturn_t dingo_irq_completion(int irq, void *data)
{
	dingo_eq_poll(data);
	return IRQ_HANDLED;
}

static int dingo_irq_request(struct dingo_dev *dev, unsigned int vector)
{
	const char *pci = pci_name(dev->pdev);
	struct dingo_eq *eq;
	unsigned int cpu;
	int err;

	if (vector == 0)
		return request_irq(dingo_irq(dev, 0), dingo_irq_control, 0,
				   dev->irq_name, dev);
	eq = &dev->comp_eqs[vector - 1];
	snprintf(eq->irq_name, sizeof(eq->irq_name), DINGO_DRV_NAME "-comp%u@%s",
		 vector - 1, pci);
	err = request_irq(dingo_irq(dev, vector), dingo_irq_completion, 0,
			  eq->irq_name, eq);
	if (err)
		return err;
	cpu = cpumask_local_spread(vector - 1, dev_to_node(&dev->pdev->dev));
	irq_set_affinity_and_hint(dingo_irq(dev, vector), cpumask_of(cpu));
	return 0;
}

static void dingo_irq_release(struct dingo_dev *dev, unsigned int vector)
{
	if (vector == 0) {
		free_irq(dingo_irq(dev, 0), dev);
		return;
	}
	irq_update_affinity_hint(dingo_irq(dev, vector), NULL);
	free_irq(dingo_irq(dev, vector), &dev->comp_eqs[vector - 1]);
}

/**
 * dingo_eq_init() - get interrupts
 * @dev: the card; dingo_admin_init() is done, no queue exists
 *
 * Return: 0 or a negative errno.
 */
int dingo_eq_init(struct dingo_dev *dev)
{
	u32 want = min3(dingo_read32(dev, DINGO_REG_VECTORS), DINGO_MSIX_MAX,
			num_online_cpus() + 1);
	unsigned int n;
	int err;

	err = pci_alloc_irq_vectors(dev->pdev, 1, max(want, 1U), PCI_IRQ_MSIX);
	if (err < 0)
		return err;
	dev->num_vectors = err;
	dev->num_comp_vectors = max(dev->num_vectors, 2U) - 1;
	dev->comp_eqs = kcalloc(dev->num_comp_vectors, sizeof(*dev->comp_eqs),
				GFP_KERNEL);
	if (!dev->comp_eqs) {
		err = -ENOMEM;
		goto err_free_vectors;
	}
	mutex_init(&dev->late_lock);
	dev->async_eq.dev = dev;
	for (n = 0; n < dev->num_comp_vectors; n++)
		dev->comp_eqs[n].dev = dev;
	xa_init_flags(&dev->cqs, XA_FLAGS_ALLOC);
	snprintf(dev->irq_name, sizeof(dev->irq_name),
		 DINGO_DRV_NAME "-control@%s", pci_name(dev->pdev));

	for (n = 0; n < dev->num_vectors; n++) {
		err = dingo_irq_request(dev, n);
		if (err)
			goto err_release;
	}
	return 0;

err_release:
	while (n--)
		dingo_irq_release(dev, n);
	kfree(dev->comp_eqs);
err_free_vectors:
	pci_free_irq_vectors(dev->pdev);
	return err;
}

/**
 * dingo_eq_cleanup() - undo dingo_eq_init()
 * @dev: the card; all EQs are stopped, all CQs are gone
 */
void dingo_eq_cleanup(struct dingo_dev *dev)
{
	unsigned int n = dev->num_vectors;

	while (n--)
		dingo_irq_release(dev, n);
	WARN_ON_ONCE(!xa_empty(&dev->cqs));
	xa_destroy(&dev->cqs);
	kfree(dev->comp_eqs);
	pci_free_irq_vectors(dev->pdev);
}

static int dingo_eq_create(struct dingo_eq *eq, u32 eqn, u16 vector,
			   u32 events, u8 flags)
{
	struct dingo_dev *dev = eq->dev;
	u8 max = min_t(u8, dev->limits.log_max_eq, DINGO_EQ_MAX_LOG_SIZE);
	struct dingo_mem mem;
	int err;

	eq->eqn = eqn;
	eq->vector = vector;
	eq->log_size = clamp_t(u8, order_base_2(events), DINGO_EQ_MIN_LOG_SIZE,
			       max);
	eq->consumer = 0;
	eq->waiting = false;
	err = dingo_ring_alloc(dev, &eq->ring,
			       (size_t)DINGO_EQE_SIZE << eq->log_size, 0);
	if (err)
		return err;
	err = dingo_db_alloc(&dev->kernel_db, &eq->db);
	if (err)
		goto err_free_ring;
	/* The card accepts EQ doorbells in this page only. */
	if (WARN_ON_ONCE(eq->db.page->index != DINGO_DB_PAGE_KERNEL)) {
		err = -ENOSPC;
		goto err_free_db;
	}
	dingo_ring_describe(&eq->ring, &mem);
	err = dingo_cmd_create_eq(dev, eqn, vector, eq->log_size, flags, &mem);
	if (err)
		goto err_free_db;
	smp_store_release(&eq->created, true); /* pairs with dingo_eq_poll() */
	dingo_eq_doorbell(eq, true);
	return 0;

err_free_db:
	dingo_db_free(&dev->kernel_db, &eq->db);
err_free_ring:
	dingo_ring_free(dev, &eq->ring);
	return err;
}

static void dingo_eq_destroy(struct dingo_eq *eq)
{
	struct dingo_dev *dev = eq->dev;

	if (!eq->created)
		return;
	dingo_cmd_destroy_eq(dev, eq->eqn);
	WRITE_ONCE(eq->created, false);
	synchronize_irq(dingo_irq(dev, eq->vector));
	dingo_db_free(&dev->kernel_db, &eq->db);
	dingo_ring_free(dev, &eq->ring);
}

/**
 * dingo_eq_start() - create the event queues on the card
 * @dev: the card; commands work, limits are known
 *
 * Return: 0 or a negative errno.
 */
int dingo_eq_start(struct dingo_dev *dev)
{
	u32 max_cq = le32_to_cpu(dev->limits.max_cq);
	u32 objects = le32_to_cpu(dev->limits.max_qp) +
		      le32_to_cpu(dev->limits.max_srq) + max_cq;
	u32 max_eq = le32_to_cpu(dev->limits.max_eq);
	unsigned int n;
	int err;

	if (max_eq < 2) {
		dev_err(&dev->pdev->dev, "%u event queues are too few\n",
			max_eq);
		return -ENODEV;
	}
	dev->num_comp_vectors = min(dev->num_comp_vectors, max_eq - 1);

	err = dingo_eq_create(&dev->async_eq, DINGO_EQN_ASYNC, 0, objects,
			      DINGO_CMD_CREATE_EQ_FLAGS_ASYNC_MASK);
	if (err)
		return err;
	for (n = 0; n < dev->num_comp_vectors; n++) {
		err = dingo_eq_create(&dev->comp_eqs[n],
				      DINGO_EQN_ASYNC + 1 + n,
				      dev->num_vectors > 1 ? n + 1 : 0, max_cq,
				      0);
		if (err) {
			dingo_eq_stop(dev);
			return err;
		}
	}
	return 0;
}

/* Handles events whose interrupt was lost. */
static void dingo_eq_take_late(struct dingo_eq *eq)
{
	unsigned int irq = dingo_irq(eq->dev, eq->vector);
	u64 before = eq->events;
	unsigned long flags = 0;

	mutex_lock(&eq->dev->late_lock);
	disable_irq(irq);
	/* As in an interrupt; NAPI runs when softirqs are enabled again. */
	local_bh_disable();
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		local_irq_save(flags);
	dingo_eq_poll(eq);
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		local_irq_restore(flags);
	local_bh_enable();
	enable_irq(irq);
	mutex_unlock(&eq->dev->late_lock);
	if (eq->events != before)
		dev_warn_ratelimited(&eq->dev->pdev->dev,
				     "interrupt %u was lost, %llu events come late\n",
				     eq->vector, eq->events - before);
}

static void dingo_eq_look(struct dingo_eq *eq)
{
	u32 consumer = READ_ONCE(eq->consumer);

	if (!eq->created)
		return;
	if (!dingo_eq_waits(eq)) {
		eq->waiting = false;
	} else if (eq->waiting && eq->waiting_at == consumer) {
		dingo_eq_take_late(eq);
	} else {
		eq->waiting = true;
		eq->waiting_at = consumer;
	}
}

/**
 * dingo_eq_tick() - find events whose interrupt was lost
 * @dev: the card, between dingo_eq_start() and dingo_eq_stop()
 *
 * Called about every second: an event that was unhandled at the last call and
 * still is has lost its interrupt.
 */
void dingo_eq_tick(struct dingo_dev *dev)
{
	unsigned int n;

	dingo_eq_look(&dev->async_eq);
	for (n = 0; n < dev->num_comp_vectors; n++)
		dingo_eq_look(&dev->comp_eqs[n]);
}

/**
 * dingo_eq_stop() - undo dingo_eq_start()
 * @dev: the card; no CQ exists
 */
void dingo_eq_stop(struct dingo_dev *dev)
{
	unsigned int n = dev->num_comp_vectors;

	while (n--)
		dingo_eq_destroy(&dev->comp_eqs[n]);
	dingo_eq_destroy(&dev->async_eq);
}

/* Numbers are assigned cyclically, so that a late
 * event rarely hits a new CQ.
 */
static int dingo_cq_add_range(struct dingo_dev *dev, struct dingo_cq_core *cq,
			      unsigned int vector, u32 first, u32 end, u32 *next)
{
	int err;

	if (vector >= dev->num_comp_vectors)
		return -EINVAL;
	if (first >= end)
		return -ENOSPC;
	cq->vector = vector;
	cq->eqn = dev->comp_eqs[vector].eqn;
	err = xa_alloc_cyclic(&dev->cqs, &cq->cqn, cq, XA_LIMIT(first, end - 1),
			      next, GFP_KERNEL);
	if (err == -EBUSY)
		return -ENOSPC;
	return err < 0 ? err : 0;
}

/**
 * dingo_cq_add() - take a CQ number and receive its events
 * @dev: the card
 * @cq: the CQ; comp (and error, if any) are set. cqn and eqn are set here
 * @vector: completion vector, less than num_comp_vectors
 *
 * Return: 0, -EINVAL, -ENOSPC when all numbers are in use, -ENOMEM.
 */
int dingo_cq_add(struct dingo_dev *dev, struct dingo_cq_core *cq,
		 unsigned int vector)
{
	return dingo_cq_add_range(dev, cq, vector, dev->eth_cqs,
				  le32_to_cpu(dev->limits.max_cq),
				  &dev->cqn_next);
}
EXPORT_SYMBOL_NS_GPL(dingo_cq_add, DINGO_NS);

/**
 * dingo_cq_add_eth() - the same for a channel of the network interface
 * @dev: the card
 * @cq: as for dingo_cq_add()
 * @vector: as for dingo_cq_add()
 *
 * Uses reserved numbers, so that a channel can always be started again.
 * Return: as dingo_cq_add().
 */
int dingo_cq_add_eth(struct dingo_dev *dev, struct dingo_cq_core *cq,
		     unsigned int vector)
{
	return dingo_cq_add_range(dev, cq, vector, 0,
				  min(dev->eth_cqs,
				      le32_to_cpu(dev->limits.max_cq)),
				  &dev->eth_cqn_next);
}

/**
 * dingo_cq_del() - undo dingo_cq_add()
 * @dev: the card
 * @cq: the CQ; destroyed on the card
 *
 * Sleeps. No handler of @cq runs after this returns.
 */
void dingo_cq_del(struct dingo_dev *dev, struct dingo_cq_core *cq)
{
	unsigned int n;

	xa_erase(&dev->cqs, cq->cqn);
	/* All vectors: a faulty card may have named this CQ in other EQs. */
	for (n = 0; n < dev->num_vectors; n++)
		synchronize_irq(dingo_irq(dev, n));
	/* Handlers that run in place of a lost interrupt. */
	mutex_lock(&dev->late_lock);
	mutex_unlock(&dev->late_lock);
}
EXPORT_SYMBOL_NS_GPL(dingo_cq_del, DINGO_NS);

/**
 * dingo_async_sync() - wait until running asynchronous events are handled
 * @dev: the card
 *
 * After clearing dev->listener or dev->netdev, the caller may free it when this
 * returns.
 */
void dingo_async_sync(struct dingo_dev *dev)
{
	synchronize_irq(dingo_irq(dev, 0));
	synchronize_rcu(); /* dingo_fail() from other contexts */
}
