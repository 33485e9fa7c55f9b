// SPDX-License-Identifier: BSD-2-Clause
//
// PcieCore, the completer's streams: requests of the host and the card's answers.
#include "pcie_core.h"

namespace dingo::rtl {

void PcieCore::next_host_request() {
    for (std::size_t i = 0; i < requests_.size(); ++i) {
        const HostRequest& r = requests_[i];
        if (!r.posted() && np_credit_ == 0) {
            continue;  // posted requests may pass it
        }
        std::vector<std::uint32_t> words(4);
        words[0] = static_cast<std::uint32_t>(r.address);
        words[1] = static_cast<std::uint32_t>(r.address >> 32);
        words[2] = r.dwords | r.kind << 11 | 0x0018u << 16;  // requester 00:03.0
        words[3] = r.tag | r.bar << 16 | (r.bar == 2 ? 22u : 16u) << 19;
        words.insert(words.end(), r.data.begin(), r.data.end());
        const std::size_t before = cq_.size();
        send(cq_, words, r.discontinue);
        for (std::size_t j = before; j < cq_.size(); ++j) {
            cq_[j].be[0] = r.first_be | r.last_be << 8;
            cq_[j].posted = r.posted();
        }
        requests_.erase(requests_.begin() + static_cast<std::ptrdiff_t>(i));
        return;
    }
}

void PcieCore::take_answer() {
    check(dut_.cc_tlast_o, "an answer of several beats");
    std::vector<std::uint32_t> words;
    for (unsigned i = 0; i < 16 && dut_.cc_tkeep_o >> i & 1; ++i) {
        words.push_back(dut_.cc_tdata_o[i]);
    }
    check(words.size() >= 3 && (dut_.cc_tkeep_o & (dut_.cc_tkeep_o + 1)) == 0,
          "tkeep of an answer");
    Answer a{.tag = words[2] & 0xff,
             .status = words[1] >> 11 & 7,
             .bytes = words[0] >> 16 & 0x1fff,
             .lower = words[0] & 0x7f,
             .locked = words[0] >> 29 & 1,
             .data = {words.begin() + 3, words.end()}};
    check(words[1] >> 16 == 0x0018, "the requester's ID");
    check((words[1] & 0x7ff) == (a.status ? 0 : a.data.size()), "dwords of an answer");
    check((words[0] & 0xc000ff80) == 0 && (words[2] & 0x8100ff00) == 0, "fields of an answer");
    check(a.status == 0 || a.data.size() == 5, "a refusal carries its request");
    answers.push_back(std::move(a));
}

}  // namespace dingo::rtl
