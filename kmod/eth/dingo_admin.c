// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Transport of admin commands: many outstanding, completions by MSI-X vector
 * 0 in any order. A command that gets no completion in time fails the device.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/semaphore.h>
#include <linux/slab.h>

#include "dingo.h"
#include "dingo_trace.h"

#define DINGO_ADMIN_LOG_DEPTH 6
#define DINGO_ADMIN_DEPTH BIT(DINGO_ADMIN_LOG_DEPTH)
#define DINGO_ADMIN_RESULTS ARRAY_SIZE(((struct dingo_admin_cpl *)0)->result)
#define DINGO_ADMIN_OUT_BYTES PAGE_SIZE
/* A waiter checks the time this often, and the card's state each second. */
#define DINGO_ADMIN_LOOK (HZ / 10)
#define DINGO_ADMIN_LOOKS (HZ / DINGO_ADMIN_LOOK)

/* cmd_id: number of the slot, and a count of its uses. */
#define DINGO_CMD_ID_SLOT_MASK 0x00ffU
#define DINGO_CMD_ID_TURN_MASK 0xff00U

/* A command between submission and the wake-up of its caller. */
struct dingo_admin_slot {
	struct completion done;
	bool waiting; /* no completion yet */
	u8 turn;
	u16 cmd_id;
	u16 opcode;
	unsigned long began; /* jiffies */
	int err; /* -EIO: no completion */
	u32 status; /* DINGO_ST_* */
	u32 detail;
	u64 result[DINGO_ADMIN_RESULTS];
};

struct dingo_admin {
	struct semaphore free_slots;
	spinlock_t lock; /* protects all up to @slots */
	bool running;
	u32 producer;
	u32 consumer;
	unsigned long answered; /* jiffies of the last completion */
	DECLARE_BITMAP(used, DINGO_ADMIN_DEPTH);
	struct dingo_admin_slot slots[DINGO_ADMIN_DEPTH];

	void *sq;
	dma_addr_t sq_dma;
	struct dingo_admin_cpl *cq;
	dma_addr_t cq_dma;

	/*
	 * Buffer for the answers of queries. It lives as long as the queue, so
	 * a late DMA write of the card cannot hit memory that was freed and
	 * allocated to another user.
	 */
	struct mutex out_lock;
	void *out;
	dma_addr_t out_dma;
};

/**
 * dingo_admin_init() - memory of the admin queue
 * @dev: the card
 *
 * Return: 0 or -ENOMEM.
 */
int dingo_admin_init(struct dingo_dev *dev)
{
	struct device *dma_dev = dingo_dma_dev(dev);
	struct dingo_admin *admin;
	unsigned int n;

	BUILD_BUG_ON(DINGO_ADMIN_LOG_DEPTH > DINGO_ADMIN_MAX_LOG_DEPTH);
	BUILD_BUG_ON(sizeof(struct dingo_admin_cpl) != DINGO_ADMIN_CPL_SIZE);

	admin = kzalloc(sizeof(*admin), GFP_KERNEL);
	if (!admin)
		return -ENOMEM;
	sema_init(&admin->free_slots, DINGO_ADMIN_DEPTH);
	spin_lock_init(&admin->lock);
	mutex_init(&admin->out_lock);
	for (n = 0; n < DINGO_ADMIN_DEPTH; n++)
		init_completion(&admin->slots[n].done);

	/* Coherent memory is page aligned, as the queue's bases must be. */
	admin->sq = dma_alloc_coherent(dma_dev,
				       DINGO_ADMIN_DEPTH * DINGO_ADMIN_CMD_SIZE,
				       &admin->sq_dma, GFP_KERNEL);
	if (!admin->sq)
		goto err_free_admin;
	admin->cq = dma_alloc_coherent(dma_dev,
				       DINGO_ADMIN_DEPTH * DINGO_ADMIN_CPL_SIZE,
				       &admin->cq_dma, GFP_KERNEL);
	if (!admin->cq)
		goto err_free_sq;
	admin->out = dma_alloc_coherent(dma_dev, DINGO_ADMIN_OUT_BYTES,
					&admin->out_dma, GFP_KERNEL);
	if (!admin->out)
		goto err_free_cq;
	dev->admin = admin;
	return 0;

err_free_cq:
	dma_free_coherent(dma_dev, DINGO_ADMIN_DEPTH * DINGO_ADMIN_CPL_SIZE,
			  admin->cq, admin->cq_dma);
err_free_sq:
	dma_free_coherent(dma_dev, DINGO_ADMIN_DEPTH * DINGO_ADMIN_CMD_SIZE,
			  admin->sq, admin->sq_dma);
err_free_admin:
	kfree(admin);
	return -ENOMEM;
}

