// SPDX-License-Identifier: BSD-2-Clause
#include "dlrm/feed_memory.h"

#include <charconv>
#include <stdexcept>

#include "dlrm/record.h"

namespace dlrm {
namespace {

constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

struct Columns {
    std::size_t first;
    std::int64_t count;  ///< 0: the tensor has one dimension
    dlpack_type type;
};

Columns columns_of(dlrm_columns columns) {
    constexpr dlpack_type kInt32{DLPACK_INT, 32, 1};
    constexpr dlpack_type kFloat32{DLPACK_FLOAT, 32, 1};
    switch (columns) {
        case DLRM_LABEL:
            return {kLabel, 0, kInt32};
        case DLRM_DENSE:
            return {kFirstDense, kDenseColumns, kFloat32};
        case DLRM_SPARSE:
            return {kFirstSparse, kSparseColumns, kInt32};
    }
    throw std::invalid_argument("no such columns");
}

/// A tensor with the data that it refers to.
struct View {
    dlpack_managed managed{};
    std::array<std::int64_t, 2> shape{};
    std::array<std::int64_t, 2> strides{};
    std::shared_ptr<FeedMemory> memory;
    std::atomic<unsigned>* count = nullptr;
};

}  // namespace

std::uint64_t half_bytes(std::uint32_t records) {
    constexpr std::uint64_t kPage = 4096;
    return (records * std::uint64_t{kRecordBytes} + kPage - 1) / kPage * kPage;
}

dlpack_device dlpack_device_of(const std::string& kind) {
    const std::size_t colon = kind.find(':');
    const std::string name = kind.substr(0, colon);
    if (name == "host" || name == "huge")
        return {DLPACK_CPU, 0};
    if (name != "cuda" && name != "hip")
        throw std::invalid_argument("memory '" + kind + "': tensors need host, huge, cuda or hip");
    int id = 0;
    if (colon != kind.npos)
        std::from_chars(kind.data() + colon + 1, kind.data() + kind.size(), id);
    return {name == "cuda" ? DLPACK_CUDA : DLPACK_ROCM, id};
}

FeedMemory::FeedMemory(const std::string& device, const std::string& kind, std::uint32_t records)
    : device_(device, 1),
      where_(dlpack_device_of(kind)),
      half_bytes_(dlrm::half_bytes(records)),
      buffer_(rdma_bench::make_buffer(kind, {device_.pd(), kHalves * half_bytes_, kAccess})) {}

qpx::Region FeedMemory::region() const {
    return {buffer_->address(), kHalves * half_bytes_, buffer_->mr()->rkey, "clicks"};
}

dlpack_managed* FeedMemory::view(const std::shared_ptr<FeedMemory>& memory, const dlrm_batch& batch,
                                 dlrm_columns columns) {
    const Columns of = columns_of(columns);
    auto view = std::make_unique<View>();
    view->shape = {batch.records, of.count};
    view->strides = {kRecordWords, 1};
    view->memory = memory;
    view->count = &memory->views_.at(batch.half);
    dlpack_tensor& tensor = view->managed.tensor;
    // Not by byte_offset, which PyTorch before 2 ignores.
    tensor.data = reinterpret_cast<void*>(batch.address + sizeof(std::uint32_t) * of.first);
    tensor.device = memory->where_;
    tensor.ndim = of.count == 0 ? 1 : 2;
    tensor.type = of.type;
    tensor.shape = view->shape.data();
    tensor.strides = view->strides.data();
    view->managed.context = view.get();
    view->managed.deleter = [](dlpack_managed* self) {
        const std::unique_ptr<View> gone(static_cast<View*>(self->context));
        --*gone->count;
    };
    ++*view->count;
    return &view.release()->managed;
}

}  // namespace dlrm
