// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
//
// Device code on real cards: checks every byte, atomic result and error.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <stdexcept>

#include "launch.h"
#include "pair.h"

namespace gda {
namespace {

struct Setup {
    Setup(const Options& options, std::uint32_t threads, std::uint32_t rounds)
        : pair(options),
          local(pair.a, std::size_t{threads} * kPart),
          remote(pair.b, std::size_t{threads} * kPart + sizeof(std::uint64_t), options.host_remote),
          job(*static_cast<Job*>(device_memory(sizeof(Job)))) {
        job.threads = threads;
        job.rounds = rounds;
        job.num_qps = options.qps;
        job.lanes = 1;
        job.qps = static_cast<dingo_gda_qp**>(device_memory(options.qps * sizeof(void*)));
        for (std::uint32_t i = 0; i < options.qps; ++i)
            job.qps[i] = dingo_gda_device_qp(pair.queues[i].get());
        job.local = {local.at, local.mr->lkey};
        job.remote = {remote.at, remote.mr->rkey};
        job.seen = static_cast<std::uint64_t*>(
            device_memory(std::size_t{threads} * (rounds + 1) * sizeof(std::uint64_t)));
        job.results = static_cast<std::int32_t*>(device_memory(threads * sizeof(std::int32_t)));
    }
    void run(Work work) {
        job.work = work;
        for (std::uint32_t i = 0; i < job.threads; ++i)
            job.results[i] = -100;  // did not end
        start(&job);
        finish();
    }
    void expect(int result, const char* what) const {
        for (std::uint32_t i = 0; i < job.threads; ++i)
            if (job.results[i] != result)
                throw std::runtime_error(std::string(what) + ": thread " + std::to_string(i) +
                                         " got " + std::to_string(job.results[i]) + " instead of " +
                                         std::to_string(result));
    }

