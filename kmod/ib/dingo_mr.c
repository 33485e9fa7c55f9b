// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Memory regions: keys, user memory, the kernel's region of all memory, and
 * fast registration. DMA buffers: dingo_mr_dmabuf.c.
 */
#include <linux/dma-map-ops.h>
#include <linux/iommu-dma.h>
#include <linux/overflow.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>
#include <rdma/iter.h>

#include "dingo_ib.h"

/* Access flags that the card implements. */
static const struct {
	int ib;
	u32 card;
} dingo_access_map[] = {
	{ IB_ACCESS_LOCAL_WRITE, DINGO_ACC_LOCAL_WRITE },
	{ IB_ACCESS_REMOTE_WRITE, DINGO_ACC_REMOTE_WRITE },
	{ IB_ACCESS_REMOTE_READ, DINGO_ACC_REMOTE_READ },
	{ IB_ACCESS_REMOTE_ATOMIC, DINGO_ACC_REMOTE_ATOMIC },
	{ IB_ACCESS_MW_BIND, DINGO_ACC_MW_BIND },
};

/* Flags of a registration that are supported or may be ignored. */
#define DINGO_MR_ACCESS                                                \
	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |              \
	 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC |             \
	 IB_ACCESS_MW_BIND | IB_ZERO_BASED | IB_ACCESS_HUGETLB |       \
	 IB_ACCESS_OPTIONAL)

/**
 * dingo_access() - convert access rights to those of the card
 * @ib_access: enum ib_access_flags
 *
 * Return: DINGO_ACC_*.
 */
u32 dingo_access(int ib_access)
{
	u32 access = 0;
	size_t n;

	for (n = 0; n < ARRAY_SIZE(dingo_access_map); n++) {
		if (ib_access & dingo_access_map[n].ib)
			access |= dingo_access_map[n].card;
	}
	return access;
}

/* Makes a key with a random tag that differs from
 * the last one of this index.
 */
static u32 dingo_key_make(struct dingo_ibdev *ib, u32 index)
{
	u16 tag = get_random_u16();

	spin_lock(&ib->mr_lock);
	/* Keys of the last owner must not match. */
	if (tag == ib->mr_tags[index])
		tag ^= 0x5a5a;
	ib->mr_tags[index] = tag;
	spin_unlock(&ib->mr_lock);
	return index << DINGO_MR_INDEX_SHIFT | tag;
}

/**
 * dingo_key_alloc() - allocate a region number
 * @ib: the device
 * @key: the result, with an unpredictable index and tag
 *
 * Return: 0, -ENOSPC, -ENOMEM.
 */
int dingo_key_alloc(struct dingo_ibdev *ib, u32 *key)
{
	u32 last = le32_to_cpu(ib->dev->limits.max_mr) - 1;
	int index = ida_alloc_range(&ib->mr_ids,
				    get_random_u32_inclusive(0, last), last,
				    GFP_KERNEL);

	/* The owner of a window chooses 8 bits of its tag, so the index should
	 * be hard to guess, too.
	 */
	if (index == -ENOSPC)
		index = ida_alloc_max(&ib->mr_ids, last, GFP_KERNEL);
	if (index < 0)
		return index;
	*key = dingo_key_make(ib, index);
	return 0;
}

/**
 * dingo_key_free() - free a region number
 * @ib: the device
 * @key: its key, which the card does not know any more
 */
void dingo_key_free(struct dingo_ibdev *ib, u32 key)
{
	ida_free(&ib->mr_ids, key >> DINGO_MR_INDEX_SHIFT);
}

/*
 * Returns true if the address is in a bounce buffer. Such memory cannot be
 * used, as it is never synced: the card would access the copy, and unmapping
 * would overwrite the pages. IOMMU mappings are excluded: their addresses are
 * never those of bounce buffers, but dma_need_sync() is true for all of them.
 */
