// SPDX-License-Identifier: BSD-2-Clause
// System calls that answer as on another machine: this program's own fstatfs(), open(),
// get_nprocs() and process_vm_writev() replace those of the C library.
#pragma once

namespace dingo::uverbs::test {

/// During its lifetime fstatfs() and /proc report that this file is a DMABuf: for machines without
/// /dev/udmabuf.
class PretendDmaBuf {
  public:
    explicit PretendDmaBuf(int fd);
    ~PretendDmaBuf();
    PretendDmaBuf(const PretendDmaBuf&) = delete;
    PretendDmaBuf& operator=(const PretendDmaBuf&) = delete;
};

/// During its lifetime this machine has `count` processors; 0: unknown.
class PretendProcessors {
  public:
    explicit PretendProcessors(int count);
    ~PretendProcessors();
    PretendProcessors(const PretendProcessors&) = delete;
    PretendProcessors& operator=(const PretendProcessors&) = delete;
};

/// During its lifetime process_vm_writev() fails with this errno.
class PretendNoVmWrite {
  public:
    explicit PretendNoVmWrite(int error);
    ~PretendNoVmWrite();
    PretendNoVmWrite(const PretendNoVmWrite&) = delete;
    PretendNoVmWrite& operator=(const PretendNoVmWrite&) = delete;
    [[nodiscard]] static unsigned calls();
};

}  // namespace dingo::uverbs::test
