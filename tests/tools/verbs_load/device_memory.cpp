// SPDX-License-Identifier: BSD-2-Clause
//
// Tests ibv_alloc_dm(3): CPU and card read what the other has written.
#include <infiniband/verbs.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "modes.h"
#include "self_link.h"

namespace verbs_load {
namespace {

constexpr std::size_t kBytes = 1 << 16;
constexpr std::size_t kOffset = 4096 + 64;  // of the region in the device memory
constexpr unsigned kZeroBased = IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE;
constexpr unsigned kAll =
    kZeroBased | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

void need(bool good, const char* what) {
    if (!good)
        throw std::runtime_error(std::string(what) + " (errno " + std::to_string(errno) + ")");
}

struct Place {
    std::uint64_t at;
    std::uint32_t key;
};

/// Executes single requests from `local` to `remote` over two QPs of one card.
class Mover {
  public:
    explicit Mover(SelfLink& link) : link_(link) { renew(); }
    ~Mover() { destroy(); }
    Mover(const Mover&) = delete;
    Mover& operator=(const Mover&) = delete;

    ibv_wc_status move(ibv_wr_opcode opcode, Place local, Place remote, std::uint32_t bytes,
                       std::uint64_t add = 0) {
        ibv_sge sge{local.at, bytes, local.key};
        ibv_send_wr wr{};
        ibv_send_wr* bad = nullptr;
        wr.sg_list = &sge;
        wr.num_sge = 1;
        wr.opcode = opcode;
        wr.send_flags = IBV_SEND_SIGNALED;
        if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
            wr.wr.atomic.remote_addr = remote.at;
            wr.wr.atomic.rkey = remote.key;
            wr.wr.atomic.compare_add = add;
        } else {
            wr.wr.rdma.remote_addr = remote.at;
            wr.wr.rdma.rkey = remote.key;
        }
        need(ibv_post_send(qp_, &wr, &bad) == 0, "ibv_post_send");
        ibv_wc wc{};
        int got = 0;
        while ((got = ibv_poll_cq(link_.cq(), 1, &wc)) == 0) {
        }
        need(got == 1, "ibv_poll_cq");
        if (wc.status != IBV_WC_SUCCESS) {
            destroy();
            renew();
        }
        return wc.status;
    }

