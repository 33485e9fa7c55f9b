// SPDX-License-Identifier: BSD-2-Clause
//
// Speed of the card model alone: one thread runs two cards, the wire between them and both hosts.
// ICRC is made and checked, every frame is a complete RoCE v2 packet, every WQE makes a completion.
// shm_*: over the wire of two cards in one process, where frames have no ICRC unless `icrc`.
// Rates are per second of CPU time, so that other work on the machine does not count.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <vector>

#include "driver.h"
#include "engines.h"
#include "fake_host.h"
#include "wire/local_segments.h"
#include "wire/wire.h"

namespace dingo::test {
namespace {

/// One direction of the wire: frames are built in its slots and received from there.
class Link final : public WirePort {
  public:
    std::span<std::byte> begin_frame(std::size_t) override {
        if (tail_ - head_ == kSlots)
            return {};
        return frames_[tail_ % kSlots].bytes;
    }
    void end_frame(std::size_t bytes) override {
        if (bytes > 0)
            frames_[tail_++ % kSlots].length = bytes;
    }
    void deliver(Engine& to) {
        for (; head_ != tail_; ++head_) {
            const Slot& slot = frames_[head_ % kSlots];
            to.receive(std::span(slot.bytes).first(slot.length));
        }
    }

  private:
    static constexpr std::size_t kSlots = 64;
    static constexpr std::size_t kSlotBytes = 4352;
    struct Slot {
        std::array<std::byte, kSlotBytes> bytes;
        std::size_t length = 0;
    };
    std::vector<Slot> frames_ = std::vector<Slot>(kSlots);
    std::size_t head_ = 0;
    std::size_t tail_ = 0;
};

/// The wire between the two cards.
class Line {
  public:
    virtual ~Line() = default;
    /// Where card `i` sends.
    virtual WirePort& port(unsigned i) = 0;
    /// What card `from` has sent.
    virtual void deliver(unsigned from, Engine& to) = 0;
};

class Links final : public Line {
  public:
    WirePort& port(unsigned i) override { return links_[i]; }
    void deliver(unsigned from, Engine& to) override { links_[from].deliver(to); }

  private:
    std::array<Link, 2> links_;
};

/// The wire of two cards that one thread serves.
class Shm final : public Line {
  public:
    explicit Shm(bool icrc) {
        WireOptions options;
        options.wire = "shm:/tmp/dingo-model-bench-" + std::to_string(::getpid());
        if (icrc)
            options.wire += ",icrc=on";
        options.local = &segments_;
        for (auto& end : ends_) {
            end = make_wire(options);
            ++options.mac;
        }
    }
    WirePort& port(unsigned i) override { return *ends_[i]; }
    void deliver(unsigned from, Engine& to) override {
        ends_[from]->flush();
        Sink sink(to);
        while (ends_[1 - from]->receive(sink, 64) == 64) {
        }
    }

  private:
    class Sink final : public FrameSink {
      public:
        explicit Sink(Engine& to) : to_(to) {}
        void on_frame(std::span<const std::byte> frame) override { to_.receive(frame); }
        void on_frame_without_icrc(std::span<const std::byte> frame,
                                   const Elsewhere& payload) override {
            to_.receive_without_icrc(frame, payload);
        }

      private:
        Engine& to_;
    };

    LocalSegments segments_;
    std::array<std::unique_ptr<Wire>, 2> ends_;
};

enum class Kind { kLink, kShm, kShmIcrc };

std::unique_ptr<Line> make_line(Kind kind) {
    if (kind == Kind::kLink)
        return std::make_unique<Links>();
    return std::make_unique<Shm>(kind == Kind::kShmIcrc);
}

struct Side {
    explicit Side(const std::string& engine_name, const EngineConfig& config, WirePort& wire)
        : engine(make_engine(engine_name, config, host, wire)), driver(*engine, host, now) {}

    Nanoseconds now = 1'000;
    TestHost host;
    std::unique_ptr<Engine> engine;
    TestDriver driver;
};

/// Two cards with `qps` connections; side 0 works.
class Bench {
  public:
    static constexpr unsigned kLogSq = 6;
    static constexpr std::uint32_t kDepth = 1U << kLogSq;

