// SPDX-License-Identifier: GPL-2.0
/*
 * A test module: a card whose completions and events name wrong objects. A case
 * runs on the first device of driver dingo when its name is written to the
 * parameter "run"; the write fails if the case does, and the kernel log says
 * why. Needs two processors.
 *
 * qp: a completion names the QP of another queue, and that QP is destroyed
 *   while the driver uses it.
 * event: an event queue has an event of a CQ that another queue serves, and an
 *   event of a QP. The card has not written them: reset it afterwards.
 */
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <rdma/ib_verbs.h>

#include "dingo_ib.h"

#define LOOK_MS 2000 /* the driver's lookup of a QP is delayed for so long */
#define LATE_S 10 /* within which the driver polls events without interrupt */

static DEFINE_MUTEX(lock);
static struct ib_device *device;

struct queue {
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp *qp;
	atomic_t completions;
	atomic_t events;
};

static void count_completion(struct ib_cq *cq, void *context)
{
	atomic_inc(&((struct queue *)context)->completions);
}

static void count_event(struct ib_event *event, void *context)
{
	atomic_inc(&((struct queue *)context)->events);
}

static void queue_end(struct queue *q)
{
	if (!IS_ERR_OR_NULL(q->qp))
		ib_destroy_qp(q->qp);
	if (!IS_ERR_OR_NULL(q->cq))
		ib_destroy_cq(q->cq);
	if (!IS_ERR_OR_NULL(q->pd))
		ib_dealloc_pd(q->pd);
	memset(q, 0, sizeof(*q));
}

static int queue_begin(struct queue *q)
{
	struct ib_cq_init_attr attr = { .cqe = 16 };
	struct ib_qp_init_attr init = {
		.event_handler = count_event,
		.qp_context = q,
		.cap = { .max_send_wr = 1, .max_send_sge = 1,
			 .max_recv_wr = 1, .max_recv_sge = 1 },
		.qp_type = IB_QPT_RC,
	};

	memset(q, 0, sizeof(*q));
	q->pd = ib_alloc_pd(device, 0);
	q->cq = ib_create_cq(device, count_completion, NULL, q, &attr);
	if (IS_ERR(q->pd) || IS_ERR(q->cq))
		goto err;
	init.send_cq = q->cq;
	init.recv_cq = q->cq;
	q->qp = ib_create_qp(q->pd, &init);
	if (!IS_ERR(q->qp))
		return 0;
err:
	queue_end(q);
	return -ENOMEM;
}

/* ---------------------------------------------------------------------- qp */

static struct task_struct *looker; /* whose next lookup is delayed; NULL: none */
static bool looking, gone, gone_meanwhile;

static int look_begins(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	if (current != READ_ONCE(looker))
		return 1;
	WRITE_ONCE(looker, NULL);
	return 0;
}
NOKPROBE_SYMBOL(look_begins);

/* Here the driver has looked up the QP's address, but not used it yet. */
static int look_ends(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	int ms;

	smp_store_release(&looking, true);
	for (ms = 0; ms < LOOK_MS && !READ_ONCE(gone); ms++)
		mdelay(1);
	gone_meanwhile = READ_ONCE(gone);
	return 0;
}
NOKPROBE_SYMBOL(look_ends);

static struct kretprobe look_probe = {
	.kp.symbol_name = "xa_load",
	.entry_handler = look_begins,
	.handler = look_ends,
};

static int destroyer(void *data)
{
	struct queue *q = data;

	while (!smp_load_acquire(&looking) && !kthread_should_stop())
		usleep_range(100, 200);
	ib_destroy_qp(q->qp);
	q->qp = NULL;
	WRITE_ONCE(gone, true);
	while (!kthread_should_stop())
		usleep_range(1000, 2000);
	return 0;
}

/* Writes a completion into @one's CQ that names the other queue's QP. */
static void name_foreign_qp(struct queue *one, u32 qpn)
{
	struct dingo_cq *cq = to_dcq(one->cq);
	struct dingo_cqe *ring = cq->qmem->ring.va;

	ring[cq->consumer & (BIT(cq->log_size) - 1)] = (struct dingo_cqe){
		.qpn_op = cpu_to_le32(DINGO_WC_RECV << 24 | qpn),
		.owner = !(cq->consumer & BIT(cq->log_size)),
	};
}