/**
 * dingo_admin_cleanup() - undo dingo_admin_init()
 * @dev: the card; the queue is stopped, interrupts are freed
 */
void dingo_admin_cleanup(struct dingo_dev *dev)
{
	struct device *dma_dev = dingo_dma_dev(dev);
	struct dingo_admin *admin = dev->admin;

	dma_free_coherent(dma_dev, DINGO_ADMIN_OUT_BYTES, admin->out,
			  admin->out_dma);
	dma_free_coherent(dma_dev, DINGO_ADMIN_DEPTH * DINGO_ADMIN_CPL_SIZE,
			  admin->cq, admin->cq_dma);
	dma_free_coherent(dma_dev, DINGO_ADMIN_DEPTH * DINGO_ADMIN_CMD_SIZE,
			  admin->sq, admin->sq_dma);
	mutex_destroy(&admin->out_lock);
	dev->admin = NULL;
	kfree(admin);
}

/**
 * dingo_admin_start() - enable the admin queue
 * @dev: the card, after a reset; if it has failed meanwhile, no command runs
 */
void dingo_admin_start(struct dingo_dev *dev)
{
	struct dingo_admin *admin = dev->admin;

	spin_lock_irq(&admin->lock);
	memset(admin->cq, 0, DINGO_ADMIN_DEPTH * DINGO_ADMIN_CPL_SIZE);
	admin->producer = 0;
	admin->consumer = 0;
	dingo_write64(dev, DINGO_REG_ASQ_BASE, admin->sq_dma);
	dingo_write64(dev, DINGO_REG_ACQ_BASE, admin->cq_dma);
	dingo_write32(dev, DINGO_REG_AQ_CTRL,
		      FIELD_PREP(DINGO_AQ_CTRL_LOG_DEPTH_MASK,
				 DINGO_ADMIN_LOG_DEPTH) |
		      DINGO_AQ_CTRL_ENABLE_MASK);
	/* dingo_fail() sets the state, then takes this lock. */
	admin->running = READ_ONCE(dev->state) != DINGO_STATE_FAILED;
	spin_unlock_irq(&admin->lock);
}

/**
 * dingo_admin_fail_all() - end all commands with -EIO, now and from now on
 * @dev: the card
 *
 * Any context.
 */
void dingo_admin_fail_all(struct dingo_dev *dev)
{
	struct dingo_admin *admin = dev->admin;
	unsigned long flags;
	unsigned int n;

	spin_lock_irqsave(&admin->lock, flags);
	admin->running = false;
	for_each_set_bit(n, admin->used, DINGO_ADMIN_DEPTH) {
		if (!admin->slots[n].waiting)
			continue;
		admin->slots[n].waiting = false;
		admin->slots[n].err = -EIO;
		complete(&admin->slots[n].done);
	}
	spin_unlock_irqrestore(&admin->lock, flags);
}

/**
 * dingo_admin_stop() - disable the admin queue
 * @dev: the card; it may have failed or be gone
 */
void dingo_admin_stop(struct dingo_dev *dev)
{
	dingo_admin_fail_all(dev);
	dingo_write32(dev, DINGO_REG_AQ_CTRL, 0);
}

