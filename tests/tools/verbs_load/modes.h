// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace verbs_load {

/// A process imports device, domain and region of another one and works with them. Throws.
void import_test();

/// Device memory: copies, traffic and atomics in it, its borders. Throws.
void device_memory_test();

/// A program that asks for events more often than it reads them misses no completion. Throws.
void events_test();

/// Completions in wall clock lie between the posting and the polling. Throws.
void wallclock_test();

/// A parent domain's allocators give the provider's memory and get it back. Throws.
void allocators_test();

}  // namespace verbs_load
