// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The RDMA device of a card: its operations, registration and asynchronous
 * events.
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <net/addrconf.h>

#include "dingo_ib.h"

static const struct ib_device_ops dingo_ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_UNKNOWN,
	.uverbs_abi_ver = DINGO_UVERBS_ABI_VERSION,

	.add_gid = dingo_add_gid,
	.alloc_hw_port_stats = dingo_alloc_hw_port_stats,
	.alloc_pd = dingo_alloc_pd,
	.alloc_ucontext = dingo_alloc_ucontext,
	.counter_alloc_stats = dingo_counter_alloc_stats,
	.counter_bind_qp = dingo_counter_bind_qp,
	.counter_dealloc = dingo_counter_dealloc,
	.counter_unbind_qp = dingo_counter_unbind_qp,
	.counter_update_stats = dingo_counter_update_stats,
	.create_ah = dingo_create_ah,
	.create_cq = dingo_create_cq,
	.create_qp = dingo_create_qp,
	.create_user_ah = dingo_create_ah,
	.dealloc_pd = dingo_dealloc_pd,
	.dealloc_ucontext = dingo_dealloc_ucontext,
	.del_gid = dingo_del_gid,
	.dereg_mr = dingo_dereg_mr,
	.destroy_ah = dingo_destroy_ah,
	.destroy_cq = dingo_destroy_cq,
	.destroy_qp = dingo_destroy_qp,
	.device_group = &dingo_attr_group,
	.disassociate_ucontext = dingo_disassociate_ucontext,
	.fill_res_cq_entry = dingo_fill_res_cq_entry,
	.fill_res_mr_entry = dingo_fill_res_mr_entry,
	.fill_res_qp_entry = dingo_fill_res_qp_entry,
	.fill_res_qp_entry_raw = dingo_fill_res_qp_entry_raw,
	.get_dev_fw_str = dingo_get_dev_fw_str,
	.get_dma_mr = dingo_get_dma_mr,
	.get_hw_stats = dingo_get_hw_stats,
	.get_link_layer = dingo_get_link_layer,
	.get_port_immutable = dingo_get_port_immutable,
	.mmap = dingo_mmap,
	.mmap_free = dingo_mmap_free,
	.modify_device = dingo_modify_device,
	.modify_port = dingo_modify_port,
	.modify_qp = dingo_modify_qp,
	.poll_cq = dingo_poll_cq,
	.post_recv = dingo_post_recv,
	.post_send = dingo_post_send,
	.process_mad = dingo_process_mad,
	.query_ah = dingo_query_ah,
	.query_device = dingo_query_device,
	.query_pkey = dingo_query_pkey,
	.query_port = dingo_query_port,
	.query_qp = dingo_query_qp,
	.query_ucontext = dingo_query_ucontext,
	.reg_user_mr = dingo_reg_user_mr,
	.reg_user_mr_dmabuf = dingo_reg_user_mr_dmabuf,
	.req_notify_cq = dingo_req_notify_cq,

	INIT_RDMA_OBJ_SIZE(ib_ah, dingo_ah, ibah),
	INIT_RDMA_OBJ_SIZE(ib_cq, dingo_cq, ibcq),
	INIT_RDMA_OBJ_SIZE(ib_pd, dingo_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_qp, dingo_qp, ibqp),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, dingo_ucontext, ibuc),
	DINGO_COUNTER_SIZE_OP
};

/* Operations that only some cards support. */
static const struct ib_device_ops dingo_frwr_ops = {
	.alloc_mr = dingo_alloc_mr,
	.map_mr_sg = dingo_map_mr_sg,
};

static const struct ib_device_ops dingo_mcast_ops = {
	.attach_mcast = dingo_attach_mcast,
	.detach_mcast = dingo_detach_mcast,
};

static const struct ib_device_ops dingo_moderation_ops = {
	.modify_cq = dingo_modify_cq,
};