static void dingo_admin_complete(struct dingo_dev *dev,
				 const struct dingo_admin_cpl *cpl)
{
	struct dingo_admin *admin = dev->admin;
	u16 cmd_id = le16_to_cpu(cpl->cmd_id);
	u32 index = FIELD_GET(DINGO_CMD_ID_SLOT_MASK, cmd_id);
	struct dingo_admin_slot *slot;
	unsigned int n;

	lockdep_assert_held(&admin->lock);
	slot = index < DINGO_ADMIN_DEPTH ? &admin->slots[index] : NULL;
	if (!slot || !slot->waiting || slot->cmd_id != cmd_id ||
	    slot->opcode != le16_to_cpu(cpl->opcode)) {
		dev_warn_once(&dev->pdev->dev,
			      "admin completion 0x%04x of no command, ignored\n",
			      cmd_id);
		return;
	}
	slot->waiting = false;
	WRITE_ONCE(admin->answered, jiffies);
	slot->err = 0;
	slot->status = le32_to_cpu(cpl->status);
	slot->detail = le32_to_cpu(cpl->detail);
	for (n = 0; n < DINGO_ADMIN_RESULTS; n++)
		slot->result[n] = le64_to_cpu(cpl->result[n]);
	complete(&slot->done);
}

/**
 * dingo_admin_irq() - take admin completions
 * @dev: the card
 *
 * Any context; called for each interrupt of vector 0.
 */
void dingo_admin_irq(struct dingo_dev *dev)
{
	struct dingo_admin *admin = dev->admin;
	const struct dingo_admin_cpl *cpl;
	unsigned long flags;
	unsigned int n;
	u8 phase;

	spin_lock_irqsave(&admin->lock, flags);
	/* A faulty card may write entries without end. */
	for (n = 0; admin->running && n < DINGO_ADMIN_DEPTH; n++) {
		cpl = &admin->cq[admin->consumer & (DINGO_ADMIN_DEPTH - 1)];
		phase = !(admin->consumer & DINGO_ADMIN_DEPTH);
		if ((READ_ONCE(cpl->owner) & 1) != phase)
			break;
		dma_rmb(); /* read the rest of the entry after owner */
		dingo_admin_complete(dev, cpl);
		admin->consumer++;
	}
	spin_unlock_irqrestore(&admin->lock, flags);
}

/* Return: the slot, or NULL if the queue has stopped. */
static struct dingo_admin_slot *dingo_admin_submit(struct dingo_dev *dev,
						   u16 opcode, const void *cmd,
						   size_t cmd_size)
{
	struct dingo_admin *admin = dev->admin;
	struct dingo_admin_slot *slot = NULL;
	struct dingo_admin_hdr hdr = {};
	u8 *entry;
	u32 index;

	spin_lock_irq(&admin->lock);
	if (!admin->running)
		goto out;
	index = find_first_zero_bit(admin->used, DINGO_ADMIN_DEPTH);
	if (WARN_ON_ONCE(index >= DINGO_ADMIN_DEPTH))
		goto out;
	__set_bit(index, admin->used);
	slot = &admin->slots[index];
	reinit_completion(&slot->done);
	slot->waiting = true;
	slot->status = 0;
	slot->detail = 0;
	slot->opcode = opcode;
	slot->began = jiffies;
	slot->cmd_id = FIELD_PREP(DINGO_CMD_ID_SLOT_MASK, index) |
		       FIELD_PREP(DINGO_CMD_ID_TURN_MASK, slot->turn++);

	/*
	 * The card takes commands in order, and no more are outstanding than
	 * there are entries, so this entry is free.
	 */
	entry = admin->sq + (admin->producer & (DINGO_ADMIN_DEPTH - 1)) *
		DINGO_ADMIN_CMD_SIZE;
	hdr.opcode = cpu_to_le16(opcode);
	hdr.cmd_id = cpu_to_le16(slot->cmd_id);
	memset(entry, 0, DINGO_ADMIN_CMD_SIZE);
	memcpy(entry, cmd, cmd_size);
	memcpy(entry, &hdr, sizeof(hdr));
	admin->producer++;
	dingo_write32(dev, DINGO_REG_ASQ_DB, admin->producer);
out:
	spin_unlock_irq(&admin->lock);
	return slot;
}

