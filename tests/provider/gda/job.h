// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
//
// Work of the device's threads in the tests: the same code on the CPU and on a GPU.
#pragma once

#include <cstdint>
#if !defined(__CUDACC__) && !defined(__HIP__)
#include <chrono>
#endif

#include "dingo_gda.h"
#include "dingo_gda_slot.h"

namespace gda {

/// Time in clock cycles of the GPU, or nanoseconds on the CPU.
#if defined(__CUDACC__)
DGDA_FN std::uint64_t ticks() {
    return static_cast<std::uint64_t>(clock64());
}
#elif defined(__HIP__)
DGDA_FN std::uint64_t ticks() {
    return __builtin_readcyclecounter();
}
#else
inline std::uint64_t ticks() {
    return static_cast<std::uint64_t>(
        std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}
#endif

// A thread's part of the buffers, local and remote, in bytes.
constexpr std::uint32_t kPart = 4096;
constexpr std::uint32_t kMostData = 1000;
constexpr std::uint32_t kReadBack = 1024;  // local: what was read; remote: nothing
constexpr std::uint32_t kResults = 2048;   // local: two atomic results; remote: the word to swap
constexpr std::uint32_t kInline = 3072;    // local: what was read of it; remote: data sent inline
constexpr std::uint32_t kMostInline = 480;

struct Region {
    std::uint8_t* at;
    std::uint32_t key;
};

enum class Work : std::uint32_t {
    kTraffic,   // writes, inline writes, atomics and reads; every byte and result is checked
    kPosts,     // posts `rounds` inline writes, rings at the end alone, and waits for the last
    kOne,       // one WRITE of 8 bytes, and its result
    kSend,      // one SEND of 8 bytes, and its result
    kSteps,     // `rounds` rounds of single steps, counted here; results are checked
    kUntilBad,  // WRITEs until one fails, and its result
    kLatency,   // `rounds` inline WRITEs of 8 bytes, one after the other; `seen` is how long each
                // took, ns
    kStepLatency,  // the same by single steps
    kBusy          // nothing, until the host sets `ended`
};

struct Job {
    Work work;
    std::uint32_t threads;
    std::uint32_t rounds;
    std::uint32_t num_qps;
    std::uint32_t lanes;  // number of neighbouring threads that use the same QP
    dingo_gda_qp** qps;
    dingo_gda_qp rings;  // single steps: what dingo_gda_describe() says
    Region local;
    Region remote;              // kPart for each thread, then the counter
    std::uint64_t* seen;        // by value of the counter: how often it was the result
    std::int32_t* results;      // by thread
    std::uint32_t ended;        // set by the host
    std::uint64_t errors;       // bytes and results that were wrong
    std::uint64_t first_wrong;  // thread << 32 | round << 8 | what
};

DGDA_FN std::uint64_t address(const std::uint8_t* at) {
    return reinterpret_cast<std::uint64_t>(at);
}

DGDA_FN std::uint8_t pattern(std::uint32_t thread, std::uint32_t round, std::uint32_t i) {
    return static_cast<std::uint8_t>((thread * 7919 + round * 131 + i * 31 + (i >> 8)) ^
                                     round >> 3);
}

DGDA_FN void wrong(Job& job, std::uint32_t thread, std::uint32_t round, std::uint32_t what) {
    if (dgda_add_device(&job.errors, 1) == 0)
        job.first_wrong = static_cast<std::uint64_t>(thread) << 32 | round << 8 | what;
}

// Runs one round. Returns false if a request failed.
DGDA_FN bool traffic_round(Job& job, dingo_gda_qp* qp, std::uint32_t thread, std::uint32_t round,
                           std::uint64_t& last_count) {
    std::uint8_t* const mine = job.local.at + std::uint64_t{thread} * kPart;
    const std::uint64_t there = address(job.remote.at) + std::uint64_t{thread} * kPart;
    const std::uint64_t counter = address(job.remote.at) + std::uint64_t{job.threads} * kPart;
    const std::uint32_t lkey = job.local.key, rkey = job.remote.key;
    const std::uint32_t bytes = 1 + (thread * 131 + round * 17) % kMostData;
    const std::uint32_t inlined = 1 + (thread + round * 7) % qp->max_inline;
    std::uint8_t data[kMostInline];

    for (std::uint32_t i = 0; i < bytes; ++i)
        mine[i] = pattern(thread, round, i);
    for (std::uint32_t i = 0; i < inlined; ++i)
        data[i] = pattern(thread + 1, round, i);
    dingo_gda_post_write(qp, address(mine), lkey, there, rkey, bytes);
    dingo_gda_post_write_inline(qp, data, inlined, there + kInline, rkey);
    dingo_gda_fetch_add(qp, address(mine) + kResults, lkey, counter, rkey, 1);
    dingo_gda_cmp_swap(qp, address(mine) + kResults + 8, lkey, there + kResults, rkey, round,
                       round + 1);
    dingo_gda_post_read(qp, address(mine) + kInline, lkey, there + kInline, rkey, inlined);
    const dingo_gda_ticket ticket =
        dingo_gda_post_read(qp, address(mine) + kReadBack, lkey, there, rkey, bytes);
    dingo_gda_ring(qp);
    const int result = dingo_gda_wait(qp, ticket);
    job.results[thread] = result;
    if (result != 0)
        return false;
    for (std::uint32_t i = 0; i < bytes; ++i)
        if (mine[kReadBack + i] != pattern(thread, round, i))
            wrong(job, thread, round, 1);
    for (std::uint32_t i = 0; i < inlined; ++i)
        if (mine[kInline + i] != pattern(thread + 1, round, i))
            wrong(job, thread, round, 2);
    const auto* const results = reinterpret_cast<const std::uint64_t*>(mine + kResults);
    const std::uint64_t count = results[0];
    if (count >= std::uint64_t{job.threads} * job.rounds || (round != 0 && count <= last_count) ||
        dgda_add_device(&job.seen[count], 1) != 0)
        wrong(job, thread, round, 3);
    last_count = count;
    if (results[1] != round)
        wrong(job, thread, round, 4);
    return true;
}

DGDA_FN void traffic(Job& job, dingo_gda_qp* qp, std::uint32_t thread) {
    std::uint64_t last_count = 0;
    for (std::uint32_t round = 0; round < job.rounds; ++round)
        if (!traffic_round(job, qp, thread, round, last_count))
            return;
}

// Posts far more than the ring holds without ringing: the thread that finds it full rings.
DGDA_FN void posts(Job& job, dingo_gda_qp* qp, std::uint32_t thread) {
    const std::uint64_t there = address(job.remote.at) + std::uint64_t{thread} * kPart;
    std::uint8_t data[kMostInline];
    dingo_gda_ticket ticket = 0;
    for (std::uint32_t round = 0; round < job.rounds; ++round) {
        const std::uint32_t bytes =
            round + 1 == job.rounds ? qp->max_inline : 1 + (thread + round * 7) % qp->max_inline;
        for (std::uint32_t i = 0; i < bytes; ++i)
            data[i] = pattern(thread, round, i);
        ticket = dingo_gda_post_write_inline(qp, data, bytes, there + kInline, job.remote.key);
    }
    job.results[thread] = dingo_gda_wait(qp, ticket);
}

DGDA_FN void one_write(Job& job, dingo_gda_qp* qp, std::uint32_t thread) {
    const std::uint64_t part = std::uint64_t{thread} * kPart;
    const dingo_gda_ticket ticket =
        dingo_gda_post_write(qp, address(job.local.at) + part, job.local.key,
                             address(job.remote.at) + part, job.remote.key, 8);
    job.results[thread] = dingo_gda_wait(qp, ticket);
}

DGDA_FN void one_send(Job& job, dingo_gda_qp* qp, std::uint32_t thread) {
    const std::uint64_t part = std::uint64_t{thread} * kPart;
    dingo_gda_post_send(qp, address(job.local.at) + part, job.local.key, 8);
    dingo_gda_ring(qp);
    job.results[thread] = dingo_gda_quiet(qp);
}

// A WRITE, an inline WRITE, an addition and READs, of which only the last is signaled: more of them
// than the ring holds.
DGDA_FN void steps(Job& job, std::uint32_t thread) {
    const dingo_gda_qp& rings = job.rings;
    const std::uint32_t slots = rings.sq_mask + 1, entries = rings.cq_mask + 1;
    const std::uint64_t here = address(job.local.at), there = address(job.remote.at);
    const std::uint32_t lkey = job.local.key, rkey = job.remote.key;
    auto* const results = reinterpret_cast<std::uint64_t*>(job.local.at + kResults);
    std::uint32_t number = 0, taken = 0, wqe = 0;
    job.results[thread] = 0;
    for (std::uint64_t round = 0; round < job.rounds && job.results[thread] == 0; ++round) {
        const std::uint64_t value = round * 0x0101010101 + 1;
        results[0] = value;
        const auto next = [&] { return dingo_gda_slot(rings.sq, slots, number++); };
        dingo_gda_slot_transfer(next(), DINGO_WR_WRITE, false, here + kResults, lkey, there, rkey,
                                8);
        dingo_gda_slot_write_inline(next(), false, &value, sizeof value, there + kInline, rkey);
        dingo_gda_slot_atomic(next(), DINGO_WR_FETCH_ADD, false, here + kResults + 8, lkey,
                              there + kResults, rkey, 3, 0);
        dingo_gda_slot_transfer(next(), DINGO_WR_READ, false, here + kResults + 16, lkey, there,
                                rkey, 8);
        dingo_gda_slot_transfer(next(), DINGO_WR_READ, true, here + kResults + 24, lkey,
                                there + kInline, rkey, 8);
        dingo_gda_slot_ring(rings.sq_doorbell,
                            dingo_gda_slot_doorbell(number, rings.sq_doorbell_word));
        int status;
        do {
            status = dingo_gda_slot_poll(rings.cq, entries, taken, &wqe);
        } while (status == DINGO_GDA_SLOT_NOTHING);
        dingo_gda_slot_ring(rings.cq_doorbell,
                            dingo_gda_slot_doorbell(++taken, rings.cq_doorbell_word));
        job.results[thread] = status;
        const volatile std::uint64_t* const got = results;
        if (wqe != number - 1 || got[1] != round * 3 || got[2] != value || got[3] != value)
            wrong(job, thread, static_cast<std::uint32_t>(round), 1);
    }
    // An operation that RoCE lacks, and the request after it.
    dingo_gda_slot_wrong(dingo_gda_slot(rings.sq, slots, number++));
    dingo_gda_slot_ring(rings.sq_doorbell, dingo_gda_slot_doorbell(number, rings.sq_doorbell_word));
    int status;
    do {
        status = dingo_gda_slot_poll(rings.cq, entries, taken, &wqe);
    } while (status == DINGO_GDA_SLOT_NOTHING);
    if (status != DINGO_WCS_LOC_QP_OP_ERR)
        wrong(job, thread, job.rounds, 2);
}

DGDA_FN void until_bad(Job& job, dingo_gda_qp* qp, std::uint32_t thread) {
    do {
        one_write(job, qp, thread);
    } while (job.results[thread] == 0);
}

DGDA_FN void latency(Job& job, dingo_gda_qp* qp, std::uint32_t thread) {
    const std::uint64_t there = address(job.remote.at) + std::uint64_t{thread} * kPart;
    const std::uint64_t start = ticks();
    for (std::uint64_t round = 0; round < job.rounds; ++round) {
        const std::uint64_t begin = ticks();
        const dingo_gda_ticket ticket =
            dingo_gda_post_write_inline(qp, &round, sizeof round, there, job.remote.key);
        dingo_gda_ring(qp);
        job.results[thread] = dingo_gda_wait(qp, ticket);
        job.seen[thread * job.rounds + round] = ticks() - begin;
    }
    job.seen[std::uint64_t{job.threads} * job.rounds + thread] = ticks() - start;
}

DGDA_FN void step_latency(Job& job, std::uint32_t thread) {
    const dingo_gda_qp rings = job.rings;
    const std::uint64_t there = address(job.remote.at) + std::uint64_t{thread} * kPart;
    const std::uint64_t start = ticks();
    std::uint32_t wqe;
    for (std::uint64_t round = 0; round < job.rounds; ++round) {
        const std::uint64_t begin = ticks();
        const auto number = static_cast<std::uint32_t>(round);
        dingo_gda_slot_write_inline(dingo_gda_slot(rings.sq, rings.sq_mask + 1, number), true,
                                    &round, sizeof round, there, job.remote.key);
        dingo_gda_slot_ring(rings.sq_doorbell,
                            dingo_gda_slot_doorbell(number + 1, rings.sq_doorbell_word));
        do {
            job.results[thread] = dingo_gda_slot_poll(rings.cq, rings.cq_mask + 1, number, &wqe);
        } while (job.results[thread] == DINGO_GDA_SLOT_NOTHING);
        job.seen[thread * job.rounds + round] = ticks() - begin;
        if (round % 32 == 31)
            dingo_gda_slot_ring(rings.cq_doorbell,
                                dingo_gda_slot_doorbell(number + 1, rings.cq_doorbell_word));
    }
    job.seen[std::uint64_t{job.threads} * job.rounds + thread] = ticks() - start;
}

DGDA_FN void busy(Job& job, std::uint32_t thread) {
    for (unsigned int tries = 0; dgda_load_system32(&job.ended) == 0; ++tries)
        dgda_pause(tries);
    job.results[thread] = 0;
}

DGDA_FN void work(Job& job, std::uint32_t thread) {
    dingo_gda_qp* const qp = job.qps[thread / job.lanes % job.num_qps];
    switch (job.work) {
        case Work::kTraffic:
            return traffic(job, qp, thread);
        case Work::kPosts:
            return posts(job, qp, thread);
        case Work::kOne:
            return one_write(job, qp, thread);
        case Work::kSend:
            return one_send(job, qp, thread);
        case Work::kSteps:
            return steps(job, thread);
        case Work::kUntilBad:
            return until_bad(job, qp, thread);
        case Work::kLatency:
            return latency(job, qp, thread);
        case Work::kStepLatency:
            return step_latency(job, thread);
        case Work::kBusy:
            return busy(job, thread);
    }
}

}  // namespace gda
