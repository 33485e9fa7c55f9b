// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Device memory of processes, ibv_alloc_dm(3): pieces of card memory that can
 * be mapped, registered, and if the kernel supports it, exported as DMA
 * buffers.
 */
#include <linux/mm.h>
#include <linux/pci-p2pdma.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <rdma/uverbs_std_types.h>
#include <rdma/uverbs_types.h>

#include "dingo_ib.h"

#define UVERBS_MODULE_NAME dingo
#include <rdma/uverbs_named_ioctl.h>

/* The page offsets of device memory are separate from all others, so that only
 * these mappings are removed when the card leaves.
 */
#define DINGO_DM_FIRST_PGOFF 0x80000000U

struct dingo_dm {
	struct ib_dm ibdm;
	struct dingo_mmap map;
	struct dingo_dev *dev;
	struct dingo_piece piece;
};

static struct dingo_dm *to_ddm(struct ib_dm *ibdm)
{
	return container_of(ibdm, struct dingo_dm, ibdm);
}

static void dingo_dm_describe(const struct dingo_dm *dm,
			      struct dingo_dm_resp *resp)
{
	*resp = (struct dingo_dm_resp){
		.dm_mmap = rdma_user_mmap_get_offset(&dm->map.rdma),
		.map_bytes = dm->piece.bytes,
		.length = dm->ibdm.length,
	};
}

static struct ib_dm *dingo_alloc_dm(struct ib_device *ibdev,
				    struct ib_ucontext *ibuc,
				    struct ib_dm_alloc_attr *attr,
				    struct uverbs_attr_bundle *attrs)
{
	struct dingo_dev *dev = to_ddev(ibdev);
	struct dingo_dm_resp resp;
	struct dingo_dm *dm;
	int err;

	if (attr->flags || attr->alignment > PAGE_SHIFT)
		return ERR_PTR(-EINVAL);
	if (!attr->length || attr->length > DINGO_MAX_DM)
		return ERR_PTR(-EINVAL);
	dm = kzalloc(sizeof(*dm), GFP_KERNEL_ACCOUNT);
	if (!dm)
		return ERR_PTR(-ENOMEM);
	dm->dev = dev;
	dm->map.kind = DINGO_MMAP_DM;
	dm->ibdm.length = attr->length;
	err = dingo_piece_alloc(dev, &dm->piece, attr->length);
	if (err)
		goto err_free;
	err = rdma_user_mmap_entry_insert_range(ibuc, &dm->map.rdma,
						dm->piece.bytes,
						DINGO_DM_FIRST_PGOFF, U32_MAX);
	if (err)
		goto err_piece;
	dingo_dm_describe(dm, &resp);
	err = uverbs_copy_to_struct_or_zero(attrs, DINGO_ATTR_ALLOC_DM_RESP,
					    &resp, sizeof(resp));
	if (err) {
		rdma_user_mmap_entry_remove(&dm->map.rdma); /* frees it */
		return ERR_PTR(err);
	}
	return &dm->ibdm;

err_piece:
	dingo_piece_free(dev, &dm->piece);
err_free:
	kfree(dm);
	return ERR_PTR(err);
}

static int dingo_dealloc_dm(struct ib_dm *ibdm,
			    struct uverbs_attr_bundle *attrs)
{
	rdma_user_mmap_entry_remove(&to_ddm(ibdm)->map.rdma);
	return 0;
}

/**
 * dingo_dm_free() - free memory that is not mapped or exported any more
 * @map: its entry
 */
void dingo_dm_free(struct dingo_mmap *map)
{
	struct dingo_dm *dm = container_of(map, struct dingo_dm, map);

	dingo_piece_free(dm->dev, &dm->piece);
	kfree(dm);
}

static int dingo_dm_note_mm(struct dingo_ucontext *uc, struct mm_struct *mm)
{
	void *old;

	mmgrab(mm);
	old = xa_cmpxchg(&uc->dm_mms, (unsigned long)mm, NULL, mm, GFP_KERNEL);
	if (old)
		mmdrop(mm);
	return xa_err(old);
}

