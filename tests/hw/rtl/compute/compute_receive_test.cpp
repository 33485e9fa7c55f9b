// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_compute_receive: payload of the responder's packets passes the kernel of the QP, all other
// payload stays as it is; all in order, whenever orders, payload and dingo_scatter stall.
#include "Vdingo_compute_receive.h"
#include "rtl_types.h"
#include "slot_bench.h"

namespace dingo::rtl {
namespace {

using ::rtl::Scat;

constexpr unsigned kMostPackets = 80;  // in dingo_scatter: orders, and steps of its data half

class ComputeReceive : public SlotBench<Vdingo_compute_receive> {
  protected:
    enum class Packet { kOfRequester, kDropped, kRequest, kDatagram, kAtomic, kBareAck };

    Scat order(const Scat& packet, decltype(Scat::op) op) {
        Scat o = packet;
        o.op = op;
        return o;
    }

    void add(Packet kind, unsigned qp, std::uint32_t offset, unsigned bytes) {
        Scat packet;
        packet.qp = static_cast<decltype(packet.qp)>(qp);
        packet.offset = offset;
        packet.to_rsp = kind == Packet::kRequest || kind == Packet::kDatagram ||
                        kind == Packet::kAtomic || (kind == Packet::kDropped && random() % 2 == 0);
        packet.bare = kind == Packet::kBareAck;
        if (kind == Packet::kAtomic || kind == Packet::kBareAck)
            bytes = 0;
        packet.has_payload = bytes != 0;
        if (kind == Packet::kDatagram)
            orders.push_back(order(packet, ::rtl::kScatGrh));
        if (kind == Packet::kAtomic)
            orders.push_back(order(packet, ::rtl::kScatAtomic));
        if (kind == Packet::kDatagram ||
            (bytes != 0 && (kind == Packet::kRequest || kind == Packet::kOfRequester))) {
            orders.insert(orders.end(), 1 + random() % 3, order(packet, ::rtl::kScatSeg));
        }
        orders.push_back(order(packet, ::rtl::kScatEnd));
        if (bytes == 0)
            return;
        const std::vector<Beat> beats = beats_of(bytes, random() % 9 == 0);
        payload.insert(payload.end(), beats.begin(), beats.end());
        const bool ours = kind == Packet::kRequest || kind == Packet::kDatagram;
        want(ours ? configs[qp] : Config{}, offset, beats);
    }

    void run() {
        const Stalls stalls = GetParam();
        bool up = false, held = false, inside = false;
        unsigned in_work = 0;
        const std::uint64_t limit = cycles + 200'000;
        while (!wanted.empty() || !orders.empty()) {
            ASSERT_LT(cycles, limit) << wanted.size() << " beats to come";
            dut.order_i =
                !orders.empty() && (inside || in_work < kMostPackets) && chance(stalls.in);
            if (dut.order_i) {
                const Scat o = orders.front();
                ::rtl::drive(dut.scat_i, o);
                if (o.has_payload && !inside)
                    ++in_work;
                inside = o.op != ::rtl::kScatEnd && o.has_payload;
                orders.pop_front();
            }
            up = up || (!payload.empty() && chance(stalls.in));
            dut.payload_valid_i = up;
            if (up)
                ::rtl::drive(dut.payload_i, payload.front());
            dut.payload_ready_i = chance(stalls.out);
            dut.eval();
            EXPECT_TRUE(dut.payload_valid_o || !held) << "valid stays until ready";
            held = dut.payload_valid_o && !dut.payload_ready_i;
            if (up && dut.payload_ready_o) {
                payload.pop_front();
                up = false;
            }
            if (dut.payload_valid_o && dut.payload_ready_i) {
                in_work -= wanted.front().last;
                last_beat = cycles;
                ASSERT_NO_FATAL_FAILURE(check_beat());
            }
            clock();
        }
        dut.order_i = dut.payload_valid_i = 0;
        dut.eval();
        clock();
        EXPECT_TRUE(dut.idle_o);
    }

    std::deque<Scat> orders;
    std::deque<Beat> payload;
    std::uint64_t last_beat = 0;  ///< cycle in which the last beat came out
};

TEST_P(ComputeReceive, EverySizeAtEveryOffsetOfARecord) {
    configure(1, DINGO_KERNEL_ADD_ONE, 0);
    configure(2, DINGO_KERNEL_DLRM, 1000);
    for (unsigned bytes = 1; bytes <= 200; ++bytes) {
        for (unsigned qp = 0; qp < 3; ++qp)
            add(Packet::kRequest, qp, bytes % 3 * kBeatBytes, bytes);
    }
    run();
}

TEST_P(ComputeReceive, OnlyWhatTheResponderStoresIsTransformed) {
    for (unsigned qp = 0; qp < kQps; ++qp)
        configure(qp, qp % 3, qp % 3 == DINGO_KERNEL_DLRM ? random() | 1 : 0);
    for (unsigned packet = 0; packet < 900; ++packet) {
        const unsigned most = random() % 8 == 0 ? 4096 : 300;
        const unsigned bytes = random() % 6 == 0 ? 0 : 1 + random() % most;
        add(static_cast<Packet>(random() % 6), random() % kQps, (random() & 0x7fffffff) / 64 * 64,
            bytes);
    }
    run();
}

TEST_P(ComputeReceive, AsManyPacketsAsThereAreOrders) {
    configure(1, DINGO_KERNEL_ADD_ONE, 0);
    for (unsigned packet = 0; packet < 2 * kMostPackets; ++packet)
        add(packet % 4 == 0 ? Packet::kDropped : Packet::kRequest, packet % 2, 0, 1 + packet);
    run();
}

TEST_P(ComputeReceive, AKernelIsReplaced) {
    for (const std::uint32_t kernel : {2u, 1u, 2u, 0u, 2u}) {
        configure(7, kernel, kernel == DINGO_KERNEL_DLRM ? random() | 1 : 0);
        for (unsigned packet = 0; packet < 5; ++packet)
            add(Packet::kRequest, 7, packet * 1024, 1024);
        run();
    }
}

INSTANTIATE_TEST_SUITE_P(Stalls, ComputeReceive,
                         testing::Values(Stalls{0, 0}, Stalls{50, 0}, Stalls{0, 50}, Stalls{50, 50},
                                         Stalls{10, 90}, Stalls{90, 10}));

using FreeComputeReceive = ComputeReceive;

TEST_P(FreeComputeReceive, PayloadThatStaysIsThereTwoCyclesBehindItsOrder) {
    for (const unsigned bytes : {1u, 64u, 4096u}) {
        add(Packet::kRequest, 0, 0, bytes);
        const std::uint64_t before = cycles;
        run();
        EXPECT_EQ(last_beat - before, 2 + (bytes - 1) / 64);
    }
}

TEST_P(FreeComputeReceive, ABeatACycleThroughEveryKernel) {
    for (std::uint32_t kernel = 0; kernel < 3; ++kernel) {
        configure(3, kernel, kernel == DINGO_KERNEL_DLRM ? 8192 : 0);
        for (const unsigned bytes : {256u, 4096u}) {
            constexpr unsigned kPackets = 40;
            for (unsigned packet = 0; packet < kPackets; ++packet)
                add(Packet::kRequest, 3, packet * bytes, bytes);
            const std::uint64_t before = cycles;
            run();
            EXPECT_LE(cycles - before, kPackets * (bytes / 64) + 20) << "kernel " << kernel;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(NoStalls, FreeComputeReceive, testing::Values(Stalls{0, 0}));

}  // namespace
}  // namespace dingo::rtl