static bool dingo_bounces(struct dingo_dev *dev, dma_addr_t addr)
{
	struct device *dma_dev = dingo_dma_dev(dev);

	if (use_dma_iommu(dma_dev) || get_dma_ops(dma_dev) ||
	    !dma_need_sync(dma_dev, addr))
		return false;
	dev_err_once(dma_dev, "DMA bounces here: memory of processes cannot be registered\n");
	return true;
}

/**
 * dingo_mr_pbl() - describe user memory to the card
 * @dev: the card
 * @umem: the memory, mapped for DMA
 * @pbl: the resulting page list
 * @mem: the description
 *
 * Uses the largest suitable page size of the card. Addresses of a region are
 * independent of its pages: the offset in the first page is passed separately.
 * Return: 0, -EINVAL, -ENOMEM, -EOPNOTSUPP if DMA uses bounce buffers.
 */
int dingo_mr_pbl(struct dingo_dev *dev, struct ib_umem *umem,
		 struct dingo_pbl *pbl, struct dingo_mem *mem)
{
	struct ib_block_iter biter;
	unsigned long pgsz;
	dma_addr_t addr;
	size_t n = 0;
	int err;

	pgsz = ib_umem_find_best_pgoff(umem,
				       le64_to_cpu(dev->limits.page_sizes),
				       U64_MAX);
	if (!pgsz)
		return -EINVAL;
	err = dingo_pbl_alloc(dev, pbl, ib_umem_num_dma_blocks(umem, pgsz),
			      __ffs(pgsz), GFP_KERNEL_ACCOUNT);
	if (err)
		return err;
	rdma_umem_for_each_dma_block(umem, &biter, pgsz) {
		addr = rdma_block_iter_dma_address(&biter);
		if (dingo_bounces(dev, addr)) {
			err = -EOPNOTSUPP;
			goto err_free;
		}
		if (n == pbl->entries)
			break;
		dingo_pbl_set(pbl, n++, addr);
	}
	if (n != pbl->entries) {
		err = -EINVAL;
		goto err_free;
	}
	dingo_pbl_describe(pbl, ib_umem_dma_offset(umem, pgsz), mem);
	return 0;

err_free:
	dingo_pbl_free(dev, pbl);
	return err;
}

/**
 * dingo_mr_identify() - fill in the common fields of a region
 * @mr: the region
 * @ibpd: its domain
 * @key: its key, local and remote
 * @length: bytes; 0: ib_core sets them
 * @access: enum acc of the contract
 */
void dingo_mr_identify(struct dingo_mr *mr, struct ib_pd *ibpd, u32 key,
		       u64 length, u32 access)
{
	mr->ibmr.device = ibpd->device;
	mr->ibmr.length = length;
	mr->ibmr.lkey = key;
	mr->ibmr.rkey = key;
	mr->pdn = to_dpd(ibpd)->pdn;
	mr->access = access;
}

/**
 * dingo_mr_command() - fill in CREATE_MR or REREG_MR of a memory region
 * @mr: the region
 * @key: its key
 * @mem: its memory
 * @cmd: the result
 */
void dingo_mr_command(const struct dingo_mr *mr, u32 key,
		      const struct dingo_mem *mem,
		      struct dingo_cmd_create_mr *cmd)
{
	*cmd = (struct dingo_cmd_create_mr){
		.key = cpu_to_le32(key),
		.pdn = cpu_to_le32(mr->pdn),
		.access = cpu_to_le32(mr->access),
		.kind = DINGO_MRT_MR,
		.mem = *mem,
		.iova = cpu_to_le64(mr->base),
		.length = cpu_to_le64(mr->ibmr.length),
	};
}