static const struct ib_device_ops dingo_mw_ops = {
	.alloc_mw = dingo_alloc_mw,
	.dealloc_mw = dingo_dealloc_mw,

	INIT_RDMA_OBJ_SIZE(ib_mw, dingo_mw, ibmw),
};

static const struct ib_device_ops dingo_rereg_ops = {
	.rereg_user_mr = dingo_rereg_user_mr,
};

static const struct ib_device_ops dingo_resize_ops = {
	.DINGO_RESIZE_CQ_OP = dingo_resize_cq,
};

static const struct ib_device_ops dingo_srq_ops = {
	.create_srq = dingo_create_srq,
	.destroy_srq = dingo_destroy_srq,
	.fill_res_srq_entry = dingo_fill_res_srq_entry,
	.modify_srq = dingo_modify_srq,
	.post_srq_recv = dingo_post_srq_recv,
	.query_srq = dingo_query_srq,

	INIT_RDMA_OBJ_SIZE(ib_srq, dingo_srq, ibsrq),
};

static void dingo_set_ops(struct dingo_ibdev *ib)
{
	u64 caps = ib->dev->caps;

	ib_set_device_ops(&ib->ibdev, &dingo_ops);
	if (caps & DINGO_CAP_FRWR)
		ib_set_device_ops(&ib->ibdev, &dingo_frwr_ops);
	if (caps & DINGO_CAP_MCAST)
		ib_set_device_ops(&ib->ibdev, &dingo_mcast_ops);
	if (caps & DINGO_CAP_CQ_MODERATION)
		ib_set_device_ops(&ib->ibdev, &dingo_moderation_ops);
	if (caps & DINGO_CAP_MW)
		ib_set_device_ops(&ib->ibdev, &dingo_mw_ops);
	if (caps & DINGO_CAP_REREG_MR)
		ib_set_device_ops(&ib->ibdev, &dingo_rereg_ops);
	if (caps & DINGO_CAP_RESIZE_CQ)
		ib_set_device_ops(&ib->ibdev, &dingo_resize_ops);
	if (caps & DINGO_CAP_SRQ)
		ib_set_device_ops(&ib->ibdev, &dingo_srq_ops);
	dingo_dm_init(ib);
}

static void dingo_wake_work(struct work_struct *work)
{
	struct dingo_ibdev *ib = container_of(work, struct dingo_ibdev,
					      wake_work);

	dingo_cq_wake_all(ib);
	dingo_qp_wake_all(ib);
}

static int dingo_ib_init(struct dingo_ibdev *ib)
{
	const struct dingo_limits *limits = &ib->dev->limits;
	int err = -ENOMEM;

	ida_init(&ib->pdns);
	ida_init(&ib->mr_ids);
	spin_lock_init(&ib->mr_lock);
	spin_lock_init(&ib->kcq_lock);
	spin_lock_init(&ib->status_lock);
	INIT_LIST_HEAD(&ib->kcqs);
	INIT_WORK(&ib->wake_work, dingo_wake_work);
	xa_init_flags(&ib->qps, XA_FLAGS_ALLOC | XA_FLAGS_LOCK_IRQ);
	mutex_init(&ib->counter_lock);
	xa_init_flags(&ib->qp_stats, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_IRQ);
	xa_init_flags(&ib->srqs, XA_FLAGS_ALLOC | XA_FLAGS_LOCK_IRQ);

	ib->mr_tags = kvcalloc(le32_to_cpu(limits->max_mr),
			       sizeof(*ib->mr_tags), GFP_KERNEL);
	if (!ib->mr_tags)
		return -ENOMEM;
	ib->qp_tags = kvzalloc(le32_to_cpu(limits->max_qp) +
			       DINGO_FIRST_QP_INDEX, GFP_KERNEL);
	if (!ib->qp_tags)
		goto err_mr_tags;
	ib->wq = alloc_workqueue("dingo_ib", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!ib->wq)
		goto err_qp_tags;
	ib->status = (u32 *)get_zeroed_page(GFP_KERNEL);
	if (!ib->status)
		goto err_wq;
	err = dingo_gid_init(ib);
	if (err)
		goto err_status;
	return 0;

err_status:
	free_page((unsigned long)ib->status);
err_wq:
	destroy_workqueue(ib->wq);
err_qp_tags:
	kvfree(ib->qp_tags);
err_mr_tags:
	kvfree(ib->mr_tags);
	return err;
}

