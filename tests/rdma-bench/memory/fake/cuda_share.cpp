// SPDX-License-Identifier: BSD-2-Clause
// The calls of the fake libcuda.so.1 that share memory between processes or copy it in a stream.
// Copies are executed when the stream is waited for, so a program that does not wait sees stale
// data. FAKE_CUDA selects a fault: "no-ipc", "mig" (IPC is not supported), "other-gpu" (other
// UUIDs), "open-fails", "map-fails", "copies-fail", "record-fails". FAKE_CUDA_DELAY_US: the
// duration of a wait for a stream or an event, in microseconds; FAKE_CUDA_CLOSE_US: that of closing
// memory of another process.
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <string>
#include <utility>

#include "memory.h"

namespace {

constexpr int kSuccess = 0;
constexpr int kInvalidValue = 1;
constexpr int kOutOfMemory = 2;
constexpr int kInvalidContext = 201;
constexpr int kNotReady = 600;
constexpr int kIllegalAddress = 700;
constexpr int kNotSupported = 801;
constexpr std::uint64_t kMagic = 0x6661'6b65'2049'5043;
constexpr std::uint64_t kGranularity = 2U << 20U;

bool mode(const char* wanted) {
    const char* value = std::getenv("FAKE_CUDA");
    return value != nullptr && std::strcmp(value, wanted) == 0;
}

struct IpcHandle {
    std::array<std::byte, 64> bytes{};
};
struct Ipc {
    std::uint64_t magic = kMagic;
    int pid = 0;
    int fd = -1;
    std::uint64_t lead = 0;
    std::uint64_t bytes = 0;
};

struct Stream {
    std::deque<std::function<int()>> copies;  ///< not executed yet
    std::uint64_t begun = 0;
};
struct Event {
    Stream* stream = nullptr;
    std::uint64_t behind = 0;  ///< copies queued in the stream before the event
    bool asked = false;        ///< cuEventQuery was called, and returned that they are not executed
};
struct Memcpy2d {
    std::size_t src_x, src_y;
    unsigned src_type;
    const std::byte* src_host;
    unsigned long long src_device;
    void* src_array;
    std::size_t src_pitch, dst_x, dst_y;
    unsigned dst_type;
    std::byte* dst_host;
    unsigned long long dst_device;
    void* dst_array;
    std::size_t dst_pitch, width, height;
};

/// Waits for as many microseconds as the environment variable says.
void delay(const char* variable) {
    if (const char* text = std::getenv(variable); text != nullptr) {
        usleep(static_cast<useconds_t>(std::strtoul(text, nullptr, 10)));
    }
}

void begin(Stream& stream, std::function<int()> copy) {
    stream.copies.push_back(std::move(copy));
    ++stream.begun;
}

/// Executes the first `until` copies of the stream.
int wait_for(Stream& stream, std::uint64_t until) {
    delay("FAKE_CUDA_DELAY_US");
    int result = kSuccess;
    while (!stream.copies.empty() && stream.begun - stream.copies.size() < until) {
        const int made = stream.copies.front()();
        result = result == kSuccess ? made : result;
        stream.copies.pop_front();
    }
    return result;
}

/// Protects the handles of cuMemCreate and the reserved addresses.
std::mutex vmm_mutex;
auto& handles = *new std::map<std::uint64_t, int>;  // handle to memfd
// reserved address to the address of the mapped memory
auto& mapped_at = *new std::map<std::uint64_t, std::uint64_t>;
std::uint64_t next_handle = 1;
std::atomic<int> imported = 0;
std::uint64_t next_reserved = 0x00e0'0000'0000'0000;

/// Returns the real address behind a reserved one; other addresses are returned unchanged.
std::uint64_t real(std::uint64_t address) {
    const std::lock_guard<std::mutex> lock(vmm_mutex);
    const auto after = mapped_at.upper_bound(address);
    if (after == mapped_at.begin()) {
        return address;
    }
    const auto& [reserved, at] = *std::prev(after);
    return address - reserved < (1ULL << 40U) ? at + (address - reserved) : address;
}

/// Calls copy(pointer, done, bytes) for each part of the range that lies in one allocation. Fails
/// if part of the range is not GPU memory or was freed by its owner.
template <typename Copy>
int for_parts(std::uint64_t address, std::size_t bytes, const Copy& copy) {
    for (std::size_t done = 0; done < bytes;) {
        const std::uint64_t at = real(address + done);
        const fake::Allocation* a = fake::memory().find(at, 1);
        if (a == nullptr || a->freed() || mode("copies-fail")) {
            return kIllegalAddress;
        }
        const std::size_t n = std::min<std::uint64_t>(bytes - done, a->start + a->bytes - at);
        copy(a->map + (at - a->start), done, n);
        done += n;
    }
    return kSuccess;
}

int copy_in(std::uint64_t to, const std::byte* from, std::size_t bytes) {
    return for_parts(to, bytes, [&](std::byte* at, std::size_t done, std::size_t n) {
        std::memcpy(at, from + done, n);
    });
}

int copy_out(std::byte* to, std::uint64_t from, std::size_t bytes) {
    return for_parts(from, bytes, [&](const std::byte* at, std::size_t done, std::size_t n) {
        std::memcpy(to + done, at, n);
    });
}

std::uint64_t add_handle(int fd) {
    const std::lock_guard<std::mutex> lock(vmm_mutex);
    handles[next_handle] = fd;
    return next_handle++;
}

template <typename Word>
int write_value(Stream& stream, std::uint64_t to, Word value) {
    if (to % sizeof value != 0) {
        return kInvalidValue;
    }
    begin(stream,
          [=] { return copy_in(to, reinterpret_cast<const std::byte*>(&value), sizeof value); });
    return kSuccess;
}

}  // namespace

