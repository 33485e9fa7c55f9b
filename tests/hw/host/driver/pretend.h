// SPDX-License-Identifier: BSD-2-Clause
//
// System calls that answer as another machine's would: this program's own fstatfs(), open(),
// get_nprocs() and process_vm_writev() stand before those of the C library.
#pragma once

namespace dingo::uverbs::test {

/// While it lives fstatfs() and /proc say that this file is a DMABuf: for machines without
/// /dev/udmabuf.
class PretendDmaBuf {
  public:
    explicit PretendDmaBuf(int fd);
    ~PretendDmaBuf();
    PretendDmaBuf(const PretendDmaBuf&) = delete;
    PretendDmaBuf& operator=(const PretendDmaBuf&) = delete;
};

/// While it lives this machine has so many processors; 0: nobody knows.
class PretendProcessors {
  public:
    explicit PretendProcessors(int count);
    ~PretendProcessors();
    PretendProcessors(const PretendProcessors&) = delete;
    PretendProcessors& operator=(const PretendProcessors&) = delete;
};

/// While it lives process_vm_writev() fails with this errno.
class PretendNoVmWrite {
  public:
    explicit PretendNoVmWrite(int error);
    ~PretendNoVmWrite();
    PretendNoVmWrite(const PretendNoVmWrite&) = delete;
    PretendNoVmWrite& operator=(const PretendNoVmWrite&) = delete;
    [[nodiscard]] static unsigned calls();
};

}  // namespace dingo::uverbs::test
