// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Memory regions of DMA buffers. They are dynamic if the card can pause a
 * region: the exporter may then move the buffer at any time, and the region
 * keeps its key. The buffer's reservation lock protects all state of a dynamic
 * region.
 */
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "dingo_ib.h"

#define DINGO_REMAP_TRIES 8
#define DINGO_REMAP_FIRST_MS 1 /* doubles with each try */

static void dingo_resv_lock(struct dingo_mr *mr)
{
	/* Cannot fail without a ticket. */
	dma_resv_lock(mr->dmabuf->attach->dmabuf->resv, NULL);
}

static void dingo_resv_unlock(struct dingo_mr *mr)
{
	dma_resv_unlock(mr->dmabuf->attach->dmabuf->resv);
}

static void dingo_remap_later(struct dingo_mr *mr)
{
	unsigned int ms = 0;

	if (mr->remap_tries)
		ms = DINGO_REMAP_FIRST_MS << (mr->remap_tries - 1);
	queue_delayed_work(to_dibdev(mr->ibmr.device)->wq, &mr->remap_work,
			   msecs_to_jiffies(ms));
}

/*
 * Stops the card's access to the pages by pausing the region, or if that fails
 * by destroying it. If the card refuses both it is declared failed, which ends
 * its DMA: it could write to memory that is given to others.
 */
static void dingo_dmabuf_pause(struct dingo_mr *mr)
{
	struct dingo_dev *dev = dingo_mr_dev(mr);
	int err;

	err = dingo_cmd_pause_mr(dev, mr->ibmr.lkey);
	if (!err)
		return;
	ibdev_err_ratelimited(mr->ibmr.device, "cannot pause region 0x%x: %d\n",
			      mr->ibmr.lkey, err);
	if (dingo_cmd_destroy_mr(dev, mr->ibmr.lkey))
		dingo_fail(dev, "a region of a moving DMA buffer cannot be stopped");
	else
		mr->on_card = false;
}

/*
 * Called by the exporter, which is about to move the buffer and holds its lock.
 * When this returns, the card does not access the old memory any more.
 */
static void dingo_dmabuf_moved(struct dma_buf_attachment *attach)
{
	struct ib_umem_dmabuf *umem_dmabuf = attach->importer_priv;
	struct dingo_mr *mr = umem_dmabuf->private;

	dma_resv_assert_held(attach->dmabuf->resv);
	if (!mr || !umem_dmabuf->sgt)
		return;
	if (mr->on_card && !mr->paused)
		dingo_dmabuf_pause(mr);
	mr->paused = true;
	ib_umem_dmabuf_unmap_pages(umem_dmabuf);
	if (!mr->dying) {
		mr->remap_tries = 0;
		dingo_remap_later(mr);
	}
}

static const struct dma_buf_attach_ops dingo_dmabuf_attach_ops = {
	.allow_peer2peer = true,
	.DINGO_MOVE_NOTIFY = dingo_dmabuf_moved,
};

/* Maps the buffer at its new location and updates the region's pages. */
static int dingo_dmabuf_remap(struct dingo_mr *mr)
{
	struct dingo_dev *dev = dingo_mr_dev(mr);
	struct dingo_cmd_create_mr cmd;
	struct dingo_pbl pbl;
	struct dingo_mem mem;
	int err;

	err = ib_umem_dmabuf_map_pages(mr->dmabuf);
	if (err)
		return err;
	err = dingo_mr_pbl(dev, mr->umem, &pbl, &mem);
	if (err)
		return err;
	dingo_mr_command(mr, mr->ibmr.lkey, &mem, &cmd);
	cmd.old_key = cpu_to_le32(mr->ibmr.lkey);
	err = dingo_cmd_rereg_mr(dev, &cmd);
	if (err) {
		dingo_pbl_free(dev, &pbl);
		return err;
	}
	dingo_pbl_free(dev, &mr->pbl);
	mr->pbl = pbl;
	mr->paused = false;
	return 0;
}

static void dingo_remap_work(struct work_struct *work)
{
	struct dingo_mr *mr = container_of(to_delayed_work(work),
					   struct dingo_mr, remap_work);
	int err = 0;

	dingo_resv_lock(mr);
	if (!mr->dying && mr->paused && mr->on_card)
		err = dingo_dmabuf_remap(mr);
	if (!err)
		goto out;
	if (++mr->remap_tries < DINGO_REMAP_TRIES) {
		dingo_remap_later(mr);
		goto out;
	}
	/* Destroy it: errors at every use are better than peers that wait
	 * forever.
	 */
	ibdev_err(mr->ibmr.device, "region 0x%x lost its DMA buffer: %d\n",
		  mr->ibmr.lkey, err);
	if (!dingo_cmd_destroy_mr(dingo_mr_dev(mr), mr->ibmr.lkey))
		mr->on_card = false;
out:
	dingo_resv_unlock(mr);
}

/**
 * dingo_dmabuf_destroy() - destroy a dynamic region on the card
 * @mr: the region
 *
 * Later moves must ignore the region, whose number may have been reused.
 * Return: 0 or a negative error; then the region still exists.
 */