/* Creates a region for the kernel, without memory. */
static struct ib_mr *dingo_create_kernel_mr(struct ib_pd *ibpd, u8 kind,
					    u32 access, u64 length)
{
	struct dingo_ibdev *ib = to_dibdev(ibpd->device);
	struct dingo_cmd_create_mr cmd = {
		.pdn = cpu_to_le32(to_dpd(ibpd)->pdn),
		.access = cpu_to_le32(access),
		.kind = kind,
		.length = cpu_to_le64(length),
	};
	struct dingo_mr *mr;
	u32 key;
	int err;

	mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	err = dingo_key_alloc(ib, &key);
	if (err)
		goto err_free;
	cmd.key = cpu_to_le32(key);
	err = dingo_cmd_create_mr(ib->dev, &cmd);
	if (err)
		goto err_key;
	dingo_mr_identify(mr, ibpd, key, 0, access);
	mr->on_card = true;
	return &mr->ibmr;

err_key:
	dingo_key_free(ib, key);
err_free:
	kfree(mr);
	return ERR_PTR(err);
}

/**
 * dingo_get_dma_mr() - create a region of all memory, by bus address; kernel
 * only
 * @ibpd: its domain
 * @access: enum ib_access_flags
 *
 * Return: the region, or an error pointer.
 */
struct ib_mr *dingo_get_dma_mr(struct ib_pd *ibpd, int access)
{
	if (access & ~DINGO_MR_ACCESS)
		return ERR_PTR(-EOPNOTSUPP);
	return dingo_create_kernel_mr(ibpd, DINGO_MRT_PHYS,
				      dingo_access(access), U64_MAX);
}

/**
 * dingo_alloc_mr() - create a region for fast registration; kernel only
 * @ibpd: its domain
 * @type: IB_MR_TYPE_MEM_REG
 * @max_sg: largest number of pages
 *
 * Return: the region, or an error pointer.
 */
struct ib_mr *dingo_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type,
			     u32 max_sg)
{
	struct dingo_dev *dev = to_ddev(ibpd->device);
	dma_addr_t dma;
	struct ib_mr *ibmr;
	struct dingo_mr *mr;
	__le64 *list;

	if (type != IB_MR_TYPE_MEM_REG)
		return ERR_PTR(-EOPNOTSUPP);
	if (!max_sg || max_sg > le32_to_cpu(dev->limits.max_frwr_pages))
		return ERR_PTR(-EINVAL);
	list = dma_alloc_coherent(dingo_dma_dev(dev), max_sg * sizeof(*list),
				  &dma, GFP_KERNEL);
	if (!list)
		return ERR_PTR(-ENOMEM);
	ibmr = dingo_create_kernel_mr(ibpd, DINGO_MRT_FRWR, 0,
				      (u64)max_sg << 12);
	if (IS_ERR(ibmr)) {
		dma_free_coherent(dingo_dma_dev(dev), max_sg * sizeof(*list),
				  list, dma);
		return ibmr;
	}
	mr = to_dmr(ibmr);
	mr->frwr_list = list;
	mr->frwr_dma = dma;
	mr->frwr_max = max_sg;
	return ibmr;
}

static int dingo_set_page(struct ib_mr *ibmr, u64 addr)
{
	struct dingo_mr *mr = to_dmr(ibmr);

	if (mr->frwr_pages == mr->frwr_max)
		return -ENOMEM;
	mr->frwr_list[mr->frwr_pages++] = cpu_to_le64(addr);
	return 0;
}

/**
 * dingo_map_mr_sg() - set the memory of the next REG_MR
 * @ibmr: a region of dingo_alloc_mr(), not registered
 * @sg: the memory, mapped for DMA
 * @nents: its entries
 * @offset: bytes to skip in the first, or NULL
 *
 * Return: the number of entries that fit, or a negative error.
 */
int dingo_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nents,
		    unsigned int *offset)
{
	struct dingo_mr *mr = to_dmr(ibmr);
	u64 sizes = le64_to_cpu(dingo_mr_dev(mr)->limits.page_sizes);

	if (!mr->frwr_list || !(sizes & ibmr->page_size))
		return -EINVAL;
	mr->frwr_pages = 0;
	return ib_sg_to_pages(ibmr, sg, nents, offset, dingo_set_page);
}