/* Maps the pages one by one, so that each can be pinned. */
static int dingo_dm_mmap_pages(struct dingo_ucontext *uc, struct dingo_dm *dm,
			       struct vm_area_struct *vma)
{
	struct page *page = virt_to_page(dm->piece.va);
	struct inode *inode;
	unsigned long addr;
	int err;

	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	if (vma->vm_end - vma->vm_start != dm->piece.bytes)
		return -EINVAL;
	if (!READ_ONCE(uc->dm_inode)) {
		inode = igrab(file_inode(vma->vm_file));
		if (!inode)
			return -EIO;
		if (cmpxchg(&uc->dm_inode, NULL, inode))
			iput(inode); /* another thread was faster */
	}
	err = dingo_dm_note_mm(uc, vma->vm_mm);
	if (err)
		return err;
	vm_flags_set(vma, VM_DONTEXPAND);
	vma->vm_page_prot = pgprot_writecombine(vma->vm_page_prot);
	for (addr = vma->vm_start; addr < vma->vm_end; addr += PAGE_SIZE) {
		err = vm_insert_page(vma, addr, page++);
		if (err)
			return err;
	}
	return 0;
}

/**
 * dingo_dm_mmap() - map device memory into a process
 * @uc: its context
 * @map: the entry
 * @vma: where
 *
 * Return: 0, -EINVAL for a private mapping or a wrong size, -ENOMEM.
 */
int dingo_dm_mmap(struct dingo_ucontext *uc, struct dingo_mmap *map,
		  struct vm_area_struct *vma)
{
	struct dingo_dm *dm = container_of(map, struct dingo_dm, map);

	if (dm->piece.va)
		return dingo_dm_mmap_pages(uc, dm, vma);
	return rdma_user_mmap_io(&uc->ibuc, vma, PHYS_PFN(dm->piece.phys),
				 dm->piece.bytes,
				 pgprot_writecombine(vma->vm_page_prot),
				 &map->rdma);
}

/**
 * dingo_dm_open() - initialize the device memory state of a new context
 * @uc: the context
 */
void dingo_dm_open(struct dingo_ucontext *uc)
{
	xa_init(&uc->dm_mms);
}

/**
 * dingo_dm_disassociate() - unmap device memory from processes: the card is
 * leaving
 * @uc: a context that is still open
 *
 * No new mmap() begins. A running one may have inserted pages already, but its
 * mapping is found through the inode only after it has ended: waits for that.
 */
void dingo_dm_disassociate(struct dingo_ucontext *uc)
{
	struct mm_struct *mm;
	unsigned long index;

	xa_for_each(&uc->dm_mms, index, mm) {
		if (!mmget_not_zero(mm))
			continue;
		mmap_read_lock(mm);
		mmap_read_unlock(mm);
		mmput(mm);
	}
	if (uc->dm_inode)
		unmap_mapping_range(uc->dm_inode->i_mapping,
				    (loff_t)DINGO_DM_FIRST_PGOFF << PAGE_SHIFT,
				    0, 1);
}

/**
 * dingo_dm_close() - release the device memory state of a context
 * @uc: the context
 */
void dingo_dm_close(struct dingo_ucontext *uc)
{
	struct mm_struct *mm;
	unsigned long index;

	xa_for_each(&uc->dm_mms, index, mm)
		mmdrop(mm);
	xa_destroy(&uc->dm_mms);
	if (uc->dm_inode)
		iput(uc->dm_inode);
}

static struct ib_mr *dingo_reg_dm_mr(struct ib_pd *ibpd, struct ib_dm *ibdm,
				     struct ib_dm_mr_attr *attr,
				     struct uverbs_attr_bundle *attrs)
{
	struct dingo_ibdev *ib = to_dibdev(ibpd->device);
	struct dingo_dm *dm = to_ddm(ibdm);
	struct dingo_cmd_create_mr cmd;
	struct dingo_mem mem;
	struct dingo_mr *mr;
	u32 key;
	int err;

