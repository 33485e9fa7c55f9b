// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace verbs_load {

/// A process imports another process's device, domain and region, and uses them. Throws.
void import_test();

/// Tests copies, traffic and atomics in device memory, and its bounds. Throws.
void device_memory_test();

/// Tests that a program that arms more often than it reads events misses no completion. Throws.
void events_test();

/// Tests that a CQ that one QP keeps busy also gives another QP's completions. Throws.
void shared_cq_test();

/// Tests that wall-clock timestamps of completions lie between posting and polling. Throws.
void wallclock_test();

/// For each number of milliseconds read from stdin, does WRITEs and requests for that time, then
/// prints the WRITEs' rate (Gb/s), the requests' median (microseconds) and their number. Throws.
void neighbour();

/// Endless attacks: requests of so many threads that wait; as many regions as possible; a large
/// region whose memory is untouched. Throw.
void wait_with(unsigned threads);
void take_regions();
void take_memory(unsigned mebibytes);

/// Punches holes until killed, into a region that it uses (`shared`: a file of its own) or into its
/// doorbells. Maps that memory `mappings` times, so that each hole takes longer. Throw.
void punch_region(unsigned mappings, bool shared);
void punch_doorbells(unsigned mappings);

/// Keeps a WRITE of `size` bytes in flight on each of `qps` queue pairs for that time; prints the
/// rate in Gb/s. Throws.
void flow(unsigned qps, unsigned milliseconds, unsigned size);

/// Creates and destroys queue pairs for that time; prints their number per second. Throws.
void churn_for(unsigned milliseconds);

/// Tests that the provider uses a parent domain's allocators, and frees all that it allocates.
/// Throws.
void allocators_test();

}  // namespace verbs_load