/*
 * Stops events and flushes ib_core's work for them: by itself ib_core waits
 * only for events from before it releases the device.
 */
static void dingo_ib_hear_no_more(struct dingo_ibdev *ib)
{
	dingo_unlisten(ib->dev);
	flush_workqueue(ib_wq);
}

static void dingo_ib_cleanup(struct dingo_ibdev *ib)
{
	destroy_workqueue(ib->wq); /* a last event may have queued work */
	dingo_gid_cleanup(ib);
	free_page((unsigned long)ib->status);
	kvfree(ib->qp_tags);
	kvfree(ib->mr_tags);
	WARN_ON_ONCE(!xa_empty(&ib->qps) || !xa_empty(&ib->srqs) ||
		     !xa_empty(&ib->qp_stats));
	xa_destroy(&ib->qp_stats);
	mutex_destroy(&ib->counter_lock);
	xa_destroy(&ib->qps);
	xa_destroy(&ib->srqs);
	ida_destroy(&ib->mr_ids);
	ida_destroy(&ib->pdns);
}

static void dingo_dispatch(struct dingo_ibdev *ib, enum ib_event_type type)
{
	struct ib_event event = {
		.device = &ib->ibdev,
		.element.port_num = DINGO_PORT,
		.event = type,
	};

	ib_dispatch_event(&event);
}

/* Handles an event of the card or of dingo.ko. Atomic context. */
static void dingo_ib_async_event(struct dingo_listener *listener,
				 const struct dingo_eqe *eqe)
{
	struct dingo_ibdev *ib = container_of(listener, struct dingo_ibdev,
					      listener);
	u32 id = le32_to_cpu(eqe->id);

	switch (eqe->kind) {
	case DINGO_EV_QP_FATAL:
		dingo_qp_event(ib, id, IB_EVENT_QP_FATAL);
		break;
	case DINGO_EV_QP_REQ_ERR:
		dingo_qp_event(ib, id, IB_EVENT_QP_REQ_ERR);
		break;
	case DINGO_EV_QP_ACCESS_ERR:
		dingo_qp_event(ib, id, IB_EVENT_QP_ACCESS_ERR);
		break;
	case DINGO_EV_COMM_EST:
		dingo_qp_event(ib, id, IB_EVENT_COMM_EST);
		break;
	case DINGO_EV_SQ_DRAINED:
		dingo_qp_event(ib, id, IB_EVENT_SQ_DRAINED);
		break;
	case DINGO_EV_QP_LAST_WQE:
		dingo_qp_event(ib, id, IB_EVENT_QP_LAST_WQE_REACHED);
		break;
	case DINGO_EV_SRQ_ERR:
		dingo_srq_event(ib, id, IB_EVENT_SRQ_ERR);
		break;
	case DINGO_EV_SRQ_LIMIT:
		dingo_srq_event(ib, id, IB_EVENT_SRQ_LIMIT_REACHED);
		break;
	case DINGO_EV_PORT_UP:
		if (!DINGO_CORE_SENDS_PORT_EVENTS)
			dingo_dispatch(ib, IB_EVENT_PORT_ACTIVE);
		break;
	case DINGO_EV_PORT_DOWN:
		if (!DINGO_CORE_SENDS_PORT_EVENTS)
			dingo_dispatch(ib, IB_EVENT_PORT_ERR);
		break;
	case DINGO_EV_DEVICE_FATAL:
		dingo_status_gone(ib);
		dingo_dispatch(ib, IB_EVENT_DEVICE_FATAL);
		queue_work(ib->wq, &ib->wake_work);
		break;
	default:
		ibdev_warn_ratelimited(&ib->ibdev, "unknown event 0x%02x\n",
				       eqe->kind);
	}
}