    Bench(Kind kind, std::uint8_t opcode, std::uint32_t bytes, unsigned qps, unsigned posted)
        : posted_(posted), line_(make_line(kind)) {
        register_engines();
        unsigned log_cq = 8;
        while ((1U << log_cq) < qps * posted)
            ++log_cq;
        for (unsigned i = 0; i < 2; ++i) {
            EngineConfig config;
            config.mac += i;
            sides_[i] = std::make_unique<Side>("model", config, line_->port(i));
            TestDriver& driver = sides_[i]->driver;
            driver.start();
            driver.set_ipv4(0, 0x0a4d0001 + i);
            driver.enable_port();
        }
        cq_ = side(0).driver.create_cq(log_cq);
        const Cq remote_cq = side(1).driver.create_cq(8);
        constexpr std::uint32_t access =
            DINGO_ACC_LOCAL_WRITE | DINGO_ACC_REMOTE_WRITE | DINGO_ACC_REMOTE_READ;
        const std::uint64_t region = std::max<std::uint64_t>(bytes, 4096);
        const Mr local = side(0).driver.create_mr(region, access);
        const Mr remote = side(1).driver.create_mr(region, access);
        SendWr wr;
        wr.opcode = opcode;
        wr.raddr = remote.iova;
        wr.rkey = remote.key;
        wr.sges = {local.sge(0, bytes)};
        const std::vector<std::byte> wqe = encode(wr, false);
        for (unsigned i = 0; i < qps; ++i)
            add_connection(remote_cq, wqe);
    }

    /// Completes `messages` messages, with `posted` outstanding on each QP.
    void run(std::uint64_t messages) {
        std::uint64_t to_post = messages;
        std::uint64_t completed = 0;
        for (TestQp& qp : qps_)
            post(qp, std::min<std::uint64_t>(posted_, to_post), to_post);
        while (completed < messages) {
            now_ += 1'000;
            side(0).engine->run(now_, kBudget);
            line_->deliver(0, *side(1).engine);
            side(1).engine->run(now_, kBudget);
            line_->deliver(1, *side(0).engine);
            completed += poll(to_post);
        }
    }

  private:
    static constexpr unsigned kBudget = 64;

    Side& side(unsigned i) { return *sides_[i]; }

    void add_connection(const Cq& remote_cq, const std::vector<std::byte>& wqe) {
        QpOptions options;
        options.log_sq = kLogSq;
        options.log_rq = 0;
        TestQp a = side(0).driver.create_qp(cq_, cq_, options);
        TestQp b = side(1).driver.create_qp(remote_cq, remote_cq, options);
        by_qpn_.resize(std::max<std::size_t>(by_qpn_.size(), (a.qpn & 0xFFFF) + 1));
        connect(0, a, b.qpn);
        connect(1, b, a.qpn);
        // The ring is filled once: a doorbell posts what is there again.
        for (std::uint32_t block = 0; block < kDepth; ++block)
            std::memcpy(side(0).host.at(a.sq + block * DINGO_SQ_BLOCK, DINGO_SQ_BLOCK), wqe.data(),
                        wqe.size());
        by_qpn_[a.qpn & 0xFFFF] = qps_.size();
        qps_.push_back(a);
    }
    void connect(unsigned i, const TestQp& qp, std::uint32_t peer) {
        TestDriver::PathOptions path;
        path.dest_qpn = peer;
        path.dgid = {0, 0, 0,    0,    0,  0,  0, 0,
                     0, 0, 0xff, 0xff, 10, 77, 0, static_cast<std::uint8_t>(2 - i)};
        path.dmac = {0x02, 0x44, 0x49, 0, 0, static_cast<std::uint8_t>(2 - i)};
        path.path_mtu = 5;
        path.timeout = 20;
        side(i).driver.bring_up(qp, path);
    }
    void post(TestQp& qp, std::uint64_t count, std::uint64_t& to_post) {
        if (count == 0)
            return;
        qp.sq_producer += static_cast<std::uint32_t>(count);
        to_post -= count;
        const std::uint32_t word0 = DINGO_PREP(DINGO_DOORBELL_WORD0_OBJECT_MASK, qp.qpn) |
                                    DINGO_PREP(DINGO_DOORBELL_WORD0_TYPE_MASK, DINGO_DB_SQ);
        side(0).driver.doorbell(1, word0, qp.sq_producer);
    }
    /// Takes completions; each posts its successor (in pairs of halves, as applications batch).
    std::uint64_t poll(std::uint64_t& to_post) {
        const std::uint32_t size = 1U << cq_.log_size;
        std::uint64_t taken = 0;
        const std::byte* const ring =
            side(0).host.at(cq_.ring, std::uint64_t{size} * DINGO_CQE_SIZE);
        for (;; ++taken) {
            dingo_cqe entry;
            std::memcpy(&entry, ring + std::size_t{cq_.consumer & (size - 1)} * DINGO_CQE_SIZE,
                        sizeof entry);
            const unsigned phase = (cq_.consumer >> cq_.log_size & 1) ^ 1;
            if ((entry.owner & 1U) != phase)
                break;
            if (entry.status != DINGO_WCS_SUCCESS)
                std::abort();
            ++cq_.consumer;
            TestQp& qp = qps_[by_qpn_[cqe_qpn(entry) & 0xFFFF]];
            // Post again when half of what was outstanding is done.
            if (((entry.wqe_index + 1) % std::max(posted_ / 2, 1U)) == 0)
                post(qp, std::min<std::uint64_t>(std::max(posted_ / 2, 1U), to_post), to_post);
        }
        if (taken > 0) {
            const std::uint32_t word0 = DINGO_PREP(DINGO_DOORBELL_WORD0_OBJECT_MASK, cq_.cqn) |
                                        DINGO_PREP(DINGO_DOORBELL_WORD0_TYPE_MASK, DINGO_DB_CQ);
            side(0).driver.doorbell(1, word0, cq_.consumer);
        }
        return taken;
    }