static int look_at(struct queue *one, struct queue *two)
{
	struct task_struct *thread;
	struct ib_port_attr port;
	int polled, err, n;
	struct ib_wc wc;

	thread = kthread_create(destroyer, two, "foreign");
	if (IS_ERR(thread))
		return PTR_ERR(thread);
	/* Processor 0 takes the admin queue's interrupts, as this one blocks;
	 * a new affinity applies from the next interrupt on.
	 */
	kthread_bind(thread, 0);
	irq_set_affinity(pci_irq_vector(to_ddev(device)->pdev, 0), cpumask_of(0));
	err = set_cpus_allowed_ptr(current, cpumask_of(1));
	for (n = 0; n < 4; n++)
		ib_query_port(device, 1, &port);
	wake_up_process(thread);
	looking = false;
	gone = false;
	WRITE_ONCE(looker, current);
	polled = ib_poll_cq(one->cq, 1, &wc);
	kthread_stop(thread);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
	pr_notice("foreign: looked %d, %d completions, the QP %s meanwhile\n",
		  looking, polled, gone_meanwhile ? "went" : "lived");
	if (err)
		return err;
	return looking && !polled && !gone_meanwhile ? 0 : -EBADMSG;
}

static int run_qp(void)
{
	struct queue one, two;
	int err;

	err = queue_begin(&one);
	if (err)
		return err;
	err = queue_begin(&two);
	if (err)
		goto out_one;
	err = register_kretprobe(&look_probe);
	if (err)
		goto out_two;
	name_foreign_qp(&one, two.qp->qp_num);
	err = look_at(&one, &two);
	unregister_kretprobe(&look_probe);
out_two:
	queue_end(&two);
out_one:
	queue_end(&one);
	return err;
}

/* ------------------------------------------------------------------- event */

static void forge(struct dingo_eq *eq, u32 index, u8 kind, u32 id)
{
	struct dingo_eqe *ring = eq->ring.va;

	ring[index & (BIT(eq->log_size) - 1)] = (struct dingo_eqe){
		.kind = kind,
		.id = cpu_to_le32(id),
		.owner = !(index & BIT(eq->log_size)),
	};
}

static int run_event(void)
{
	struct dingo_dev *dev = to_ddev(device);
	struct dingo_eq *eq = &dev->comp_eqs[1];
	u32 began = eq->consumer;
	struct queue q;
	int err, n;

	err = queue_begin(&q);
	if (err)
		return err;
	/* The second event first, so that the driver sees both. */
	forge(eq, began + 1, DINGO_EV_QP_FATAL, q.qp->qp_num);
	forge(eq, began, DINGO_EV_COMPLETION, to_dcq(q.cq)->core.cqn);
	for (n = 0; n < LATE_S * 10 && READ_ONCE(eq->consumer) - began < 2; n++)
		msleep(100);
	msleep(100); /* handlers of QPs run in a workqueue */
	pr_notice("foreign: %u events taken, %d and %d handlers called\n",
		  eq->consumer - began, atomic_read(&q.completions),
		  atomic_read(&q.events));
	if (eq->consumer - began != 2)
		err = -ETIMEDOUT;
	else if (atomic_read(&q.completions) || atomic_read(&q.events))
		err = -EBADMSG;
	queue_end(&q);
	return err;
}

static int set_run(const char *text, const struct kernel_param *param)
{
	int err = -EINVAL;

	mutex_lock(&lock);
	if (!device || to_ddev(device)->num_comp_vectors < 2)
		err = -ENODEV;
	else if (sysfs_streq(text, "qp"))
		err = run_qp();
	else if (sysfs_streq(text, "event"))
		err = run_event();
	mutex_unlock(&lock);
	return err;
}

static const struct kernel_param_ops run_ops = { .set = set_run };
module_param_cb(run, &run_ops, NULL, 0200);
MODULE_PARM_DESC(run, "qp or event");

static int add_one(struct ib_device *ibdev)
{
	mutex_lock(&lock);
	if (!device && ibdev->dev.parent && ibdev->dev.parent->driver &&
	    !strcmp(ibdev->dev.parent->driver->name, "dingo"))
		device = ibdev;
	mutex_unlock(&lock);
	return 0;
}

static void remove_one(struct ib_device *ibdev, void *data)
{
	mutex_lock(&lock);
	if (device == ibdev)
		device = NULL;
	mutex_unlock(&lock);
}

static struct ib_client client = {
	.name = "foreign",
	.add = add_one,
	.remove = remove_one,
};

static int __init foreign_init(void)
{
	return ib_register_client(&client);
}
module_init(foreign_init);

static void __exit foreign_exit(void)
{
	ib_unregister_client(&client);
}
module_exit(foreign_exit);

MODULE_DESCRIPTION("A card that names foreign objects, for tests of dingo_ib.ko");
MODULE_LICENSE("GPL");
