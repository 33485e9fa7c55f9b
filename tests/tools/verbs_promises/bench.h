// SPDX-License-Identifier: BSD-2-Clause
//
// An open device with the objects that most promises need, and owning pointers to objects.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "promise.h"

namespace verbs_promises {

template <auto Destroy>
struct Destroyer {
    template <class T>
    void operator()(T* object) const {
        Destroy(object);
    }
};
using Context = std::unique_ptr<ibv_context, Destroyer<&ibv_close_device>>;
using Pd = std::unique_ptr<ibv_pd, Destroyer<&ibv_dealloc_pd>>;
using Mr = std::unique_ptr<ibv_mr, Destroyer<&ibv_dereg_mr>>;
using Cq = std::unique_ptr<ibv_cq, Destroyer<&ibv_destroy_cq>>;
using Qp = std::unique_ptr<ibv_qp, Destroyer<&ibv_destroy_qp>>;
using Srq = std::unique_ptr<ibv_srq, Destroyer<&ibv_destroy_srq>>;
using Ah = std::unique_ptr<ibv_ah, Destroyer<&ibv_destroy_ah>>;
using Mw = std::unique_ptr<ibv_mw, Destroyer<&ibv_dealloc_mw>>;
using Channel = std::unique_ptr<ibv_comp_channel, Destroyer<&ibv_destroy_comp_channel>>;

Context open_device();

/// Checks that the pointer is not NULL; throws Lacking if errno is EOPNOTSUPP.
template <class T>
T* made(T* object, const char* what) {
    if (object == nullptr) {
        const int error = errno;
        if (error == EOPNOTSUPP) {
            throw Lacking(std::string("the device has no ") + what);
        }
        throw Broken(std::string(what) + ": " + error_text(error));
    }
    return object;
}

/// Checks that `error` is 0; throws Lacking if it is EOPNOTSUPP.
void done(int error, const char* what);

constexpr int kAllAccess =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;

/// Registered memory, initially zero.
class Region {
  public:
    Region(ibv_pd* pd, std::size_t bytes, int access = kAllAccess);
    std::uint8_t* data() { return memory_.data() + skip_; }
    ibv_mr* mr() { return mr_.get(); }
    ibv_sge sge(std::size_t offset, std::uint32_t length);
    std::uint64_t address(std::size_t offset = 0);
    std::uint32_t rkey() const { return mr_->rkey; }

  private:
    std::vector<std::uint8_t> memory_;
    std::size_t skip_ = 0;  ///< bytes before the first page
    Mr mr_;
};

class Bench {
  public:
    Bench();

    ibv_context* ctx() { return context.get(); }
    Cq cq(int entries = 16, ibv_comp_channel* channel = nullptr, void* user = nullptr);
    /// Attributes of a QP on `cq` with 8 sends and 8 receives of 2 SGEs.
    ibv_qp_init_attr init(ibv_cq* cq, ibv_qp_type type = IBV_QPT_RC, ibv_srq* srq = nullptr);
    Qp qp(ibv_qp_init_attr& init);
    Qp qp(ibv_cq* cq, ibv_qp_type type = IBV_QPT_RC, ibv_srq* srq = nullptr);
    Srq srq(std::uint32_t wrs = 16, std::uint32_t sges = 1);
    /// The address of this port.
    ibv_ah_attr self() const;
    bool has(unsigned flag) const { return (attr.device_cap_flags & flag) != 0; }
    void need_atomics() const;

    Context context;
    ibv_device_attr attr{};
    ibv_port_attr port{};
    int gid_index =
        -1;  ///< of the first RoCE v2 GID that is an IPv4 address, else of the first at all
    ibv_gid gid{};
    Pd pd;
};

/// Attributes and mask of a step towards RTS; the peer is on the same port.
struct Step {
    ibv_qp_attr attr{};
    int mask = 0;
};
Step to_init(ibv_qp_type type, int access = kAllAccess);
Step to_rtr(const Bench& bench, ibv_qp_type type, std::uint32_t dest_qpn);
Step to_rts(ibv_qp_type type);
Step to_state(ibv_qp_state state);
int modify(ibv_qp* qp, Step step);

constexpr std::uint32_t kQkey = 0x11111111;

/// Moves the QP to RTS, connected to `dest_qpn`.
void connect(const Bench& bench, ibv_qp* qp, std::uint32_t dest_qpn, int access = kAllAccess);

ibv_qp_state state_of(ibv_qp* qp);

/// Waits for the next completion; throws Broken on timeout.
ibv_wc wait_wc(ibv_cq* cq);
/// Throws Broken if a completion arrives within a short time.
void no_wc(ibv_cq* cq);

/// Two connected QPs of one type, each with a CQ and memory.
class Pair {
  public:
    explicit Pair(Bench& bench, ibv_qp_type type = IBV_QPT_RC, int entries = 64,
                  std::uint32_t wrs = 16, int access = kAllAccess | IBV_ACCESS_REMOTE_ATOMIC);

    ibv_qp* qp(int side) { return qps_[side].get(); }
    ibv_cq* cq(int side) { return cqs_[side].get(); }
    Region& memory(int side) { return *memory_[side]; }
    /// Posts a receive of `bytes` at `offset`.
    int receive(int side, std::uint64_t id, std::uint32_t bytes = 64, std::size_t offset = 0);
    /// Returns a request of 64 bytes from side 0 to side 1; its SGE belongs to this object.
    ibv_send_wr request(ibv_wr_opcode opcode, unsigned flags = IBV_SEND_SIGNALED,
                        std::uint32_t bytes = 64);
    /// Posts the request on side 0.
    int post(ibv_send_wr wr);
    /// Posts the request on side 0 and waits for its completion.
    ibv_wc run(ibv_send_wr wr);

  private:
    std::unique_ptr<Region> memory_[2];
    Cq cqs_[2];
    Qp qps_[2];
    ibv_sge sge_{};
    ibv_ah_attr self_;
    Ah ah_;
};

}  // namespace verbs_promises
