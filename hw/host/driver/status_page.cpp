// SPDX-License-Identifier: BSD-2-Clause
#include "host/driver/status_page.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <system_error>

#include "dingo-abi.h"
#include "host/driver/queue_memory.h"

namespace dingo::uverbs {
namespace {

static_assert(DINGO_STATUS_GONE == FUTEX_OWNER_DIED);
static_assert(DINGO_STATUS_CROWDED_OFFSET >= sizeof(pthread_mutex_t));

std::atomic_ref<std::uint32_t> word_of(void* page) {
    return std::atomic_ref<std::uint32_t>(*static_cast<std::uint32_t*>(page));
}

void store64(__u64& where, std::uint64_t value) {
    std::atomic_ref<__u64>(where).store(value, std::memory_order_release);
}

void check(bool ok, int error, const char* what) {
    if (!ok) {
        throw std::system_error(error, std::generic_category(), what);
    }
}

/// The kernel marks the futex word, the first word of glibc's mutex.
void lock_robust(pthread_mutex_t* mutex) {
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    int error = pthread_mutex_init(mutex, &attr);
    pthread_mutexattr_destroy(&attr);
    check(error == 0, error, "robust mutex of the status page");
    error = pthread_mutex_lock(mutex);
    check(error == 0, error, "robust mutex of the status page");
    const std::uint32_t owner =
        word_of(mutex).load(std::memory_order_relaxed) & std::uint32_t{FUTEX_TID_MASK};
    check(owner == static_cast<std::uint32_t>(::gettid()), ENOTSUP,
          "this C library keeps the futex of a mutex elsewhere");
}

}  // namespace

StatusPage::StatusPage() : fd_(::memfd_create("dingo-status", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
    check(bool(fd_), errno, "memfd_create");
    check(::ftruncate(fd_.get(), kPageBytes) == 0, errno, "ftruncate of the status page");
    page_ = ::mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
    check(page_ != MAP_FAILED, errno, "mmap of the status page");
    // From here on no other writable mapping can be made.
    const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;
    if (::fcntl(fd_.get(), F_ADD_SEALS, seals) != 0) {
        const int error = errno;
        ::munmap(page_, kPageBytes);
        check(false, error, "sealing of the status page");
    }
    lock_robust(static_cast<pthread_mutex_t*>(page_));
}

StatusPage::~StatusPage() {
    const int error = pthread_mutex_unlock(static_cast<pthread_mutex_t*>(page_));
    word_of(page_).store(DINGO_STATUS_GONE, std::memory_order_release);
    // When another thread holds the mutex, it is in that thread's list of robust mutexes: leave it
    // mapped.
    if (error == 0) {
        ::munmap(page_, kPageBytes);
    }
}

void StatusPage::set_gone() {
    word_of(page_).fetch_or(DINGO_STATUS_GONE, std::memory_order_release);
}

void StatusPage::set_clock(std::uint64_t card_ns, std::uint64_t real_ns, std::uint32_t error_ns) {
    auto* const clock = reinterpret_cast<dingo_clock_page*>(static_cast<std::byte*>(page_) +
                                                            DINGO_STATUS_CLOCK_OFFSET);
    const std::atomic_ref<std::uint32_t> sequence(clock->sequence);
    const std::uint32_t before = sequence.load(std::memory_order_relaxed);
    sequence.store(before + 1, std::memory_order_relaxed);
    // Each store is a release, so that a reader that sees it also sees the odd sequence number.
    std::atomic_ref(clock->error_ns).store(error_ns, std::memory_order_release);
    store64(clock->card_ns, card_ns);
    store64(clock->real_ns, real_ns);
    sequence.store(before + 2, std::memory_order_release);
}

void StatusPage::set_crowded(bool crowded) {
    std::byte* const word = static_cast<std::byte*>(page_) + DINGO_STATUS_CROWDED_OFFSET;
    word_of(word).store(crowded ? 1 : 0, std::memory_order_relaxed);
}

}  // namespace dingo::uverbs