/**
 * dingo_check_reg() - checks common to all user registrations
 * @ibdev: the device
 * @length: bytes
 * @iova: address of the first byte
 * @access: enum ib_access_flags
 *
 * Return: 0, -EOPNOTSUPP, -EINVAL.
 */
int dingo_check_reg(struct ib_device *ibdev, u64 length, u64 iova, int access)
{
	struct dingo_dev *dev = to_ddev(ibdev);
	u64 end;

	if (access & ~DINGO_MR_ACCESS)
		return -EOPNOTSUPP;
	if ((access & IB_ACCESS_MW_BIND) && !(dev->caps & DINGO_CAP_MW))
		return -EOPNOTSUPP;
	/* A zero length must not register all memory (CVE-2023-25775). */
	if (!length || length > le64_to_cpu(dev->limits.max_mr_size))
		return -EINVAL;
	if (check_add_overflow(iova, length - 1, &end))
		return -EINVAL;
	return 0;
}

/**
 * dingo_reg_user_mr() - register a process's memory
 * @ibpd: the domain
 * @start: address in the process
 * @length: bytes
 * @iova: address of the first byte in work requests
 * @access: enum ib_access_flags
 * @udata: must be empty
 *
 * Return: the region, or an error pointer.
 */
struct ib_mr *dingo_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
				u64 iova, int access, DINGO_DMAH_ARG
				struct ib_udata *udata)
{
	struct dingo_ibdev *ib = to_dibdev(ibpd->device);
	struct dingo_cmd_create_mr cmd;
	struct dingo_mem mem;
	struct dingo_mr *mr;
	u32 key;
	int err;

	if (DINGO_DMAH_GIVEN)
		return ERR_PTR(-EOPNOTSUPP);
	err = dingo_udata_none(udata);
	if (!err)
		err = dingo_check_reg(ibpd->device, length, iova, access);
	if (err)
		return ERR_PTR(err);

	mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->umem = dingo_umem_get(ibpd->device, start, length, access);
	if (IS_ERR(mr->umem)) {
		err = PTR_ERR(mr->umem);
		goto err_free;
	}
	err = dingo_mr_pbl(ib->dev, mr->umem, &mr->pbl, &mem);
	if (err)
		goto err_umem;
	err = dingo_key_alloc(ib, &key);
	if (err)
		goto err_pbl;

	mr->base = access & IB_ZERO_BASED ? 0 : iova;
	dingo_mr_identify(mr, ibpd, key, length, dingo_access(access));
	dingo_mr_command(mr, key, &mem, &cmd);
	err = dingo_cmd_create_mr(ib->dev, &cmd);
	if (err)
		goto err_key;
	mr->on_card = true;
	return &mr->ibmr;

err_key:
	dingo_key_free(ib, key);
err_pbl:
	dingo_pbl_free(ib->dev, &mr->pbl);
err_umem:
	ib_umem_release(mr->umem);
err_free:
	kfree(mr);
	return ERR_PTR(err);
}

/**
 * dingo_rereg_user_mr() - change a region in one step
 * @ibmr: the region
 * @flags: IB_MR_REREG_*: which of the following arguments are valid
 * @start: address in the process
 * @length: bytes
 * @iova: address of the first byte
 * @access: enum ib_access_flags
 * @ibpd: the domain
 * @udata: must be empty
 *
 * The key is kept. On failure the region is unchanged.
 * Return: NULL for success, or an error pointer.
 */
