// SPDX-License-Identifier: BSD-2-Clause
//
// Device memory.
#include <unistd.h>

#include <cstring>
#include <numeric>

#include "bench.h"
#include "pages.h"

namespace verbs_promises {
namespace {

using Dm = std::unique_ptr<ibv_dm, Destroyer<&ibv_free_dm>>;

Dm alloc(Bench& b, std::size_t bytes) {
    ibv_alloc_dm_attr attr{};
    attr.length = bytes;
    return Dm(made(ibv_alloc_dm(b.ctx(), &attr), "device memory"));
}

std::uint64_t most(Bench& b) {
    ibv_device_attr_ex attr{};
    CHECK_RETURNS(0, ibv_query_device_ex(b.ctx(), nullptr, &attr));
    if (attr.max_dm_size == 0) {
        throw Lacking("the device has no device memory");
    }
    return attr.max_dm_size;
}

void add_alloc(Promises& all) {
    Page dm(all, "ibv_alloc_dm.3");
    dm("ibv_alloc_dm() gives memory, ibv_free_dm() returns 0", [] {
        Bench b;
        CHECK_RETURNS(0, ibv_free_dm(alloc(b, 4096).release()));
    });
    dm("as much as max_dm_size says", [] {
        Bench b;
        alloc(b, most(b));
    });
    dm("more than max_dm_size is refused with ENOMEM or EINVAL", [] {
        Bench b;
        ibv_alloc_dm_attr attr{};
        attr.length = most(b) + 4096;
        errno = 0;
        CHECK(ibv_alloc_dm(b.ctx(), &attr) == nullptr);
        CHECK(errno == ENOMEM || errno == EINVAL);
    });
    dm("an unknown bit of comp_mask is refused with EINVAL", [] {
        Bench b;
        alloc(b, 64);
        ibv_alloc_dm_attr attr{};
        attr.length = 64;
        attr.comp_mask = 1;
        CHECK_NULL(EINVAL, ibv_alloc_dm(b.ctx(), &attr));
    });
    dm("ibv_free_dm() with a region in it fails with EBUSY", [] {
        Bench b;
        Dm memory = alloc(b, 4096);
        Mr mr(made(
            ibv_reg_dm_mr(b.pd.get(), memory.get(), 0, 4096, kAllAccess | IBV_ACCESS_ZERO_BASED),
            "MR"));
        CHECK_RETURNS(EBUSY, ibv_free_dm(memory.get()));
        mr.reset();
    });
}

void add_copy(Promises& all) {
    Page dm(all, "ibv_alloc_dm.3");
    dm("ibv_memcpy_to_dm() and ibv_memcpy_from_dm() carry every byte", [] {
        Bench b;
        Dm memory = alloc(b, 4096);
        std::vector<std::uint8_t> in(4096), out(4096);
        std::iota(in.begin(), in.end(), std::uint8_t{3});
        CHECK_RETURNS(0, ibv_memcpy_to_dm(memory.get(), 0, in.data(), in.size()));
        CHECK_RETURNS(0, ibv_memcpy_from_dm(out.data(), memory.get(), 0, out.size()));
        CHECK(in == out);
        CHECK_RETURNS(0, ibv_memcpy_from_dm(out.data(), memory.get(), 1024, 64));
        CHECK(std::memcmp(out.data(), in.data() + 1024, 64) == 0);
    });
    dm("copies behind the end are refused", [] {
        Bench b;
        Dm memory = alloc(b, 4096);
        std::uint8_t bytes[64]{};
        CHECK(ibv_memcpy_to_dm(memory.get(), 4096 - 32, bytes, 64) != 0);
        CHECK(ibv_memcpy_from_dm(bytes, memory.get(), 4096 - 32, 64) != 0);
        CHECK(ibv_memcpy_to_dm(memory.get(), ~std::uint64_t{0} - 31, bytes, 64) != 0);
    });
    dm("memory that was freed comes back cleared, or is not given twice", [] {
        Bench b;
        std::vector<std::uint8_t> secret(4096, 0x5a), out(4096);
        Dm first = alloc(b, 4096);
        CHECK_RETURNS(0, ibv_memcpy_to_dm(first.get(), 0, secret.data(), 4096));
        first.reset();
        Dm second = alloc(b, 4096);
        CHECK_RETURNS(0, ibv_memcpy_from_dm(out.data(), second.get(), 0, 4096));
        CHECK(out == std::vector<std::uint8_t>(4096));
    });
}

void add_regions(Promises& all) {
    Page dm(all, "ibv_reg_dm_mr.3");
    dm("without IBV_ACCESS_ZERO_BASED it is refused with EINVAL", [] {
        Bench b;
        Dm memory = alloc(b, 4096);
        CHECK_NULL(EINVAL, ibv_reg_dm_mr(b.pd.get(), memory.get(), 0, 4096, kAllAccess));
    });
    dm("a range behind the end is refused with EINVAL", [] {
        Bench b;
        Dm memory = alloc(b, 4096);
        CHECK_NULL(EINVAL, ibv_reg_dm_mr(b.pd.get(), memory.get(), 4096, 64,
                                         kAllAccess | IBV_ACCESS_ZERO_BASED));
    });
    dm("remote WRITE and READ reach it, from offset 0 of the region", [] {
        Bench b;
        Pair pair(b);
        Dm memory = alloc(b, 4096);
        Mr mr(made(
            ibv_reg_dm_mr(b.pd.get(), memory.get(), 1024, 1024, kAllAccess | IBV_ACCESS_ZERO_BASED),
            "MR"));
        std::memset(pair.memory(0).data(), 'd', 64);
        ibv_send_wr wr = pair.request(IBV_WR_RDMA_WRITE);
        wr.wr.rdma = {128, mr->rkey};
        CHECK(pair.run(wr).status == IBV_WC_SUCCESS);
        std::uint8_t out[64]{};
        CHECK_RETURNS(0, ibv_memcpy_from_dm(out, memory.get(), 1024 + 128, 64));
        CHECK(std::memcmp(out, pair.memory(0).data(), 64) == 0);
    });
    dm("and not one byte behind it", [] {
        Bench b;
        Pair pair(b);
        Dm memory = alloc(b, 4096);
        Mr mr(made(
            ibv_reg_dm_mr(b.pd.get(), memory.get(), 0, 1024, kAllAccess | IBV_ACCESS_ZERO_BASED),
            "MR"));
        ibv_send_wr wr = pair.request(IBV_WR_RDMA_WRITE);
        wr.wr.rdma = {1024 - 63, mr->rkey};
        CHECK(pair.run(wr).status == IBV_WC_REM_ACCESS_ERR);
    });
}

}  // namespace

void add_dm(Promises& all) {
    add_alloc(all);
    add_copy(all);
    add_regions(all);
}

void add_import(Promises& all) {
    Page device(all, "ibv_import_device.3");
    device("a context of a duplicated command descriptor is the same device", [] {
        Bench b;
        Context other(made(ibv_import_device(dup(b.ctx()->cmd_fd)), "import of devices"));
        CHECK(std::strcmp(ibv_get_device_name(other->device),
                          ibv_get_device_name(b.ctx()->device)) == 0);
        ibv_device_attr attr{};
        CHECK_RETURNS(0, ibv_query_device(other.get(), &attr));
    });
    device("a descriptor that is no device's is refused",
           [] { CHECK(ibv_import_device(dup(0)) == nullptr); });
    device("a descriptor that is closed is refused",
           [] { CHECK(ibv_import_device(-1) == nullptr); });
    Page pd(all, "ibv_import_pd.3");
    pd("the imported PD is the same: memory of one is usable with the other", [] {
        Bench b;
        Context other(made(ibv_import_device(dup(b.ctx()->cmd_fd)), "import of devices"));
        ibv_pd* const imported = made(ibv_import_pd(other.get(), b.pd->handle), "import of PDs");
        CHECK(imported->handle == b.pd->handle);
        { Region region(imported, 4096); }
        ibv_unimport_pd(imported);
        Region still(b.pd.get(), 4096);
    });
    pd("a handle that is nobody's is refused with ENOENT", [] {
        Bench b;
        Context other(made(ibv_import_device(dup(b.ctx()->cmd_fd)), "import of devices"));
        CHECK_NULL(ENOENT, ibv_import_pd(other.get(), 123456));
    });
    Page mr(all, "ibv_import_mr.3");
    mr("has the keys and the length, and no address", [] {
        Bench b;
        Region region(b.pd.get(), 4096);
        Context other(made(ibv_import_device(dup(b.ctx()->cmd_fd)), "import of devices"));
        ibv_pd* const imported = made(ibv_import_pd(other.get(), b.pd->handle), "import of PDs");
        ibv_mr* const same = made(ibv_import_mr(imported, region.mr()->handle), "import of MRs");
        CHECK(same->lkey == region.mr()->lkey && same->rkey == region.mr()->rkey);
        CHECK(same->length == 4096 && same->addr == nullptr);
        ibv_unimport_mr(same);
        ibv_unimport_pd(imported);
    });
    mr("a handle that is nobody's is refused with ENOENT", [] {
        Bench b;
        CHECK_NULL(ENOENT, ibv_import_mr(b.pd.get(), 123456));
    });
    Page dm(all, "ibv_import_dm.3");
    dm("the imported memory has the same bytes", [] {
        Bench b;
        Dm memory = alloc(b, 4096);
        std::uint8_t in[64], out[64]{};
        std::memset(in, 0x3c, sizeof in);
        CHECK_RETURNS(0, ibv_memcpy_to_dm(memory.get(), 0, in, sizeof in));
        Context other(made(ibv_import_device(dup(b.ctx()->cmd_fd)), "import of devices"));
        ibv_dm* const same = made(ibv_import_dm(other.get(), memory->handle), "import of DMs");
        CHECK_RETURNS(0, ibv_memcpy_from_dm(out, same, 0, sizeof out));
        CHECK(std::memcmp(in, out, sizeof in) == 0);
        ibv_unimport_dm(same);
    });
}

}  // namespace verbs_promises