	err = dingo_check_reg(ibpd->device, attr->length, 0,
			      attr->access_flags);
	if (err)
		return ERR_PTR(err);
	mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	err = dingo_key_alloc(ib, &key);
	if (err)
		goto err_free;
	dingo_mr_identify(mr, ibpd, key, attr->length,
			  dingo_access(attr->access_flags));
	mem = (struct dingo_mem){
		.addr = cpu_to_le64(dm->piece.bus + attr->offset),
	};
	dingo_mr_command(mr, key, &mem, &cmd);
	err = dingo_cmd_create_mr(ib->dev, &cmd);
	if (err)
		goto err_key;
	mr->on_card = true;
	return &mr->ibmr;

err_key:
	dingo_key_free(ib, key);
err_free:
	kfree(mr);
	return ERR_PTR(err);
}

/* Returns the location of an exported piece; not called on the older kernel. */
static __maybe_unused int
dingo_dm_mmap_get_pfns(struct rdma_user_mmap_entry *entry,
		       struct phys_vec *vec, struct p2pdma_provider **provider)
{
	struct dingo_mmap *map = container_of(entry, struct dingo_mmap, rdma);
	struct dingo_dm *dm = container_of(map, struct dingo_dm, map);

	if (map->kind != DINGO_MMAP_DM || !dm->piece.va)
		return -EOPNOTSUPP;
	*provider = pcim_p2pdma_provider(dm->dev->pdev, DINGO_BAR_MEM);
	if (!*provider)
		return -EOPNOTSUPP;
	vec->paddr = dm->piece.phys;
	vec->len = dm->piece.bytes;
	return 0;
}

static __maybe_unused struct rdma_user_mmap_entry *
dingo_dm_pgoff_to_entry(struct ib_ucontext *ibuc, off_t pgoff)
{
	return rdma_user_mmap_entry_get_pgoff(ibuc, pgoff);
}

static const struct ib_device_ops dingo_dm_ops = {
	.alloc_dm = dingo_alloc_dm,
	.dealloc_dm = dingo_dealloc_dm,
	.reg_dm_mr = dingo_reg_dm_mr,
	DINGO_DM_EXPORT_OPS
};

/**
 * dingo_dm_init() - enable device memory if the card has it
 * @ib: the device, not registered yet
 */
void dingo_dm_init(struct dingo_ibdev *ib)
{
	if (ib->dev->p2p.bytes)
		ib_set_device_ops(&ib->ibdev, &dingo_dm_ops);
}

static int
UVERBS_HANDLER(DINGO_METHOD_DM_QUERY)(struct uverbs_attr_bundle *attrs)
{
	struct ib_dm *ibdm =
		uverbs_attr_get_obj(attrs, DINGO_ATTR_DM_QUERY_HANDLE);
	struct dingo_dm_resp resp;

	dingo_dm_describe(to_ddm(ibdm), &resp);
	return uverbs_copy_to_struct_or_zero(attrs, DINGO_ATTR_DM_QUERY_RESP,
					     &resp, sizeof(resp));
}

#define DINGO_DM_ANSWER UVERBS_ATTR_STRUCT(struct dingo_dm_resp, length)

DECLARE_UVERBS_NAMED_METHOD(DINGO_METHOD_DM_QUERY,
			    UVERBS_ATTR_IDR(DINGO_ATTR_DM_QUERY_HANDLE,
					    UVERBS_OBJECT_DM,
					    UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(DINGO_ATTR_DM_QUERY_RESP,
						DINGO_DM_ANSWER, UA_MANDATORY));

ADD_UVERBS_METHODS(dingo_dm_methods, UVERBS_OBJECT_DM,
		   &UVERBS_METHOD(DINGO_METHOD_DM_QUERY));

ADD_UVERBS_ATTRIBUTES_SIMPLE(dingo_dm_alloc_attrs, UVERBS_OBJECT_DM,
			     UVERBS_METHOD_DM_ALLOC,
			     UVERBS_ATTR_PTR_OUT(DINGO_ATTR_ALLOC_DM_RESP,
						 DINGO_DM_ANSWER,
						 UA_MANDATORY));

const struct uapi_definition dingo_dm_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DM, &dingo_dm_methods),
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DM, &dingo_dm_alloc_attrs),
	{},
};
