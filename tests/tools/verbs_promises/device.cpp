// SPDX-License-Identifier: BSD-2-Clause
//
// Finding, opening and querying a device.
#include <cstring>

#include "bench.h"
#include "pages.h"

namespace verbs_promises {
namespace {

void add_list(Promises& all) {
    Page list(all, "ibv_get_device_list.3");
    list("returns a NULL-terminated array and its length", [] {
        int count = -1;
        ibv_device** const devices = ibv_get_device_list(&count);
        CHECK(devices != nullptr);
        CHECK(count > 0);
        for (int i = 0; i < count; ++i) {
            CHECK(devices[i] != nullptr);
        }
        CHECK(devices[count] == nullptr);
        ibv_free_device_list(devices);
    });
    list("num_devices may be NULL", [] {
        ibv_device** const devices = ibv_get_device_list(nullptr);
        CHECK(devices != nullptr && devices[0] != nullptr);
        ibv_free_device_list(devices);
    });
    list("an opened device outlives the array", [] {
        Context context = open_device();  // frees the array
        ibv_device_attr attr{};
        CHECK_RETURNS(0, ibv_query_device(context.get(), &attr));
    });
    Page name(all, "ibv_get_device_name.3");
    name("returns the name of the device", [] {
        Context context = open_device();
        const char* const text = ibv_get_device_name(context->device);
        CHECK(text != nullptr && std::strlen(text) > 0);
        CHECK(options().device.empty() || options().device == text);
    });
    Page guid(all, "ibv_get_device_guid.3");
    guid("returns the node GUID, which ibv_query_device(3) says too", [] {
        Bench b;
        CHECK(ibv_get_device_guid(b.ctx()->device) == b.attr.node_guid);
        CHECK(b.attr.node_guid != 0);
    });
    Page index(all, "ibv_get_device_index.3");
    index("returns an index, or -1 where the kernel tells none", [] {
        Context context = open_device();
        CHECK(ibv_get_device_index(context->device) >= -1);
    });
    Page node(all, "ibv_node_type_str.3");
    node("an RDMA device for RoCE is an InfiniBand channel adapter", [] {
        Context context = open_device();
        CHECK(context->device->node_type == IBV_NODE_CA);
        CHECK(context->device->transport_type == IBV_TRANSPORT_IB);
        CHECK(std::strcmp(ibv_node_type_str(IBV_NODE_CA), "InfiniBand channel adapter") == 0);
    });
}

void add_open(Promises& all) {
    Page open(all, "ibv_open_device.3");
    open("a device can be opened many times", [] {
        Context contexts[4];
        for (Context& context : contexts) {
            context = open_device();
        }
        CHECK(contexts[0].get() != contexts[1].get());
    });
    open("ibv_close_device() returns 0", [] {
        Context context = open_device();
        CHECK(ibv_close_device(context.release()) == 0);
    });
    open("objects that nobody destroyed go with their process", [] {
        Bench b;
        Cq cq = b.cq();
        Qp qp = b.qp(cq.get());
        cq.release();
        qp.release();
    });
    open("a context has descriptors for commands and events, and a completion vector", [] {
        Context context = open_device();
        CHECK(context->cmd_fd >= 0 && context->async_fd >= 0);
        CHECK(context->num_comp_vectors >= 1);
    });
    Page fork(all, "ibv_fork_init.3");
    fork("returns 0 before memory is registered", [] { CHECK_RETURNS(0, ibv_fork_init()); });
    Page is_fork(all, "ibv_is_fork_initialized.3");
    is_fork("says that ibv_fork_init() was called, or is not needed", [] {
        CHECK_RETURNS(0, ibv_fork_init());
        CHECK(ibv_is_fork_initialized() != IBV_FORK_DISABLED);
    });
}

void add_query(Promises& all) {
    Page query(all, "ibv_query_device.3");
    query("returns 0 and plausible limits", [] {
        Bench b;
        CHECK(b.attr.max_qp > 0 && b.attr.max_qp_wr > 0 && b.attr.max_sge > 0);
        CHECK(b.attr.max_cq > 0 && b.attr.max_cqe > 0);
        CHECK(b.attr.max_mr > 0 && b.attr.max_mr_size > 0 && b.attr.max_pd > 0);
        CHECK(b.attr.phys_port_cnt == 1 && b.attr.max_pkeys >= 1);
    });
    query("page_size_cap has the page of this host", [] {
        Bench b;
        CHECK((b.attr.page_size_cap & 4096) != 0);
    });
    query("a version of the firmware, and who made it", [] {
        Bench b;
        CHECK(std::strlen(b.attr.fw_ver) > 0 && b.attr.vendor_id != 0);
    });
    query("limits of what the device has are not 0, of what it lacks are 0", [] {
        Bench b;
        CHECK((b.attr.max_srq > 0) == (b.attr.max_srq_wr > 0));
        CHECK((b.attr.max_srq > 0) == (b.attr.max_srq_sge > 0));
        const bool windows = b.has(IBV_DEVICE_MEM_WINDOW) || b.has(IBV_DEVICE_MEM_WINDOW_TYPE_2B);
        CHECK(windows == (b.attr.max_mw > 0));
        CHECK(b.attr.max_qp_rd_atom > 0 && b.attr.max_qp_init_rd_atom > 0);
    });
    query("says the same each time", [] {
        Bench b;
        ibv_device_attr again{};
        CHECK_RETURNS(0, ibv_query_device(b.ctx(), &again));
        CHECK(std::memcmp(&again, &b.attr, sizeof again) == 0);
    });

    Page ex(all, "ibv_query_device_ex.3");
    ex("orig_attr is what ibv_query_device(3) says", [] {
        Bench b;
        ibv_device_attr_ex attr{};
        CHECK_RETURNS(0, ibv_query_device_ex(b.ctx(), nullptr, &attr));
        CHECK(std::memcmp(&attr.orig_attr, &b.attr, sizeof b.attr) == 0);
    });
    ex("an unknown bit of the input's comp_mask is refused with EINVAL", [] {
        Bench b;
        ibv_query_device_ex_input input{};
        input.comp_mask = 1;
        ibv_device_attr_ex attr{};
        CHECK_RETURNS(EINVAL, ibv_query_device_ex(b.ctx(), &input, &attr));
    });
    ex("with time stamps there are a mask and a clock", [] {
        Bench b;
        ibv_device_attr_ex attr{};
        CHECK_RETURNS(0, ibv_query_device_ex(b.ctx(), nullptr, &attr));
        CHECK((attr.completion_timestamp_mask != 0) == (attr.hca_core_clock != 0));
    });
    ex("on-demand paging that the device lacks has no capability", [] {
        Bench b;
        ibv_device_attr_ex attr{};
        CHECK_RETURNS(0, ibv_query_device_ex(b.ctx(), nullptr, &attr));
        if ((attr.odp_caps.general_caps & IBV_ODP_SUPPORT) == 0) {
            CHECK(attr.odp_caps.per_transport_caps.rc_odp_caps == 0);
        }
    });

    Page values(all, "ibv_query_rt_values_ex.3");
    values("the clock of the device goes on", [] {
        Bench b;
        ibv_values_ex first{}, second{};
        first.comp_mask = second.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
        done(ibv_query_rt_values_ex(b.ctx(), &first), "clock");
        CHECK((first.comp_mask & IBV_VALUES_MASK_RAW_CLOCK) != 0);
        CHECK_RETURNS(0, ibv_query_rt_values_ex(b.ctx(), &second));
        const auto ns = [](const timespec& t) { return t.tv_sec * 1000000000LL + t.tv_nsec; };
        CHECK(ns(second.raw_clock) >= ns(first.raw_clock));
    });
    values("what is not asked for is not marked", [] {
        Bench b;
        ibv_values_ex none{};
        done(ibv_query_rt_values_ex(b.ctx(), &none), "clock");
        CHECK(none.comp_mask == 0);
    });
}

}  // namespace

void add_device(Promises& all) {
    add_list(all);
    add_open(all);
    add_query(all);
}

}  // namespace verbs_promises
