// SPDX-License-Identifier: BSD-2-Clause
//
// The C interface of the feed.
#include <cerrno>
#include <new>
#include <stdexcept>

#include "dlrm/dlrm_feed.h"
#include "dlrm/feed.h"
#include "dlrm/record.h"
#include "exit.h"
#include "qpx/error.h"

namespace {

thread_local std::string last_error;

int fail(int error, const std::string& text) {
    last_error = text;
    return -error;
}

int errno_of(const qpx::Error& error) {
    switch (error.code()) {
        case qpx::ErrorCode::Device:
            return error.detail() != 0 ? error.detail() : EIO;
        case qpx::ErrorCode::Argument:
        case qpx::ErrorCode::Resolve:
            return EINVAL;
        case qpx::ErrorCode::Refused:
            return EADDRINUSE;
        case qpx::ErrorCode::Timeout:
            return ETIMEDOUT;
        default:
            return EPROTO;
    }
}

/// Runs `body` and converts exceptions to negative errno values.
template <typename Body>
int guarded(Body body) {
    try {
        return body();
    } catch (const qpx::Error& error) {
        return fail(errno_of(error), error.what());
    } catch (const rdma_bench::RunError& error) {
        using rdma_bench::Exit;
        const Exit status = error.status();
        return fail(status == Exit::kDevice  ? ENODEV
                    : status == Exit::kUsage ? EINVAL
                                             : EIO,
                    error.what());
    } catch (const std::invalid_argument& error) {
        return fail(EINVAL, error.what());
    } catch (const std::bad_alloc&) {
        return fail(ENOMEM, "no memory");
    } catch (const std::exception& error) {
        return fail(EIO, error.what());
    }
}

void set(std::string& to, const char* from) {
    if (from != nullptr)
        to = from;
}

dlrm::FeedOptions options_of(const dlrm_feed_options& from) {
    constexpr std::uint32_t kMostRecords = 1U << 22;     // 768 MiB, below the longest message
    constexpr std::uint32_t kLargestModulus = 1U << 31;  // what an int32 tensor can hold
    if (from.struct_size != sizeof from || from.reserved != 0)
        throw std::invalid_argument("options of another version");
    if (from.records == 0 || from.records > kMostRecords)
        throw std::invalid_argument("a buffer has 1 to 4194304 records");
    if (from.modulus > kLargestModulus)
        throw std::invalid_argument("the modulus is 1 to 2147483648");
    dlrm::FeedOptions options;
    set(options.device, from.device);
    set(options.memory, from.memory);
    set(options.address, from.address);
    set(options.security, from.security);
    options.records = from.records;
    options.modulus = from.modulus;
    options.first_batch = from.first_batch;
    options.timeout = std::chrono::milliseconds(from.timeout_ms);
    options.port = from.port;
    return options;
}

}  // namespace

struct dlrm_feed {
    dlrm::Feed feed;
};

int dlrm_feed_open(const dlrm_feed_options* options, dlrm_feed** feed) {
    return guarded([&] {
        *feed = new dlrm_feed{dlrm::Feed(options_of(*options))};
        return 0;
    });
}

uint16_t dlrm_feed_port(const dlrm_feed* feed) {
    return feed->feed.port();
}

int dlrm_feed_next(dlrm_feed* feed, dlrm_batch* batch) {
    return guarded([&] {
        switch (feed->feed.next(*batch)) {
            case dlrm::Feed::Next::kBatch:
                return 1;
            case dlrm::Feed::Next::kEnd:
                return 0;
            case dlrm::Feed::Next::kBusy:
                return fail(EBUSY, "both buffers are in use: release the oldest batch");
            case dlrm::Feed::Next::kTimeout:
                return fail(ETIMEDOUT, "no batch came in time");
        }
        return fail(EIO, "no such answer");
    });
}

int dlrm_feed_tensor(dlrm_feed* feed, const dlrm_batch* batch, dlrm_columns columns,
                     dlpack_managed** tensor) {
    return guarded([&] {
        if (!feed->feed.holds(*batch))
            return fail(EINVAL, "batch " + std::to_string(batch->number) + " was released");
        *tensor = dlrm::FeedMemory::view(feed->feed.memory(), *batch, columns);
        return 0;
    });
}

int dlrm_feed_copy(dlrm_feed* feed, const dlrm_batch* batch, void* to) {
    return guarded([&] {
        if (!feed->feed.holds(*batch))
            return fail(EINVAL, "batch " + std::to_string(batch->number) + " was released");
        feed->feed.memory()->read(
            batch->half, {static_cast<std::byte*>(to), batch->records * dlrm::kRecordBytes});
        return 0;
    });
}

int dlrm_feed_release(dlrm_feed* feed, const dlrm_batch* batch) {
    return guarded([&] {
        const std::string name = "batch " + std::to_string(batch->number);
        if (!feed->feed.is_oldest(*batch))
            return fail(EINVAL, name + " is not the oldest one");
        if (const unsigned views = feed->feed.memory()->views(batch->half); views != 0)
            return fail(EBUSY, name + " is still used by " + std::to_string(views) + " tensors");
        feed->feed.memory()->settle();
        feed->feed.release();
        return 0;
    });
}

uint64_t dlrm_feed_sessions(const dlrm_feed* feed) {
    return feed->feed.sessions();
}

void dlrm_feed_close(dlrm_feed* feed) {
    delete feed;
}

const char* dlrm_feed_error(void) {
    return last_error.c_str();
}