    Pair pair;
    Buffer local, remote;
    Job& job;
};

void expect(bool ok, const char* what) {
    if (!ok)
        throw std::runtime_error(what);
}

struct Arguments {
    std::uint32_t threads = 32;
    std::uint32_t qps = 1;
    std::uint32_t rounds = 100;
    std::uint32_t lanes = 1;
};

void run_traffic(const Arguments& args) {
    Options options;
    options.qps = args.qps;
    Setup setup(options, args.threads, args.rounds);
    setup.job.lanes = args.lanes;
    setup.run(Work::kTraffic);
    setup.expect(0, "traffic");
    const Job& job = setup.job;
    if (job.errors != 0)
        std::printf("first wrong: thread %llu round %llu kind %llu\n",
                    static_cast<unsigned long long>(job.first_wrong >> 32),
                    static_cast<unsigned long long>(job.first_wrong >> 8 & 0xffffff),
                    static_cast<unsigned long long>(job.first_wrong & 0xff));
    expect(job.errors == 0, "data or atomic results are wrong");
    std::uint64_t count = 0;
    std::memcpy(&count, job.remote.at + std::size_t{args.threads} * kPart, sizeof count);
    expect(count == std::uint64_t{args.threads} * args.rounds, "the counter is wrong");
    std::printf("%u threads, %u QPs, %u rounds: every byte and atomic is right\n", args.threads,
                args.qps, args.rounds);
}

void run_full(const Arguments& args) {
    Options options;
    options.qps = args.qps;
    options.depth = 1;  // the minimum
    Setup setup(options, args.threads, args.rounds);
    setup.run(Work::kPosts);
    setup.expect(0, "posts");
    for (std::uint32_t t = 0; t < args.threads; ++t)
        for (std::uint32_t i = 0; i < kMostInline; ++i)
            expect(setup.remote.at[std::size_t{t} * kPart + kInline + i] ==
                       pattern(t, args.rounds - 1, i),
                   "the last write of a thread is wrong");
    for (const auto& queue : setup.pair.queues) {
        dingo_gda_state state{};
        need(dingo_gda_query(queue.get(), &state) == 0, "dingo_gda_query");
        expect(state.posted == state.rung && state.posted == state.done, "something is left");
    }
    std::printf("%u threads filled %u rings of the least size, %u posts each\n", args.threads,
                args.qps, args.rounds);
}

/// A failure is reported for its request, later ones are flushed, and RESET makes the QP usable.
void run_errors(const Arguments& args) {
    Setup setup({}, 1, 1);
    Job& job = setup.job;
    const std::uint32_t rkey = job.remote.key;
    for (std::uint32_t again = 0; again < args.rounds; ++again) {
        job.remote.key = rkey;
        setup.run(Work::kOne);
        setup.expect(IBV_WC_SUCCESS, "a write before the failure");
        job.remote.key = rkey ^ 1;
        setup.run(Work::kOne);
        setup.expect(IBV_WC_REM_ACCESS_ERR, "wrong rkey");
        job.remote.key = rkey;
        setup.run(Work::kOne);
        setup.expect(IBV_WC_WR_FLUSH_ERR, "a write after the failure");
        dingo_gda_state state{};
        need(dingo_gda_query(setup.pair.queues[0].get(), &state) == 0, "dingo_gda_query");
        expect(state.failed_status == IBV_WC_REM_ACCESS_ERR, "dingo_gda_query: another status");
        expect(dingo_gda_reset(setup.pair.queues[0].get()) == EINVAL, "reset in state ERR");
        setup.pair.reconnect(0);
    }
    setup.run(Work::kOne);
    setup.expect(IBV_WC_SUCCESS, "a write after RESET");
    std::printf("wrong rkey: the failure, the flush and %u times RESET are as they should be\n",
                args.rounds);
}

/// The host looks at a queue and resets it while a kernel runs on the default stream, and makes one
/// while a stream is captured.
void run_busy(const Arguments& args) {
    Setup setup({}, args.threads, 1);
    setup.run(Work::kOne);
    setup.expect(0, "a write");
    dingo_gda_queue* const queue = setup.pair.queues[0].get();
    setup.job.work = Work::kBusy;
    start(&setup.job);
    dingo_gda_state state{};
    const int error = dingo_gda_query(queue, &state);
    setup.pair.reconnect(0);
    __atomic_store_n(&setup.job.ended, 1, __ATOMIC_RELEASE);
    finish();
    need((errno = error) == 0, "dingo_gda_query beside a kernel");
    expect(state.posted != 0 && state.posted == state.done, "dingo_gda_query: posts are missing");
    begin_capture();
    dingo_gda_qp_attr attr{};
    attr.pd = setup.pair.a.pd.get();
    attr.qp_type = IBV_QPT_RC;
    attr.max_send_wr = 64;
    const Owned<dingo_gda_queue, dingo_gda_destroy> made(
        dingo_gda_create(setup.pair.device.get(), &attr));
    need(made != nullptr, "dingo_gda_create during a capture");
    need((errno = dingo_gda_query(made.get(), &state)) == 0, "dingo_gda_query during a capture");
    end_capture();
    setup.run(Work::kOne);
    setup.expect(0, "a write after RESET");
    std::printf("beside a kernel and a capture: as they should be\n");
}

/// One of 32 threads posts a bad request: earlier requests succeed, later ones are flushed.
void run_flush(const Arguments& args) {
    Setup setup({}, args.threads, 1);
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_ERR;
    errno = ibv_modify_qp(dingo_gda_ibv_qp(setup.pair.queues[0].get()), &attr, IBV_QP_STATE);
    need(errno == 0, "ibv_modify_qp to ERR");
    setup.run(Work::kOne);
    setup.expect(IBV_WC_WR_FLUSH_ERR, "a write in state ERR");
    std::printf("in state ERR %u posts are flushed\n", args.threads);
}

void run_send(const Arguments&) {
    Setup setup({}, 1, 1);
    std::memcpy(setup.local.at, "received", 8);
    ibv_sge sge{reinterpret_cast<std::uint64_t>(setup.remote.at) + 64, 8, setup.remote.mr->lkey};
    ibv_recv_wr wr{};
    ibv_recv_wr* bad = nullptr;
    wr.wr_id = 77;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    need((errno = ibv_post_recv(setup.pair.peers[0].get(), &wr, &bad)) == 0, "ibv_post_recv");
    setup.run(Work::kSend);
    setup.expect(0, "send");
    ibv_wc wc{};
    expect(ibv_poll_cq(setup.pair.peer_cq.get(), 1, &wc) == 1 && wc.wr_id == 77 &&
               wc.status == IBV_WC_SUCCESS && wc.byte_len == 8 &&
               std::memcmp(setup.remote.at + 64, "received", 8) == 0,
           "the peer received something else");
    std::printf("SEND: received\n");
}

/// One thread keeps the counters itself, like MORI's kernels.
void run_steps(const Arguments& args) {
    Setup setup({}, 1, args.rounds);
    dingo_gda_describe(setup.pair.queues[0].get(), &setup.job.rings);
    setup.run(Work::kSteps);
    setup.expect(0, "single steps");
    expect(setup.job.errors == 0, "data, an atomic's result or a WQE's number is wrong");
    std::printf("single steps: %u rounds are right, and what RoCE lacks fails\n", args.rounds);
}

/// Results of verbs for such queues.
void run_verbs(const Arguments&) {
    Setup setup({}, 1, 1);
    ibv_qp* const qp = dingo_gda_ibv_qp(setup.pair.queues[0].get());
    ibv_send_wr wr{};
    ibv_send_wr* bad = nullptr;
    expect(ibv_post_send(qp, &wr, &bad) == EINVAL && bad == &wr, "ibv_post_send");
    ibv_sge sge{reinterpret_cast<std::uint64_t>(setup.local.at), 8, 0};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_RDMA_WRITE;
    wr.send_flags = IBV_SEND_INLINE;
    expect(ibv_post_send(qp, &wr, &bad) == EINVAL, "ibv_post_send of a small one");
    ibv_wc wc{};
    setup.run(Work::kOne);
    expect(ibv_poll_cq(qp->send_cq, 1, &wc) == 0, "ibv_poll_cq");
    expect(ibv_req_notify_cq(qp->send_cq, 0) == EINVAL, "ibv_req_notify_cq");
    expect(ibv_resize_cq(qp->send_cq, 1000) == EINVAL, "ibv_resize_cq");

    dingodv_qp dv_qp{};
    dingodv_cq dv_cq{};
    dingodv_obj obj{{setup.pair.peers[0].get(), &dv_qp}, {setup.pair.peer_cq.get(), &dv_cq}};
    expect(dingodv_init_obj(&obj, DINGODV_OBJ_QP) == EINVAL, "dingodv_init_obj: ordinary QP");
    expect(dingodv_init_obj(&obj, DINGODV_OBJ_CQ) == EINVAL, "dingodv_init_obj: ordinary CQ");
    expect(dingodv_init_obj(&obj, 4) == EOPNOTSUPP, "dingodv_init_obj: unknown type");
    obj.qp.in = qp;
    dv_qp.comp_mask = 1;
    expect(dingodv_init_obj(&obj, DINGODV_OBJ_QP) == EOPNOTSUPP, "dingodv_init_obj: comp_mask");

    ibv_qp_init_attr init{};
    init.qp_type = IBV_QPT_RC;
    init.cap = {1, 1, 1, 1, 0};
    init.send_cq = qp->send_cq;
    init.recv_cq = qp->recv_cq;
    expect(ibv_create_qp(setup.pair.a.pd.get(), &init) == nullptr && errno == EINVAL,
           "ibv_create_qp with a device's CQ");
    ibv_qp_init_attr_ex ex{};
    ex.qp_type = IBV_QPT_RC;
    ex.cap = init.cap;
    ex.send_cq = ex.recv_cq = qp->recv_cq;
    ex.comp_mask = IBV_QP_INIT_ATTR_PD;
    ex.pd = setup.pair.a.pd.get();
    dingodv_qp_init_attr dv{};
    dv.create_flags = DINGODV_QP_CREATE_DEVICE_POSTS;
    expect(dingodv_create_qp(setup.pair.a.context.get(), &ex, &dv) == nullptr && errno == EINVAL,
           "dingodv_create_qp with an ordinary CQ");
    dv.create_flags = 2;
    expect(
        dingodv_create_qp(setup.pair.a.context.get(), &ex, &dv) == nullptr && errno == EOPNOTSUPP,
        "dingodv_create_qp: unknown flag");
    dingo_gda_qp_attr bad_attr{};
    bad_attr.pd = setup.pair.a.pd.get();
    bad_attr.qp_type = IBV_QPT_UD;
    expect(dingo_gda_create(setup.pair.device.get(), &bad_attr) == nullptr && errno == EINVAL,
           "dingo_gda_create: UD");
    std::printf("verbs answer as documented\n");
}

/// Prints the latency of a WRITE after `rounds` warm-up rounds, as a GPU's clock is slow at first.
/// A QP's counters continue, so each measurement has its own.
void print_latency(const Arguments& args, Work work, const char* how) {
    Options options;
    options.qps = 2;
    options.host_remote = true;
    Setup setup(options, 1, args.rounds);
    std::uint64_t begin = 0;
    for (const auto& queue : setup.pair.queues) {
        dingo_gda_describe(queue.get(), &setup.job.rings);
        begin = ticks();
        setup.run(work);
    }
    const double elapsed = static_cast<double>(ticks() - begin);
    setup.expect(0, "latency");
    std::uint64_t* const took = setup.job.seen;
    const double us = elapsed / static_cast<double>(took[args.rounds]) / 1e3;
    std::sort(took, took + args.rounds);
    std::printf("| 8 B inline WRITE %s | p50 %.2f us, p99 %.2f us |\n", how,
                static_cast<double>(took[args.rounds / 2]) * us,
                static_cast<double>(took[args.rounds * 99 / 100]) * us);
}

/// Prints a table of the latency of a WRITE by one thread and of the card's WQE rate.
void run_rates(const Arguments& args) {
    constexpr std::uint32_t kWarp = 32;
    print_latency(args, Work::kLatency, "by one thread, post to completion");
    print_latency(args, Work::kStepLatency, "by one thread, single steps");
    for (const std::uint32_t qps : {1U, 8U}) {
        Options options;
        options.qps = qps;
        options.host_remote = true;
        options.depth = 4096;
        options.max_inline = 16;
        Setup setup(options, args.threads, args.rounds);
        setup.job.lanes = args.threads < kWarp ? 1 : kWarp;
        const std::uint64_t begin = ticks();
        setup.run(Work::kPosts);
        const std::uint64_t end = ticks();
        setup.expect(0, "posts");
        std::printf("| inline WRITEs of 1 to 16 B by %u threads over %u QPs | %.2f million/s |\n",
                    args.threads, qps,
                    static_cast<double>(args.threads) * args.rounds * 1e3 /
                        static_cast<double>(end - begin));
    }
}

/// Runs until a card is killed, and prints the status that the device got.
void run_until_bad(const Arguments& args) {
    Options options;
    Setup setup(options, args.threads, 1);
    setup.job.work = Work::kUntilBad;
    start(&setup.job);
    std::printf("running\n");
    std::fflush(stdout);
    finish();
    bool gone = true;
    for (std::uint32_t i = 0; i < args.threads; ++i) {
        const int result = setup.job.results[i];
        gone &= result == DINGO_GDA_GONE;
        expect(result == DINGO_GDA_GONE || result == IBV_WC_RETRY_EXC_ERR ||
                   result == IBV_WC_WR_FLUSH_ERR,
               "another status");
    }
    std::printf(gone ? "the card is gone\n" : "the peer is gone\n");
    std::fflush(stdout);
    std::_Exit(0);  // a dead card answers no destroy commands
}

}  // namespace
}  // namespace gda

int main(int argc, char** argv) {
    using namespace gda;
    const std::map<std::string, std::function<void(const Arguments&)>> modes{
        {"traffic", run_traffic}, {"full", run_full},   {"errors", run_errors},
        {"flush", run_flush},     {"send", run_send},   {"verbs", run_verbs},
        {"busy", run_busy},       {"steps", run_steps}, {"until-bad", run_until_bad},
        {"rates", run_rates}};
    const auto mode = argc < 2 ? modes.end() : modes.find(argv[1]);
    if (mode == modes.end()) {
        std::fprintf(
            stderr,
            "usage: gda_traffic traffic|full|errors|busy|flush|send|steps|verbs|until-bad|rates "
            "[THREADS [QPS [ROUNDS [LANES]]]]\n"
            "LANES neighbouring threads use the same QP.\n");
        return 2;
    }
    Arguments args;
    std::uint32_t* const to[] = {&args.threads, &args.qps, &args.rounds, &args.lanes};
    for (int i = 2; i < argc && i < 6; ++i)
        *to[i - 2] = static_cast<std::uint32_t>(std::strtoul(argv[i], nullptr, 0));
    try {
        mode->second(args);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "gda_traffic: %s\n", error.what());
        return 1;
    }
    return 0;
}