  private:
    void renew() {
        qp_ = link_.create_qp();
        peer_ = link_.create_qp();
        link_.connect(qp_, peer_->qp_num);
        link_.connect(peer_, qp_->qp_num);
    }
    void destroy() {
        ibv_destroy_qp(qp_);
        ibv_destroy_qp(peer_);
    }
    SelfLink& link_;
    ibv_qp* qp_ = nullptr;
    ibv_qp* peer_ = nullptr;
};

std::vector<std::uint8_t> pattern(std::size_t bytes, unsigned seed) {
    std::vector<std::uint8_t> all(bytes);
    for (std::size_t i = 0; i < bytes; ++i)
        all[i] = static_cast<std::uint8_t>(seed + i * 13 + (i >> 8));
    return all;
}

void refusals(const SelfLink& link, ibv_dm* dm) {
    ibv_device_attr_ex attr{};
    need(ibv_query_device_ex(link.context(), nullptr, &attr) == 0 && attr.max_dm_size >= kBytes,
         "max_dm_size");
    ibv_alloc_dm_attr want{};
    want.length = attr.max_dm_size + 1;
    errno = 0;
    need(ibv_alloc_dm(link.context(), &want) == nullptr && errno == ENOMEM, "more than there is");
    want = {64, 0, 1};
    errno = 0;
    need(ibv_alloc_dm(link.context(), &want) == nullptr && errno == EINVAL, "unknown comp_mask");
    errno = 0;
    need(ibv_reg_dm_mr(link.pd(), dm, 0, kBytes, IBV_ACCESS_LOCAL_WRITE) == nullptr &&
             errno == EINVAL,
         "a region that is not zero based");
    errno = 0;
    need(ibv_reg_dm_mr(link.pd(), dm, 4096, kBytes, kZeroBased) == nullptr && errno == EINVAL,
         "a region beyond the end");
    std::uint64_t word = 0;
    need(ibv_memcpy_to_dm(dm, 3, &word, 4) == EINVAL, "an offset of 3");
    need(ibv_memcpy_from_dm(&word, dm, 0, 3) == EINVAL, "a length of 3");
    need(ibv_memcpy_to_dm(dm, kBytes, &word, 4) == EFAULT, "behind the end");
    need(ibv_memcpy_from_dm(&word, dm, kBytes - 4, 8) == EFAULT, "over the end");
}

void traffic(SelfLink& link, ibv_dm* dm, ibv_mr* region, std::uint8_t* host, std::uint32_t key) {
    Mover mover(link);
    const auto here = reinterpret_cast<std::uintptr_t>(host);
    const std::size_t bytes = region->length;
    // The CPU writes device memory, the card reads it.
    auto sent = pattern(bytes, 1);
    need(ibv_memcpy_to_dm(dm, kOffset, sent.data(), bytes) == 0, "ibv_memcpy_to_dm");
    need(mover.move(IBV_WR_RDMA_WRITE, {0, region->lkey}, {here, key},
                    static_cast<std::uint32_t>(bytes)) == IBV_WC_SUCCESS &&
             std::memcmp(host, sent.data(), bytes) == 0,
         "WRITE from device memory");
    std::memset(host, 0, bytes);
    need(mover.move(IBV_WR_RDMA_READ, {here, key}, {0, region->rkey},
                    static_cast<std::uint32_t>(bytes)) == IBV_WC_SUCCESS &&
             std::memcmp(host, sent.data(), bytes) == 0,
         "READ from device memory");
    // The card writes device memory, the CPU reads it.
    sent = pattern(bytes, 2);
    std::memcpy(host, sent.data(), bytes);
    need(mover.move(IBV_WR_RDMA_WRITE, {here + 8, key}, {8, region->rkey},
                    static_cast<std::uint32_t>(bytes - 8)) == IBV_WC_SUCCESS,
         "WRITE to device memory");
    std::vector<std::uint8_t> back(bytes);
    need(ibv_memcpy_from_dm(back.data(), dm, kOffset, bytes) == 0 &&
             std::memcmp(back.data() + 8, sent.data() + 8, bytes - 8) == 0,
         "what was written, and where");
    // atomics
    std::uint64_t value = 40;
    need(ibv_memcpy_to_dm(dm, kOffset + 16, &value, 8) == 0, "ibv_memcpy_to_dm");
    need(mover.move(IBV_WR_ATOMIC_FETCH_AND_ADD, {here, key}, {16, region->rkey}, 8, 2) ==
                 IBV_WC_SUCCESS &&
             std::memcmp(host, &value, 8) == 0,
         "FETCH_AND_ADD gives the old value");
    need(ibv_memcpy_from_dm(&value, dm, kOffset + 16, 8) == 0 && value == 42, "and leaves the sum");
    // borders
    need(mover.move(IBV_WR_RDMA_WRITE, {here, key}, {bytes - 4, region->rkey}, 8) ==
             IBV_WC_REM_ACCESS_ERR,
         "a WRITE over the region's end");
    need(mover.move(IBV_WR_RDMA_WRITE, {bytes - 4, region->lkey}, {here, key}, 8) ==
             IBV_WC_LOC_PROT_ERR,
         "a gather entry over the region's end");
}

}  // namespace

void device_memory_test() {
    SelfLink link("", 1, 8192);
    auto* const host = static_cast<std::uint8_t*>(std::aligned_alloc(4096, kBytes));
    ibv_mr* const mr = ibv_reg_mr(link.pd(), host, kBytes, kAll & ~IBV_ACCESS_ZERO_BASED);
    ibv_alloc_dm_attr want{kBytes, 6, 0};
    ibv_dm* const dm = ibv_alloc_dm(link.context(), &want);
    need(mr != nullptr && dm != nullptr, "ibv_alloc_dm");
    refusals(link, dm);
    ibv_mr* const region = ibv_reg_dm_mr(link.pd(), dm, kOffset, kBytes - 2 * kOffset, kAll);
    need(region != nullptr, "ibv_reg_dm_mr");
    need(ibv_free_dm(dm) == EBUSY, "memory with a region stays");
    traffic(link, dm, region, host, mr->rkey);
    ibv_mr* const empty = ibv_reg_dm_mr(link.pd(), dm, kBytes, 0, kAll);
    need(empty != nullptr, "a region of length 0");
    const auto here = reinterpret_cast<std::uintptr_t>(host);
    need(Mover(link).move(IBV_WR_RDMA_WRITE, {here, mr->lkey}, {0, empty->rkey}, 4) ==
             IBV_WC_REM_ACCESS_ERR,
         "which opens nothing");
    need(ibv_dereg_mr(empty) == 0 && ibv_dereg_mr(region) == 0, "ibv_dereg_mr");
    need(ibv_free_dm(dm) == 0, "ibv_free_dm");
    link.check(0, 1);
    ibv_dereg_mr(mr);
    std::free(host);
}

}  // namespace verbs_load
