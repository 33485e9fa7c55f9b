// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace verbs_load {

/// A process imports device, domain and region of another one and works with them. Throws.
void import_test();

/// Device memory: copies, traffic and atomics in it, its borders. Throws.
void device_memory_test();

/// A program that asks for events more often than it reads them misses no completion. Throws.
void events_test();

/// A CQ that one QP keeps from running empty gives the completions of another one. Throws.
void shared_cq_test();

/// Completions in wall clock lie between the posting and the polling. Throws.
void wallclock_test();

/// For each number of milliseconds that it reads: WRITEs and requests that long, then a line of
/// their rate (Gb/s), the requests' median (microseconds) and number. Throws.
void neighbour();

/// For ever: so many requests that wait; all regions that there are; a large region that is never
/// touched. Throw.
void wait_with(unsigned threads);
void take_regions();
void take_memory(unsigned mebibytes);

/// For ever: punches holes into a region that it uses (`shared`: a file of its own), or into its
/// doorbells, which it has mapped so many times; each hole takes the longer. Throw.
void punch_region(unsigned mappings, bool shared);
void punch_doorbells(unsigned mappings);

/// A WRITE of `size` bytes in flight on each of so many queue pairs, that long; prints Gb/s.
/// Throws.
void flow(unsigned qps, unsigned milliseconds, unsigned size);

/// Creates and destroys queue pairs that long; prints how many in a second. Throws.
void churn_for(unsigned milliseconds);

/// A parent domain's allocators give the provider's memory and get it back. Throws.
void allocators_test();

}  // namespace verbs_load
