// SPDX-License-Identifier: BSD-2-Clause
#include "options/refused.h"

#include <array>

namespace rdma_bench {

std::span<const RefusedOption> refused_options() {
    static constexpr std::array kRefused{
        RefusedOption{"-O,--dualport",
                      "one port a run; start a second pair with -i for the other port"},
        RefusedOption{"--report-per-port",
                      "one port a run; start a second pair with -i for the other port"},
        RefusedOption{"-g,--mcg", "multicast is not measured"},
        RefusedOption{"-M,--MGID", "multicast is not measured"},
        RefusedOption{"--odp", "on-demand paging is not measured; memory is registered"},
        RefusedOption{"--mmap", "memory comes from --mem; dmabuf:PATH takes a device's memory"},
        RefusedOption{"--mmap-offset",
                      "memory comes from --mem; dmabuf:PATH takes a device's memory"},
        RefusedOption{"--cpu_util", "write --cpu: processor time and instructions per message"},
        RefusedOption{"--inline_recv", "receives are not scattered into the completion queue"},
        RefusedOption{"--dlid", "the LID comes from the peer"},
        RefusedOption{"--dont_xchg_versions", "both sides always exchange versions and options"},
        RefusedOption{"--force-link", "the link layer is the port's"},
        RefusedOption{
            "--report-both",
            "directions are reported together; the JSON file of each side has its own part"},
        RefusedOption{"--wait_destroy", "resources are destroyed when the run ends"},
        RefusedOption{"--latency_gap",
                      "write --rate N: messages start at N a second and latency counts from then"},
        RefusedOption{"--typical_pkt_size",
                      "no packet pacing by the device; use --rate, which paces messages"},
        RefusedOption{"--use_cuda", "write --mem cuda:N"},
        RefusedOption{"--use_cuda_bus_id", "write --mem cuda:N"},
        RefusedOption{"--use_cuda_dmabuf", "write --mem cuda:N, which registers a DMABuf"},
        RefusedOption{"--use_rocm", "write --mem hip:N"},
        RefusedOption{"--use_rocm_dmabuf", "write --mem hip:N, which registers a DMABuf"},
        RefusedOption{"--data_validation", "write --verify"},
        RefusedOption{"--pin_cores", "write --pin LIST"},
        RefusedOption{"--write_with_imm", "start the test write-imm-bw or write-imm-lat"},
        RefusedOption{"--send_with_imm", "SEND with immediate data is not measured"},
        RefusedOption{"--aes_xts,--encrypt_on_tx,--sig_before",
                      "encryption in the device is not measured"},
        RefusedOption{"--aes_block_size,--data_enc_keys_number,--kek_path,--credentials_path,--"
                      "data_enc_key_app_path",
                      "encryption in the device is not measured"},
        RefusedOption{"--log_dci_streams,--log_active_dci_streams",
                      "the connection type DC is not there: RC, UC or UD"},
    };
    return kRefused;
}

}  // namespace rdma_bench