    unsigned posted_;
    Nanoseconds now_ = 1'000'000;
    std::unique_ptr<Line> line_;
    std::array<std::unique_ptr<Side>, 2> sides_;
    Cq cq_;
    std::vector<TestQp> qps_;
    std::vector<std::size_t> by_qpn_;
};

void on(benchmark::State& state, Kind kind, std::uint8_t opcode, std::uint32_t bytes, unsigned qps,
        unsigned posted, std::uint64_t messages) {
    Bench bench(kind, opcode, bytes, qps, posted);
    bench.run(messages);  // touches all memory once
    std::uint64_t total = 0;
    for (auto _ : state) {
        bench.run(messages);
        total += messages;
    }
    const auto rate = benchmark::Counter::kIsRate;
    state.counters["Gbit"] = benchmark::Counter(static_cast<double>(total) * bytes * 8e-9, rate);
    state.counters["Mmsg"] = benchmark::Counter(static_cast<double>(total) * 1e-6, rate);
}

void stream(benchmark::State& state, std::uint8_t opcode, std::uint32_t bytes, unsigned qps,
            unsigned posted, std::uint64_t messages) {
    on(state, Kind::kLink, opcode, bytes, qps, posted, messages);
}
void shm(benchmark::State& state, std::uint8_t opcode, std::uint32_t bytes, unsigned qps,
         unsigned posted, std::uint64_t messages) {
    on(state, Kind::kShm, opcode, bytes, qps, posted, messages);
}
void shm_icrc(benchmark::State& state, std::uint8_t opcode, std::uint32_t bytes, unsigned qps,
              unsigned posted, std::uint64_t messages) {
    on(state, Kind::kShmIcrc, opcode, bytes, qps, posted, messages);
}

BENCHMARK_CAPTURE(stream, write_64KiB, DINGO_WR_WRITE, 65536, 1, 16, 4096);
BENCHMARK_CAPTURE(stream, read_64KiB, DINGO_WR_READ, 65536, 1, 16, 4096);
BENCHMARK_CAPTURE(stream, write_64B_1_qp, DINGO_WR_WRITE, 64, 1, 64, 1 << 18);
BENCHMARK_CAPTURE(stream, write_64B_4096_qps, DINGO_WR_WRITE, 64, 4096, 16, 1 << 18);
BENCHMARK_CAPTURE(stream, read_64B_1_qp, DINGO_WR_READ, 64, 1, 64, 1 << 17);
BENCHMARK_CAPTURE(shm, write_64KiB, DINGO_WR_WRITE, 65536, 1, 16, 4096);
BENCHMARK_CAPTURE(shm_icrc, write_64KiB, DINGO_WR_WRITE, 65536, 1, 16, 4096);
BENCHMARK_CAPTURE(shm, write_1MiB, DINGO_WR_WRITE, 1 << 20, 1, 16, 256);
BENCHMARK_CAPTURE(shm_icrc, write_1MiB, DINGO_WR_WRITE, 1 << 20, 1, 16, 256);
BENCHMARK_CAPTURE(shm, write_16MiB, DINGO_WR_WRITE, 16 << 20, 1, 16, 16);
BENCHMARK_CAPTURE(shm_icrc, write_16MiB, DINGO_WR_WRITE, 16 << 20, 1, 16, 16);
BENCHMARK_CAPTURE(shm, read_64KiB, DINGO_WR_READ, 65536, 1, 16, 4096);
BENCHMARK_CAPTURE(shm_icrc, read_64KiB, DINGO_WR_READ, 65536, 1, 16, 4096);
BENCHMARK_CAPTURE(shm, write_64B_1_qp, DINGO_WR_WRITE, 64, 1, 64, 1 << 18);
BENCHMARK_CAPTURE(shm_icrc, write_64B_1_qp, DINGO_WR_WRITE, 64, 1, 64, 1 << 18);

}  // namespace
}  // namespace dingo::test

BENCHMARK_MAIN();