static void dingo_admin_put_slot(struct dingo_admin *admin,
				 struct dingo_admin_slot *slot)
{
	spin_lock_irq(&admin->lock);
	__clear_bit(slot - admin->slots, admin->used);
	spin_unlock_irq(&admin->lock);
}

static bool dingo_admin_older(unsigned long since, unsigned int ms)
{
	return time_after(jiffies, since + msecs_to_jiffies(ms));
}

/*
 * Return: why the card must be declared failed, or NULL. A command may take
 * long, but not while other threads wait for its end and the card completes
 * nothing else. The shorter timeout of DINGO_ADMIN_LEAVE_TIMEOUT_MS also applies
 * while processes are frozen for a suspend, except to a start.
 */
static const char *dingo_admin_overdue(const struct dingo_dev *dev,
				       const struct dingo_admin_slot *slot)
{
	unsigned long idle = READ_ONCE(dev->admin->answered);
	bool starts = atomic_read(&dev->expect);
	bool leaves = atomic_read(&dev->hurry) ||
		      (!starts && dingo_pm_freezes());

	if (time_before(idle, slot->began))
		idle = slot->began;
	if (leaves && dingo_admin_older(idle, DINGO_ADMIN_LEAVE_TIMEOUT_MS))
		return "no answer to an admin command, and the device is to go down";
	if (dingo_admin_older(slot->began, DINGO_ADMIN_TIMEOUT_MS) ||
	    (starts && dingo_admin_older(idle, DINGO_ADMIN_START_TIMEOUT_MS)))
		return "an admin command timed out";
	return NULL;
}

/* Return: true if the completion was found although its interrupt was lost. */
static bool dingo_admin_look(struct dingo_dev *dev,
			     struct dingo_admin_slot *slot)
{
	dingo_admin_irq(dev);
	if (!try_wait_for_completion(&slot->done))
		return false;
	dev_warn_ratelimited(&dev->pdev->dev,
			     "interrupt of the admin queue was lost\n");
	return true;
}

static void dingo_admin_wait(struct dingo_dev *dev,
			     struct dingo_admin_slot *slot)
{
	unsigned int looks = 0;
	const char *overdue;

	while (!wait_for_completion_timeout(&slot->done, DINGO_ADMIN_LOOK)) {
		if (!dingo_admin_overdue(dev, slot) &&
		    ++looks % DINGO_ADMIN_LOOKS)
			continue;
		if (dingo_admin_look(dev, slot))
			return;
		/* dingo_admin_look() may have completed other commands, too. */
		overdue = dingo_admin_overdue(dev, slot);
		/* Do not wait for a card that is gone. */
		if (dingo_check_alive(dev) && overdue)
			dingo_fail(dev, overdue);
	}
}

static const char *const dingo_st_name[] = {
	[DINGO_ST_OK] = "ok",
	[DINGO_ST_BAD_OPCODE] = "unknown opcode",
	[DINGO_ST_BAD_FIELD] = "bad field",
	[DINGO_ST_BAD_ID] = "no such object",
	[DINGO_ST_IN_USE] = "number in use",
	[DINGO_ST_BUSY] = "object is referred to",
	[DINGO_ST_NO_RESOURCE] = "card is full",
	[DINGO_ST_BAD_STATE] = "wrong state",
	[DINGO_ST_BUS_ERROR] = "bus error",
	[DINGO_ST_UNSUPPORTED] = "not supported",
};

