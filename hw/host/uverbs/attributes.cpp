// SPDX-License-Identifier: BSD-2-Clause
#include "host/uverbs/attributes.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>

#include "host/uverbs/write.h"

namespace dingo::uverbs {
namespace {

constexpr std::size_t kInline = sizeof(ib_uverbs_attr::data);
constexpr AttributeSpec kDriverIn{UVERBS_ATTR_UHW_IN, AttributeKind::kIn, false, 0, UINT16_MAX};
constexpr AttributeSpec kDriverOut{UVERBS_ATTR_UHW_OUT, AttributeKind::kOut, false, 0, UINT16_MAX};

const AttributeSpec* spec_of(const IoctlMethod& method, std::uint16_t id) {
    if (method.driver_data && id == kDriverIn.id) {
        return &kDriverIn;
    }
    if (method.driver_data && id == kDriverOut.id) {
        return &kDriverOut;
    }
    const auto at = std::find_if(method.attributes.begin(), method.attributes.end(),
                                 [&](const AttributeSpec& s) { return s.id == id; });
    return at == method.attributes.end() ? nullptr : &*at;
}

bool is_zero(std::span<const std::byte> bytes) {
    return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace

IoctlCall::IoctlCall(Call& c, const IoctlMethod& method, std::span<const ib_uverbs_attr> attributes)
    : call(c), method_(method) {
    std::uint64_t va = call.message().header.arg + sizeof(ib_uverbs_ioctl_hdr);
    for (const ib_uverbs_attr& attr : attributes) {
        Given given{attr, spec_of(method, attr.attr_id), va};
        va += sizeof attr;
        if (given.spec == nullptr) {
            if ((attr.flags & UVERBS_ATTR_F_MANDATORY) != 0) {
                throw ErrnoError(EPROTONOSUPPORT);
            }
            continue;
        }
        if (given_.contains(attr.attr_id)) {
            throw ErrnoError(EINVAL);
        }
        check(given);
        given_.emplace(attr.attr_id, given);
    }
    for (const AttributeSpec& spec : method.attributes) {
        if (spec.mandatory && !has(spec.id)) {
            throw ErrnoError(EINVAL);
        }
    }
    fetch_fds();
    // methods without driver data may use this number for another attribute
    if (method.driver_data && has(UVERBS_ATTR_UHW_IN)) {
        driver_in_ = bytes(UVERBS_ATTR_UHW_IN);
        udata.in = driver_in_;
    }
}

const IoctlCall::Given* IoctlCall::find(std::uint16_t id) const {
    const auto at = given_.find(id);
    return at == given_.end() ? nullptr : &at->second;
}

void IoctlCall::check(Given& given) const {
    const ib_uverbs_attr& attr = given.attr;
    const AttributeSpec& spec = *given.spec;
    if (attr.attr_data.reserved != 0) {
        throw ErrnoError(EINVAL);
    }
    switch (spec.kind) {
        case AttributeKind::kIn:
        case AttributeKind::kOut:
            if (spec.kind == AttributeKind::kIn && spec.longer && attr.len > spec.max_length) {
                std::vector<std::byte> surplus(attr.len - spec.max_length);
                call.copy_from(attr.data + spec.max_length, surplus);
                if (!is_zero(surplus)) {
                    throw ErrnoError(EOPNOTSUPP);
                }
            }
            if (attr.len < spec.min_length || (!spec.longer && attr.len > spec.max_length)) {
                throw ErrnoError(EINVAL);
            }
            break;
        case AttributeKind::kObject:
        case AttributeKind::kDestroy:
            if (attr.len != 0) {
                throw ErrnoError(EINVAL);
            }
            given.object = &call.objects().lookup(spec.object, attr.data);
            break;
        case AttributeKind::kFd:
        case AttributeKind::kNewObject:
        case AttributeKind::kNewFd:
            if (attr.len != 0) {
                throw ErrnoError(EINVAL);
            }
            break;
    }
}

void IoctlCall::fetch_fds() {
    std::vector<Given*> wanted;
    std::vector<int> numbers;
    for (auto& [id, given] : given_) {
        if (given.spec->kind == AttributeKind::kFd) {
            if (given.attr.data_s64 != static_cast<int>(given.attr.data_s64)) {
                throw ErrnoError(EINVAL);
            }
            wanted.push_back(&given);
            numbers.push_back(static_cast<int>(given.attr.data_s64));
        }
    }
    if (wanted.empty()) {
        return;
    }
    const std::vector<int> fds = call.descriptors(std::move(numbers));
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        wanted[i]->fd = fds[i];
    }
}

std::size_t IoctlCall::length(std::uint16_t id) const {
    const Given* const given = find(id);
    return given != nullptr ? given->attr.len : 0;
}

void IoctlCall::read(std::uint16_t id, std::span<std::byte> bytes) const {
    const ib_uverbs_attr& attr = find(id)->attr;
    const std::size_t n = std::min<std::size_t>(attr.len, bytes.size());
    if (attr.len <= kInline) {
        std::memcpy(bytes.data(), &attr.data, n);
    } else {
        call.copy_from(attr.data, bytes.first(n));
    }
}

std::vector<std::byte> IoctlCall::bytes(std::uint16_t id) const {
    std::vector<std::byte> result(length(id));
    if (!result.empty()) {
        read(id, result);
    }
    return result;
}

std::uint64_t IoctlCall::constant(std::uint16_t id, std::uint64_t max) const {
    const auto value = in<std::uint64_t>(id);
    if (value > max) {
        throw ErrnoError(EINVAL);
    }
    return value;
}

std::uint32_t IoctlCall::flags(std::uint16_t id, std::uint32_t allowed) const {
    const auto value = in<std::uint64_t>(id);
    const bool odd = has(id) && length(id) != sizeof(std::uint32_t) && length(id) != sizeof value;
    if (odd || (value & ~std::uint64_t{allowed}) != 0) {
        throw ErrnoError(EINVAL);
    }
    return static_cast<std::uint32_t>(value);
}

Object& IoctlCall::object(std::uint16_t id) const {
    const Given* const given = find(id);
    if (given == nullptr) {
        throw ErrnoError(ENOENT);
    }
    return *given->object;
}

int IoctlCall::fd(std::uint16_t id) const {
    const Given* const given = find(id);
    return given != nullptr ? given->fd : -1;
}

IoctlCall::Room IoctlCall::room(std::uint16_t id) const {
    const Given* const given = find(id);
    return given != nullptr ? Room{given->attr.data, given->attr.len} : Room{};
}

void IoctlCall::write(std::uint16_t id, std::span<const std::byte> bytes) {
    const Given* const given = find(id);
    if (given == nullptr) {
        return;
    }
    const std::size_t n = std::min<std::size_t>(given->attr.len, bytes.size());
    if (given->spec->longer && given->attr.len > n) {
        call.clear(given->attr.data + n, given->attr.len - n);
    }
    call.copy_to(given->attr.data, bytes.first(n));
    mark_valid(id);
}

void IoctlCall::mark_valid(std::uint16_t id) {
    const Given* const given = find(id);
    if (given != nullptr) {
        const auto flags =
            static_cast<std::uint16_t>(given->attr.flags | UVERBS_ATTR_F_VALID_OUTPUT);
        call.copy_to(given->va + offsetof(ib_uverbs_attr, flags), flags);
    }
}

void IoctlCall::put_object(std::uint16_t id, const Object& object) {
    if (const Given* const given = find(id)) {
        call.copy_to(given->va + offsetof(ib_uverbs_attr, data), std::uint64_t{object.handle()});
    }
}

void IoctlCall::put_fd(std::uint16_t id, UniqueFd fd, dingo_uverbs_fd_kind kind) {
    if (const Given* const given = find(id)) {
        call.give(std::move(fd), given->va + offsetof(ib_uverbs_attr, data_s64), 8, kind);
    }
}

void IoctlCall::finish() {
    if (method_.driver_data) {
        const Room out = room(UVERBS_ATTR_UHW_OUT);
        put_driver_answer(call, udata, out.va, out.length);
        mark_valid(UVERBS_ATTR_UHW_OUT);
    }
}

}  // namespace dingo::uverbs