int dingo_dmabuf_destroy(struct dingo_mr *mr)
{
	int err = 0;

	dingo_resv_lock(mr);
	mr->dying = true;
	dingo_resv_unlock(mr);
	cancel_delayed_work_sync(&mr->remap_work);

	dingo_resv_lock(mr);
	if (mr->on_card)
		err = dingo_cmd_destroy_mr(dingo_mr_dev(mr), mr->ibmr.lkey);
	if (!err) {
		mr->on_card = false;
	} else {
		mr->dying = false;
		if (mr->paused)
			dingo_remap_later(mr);
	}
	dingo_resv_unlock(mr);
	return err;
}

/* Creates the region on the card; for dynamic ones under the lock. */
static int dingo_dmabuf_create(struct dingo_ibdev *ib, struct dingo_mr *mr)
{
	struct dingo_cmd_create_mr cmd;
	struct dingo_mem mem;
	int err;

	err = dingo_mr_pbl(ib->dev, mr->umem, &mr->pbl, &mem);
	if (err)
		return err;
	dingo_mr_command(mr, mr->ibmr.lkey, &mem, &cmd);
	err = dingo_cmd_create_mr(ib->dev, &cmd);
	if (err) {
		dingo_pbl_free(ib->dev, &mr->pbl);
		return err;
	}
	mr->on_card = true;
	return 0;
}

static int dingo_dmabuf_attach_dynamic(struct dingo_ibdev *ib,
				       struct dingo_mr *mr, u64 offset,
				       size_t length, int fd, int access)
{
	struct ib_umem_dmabuf *umem_dmabuf;
	int err;

	umem_dmabuf = ib_umem_dmabuf_get(&ib->ibdev, offset, length, fd,
					 access, &dingo_dmabuf_attach_ops);
	if (IS_ERR(umem_dmabuf))
		return PTR_ERR(umem_dmabuf);
	mr->dmabuf = umem_dmabuf;
	mr->umem = &umem_dmabuf->umem;
	INIT_DELAYED_WORK(&mr->remap_work, dingo_remap_work);

	dingo_resv_lock(mr);
	umem_dmabuf->private = mr;
	err = ib_umem_dmabuf_map_pages(umem_dmabuf);
	if (!err)
		err = dingo_dmabuf_create(ib, mr);
	if (err) /* later moves must not find the region */
		umem_dmabuf->private = NULL;
	dingo_resv_unlock(mr);
	if (err)
		ib_umem_release(mr->umem);
	return err;
}

static int dingo_dmabuf_attach_pinned(struct dingo_ibdev *ib,
				      struct dingo_mr *mr, u64 offset,
				      size_t length, int fd, int access)
{
	struct ib_umem_dmabuf *umem_dmabuf;
	int err;

	umem_dmabuf = ib_umem_dmabuf_get_pinned(&ib->ibdev, offset, length, fd,
						access);
	if (IS_ERR(umem_dmabuf))
		return PTR_ERR(umem_dmabuf);
	mr->umem = &umem_dmabuf->umem;
	err = dingo_dmabuf_create(ib, mr);
	if (err)
		ib_umem_release(mr->umem);
	return err;
}

/**
 * dingo_reg_user_mr_dmabuf() - register a DMA buffer
 * @ibpd: the domain
 * @offset: first byte in the buffer
 * @length: bytes
 * @iova: address of the first byte in work requests
 * @fd: the buffer
 * @access: enum ib_access_flags
 * @attrs: not used
 *
 * Return: the region, or an error pointer.
 */
struct ib_mr *dingo_reg_user_mr_dmabuf(struct ib_pd *ibpd, u64 offset,
				       u64 length, u64 iova, int fd, int access,
				       DINGO_DMAH_ARG
				       struct uverbs_attr_bundle *attrs)
{
	struct dingo_ibdev *ib = to_dibdev(ibpd->device);
	struct dingo_dev *dev = ib->dev;
	u64 dynamic = DINGO_CAP_PAUSE_MR | DINGO_CAP_REREG_MR;
	struct dingo_mr *mr;
	u64 end;
	u32 key;
	int err;

	if (DINGO_DMAH_GIVEN)
		return ERR_PTR(-EOPNOTSUPP);
	err = dingo_check_reg(ibpd->device, length, iova, access);
	if (err)
		return ERR_PTR(err);
	if (check_add_overflow(offset, length, &end))
		return ERR_PTR(-EINVAL);

	mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	err = dingo_key_alloc(ib, &key);
	if (err)
		goto err_free;
	mr->base = access & IB_ZERO_BASED ? 0 : iova;
	dingo_mr_identify(mr, ibpd, key, length, dingo_access(access));

	/* Windows cannot be bound to these: ib_core
	 * refuses IB_ACCESS_MW_BIND.
	 */
	if ((dev->caps & dynamic) == dynamic)
		err = dingo_dmabuf_attach_dynamic(ib, mr, offset, length, fd,
						  access);
	else
		err = dingo_dmabuf_attach_pinned(ib, mr, offset, length, fd,
						 access);
	if (err)
		goto err_key;
	return &mr->ibmr;

err_key:
	dingo_key_free(ib, key);
err_free:
	kfree(mr);
	return ERR_PTR(err);
}

MODULE_IMPORT_NS(DINGO_DMA_BUF_NS);
