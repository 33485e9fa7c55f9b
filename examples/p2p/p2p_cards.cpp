// SPDX-License-Identifier: BSD-2-Clause
//
// Copies the memory of one card into that of another: the second card's memory is exported as a
// DMABuf and registered on the first, which writes into it over PCIe.
#include <unistd.h>

#include <array>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "card_memory.h"
#include "cli/program.h"

namespace {

using namespace p2p;

struct Options {
    std::string from;
    std::string to;
    std::size_t size = 65536;
};

Options parse(int argc, char** argv) {
    Options o;
    CLI::App app{
        "Copies from the memory of one Dingo card into that of another over PCIe, and checks every "
        "byte.",
        "p2p_cards"};
    app.add_option("-f,--from", o.from, "the card that copies; default: the first one")
        ->type_name("NAME");
    app.add_option("-t,--to", o.to, "the card that gets it; default: the second one")
        ->type_name("NAME");
    app.add_option("-s,--size", o.size, "a multiple of 4096")
        ->type_name("BYTES")
        ->check(whole_pages())
        ->capture_default_str();
    app.footer("Exit status: 0 all data right, 1 failed or data wrong, 2 wrong usage.");
    cli::parse(app, argc, argv);
    return o;
}

/// A queue pair connected to itself, so its WRITEs stay within the card.
class Copier {
  public:
    explicit Copier(ibv_context* context)
        : pd_(check(ibv_alloc_pd(context), "ibv_alloc_pd")),
          cq_(check(ibv_create_cq(context, 1, nullptr, nullptr, 0), "ibv_create_cq")) {
        ibv_qp_init_attr init{};
        init.send_cq = init.recv_cq = cq_.get();
        init.qp_type = IBV_QPT_RC;
        init.sq_sig_all = 1;
        init.cap = {1, 1, 1, 1, 0};
        qp_.reset(check(ibv_create_qp(pd_.get(), &init), "ibv_create_qp"));
        connect(context);
    }

    [[nodiscard]] ibv_pd* pd() { return pd_.get(); }

    void copy(const ibv_mr& to, const ibv_mr& from, std::size_t bytes) {
        ibv_sge sge{0, static_cast<std::uint32_t>(bytes), from.lkey};
        ibv_send_wr wr{};
        wr.sg_list = &sge;
        wr.num_sge = 1;
        wr.opcode = IBV_WR_RDMA_WRITE;
        wr.wr.rdma.rkey = to.rkey;
        ibv_send_wr* bad = nullptr;
        check(ibv_post_send(qp_.get(), &wr, &bad), "ibv_post_send");
        ibv_wc wc{};
        int polled = 0;
        while ((polled = ibv_poll_cq(cq_.get(), 1, &wc)) == 0) {
        }
        if (polled < 0)
            throw std::runtime_error("ibv_poll_cq failed");
        if (wc.status != IBV_WC_SUCCESS)
            throw std::runtime_error(std::string("WRITE: ") + ibv_wc_status_str(wc.status));
    }

  private:
    void modify(ibv_qp_attr& attr, int mask, const char* step) {
        check(ibv_modify_qp(qp_.get(), &attr, mask | IBV_QP_STATE), step);
    }

    void connect(ibv_context* context) {
        ibv_port_attr port{};
        check(ibv_query_port(context, 1, &port), "ibv_query_port");
        ibv_qp_attr attr{};
        attr.qp_state = IBV_QPS_INIT;
        attr.port_num = 1;
        attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
        modify(attr, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, "QP to INIT");
        attr.qp_state = IBV_QPS_RTR;
        attr.path_mtu = port.active_mtu;
        attr.dest_qp_num = qp_->qp_num;
        attr.max_dest_rd_atomic = 1;
        attr.min_rnr_timer = 12;
        attr.ah_attr.port_num = 1;
        attr.ah_attr.is_global = 1;
        attr.ah_attr.grh.hop_limit = 64;
        attr.ah_attr.grh.sgid_index = examples::roce_gid(context, attr.ah_attr.grh.dgid);
        modify(attr,
               IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                   IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
               "QP to RTR");
        attr.qp_state = IBV_QPS_RTS;
        attr.timeout = 18;
        attr.retry_cnt = 7;
        attr.rnr_retry = 7;
        attr.max_rd_atomic = 1;
        modify(attr,
               IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                   IBV_QP_MAX_QP_RD_ATOMIC,
               "QP to RTS");
    }

    std::unique_ptr<ibv_pd, Deleter<ibv_dealloc_pd>> pd_;
    std::unique_ptr<ibv_cq, Deleter<ibv_destroy_cq>> cq_;
    std::unique_ptr<ibv_qp, Deleter<ibv_destroy_qp>> qp_;
};

/// Exports the other card's memory as a DMABuf and registers it on this card.
Region import(Copier& copier, ibv_dm* memory, std::size_t bytes) {
    const int fd = dingodv_export_dm(memory);
    if (fd < 0 && errno == EOPNOTSUPP)
        throw std::runtime_error(
            "card memory cannot be exported: peer to peer is off ('dingo p2p query'), the kernel "
            "is "
            "older than 7.2, or the card is not behind PCI");
    check(fd < 0 ? errno : 0, "dingodv_export_dm");
    ibv_mr* const mr = ibv_reg_dmabuf_mr(copier.pd(), 0, bytes, 0, fd,
                                         IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    const int error = errno;
    ::close(fd);
    check(mr == nullptr ? error : 0, "ibv_reg_dmabuf_mr of the other card's memory");
    return Region(mr);
}

void body(int argc, char** argv) {
    const Options o = parse(argc, argv);
    const Context source = open_card(o.from, 0);
    const Context target = open_card(o.to, 1);
    const std::string from_name = ibv_get_device_name(source->device);
    const std::string to_name = ibv_get_device_name(target->device);
    if (from_name == to_name)
        throw UsageError("--from and --to name the same card");
    Copier copier(source.get());
    const Memory from = allocate(source.get(), o.size);
    const Memory to = allocate(target.get(), o.size);
    const Region from_mr(check(
        ibv_reg_dm_mr(copier.pd(), from.get(), 0, o.size, IBV_ACCESS_ZERO_BASED), "ibv_reg_dm_mr"));
    const Region to_mr = import(copier, to.get(), o.size);
    std::vector<std::byte> sent(o.size);
    std::vector<std::byte> got(o.size);
    fill(sent, 1);
    put(from.get(), sent);
    const auto start = std::chrono::steady_clock::now();
    copier.copy(*to_mr, *from_mr, o.size);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    fetch(to.get(), got);
    if (got != sent)
        throw std::runtime_error("the data is wrong");
    std::printf("%s to %s: %zu bytes, checksum %016" PRIx64 ", %.1f MB/s\n", from_name.c_str(),
                to_name.c_str(), o.size, checksum(got), static_cast<double>(o.size) / took.count());
}

}  // namespace

int main(int argc, char** argv) {
    return p2p::run("p2p_cards", body, argc, argv);
}
