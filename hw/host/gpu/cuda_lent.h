// SPDX-License-Identifier: BSD-2-Clause
//
// Pins the buffers of other processes' cards for this process's GPUs, so that data which such a
// card has read from its GPU is copied to our GPU directly from there.
#pragma once

#include <memory>

#include "base/lent_memory.h"

namespace dingo::gpu {

class CudaDevice;

/// During its lifetime all such memory is pinned, by the worker's thread.
class CudaLent final : public LentMemories::Watcher {
  public:
    /// `device` must outlive this object.
    explicit CudaLent(const CudaDevice& device);
    ~CudaLent() override;
    CudaLent(const CudaLent&) = delete;
    CudaLent& operator=(const CudaLent&) = delete;

    void lent(const std::shared_ptr<LentMemory>& memory) override;
    void taken_back(const std::shared_ptr<LentMemory>& memory) override;

  private:
    class Pinned;

    std::shared_ptr<Pinned> pinned_;  ///< shared with queued jobs
};

}  // namespace dingo::gpu