/// Defined in cuda.cpp.
bool fake_has_context();
void* fake_context();

int fake_copy_in(std::uint64_t to, const void* from, std::size_t bytes);
int fake_copy_in(std::uint64_t to, const void* from, std::size_t bytes) {
    return copy_in(to, static_cast<const std::byte*>(from), bytes);
}
int fake_copy_out(void* to, std::uint64_t from, std::size_t bytes);
int fake_copy_out(void* to, std::uint64_t from, std::size_t bytes) {
    return copy_out(static_cast<std::byte*>(to), from, bytes);
}
/// Returns true if all of the range is mapped memory of cuMemCreate.
bool fake_is_mapped(std::uint64_t address, std::size_t bytes);
bool fake_is_mapped(std::uint64_t address, std::size_t bytes) {
    return real(address) != address && for_parts(address, bytes, [](auto...) {}) == kSuccess;
}

extern "C" {

/// Frees all allocations of this process.
int cuDevicePrimaryCtxReset_v2(int /*device*/) {
    fake::memory().release_all();
    return kSuccess;
}

int cuDeviceGetUuid_v2(void* uuid, int device) {
    std::memcpy(uuid, mode("other-gpu") ? "another fake gpu" : "the one fake gpu", 16);
    static_cast<char*>(uuid)[15] = static_cast<char>('0' + device);
    return kSuccess;
}

int cuPointerGetAttribute(void* data, int attribute, unsigned long long address) {
    const fake::Allocation* a = fake::memory().find(real(address), 1);
    if (a == nullptr) {
        return kInvalidValue;
    }
    switch (attribute) {
        case 1:  // context: memory of cuMemCreate has none
            *static_cast<void**>(data) = real(address) == address ? fake_context() : nullptr;
            return kSuccess;
        case 2:  // memory type: device
            *static_cast<unsigned*>(data) = 2;
            return kSuccess;
        case 8:  // managed
        case 9:  // ordinal
            *static_cast<unsigned*>(data) = 0;
            return kSuccess;
        default:
            return kInvalidValue;
    }
}

int cuMemGetAddressRange_v2(unsigned long long* base, std::size_t* bytes,
                            unsigned long long address) {
    if (!fake_has_context()) {
        return kInvalidContext;
    }
    const fake::Allocation* a = fake::memory().find(real(address), 1);
    if (a == nullptr) {
        return kInvalidValue;
    }
    *base = address - (real(address) - a->start - a->lead);
    *bytes = a->asked;
    return kSuccess;
}

int cuMemAllocAsync(unsigned long long* address, std::size_t bytes, void* /*stream*/) {
    *address = fake::memory().allocate(bytes, 512);
    if (*address == 0) {
        return kOutOfMemory;
    }
    fake::memory().keep_secret(*address);
    return kSuccess;
}

int cuIpcGetMemHandle(IpcHandle* handle, unsigned long long address) {
    if (!fake_has_context()) {
        return kInvalidContext;
    }
    const fake::Allocation* a = fake::memory().find(address, 1);
    if (mode("mig")) {
        return kNotSupported;
    }
    if (a == nullptr || a->secret || mode("no-ipc")) {
        return kInvalidValue;
    }
    const Ipc ipc{kMagic, getpid(), a->fd, a->lead, a->asked};
    std::memcpy(handle->bytes.data(), &ipc, sizeof ipc);
    return kSuccess;
}

int cuIpcOpenMemHandle_v2(unsigned long long* address, IpcHandle handle, unsigned /*flags*/) {
    Ipc ipc;
    std::memcpy(&ipc, handle.bytes.data(), sizeof ipc);
    if (ipc.magic != kMagic || mode("open-fails")) {
        return kInvalidValue;
    }
    const std::string path = "/proc/" + std::to_string(ipc.pid) + "/fd/" + std::to_string(ipc.fd);
    *address = fake::memory().adopt(open(path.c_str(), O_RDWR | O_CLOEXEC), ipc.lead, ipc.bytes);
    imported += *address != 0 ? 1 : 0;
    return *address == 0 ? kInvalidValue : kSuccess;
}

int cuIpcCloseMemHandle(unsigned long long address) {
    delay("FAKE_CUDA_CLOSE_US");
    if (!fake::memory().release(address, false)) {
        return kInvalidValue;
    }
    --imported;
    return kSuccess;
}
/// Number of allocations of other processes that this one has opened.
int fake_imported() {
    return imported;
}

int cuStreamCreate(Stream** stream, unsigned /*flags*/) {
    *stream = new Stream;
    return kSuccess;
}
int cuStreamDestroy_v2(Stream* stream) {
    delete stream;
    return kSuccess;
}
int cuStreamSynchronize(Stream* stream) {
    return wait_for(*stream, stream->begun);
}
int cuEventCreate(Event** event, unsigned /*flags*/) {
    *event = new Event;
    return kSuccess;
}
int cuEventDestroy_v2(Event* event) {
    delete event;
    return kSuccess;
}
int cuEventRecord(Event* event, Stream* stream) {
    if (mode("record-fails")) {
        return kOutOfMemory;
    }
    *event = {stream, stream->begun};
    return kSuccess;
}
int cuEventQuery(Event* event) {
    return std::exchange(event->asked, true) ? kSuccess : kNotReady;
}
int cuEventSynchronize(Event* event) {
    return event->stream == nullptr ? kSuccess : wait_for(*event->stream, event->behind);
}
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, std::size_t bytes,
                         Stream* stream) {
    begin(*stream, [=] { return copy_in(to, static_cast<const std::byte*>(from), bytes); });
    return kSuccess;
}
int cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, std::size_t bytes, Stream* stream) {
    begin(*stream, [=] { return copy_out(static_cast<std::byte*>(to), from, bytes); });
    return kSuccess;
}
int cuMemcpy2DAsync_v2(const Memcpy2d* copy, Stream* stream) {
    if (copy->src_type != 1 || copy->dst_type != 2 || copy->src_pitch < copy->width ||
        copy->dst_pitch < copy->width) {
        return kInvalidValue;
    }
    begin(*stream, [c = *copy] {
        int result = kSuccess;
        for (std::size_t row = 0; result == kSuccess && row < c.height; ++row) {
            result =
                copy_in(c.dst_device + row * c.dst_pitch, c.src_host + row * c.src_pitch, c.width);
        }
        return result;
    });
    return kSuccess;
}
int cuStreamWriteValue64_v2(Stream* stream, unsigned long long to, std::uint64_t value,
                            unsigned /*flags*/) {
    return write_value(*stream, to, value);
}
int cuStreamWriteValue32_v2(Stream* stream, unsigned long long to, std::uint32_t value,
                            unsigned /*flags*/) {
    return write_value(*stream, to, value);
}
int cuMemHostRegister_v2(void* /*at*/, std::size_t /*bytes*/, unsigned /*flags*/) {
    return kSuccess;
}
int cuMemHostUnregister(void* /*at*/) {
    return kSuccess;
}

