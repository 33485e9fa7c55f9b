// SPDX-License-Identifier: BSD-2-Clause
#include "host/uverbs/call.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include "host/uverbs/gpu_opening.h"
#include "host/uverbs/uverbs_file.h"

namespace dingo::uverbs {

Call::~Call() {
    for (auto at = made_.rbegin(); at != made_.rend(); ++at) {
        try {
            objects().remove(**at);
        } catch (const ErrnoError&) {
            // A window is bound to the region already: it is destroyed with the context.
        }
    }
}

Driver& Call::driver() const {
    return file_.driver();
}

ObjectTable& Call::objects() const {
    return file_.objects();
}

Context& Call::context() const {
    return file_.context();
}

void Call::await_quiet(const DirectContext& direct, std::uint32_t key) const {
    uverbs::await_quiet(message_.fence
                            ? message_.fence
                            : std::make_shared<DirectFence>(direct, key, patience(direct)));
}

void Call::await_quiet(const DirectPage& page) const {
    uverbs::await_quiet(message_.fence
                            ? message_.fence
                            : std::make_shared<DirectFence>(page, patience(page.context())));
}

std::shared_ptr<EventPause> Call::pause_events(const EventSource& object) const {
    std::shared_ptr<EventPause> pause = message_.pause;
    if (!pause) {
        pause = std::make_shared<EventPause>();
        object.pause(*pause);
    }
    if (pause->missing() != nullptr) {
        throw NotBack{pause};
    }
    return pause;
}

void Call::copy_from(std::uint64_t va, std::span<std::byte> bytes) const {
    if (!bytes.empty() && !message_.arguments->read(va, bytes)) {
        throw ErrnoError(EFAULT);
    }
}

void Call::copy_to(std::uint64_t va, std::span<const std::byte> bytes) const {
    if (!bytes.empty() && !message_.arguments->write(va, bytes)) {
        throw ErrnoError(EFAULT);
    }
}

void Call::clear(std::uint64_t va, std::size_t length) const {
    constexpr std::array<std::byte, 256> kZeros{};
    while (length != 0) {
        const std::size_t part = std::min(length, kZeros.size());
        copy_to(va, std::span(kZeros).first(part));
        va += part;
        length -= part;
    }
}

std::vector<int> Call::descriptors(std::vector<int> numbers) const {
    const std::uint32_t flags = message_.header.flags;
    if (std::any_of(numbers.begin(), numbers.end(), [](int n) { return n < 0; })) {
        throw ErrnoError(EBADF);
    }
    if ((flags & DINGO_UVERBS_FDS) == 0) {
        throw NeedFds{std::move(numbers)};
    }
    if ((flags & DINGO_UVERBS_BADF) != 0 || message_.fds.size() < numbers.size()) {
        throw ErrnoError(EBADF);
    }
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        numbers[i] = message_.fds[i].get();
    }
    return numbers;
}

int Call::dmabuf(int number, std::uint64_t offset, std::uint64_t va, std::uint64_t length) const {
    try {
        return descriptors({number}).front();
    } catch (NeedFds& need) {
        need.gpu = {va, length, true};
        need.offset = offset;
        throw;
    }
}

std::shared_ptr<FarPlace> Call::gpu_memory(std::uint64_t length) const {
    if (!message_.gpu) {
        return nullptr;
    }
    const std::uint64_t most = message_.gpu->size - message_.gpu->offset;
    if (length >= most + DINGO_UVERBS_GPU_PAGE) {
        throw ErrnoError(EINVAL);
    }
    // A handle may come from anybody, and the driver does not check on whose behalf the card opens
    // it.
    if (memory_->account() == nullptr || memory_->account()->foreign()) {
        file_.warn_of_gpu("GPU memory of another user's program is refused");
        throw ErrnoError(EACCES);
    }
    if (message_.opened == nullptr) {
        throw NeedGpu{message_.gpu->offset + std::min(length, most)};
    }
    if (message_.opened->error() != 0) {
        file_.warn_of_gpu(message_.opened->why());
        throw ErrnoError(message_.opened->error());
    }
    return message_.opened->place();
}

std::vector<SharedSegment> Call::shared(std::uint64_t va, std::uint64_t length,
                                        bool writable) const {
    const std::uint32_t flags = message_.header.flags;
    if ((flags & DINGO_UVERBS_GPU) != 0) {
        throw ErrnoError(EOPNOTSUPP);  // methods that accept GPU memory have called gpu_memory()
                                       // before
    }
    if ((flags & DINGO_UVERBS_SHARED) == 0) {
        throw NeedSharing{va, length, writable};
    }
    if ((flags & DINGO_UVERBS_FAULT) != 0) {
        throw ErrnoError(EFAULT);
    }
    std::vector<SharedSegment> segments;
    for (const dingo_uverbs_segment& s : message_.segments) {
        segments.push_back({.va = s.va,
                            .length = s.length,
                            .offset = s.offset,
                            .fd = message_.fds[s.fd].get(),
                            .by_file = (s.flags & DINGO_UVERBS_SEGMENT_FILE) != 0});
    }
    return segments;
}

void Call::give(UniqueFd fd, std::uint64_t va, std::uint32_t size, dingo_uverbs_fd_kind kind) {
    fixups_.push_back(
        {va, size, static_cast<std::uint32_t>(fds_.size()), static_cast<std::uint32_t>(kind), 0});
    fds_.push_back(std::move(fd));
}

void Call::commit(Reply& reply) {
    made_.clear();
    for (const auto& what : at_success_) {
        what();
    }
    reply.fixups = std::move(fixups_);
    reply.fds = std::move(fds_);
    reply.arguments = message_.arguments;
}

}  // namespace dingo::uverbs
