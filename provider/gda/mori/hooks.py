#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Makes Dingo a provider of MORI: puts three files into a checkout, and the lines by which MORI finds them.

usage: hooks.py CHECKOUT

Nothing is written unless all places are found. A checkout that has the lines already stays as it is; the three files are
put there again. `git diff` in the checkout shows what was changed. docs/mori.md.
Exit status 0: done; 1: a place was not found (another MORI than the one of docs/mori.md), which is named; 2: wrong usage.
"""
import pathlib
import re
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
CORE = "include/mori/core/transport/rdma"
APPLICATION = "transport/rdma/providers"
FILES = {
    "dingo.hpp": f"include/mori/application/{APPLICATION}/dingo/dingo.hpp",
    "dingo.cpp": f"src/application/{APPLICATION}/dingo/dingo.cpp",
    "dingo_device_primitives.hpp": f"{CORE}/providers/dingo/dingo_device_primitives.hpp",
}
SHMEM = "include/mori/shmem/shmem_ibgda_kernels.hpp"

# Behind which line (a pattern of it whole), how often that line is there, which lines.
BEHIND = {
    f"{CORE}/core_device_types.hpp": [
        (r" *IBVERBS = 4,", 1, "  DINGO = 5,\n"),
        (r" *Pensando = 0x1dd8,", 1, "  Dingo = 0x1234,\n"),
        (r" *return ProviderType::PSD;", 1, "      case RdmaDeviceVendorId::Dingo:\n        return ProviderType::DINGO;\n"),
    ],
    f"{CORE}/rdma_device.hpp": [
        (r"#include .*ionic_device_primitives.hpp\"", 1,
         '#include "mori/core/transport/rdma/providers/dingo/dingo_device_primitives.hpp"\n'),
    ],
    "include/mori/application/transport/rdma/rdma.hpp": [
        (r" *return core::ProviderType::PSD;", 1,
         "    } else if (vendorId == RdmaDeviceVendorId::Dingo) {\n      return core::ProviderType::DINGO;\n"),
    ],
    "src/application/transport/rdma/rdma.cpp": [
        (r"#include .*providers/bnxt/bnxt.hpp\"", 1, '#include "mori/application/transport/rdma/providers/dingo/dingo.hpp"\n'),
        (r" *switch \(device_attr_ex.orig_attr.vendor_id\) \{", 1,
         "      case (static_cast<uint32_t>(RdmaDeviceVendorId::Dingo)):\n        return DingoDevice::Make(inDevice);\n"),
    ],
    "src/application/CMakeLists.txt": [
        (r" *transport/rdma/providers/ionic/ionic.cpp", 1, "  transport/rdma/providers/dingo/dingo.cpp\n"),
    ],
    # Which NIC kernels are for is fixed when they are compiled. In this header Dingo takes PSD's place, whose WQEs are counted as
    # Dingo's: some 50 lines stay as they are.
    SHMEM: [
        (r"namespace shmem \{", 1, "\n#ifdef MORI_DEVICE_NIC_DINGO\n#define PSD DINGO\n#endif\n"),
        (r"\}  // namespace shmem", 1, "#undef PSD\n"),
    ],
    "cmake/MoriDetectDevice.cmake": [
        (r' *set\(_nic_define "MORI_DEVICE_NIC_IONIC"\)', 1,
         '  elseif(_device_nic STREQUAL "dingo")\n    set(_nic_define "MORI_DEVICE_NIC_DINGO")\n'),
    ],
    "python/mori/jit/core.py": [
        (r' *return \["-DMORI_DEVICE_NIC_IONIC"\]', 1,
         '    elif nic == "dingo":\n        return ["-DMORI_DEVICE_NIC_DINGO"]\n'),
    ],
}
# A pattern, how often it is there, what takes its place. Before the lines above come.
INSTEAD = {
    SHMEM: [
        (r"#elif defined\(MORI_DEVICE_NIC_IONIC\)", 1, "#elif defined(MORI_DEVICE_NIC_IONIC) || defined(MORI_DEVICE_NIC_DINGO)"),
        (r"^    ShmemQuietThreadKernelPsdImpl\(pe, qpId\);\n", 1,
         "#ifdef MORI_DEVICE_NIC_DINGO\n    GpuStates* states = GetGlobalGpuStatesPtr();\n"
         "    ShmemRdmaEndpoint& endpoint =\n        states->rdmaEndpoints[pe * states->numQpPerPe + qpId % states->numQpPerPe];\n"
         "    core::DingoQuiet<DrainToLive>(endpoint.wqHandle, endpoint.cqHandle);\n#else\n"
         "    ShmemQuietThreadKernelPsdImpl(pe, qpId);\n#endif\n"),
    ],
    "python/mori/jit/config.py": [
        (r'if env_device_nic in \("bnxt", "ionic", "mlx5"\):', 1, 'if env_device_nic in ("bnxt", "ionic", "mlx5", "dingo"):'),
    ],
    "src/ops/dispatch_combine/launch.cpp": [
        (r'nic == "ionic" \|\| nic == "mlx5"\)', 1, 'nic == "ionic" || nic == "mlx5" || nic == "dingo")'),
    ],
}
# Examples choose at run time: a case of each switch, made of PSD's.
CASE = re.compile(r"^ *case ProviderType::PSD:\n(?:.*\n)*? *break;\n", re.M)
EXAMPLES = {f"examples/local_rdma_ops/{name}.cpp": count for name, count in
            {"write_gpu": 2, "write_inline_gpu": 1, "atomic_gpu": 1}.items()}


def edit(file, text):
    """The text with Dingo's lines, and what was not found."""
    wrong = []

    def sub(pattern, wanted, new, flags=re.M):
        nonlocal text
        text, count = re.subn(pattern, new, text, flags=flags)
        if count != wanted:
            wrong.append(f"{file}: {count} times instead of {wanted}: {pattern}")

    for pattern, wanted, new in INSTEAD.get(file, []):
        sub(pattern, wanted, lambda _, new=new: new)
    for pattern, wanted, new in BEHIND.get(file, []):
        sub(f"^{pattern}\n", wanted, lambda found, new=new: found[0] + new)
    if file in EXAMPLES:
        sub(CASE, EXAMPLES[file], lambda found: found[0] + found[0].replace("ProviderType::PSD", "ProviderType::DINGO"), 0)
    return text, wrong


def main():
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        sys.exit(0 if sys.argv[1:] in (["-h"], ["--help"]) else 2)
    checkout = pathlib.Path(sys.argv[1])
    changed, wrong = {}, []
    for file in [*dict.fromkeys([*BEHIND, *INSTEAD, *EXAMPLES])]:
        try:
            text = (checkout / file).read_text()
        except OSError as error:
            wrong.append(f"{file}: {error.strerror}")
            continue
        if "dingo" not in text.lower():
            changed[file], missing = edit(file, text)
            wrong += missing
    if wrong:
        sys.exit("\n".join(f"hooks.py: {line}" for line in wrong) + "\nhooks.py: nothing was written")
    for file, text in changed.items():
        (checkout / file).write_text(text)
    for name, to in FILES.items():
        (checkout / to).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(HERE / name, checkout / to)
    print(f"hooks.py: {len(changed)} files changed, {len(FILES)} added")


if __name__ == "__main__":
    main()