struct ib_mr *dingo_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start,
				  u64 length, u64 iova, int access,
				  struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct dingo_mr *mr = to_dmr(ibmr);
	struct dingo_dev *dev = dingo_mr_dev(mr);
	bool trans = flags & IB_MR_REREG_TRANS;
	struct dingo_cmd_create_mr cmd;
	struct dingo_mr new = *mr;
	struct dingo_mem mem;
	int err;

	if (flags & ~(IB_MR_REREG_TRANS | IB_MR_REREG_PD | IB_MR_REREG_ACCESS))
		return ERR_PTR(-EOPNOTSUPP);
	if (!mr->umem || mr->dmabuf || mr->umem->is_dmabuf)
		return ERR_PTR(-EOPNOTSUPP);
	if (!(flags & IB_MR_REREG_ACCESS)) /* protection of the pages only */
		access = mr->umem->writable ? IB_ACCESS_LOCAL_WRITE : 0;
	err = dingo_udata_none(udata);
	if (!err)
		err = dingo_check_reg(ibmr->device,
				      trans ? length : ibmr->length,
				      trans ? iova : mr->base, access);
	if (err)
		return ERR_PTR(err);

	if (trans) {
		new.base = access & IB_ZERO_BASED ? 0 : iova;
		new.ibmr.length = length;
	} else {
		start = mr->umem->address;
		length = mr->umem->length;
	}
	if (flags & IB_MR_REREG_ACCESS)
		new.access = dingo_access(access);
	if (flags & IB_MR_REREG_PD)
		new.pdn = to_dpd(ibpd)->pdn;

	/* Keep the pages unless they must become writable. */
	if (trans || (ib_access_writable(access) && !mr->umem->writable)) {
		new.umem = dingo_umem_get(ibmr->device, start, length, access);
		if (IS_ERR(new.umem))
			return ERR_CAST(new.umem);
		err = dingo_mr_pbl(dev, new.umem, &new.pbl, &mem);
		if (err)
			goto err_umem;
	} else {
		unsigned long pgsz = 1UL << mr->pbl.page_shift;

		dingo_pbl_describe(&mr->pbl,
				   ib_umem_dma_offset(mr->umem, pgsz), &mem);
	}

	/* The rkey must not change: peers use it, and ibv_rereg_mr(3) returns
	 * no new one.
	 */
	dingo_mr_command(&new, ibmr->lkey, &mem, &cmd);
	cmd.old_key = cpu_to_le32(ibmr->lkey);
	err = dingo_cmd_rereg_mr(dev, &cmd);
	if (err)
		goto err_pbl;

	if (new.umem != mr->umem) {
		dingo_pbl_free(dev, &mr->pbl);
		ib_umem_release(mr->umem);
		mr->umem = new.umem;
		mr->pbl = new.pbl;
	}
	mr->access = new.access;
	mr->pdn = new.pdn;
	mr->base = new.base;
	ibmr->length = new.ibmr.length;
	return NULL;

err_pbl:
	if (new.umem != mr->umem)
		dingo_pbl_free(dev, &new.pbl);
err_umem:
	if (new.umem != mr->umem)
		ib_umem_release(new.umem);
	return ERR_PTR(err);
}

/**
 * dingo_dereg_mr() - destroy a region
 * @ibmr: the region
 * @udata: not used
 *
 * Return: 0, -EBUSY while windows are bound to it.
 */
int dingo_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct dingo_mr *mr = to_dmr(ibmr);
	struct dingo_dev *dev = dingo_mr_dev(mr);
	int err = 0;

	if (mr->dmabuf)
		err = dingo_dmabuf_destroy(mr);
	else if (mr->on_card)
		err = dingo_cmd_destroy_mr(dev, ibmr->lkey);
	if (err)
		return err;
	dingo_key_free(to_dibdev(ibmr->device), ibmr->lkey);
	dingo_pbl_free(dev, &mr->pbl);
	if (mr->frwr_list)
		dma_free_coherent(dingo_dma_dev(dev),
				  mr->frwr_max * sizeof(*mr->frwr_list),
				  mr->frwr_list, mr->frwr_dma);
	if (mr->umem)
		ib_umem_release(mr->umem);
	kfree(mr);
	return 0;
}