static const int dingo_st_errno[] = {
	[DINGO_ST_OK] = 0,
	[DINGO_ST_BAD_OPCODE] = -EOPNOTSUPP,
	[DINGO_ST_BAD_FIELD] = -EINVAL,
	[DINGO_ST_BAD_ID] = -ENOENT,
	[DINGO_ST_IN_USE] = -EEXIST,
	[DINGO_ST_BUSY] = -EBUSY,
	[DINGO_ST_NO_RESOURCE] = -ENOMEM,
	[DINGO_ST_BAD_STATE] = -EINVAL,
	[DINGO_ST_BUS_ERROR] = -EIO,
	[DINGO_ST_UNSUPPORTED] = -EOPNOTSUPP,
};

static int dingo_admin_errno(struct dingo_dev *dev,
			     const struct dingo_admin_slot *slot)
{
	if (slot->err || slot->status == DINGO_ST_OK)
		return slot->err;
	if (slot->status >= ARRAY_SIZE(dingo_st_errno)) {
		dev_warn_ratelimited(&dev->pdev->dev,
				     "admin command 0x%02x: unknown status %u\n",
				     slot->opcode, slot->status);
		return -EIO;
	}
	if (slot->status == DINGO_ST_BAD_FIELD)
		dev_dbg(&dev->pdev->dev,
			"admin command 0x%02x: bad field at offset %u\n",
			slot->opcode, slot->detail);
	else
		dev_dbg(&dev->pdev->dev, "admin command 0x%02x: %s\n",
			slot->opcode, dingo_st_name[slot->status]);
	return dingo_st_errno[slot->status];
}

/**
 * dingo_admin_exec() - run an admin command
 * @dev: the card
 * @opcode: DINGO_OP_*
 * @cmd: the command; its header is written for it
 * @cmd_size: bytes, at most DINGO_ADMIN_CMD_SIZE
 * @result: where to put the DINGO_ADMIN_RESULTS (5) results; may be NULL
 *
 * Sleeps.
 * Return: 0 or a negative errno, see dingo_cmd_*() in dingo_core.h; -EIO at
 * once when the device has failed.
 */
int dingo_admin_exec(struct dingo_dev *dev, u16 opcode, const void *cmd,
		     size_t cmd_size, u64 *result)
{
	struct dingo_admin *admin = dev->admin;
	struct dingo_admin_slot *slot;
	u64 began = ktime_get_ns();
	int err;

	might_sleep();
	if (WARN_ON_ONCE(cmd_size < sizeof(struct dingo_admin_hdr) ||
			 cmd_size > DINGO_ADMIN_CMD_SIZE))
		return -EINVAL;
	down(&admin->free_slots);
	slot = dingo_admin_submit(dev, opcode, cmd, cmd_size);
	if (!slot) {
		err = -EIO;
		goto out;
	}
	dingo_admin_wait(dev, slot);
	err = dingo_admin_errno(dev, slot);
	trace_dingo_admin(dev, opcode, slot->status, slot->detail, err,
			  ktime_get_ns() - began);
	if (!err && result)
		memcpy(result, slot->result, sizeof(slot->result));
	dingo_admin_put_slot(admin, slot);
out:
	up(&admin->free_slots);
	return err;
}

/**
 * dingo_admin_out_get() - take the buffer that queries are answered in
 * @dev: the card
 * @addr: its bus address, for the command
 *
 * Return: the buffer, one page; zeroed.
 */
void *dingo_admin_out_get(struct dingo_dev *dev, dma_addr_t *addr)
{
	struct dingo_admin *admin = dev->admin;

	mutex_lock(&admin->out_lock);
	memset(admin->out, 0, DINGO_ADMIN_OUT_BYTES);
	*addr = admin->out_dma;
	return admin->out;
}

/**
 * dingo_admin_out_put() - give the buffer of dingo_admin_out_get() back
 * @dev: the card
 */
void dingo_admin_out_put(struct dingo_dev *dev)
{
	mutex_unlock(&dev->admin->out_lock);
}
