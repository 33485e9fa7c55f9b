// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_compute_slot: each packet's payload passes the kernel of its QP, in order, with any stalls;
// last, bytes and err of each beat stay as they are. The reference is the model's kernels.
#include "Vdingo_compute_slot.h"
#include "rtl_types.h"
#include "slot_bench.h"

namespace dingo::rtl {
namespace {

using ::rtl::Txd;

class ComputeSlot : public SlotBench<Vdingo_compute_slot> {
  protected:
    void add(unsigned qp, std::uint32_t offset, unsigned bytes, bool from_rsp, bool inl, bool err) {
        Txd txd;
        txd.qp = static_cast<std::uint16_t>(qp);
        txd.offset = offset;
        txd.len = static_cast<std::uint16_t>(bytes);
        txd.from_rsp = from_rsp;
        txd.inl = inl;
        txds.push_back(txd);
        const std::vector<Beat> beats = beats_of(bytes, err);
        (inl ? inlined : gathered)
            .insert((inl ? inlined : gathered).end(), beats.begin(), beats.end());
        want(from_rsp ? Config{} : configs[qp], offset, beats);  // responses stay as they are
    }

    void run() {
        const Stalls stalls = GetParam();
        bool txd_up = false, gather_up = false, inline_up = false;
        const std::uint64_t limit = cycles + 100'000;
        std::size_t txds_out = 0;
        const std::size_t txds_in = txds.size();
        while (!wanted.empty() || txds_out < txds_in) {
            ASSERT_LT(cycles, limit) << wanted.size() << " beats to come";
            // Valid stays until ready, as AXI-Stream requires.
            txd_up = txd_up || (!txds.empty() && chance(stalls.in));
            gather_up = gather_up || (!gathered.empty() && chance(stalls.in));
            inline_up = inline_up || (!inlined.empty() && chance(stalls.in));
            dut.txd_valid_i = txd_up;
            dut.gather_valid_i = gather_up;
            dut.inl_valid_i = inline_up;
            if (txd_up)
                ::rtl::drive(dut.txd_i, txds.front());
            if (gather_up)
                ::rtl::drive(dut.gather_i, gathered.front());
            if (inline_up)
                ::rtl::drive(dut.inl_i, inlined.front());
            dut.txd_ready_i = chance(stalls.out);
            dut.payload_ready_i = chance(stalls.out);
            dut.eval();
            EXPECT_EQ(dut.txd_valid_o && dut.txd_ready_i, dut.txd_ready_o && txd_up);
            if (txd_up && dut.txd_ready_o) {
                txds.pop_front();
                txd_up = false;
                ++txds_out;
            }
            if (gather_up && dut.gather_ready_o) {
                gathered.pop_front();
                gather_up = false;
            }
            if (inline_up && dut.inl_ready_o) {
                inlined.pop_front();
                inline_up = false;
            }
            if (dut.payload_valid_o && dut.payload_ready_i) {
                ASSERT_NO_FATAL_FAILURE(check_beat());
            }
            clock();
        }
        dut.txd_valid_i = dut.gather_valid_i = dut.inl_valid_i = 0;
        dut.eval();
        clock();
        EXPECT_TRUE(dut.idle_o);
    }

    std::deque<Txd> txds;
    std::deque<Beat> gathered, inlined;
};

TEST_P(ComputeSlot, EverySizeAtEveryOffsetOfARecord) {
    const std::uint32_t moduli[] = {8192, 1000, 1, 0xffffffff};
    for (unsigned round = 0; round < 4; ++round) {
        configure(1, DINGO_KERNEL_ADD_ONE, 0);
        configure(2, DINGO_KERNEL_DLRM, moduli[round]);
        for (unsigned bytes = 1; bytes <= 200; bytes += round + 1) {
            for (unsigned qp = 0; qp < 3; ++qp)
                add(qp, bytes % 3 * kBeatBytes, bytes, false, bytes % 5 == 0, false);
        }
        run();
    }
}

TEST_P(ComputeSlot, RandomPacketsOfManyQueuePairs) {
    for (unsigned qp = 0; qp < kQps; ++qp)
        configure(qp, qp % 3, qp % 3 == DINGO_KERNEL_DLRM ? random() | 1 : 0);
    for (unsigned packet = 0; packet < 600; ++packet) {
        const bool inl = random() % 4 == 0;
        const unsigned most = random() % 8 == 0 ? 4096 : 300;
        const unsigned bytes = random() % 6 == 0 ? 0 : 1 + random() % (inl ? 480 : most);
        add(random() % kQps, (random() & 0x7fffffff) / 64 * 64, bytes, random() % 5 == 0,
            inl && bytes != 0, !inl && random() % 9 == 0);
    }
    run();
}

TEST_P(ComputeSlot, AKernelIsReplaced) {
    for (const std::uint32_t kernel : {2u, 1u, 2u, 0u, 2u}) {
        configure(7, kernel, kernel == DINGO_KERNEL_DLRM ? random() | 1 : 0);
        for (unsigned packet = 0; packet < 5; ++packet)
            add(7, packet * 1024, 1024, false, false, false);
        run();
    }
}

INSTANTIATE_TEST_SUITE_P(Stalls, ComputeSlot,
                         testing::Values(Stalls{0, 0}, Stalls{50, 0}, Stalls{0, 50}, Stalls{50, 50},
                                         Stalls{10, 90}, Stalls{90, 10}));

using FreeComputeSlot = ComputeSlot;

TEST_P(FreeComputeSlot, ABeatACycleThroughEveryKernel) {
    for (std::uint32_t kernel = 0; kernel < 3; ++kernel) {
        configure(3, kernel, kernel == DINGO_KERNEL_DLRM ? 8192 : 0);
        constexpr unsigned kPackets = 20;
        for (unsigned packet = 0; packet < kPackets; ++packet)
            add(3, packet * 4096, 4096, false, false, false);
        const std::uint64_t before = cycles;
        run();
        EXPECT_LE(cycles - before, kPackets * 64 + 30) << "kernel " << kernel;
    }
}

INSTANTIATE_TEST_SUITE_P(NoStalls, FreeComputeSlot, testing::Values(Stalls{0, 0}));

}  // namespace
}  // namespace dingo::rtl