int cuMemCreate(unsigned long long* handle, std::size_t bytes, const void* /*properties*/,
                unsigned long long /*flags*/) {
    const int fd = bytes % kGranularity == 0 ? fake::Memory::create(bytes) : -1;
    if (fd < 0) {
        return kInvalidValue;
    }
    *handle = add_handle(fd);
    return kSuccess;
}
int cuMemRelease(unsigned long long handle) {
    const std::lock_guard<std::mutex> lock(vmm_mutex);
    const auto found = handles.find(handle);
    if (found == handles.end()) {
        return kInvalidValue;
    }
    close(found->second);
    handles.erase(found);
    return kSuccess;
}
int cuMemAddressReserve(unsigned long long* address, std::size_t /*bytes*/,
                        std::size_t /*alignment*/, unsigned long long /*wanted*/,
                        unsigned long long /*flags*/) {
    const std::lock_guard<std::mutex> lock(vmm_mutex);
    *address = next_reserved;
    next_reserved += 1ULL << 40U;
    return kSuccess;
}
int cuMemAddressFree(unsigned long long /*address*/, std::size_t /*bytes*/) {
    return kSuccess;
}
int cuMemMap(unsigned long long address, std::size_t bytes, std::size_t offset,
             unsigned long long handle, unsigned long long /*flags*/) {
    const std::lock_guard<std::mutex> lock(vmm_mutex);
    const auto found = handles.find(handle);
    struct stat st {};
    if (mode("map-fails") || found == handles.end() || offset != 0 ||
        fstat(found->second, &st) != 0 || static_cast<std::uint64_t>(st.st_size) < bytes) {
        return kInvalidValue;
    }
    mapped_at[address] = fake::memory().adopt(fcntl(found->second, F_DUPFD_CLOEXEC, 0), 0, bytes);
    return mapped_at[address] == 0 ? kOutOfMemory : kSuccess;
}
int cuMemSetAccess(unsigned long long /*address*/, std::size_t /*bytes*/, const void* /*access*/,
                   std::size_t /*count*/) {
    return kSuccess;
}
int cuMemUnmap(unsigned long long address, std::size_t /*bytes*/) {
    const std::lock_guard<std::mutex> lock(vmm_mutex);
    const auto found = mapped_at.find(address);
    if (found == mapped_at.end()) {
        return kInvalidValue;
    }
    fake::memory().release(found->second, false);
    mapped_at.erase(found);
    return kSuccess;
}
int cuMemRetainAllocationHandle(unsigned long long* handle, void* address) {
    const std::uint64_t at = reinterpret_cast<std::uint64_t>(address);
    const fake::Allocation* a = real(at) != at ? fake::memory().find(real(at), 1) : nullptr;
    if (a == nullptr) {
        return kInvalidValue;
    }
    *handle = add_handle(fcntl(a->fd, F_DUPFD_CLOEXEC, 0));
    return kSuccess;
}
int cuMemExportToShareableHandle(void* os_handle, unsigned long long handle, int type,
                                 unsigned long long /*flags*/) {
    const std::lock_guard<std::mutex> lock(vmm_mutex);
    const auto found = handles.find(handle);
    if (found == handles.end() || type != 1) {
        return kInvalidValue;
    }
    if (mode("no-ipc")) {
        return kNotSupported;
    }
    *static_cast<int*>(os_handle) = fcntl(found->second, F_DUPFD_CLOEXEC, 0);
    return kSuccess;
}
int cuMemImportFromShareableHandle(unsigned long long* handle, void* os_handle, int type) {
    const int fd = static_cast<int>(reinterpret_cast<std::intptr_t>(os_handle));
    struct stat st {};
    if (type != 1 || mode("open-fails") || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        return kInvalidValue;
    }
    *handle = add_handle(fcntl(fd, F_DUPFD_CLOEXEC, 0));
    return kSuccess;
}

}  // extern "C"
