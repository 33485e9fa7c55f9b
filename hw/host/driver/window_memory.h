// SPDX-License-Identifier: BSD-2-Clause
//
// The memory behind a window of the bus: parts of it are mapped here, parts are in files, the rest
// is reached through the client's descriptor of its own memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "host/driver/client_file.h"
#include "host/driver/client_memory.h"

namespace dingo::uverbs {

/// Part of a window that is mapped here.
struct MappedPart {
    std::uint64_t offset = 0;  ///< in the window
    std::span<std::byte> bytes;
};

struct WindowMemory {
    /// null: accesses outside parts and files are bus errors
    std::shared_ptr<ClientMemory> client;
    std::uint64_t va = 0;           ///< of the window's first byte, in the client
    std::vector<MappedPart> parts;  ///< sorted, without overlap
    /// sorted, without overlap with each other or with parts
    std::vector<FilePart> files;
    /// who makes the accesses
    ClientFile::Writer writer = ClientFile::Writer::kDataThread;

    /// Copies from or to [offset, offset + size), which must be inside the window. Returns false
    /// for a bus error.
    [[nodiscard]] bool read(std::uint64_t offset, std::span<std::byte> dst) const;
    [[nodiscard]] bool write(std::uint64_t offset, std::span<const std::byte> src) const;

    /// Returns nullptr if the range is not completely within one mapped part.
    [[nodiscard]] std::byte* pointer(std::uint64_t offset, std::size_t len) const;
    /// The file of this byte; nullptr: none.
    [[nodiscard]] const ClientFile* file_at(std::uint64_t offset) const;
    /// Returns true if parts and files cover [offset, offset + len).
    [[nodiscard]] bool has(std::uint64_t offset, std::uint64_t len) const;
};

}  // namespace dingo::uverbs
