// SPDX-License-Identifier: BSD-2-Clause
//
// Buffers of cards of other processes, pinned for this process's GPUs: what such a card has read
// from its GPU is copied to ours from there.
#pragma once

#include <memory>

#include "base/lent_memory.h"

namespace dingo::gpu {

class CudaDevice;

/// While it lives, all such memory is pinned, by the worker's thread.
class CudaLent final : public LentMemories::Watcher {
  public:
    /// `device` lives longer.
    explicit CudaLent(const CudaDevice& device);
    ~CudaLent() override;
    CudaLent(const CudaLent&) = delete;
    CudaLent& operator=(const CudaLent&) = delete;

    void lent(const std::shared_ptr<LentMemory>& memory) override;
    void taken_back(const std::shared_ptr<LentMemory>& memory) override;

  private:
    class Pinned;

    std::shared_ptr<Pinned> pinned_;  ///< jobs have it
};

}  // namespace dingo::gpu