/* Registers a card as an RDMA device. */
static int dingo_ib_offer(struct auxiliary_device *adev, struct dingo_dev *dev)
{
	struct dingo_ibdev *ib;
	int err;

	ib = ib_alloc_device(dingo_ibdev, ibdev);
	if (!ib)
		return -ENOMEM;
	ib->dev = dev;
	err = dingo_ib_init(ib);
	if (err)
		goto err_dealloc;

	ib->ibdev.dev.parent = &dev->pdev->dev;
	ib->ibdev.node_type = RDMA_NODE_IB_CA;
	ib->ibdev.phys_port_cnt = 1;
	ib->ibdev.num_comp_vectors = dev->num_comp_vectors;
	ib->ibdev.use_cq_dim = !!(dev->caps & DINGO_CAP_CQ_MODERATION);
	addrconf_addr_eui48((u8 *)&ib->ibdev.node_guid,
			    dev->netdev->perm_addr);
	strscpy(ib->ibdev.node_desc, "Dingo RoCE v2 card",
		sizeof(ib->ibdev.node_desc));
	dingo_set_ops(ib);
	if (IS_ENABLED(CONFIG_INFINIBAND_USER_ACCESS))
		ib->ibdev.driver_def = dingo_uapi_defs;
	err = ib_device_set_netdev(&ib->ibdev, dev->netdev, DINGO_PORT);
	if (err)
		goto err_cleanup;

	/* Events may come as soon as the first user exists. */
	ib->listener.event = dingo_ib_async_event;
	dingo_listen(dev, &ib->listener);
	err = ib_register_device(&ib->ibdev, "dingo_%d", dingo_dma_dev(dev));
	if (err)
		goto err_unlisten;
	auxiliary_set_drvdata(adev, ib);
	return 0;

err_unlisten:
	dingo_ib_hear_no_more(ib);
err_cleanup:
	dingo_ib_cleanup(ib);
err_dealloc:
	ib_dealloc_device(&ib->ibdev);
	return err;
}

static int dingo_ib_probe(struct auxiliary_device *adev,
			  const struct auxiliary_device_id *id)
{
	struct dingo_dev *dev = dingo_aux_dev(adev);
	int err;

	/* Limits command timeouts, as resets, resume or
	 * modprobe wait for this.
	 */
	dingo_expect(dev);
	err = dingo_ib_offer(adev, dev);
	dingo_expect_end(dev);
	return err;
}

/*
 * Called if the card, which may have failed or be gone, is reset or removed, or
 * this module is unloaded. Returns when all users are gone; contexts of
 * processes that are still open have lost the device.
 */
static void dingo_ib_remove(struct auxiliary_device *adev)
{
	struct dingo_ibdev *ib = auxiliary_get_drvdata(adev);

	dingo_hurry(ib->dev);
	WRITE_ONCE(ib->leaving, true);
	ib_unregister_device(&ib->ibdev);
	dingo_hurry_end(ib->dev);
	dingo_ib_hear_no_more(ib);
	dingo_ib_cleanup(ib);
	ib_dealloc_device(&ib->ibdev);
}

static const struct auxiliary_device_id dingo_ib_ids[] = {
	{ .name = "dingo." DINGO_AUX_NAME },
	{}
};
MODULE_DEVICE_TABLE(auxiliary, dingo_ib_ids);

static struct auxiliary_driver dingo_ib_driver = {
	.name = DINGO_AUX_NAME,
	.id_table = dingo_ib_ids,
	.probe = dingo_ib_probe,
	.remove = dingo_ib_remove,
};
module_auxiliary_driver(dingo_ib_driver);

MODULE_AUTHOR("The Dingo authors");
MODULE_DESCRIPTION("Dingo FPGA RoCE v2 card: RDMA driver");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_IMPORT_NS(DINGO_NS);
