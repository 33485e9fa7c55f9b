// SPDX-License-Identifier: BSD-2-Clause
// Event queues on cards that differ from the model's usual one.
#include "host/driver/event_queues.h"

#include <stdexcept>

#include "dingo/model.h"
#include "host/driver/gsi.h"
#include "pretend.h"
#include "two_cards.h"

namespace dingo::uverbs::test {
namespace {

/// A card with a given number of interrupt vectors and link speed; counts doorbells of event
/// queues.
class CardView final : public LocalCard {
  public:
    CardView(Card& card, std::uint32_t vectors) : card_(card), vectors_(vectors) {}

    unsigned eq_doorbells = 0;
    std::uint32_t link_mbps = 0;

    std::uint64_t read(Bar bar, std::uint64_t offset, unsigned size) override {
        if (bar == Bar::kRegisters && offset == DINGO_REG_VECTORS) {
            return vectors_;
        }
        return bar == Bar::kRegisters && offset == DINGO_REG_LINK_MBPS
                   ? link_mbps
                   : card_.read(bar, offset, size);
    }
    void ring(std::uint64_t offset, std::uint64_t value) override {
        const auto word0 = static_cast<std::uint32_t>(value);
        eq_doorbells += DINGO_GET(DINGO_DOORBELL_WORD0_TYPE_MASK, word0) == DINGO_DB_EQ ? 1 : 0;
        card_.ring(offset, value);
    }

    void write(Bar bar, std::uint64_t offset, std::uint64_t value, unsigned size) override {
        card_.write(bar, offset, value, size);
    }
    void reset() override { card_.reset(); }
    [[nodiscard]] const std::shared_ptr<Gate>& gate() override { return card_.gate(); }
    Poller::Id watch_kick(int fd, Pollable& who) override { return card_.watch_kick(fd, who); }
    void unwatch_kick(Poller::Id id) override { card_.unwatch_kick(id); }
    void pass_frame(std::span<const std::byte> frame) override { card_.pass_frame(frame); }
    [[nodiscard]] int doorbell_fd() const override { return card_.doorbell_fd(); }
    [[nodiscard]] const PciIdentity& identity() const override { return card_.identity(); }
    void run_engine() override { card_.run_engine(); }
    [[nodiscard]] Nanoseconds now() const override { return card_.now(); }
    [[nodiscard]] std::span<std::byte> doorbell_memory() const override {
        return card_.doorbell_memory();
    }
    void use_doorbell_pages(std::size_t count) override { card_.use_doorbell_pages(count); }
    void renew_doorbell_page(std::size_t page) override { card_.renew_doorbell_page(page); }
    void clear_doorbell(std::uint64_t offset) override { card_.clear_doorbell(offset); }
    void doorbell_page_kicked(std::size_t page) override { card_.doorbell_page_kicked(page); }
    bool send_posted(std::uint32_t qpn) override { return card_.send_posted(qpn); }
    void take_doorbells() override { card_.take_doorbells(); }
    [[nodiscard]] WirePort& frames() override { return card_.frames(); }
    void flush_frames() override { card_.flush_frames(); }
    void set_frame_tap(FrameTap* tap) override { card_.set_frame_tap(tap); }
    [[nodiscard]] bool resolves_addresses() const override { return card_.resolves_addresses(); }
    [[nodiscard]] std::uint16_t fixed_source_port() const override {
        return card_.fixed_source_port();
    }

  private:
    Card& card_;
    std::uint32_t vectors_;
};

class EventQueuesTest : public ::testing::Test {
  protected:
    static EngineConfig config() {
        model::register_model_engine();
        EngineConfig config;
        config.memory_doorbells = true;
        return config;
    }
    ~EventQueuesTest() override { card.set_frame_tap(nullptr); }

    std::pair<std::unique_ptr<Wire>, std::unique_ptr<Wire>> wires = make_loop_pair();
    Driver driver{DriverConfig{}};
    Card card{"model", config(), driver, *wires.first};
};

TEST_F(EventQueuesTest, OneVectorForCompletionsIsEnough) {
    CardView view(card, 2);
    driver.start(view);
    EXPECT_EQ(driver.num_comp_vectors(), 1U);
    const Gsi gsi(driver);
}

TEST_F(EventQueuesTest, ACardWithoutOneIsRefused) {
    CardView view(card, 1);
    EXPECT_THROW(driver.start(view), std::runtime_error);
}

// Interrupt 0 is for asynchronous events, the others are for completions.
TEST_F(EventQueuesTest, AsynchronousEventsComeByTheirOwnVector) {
    CardView view(card, 4);
    driver.start(view);
    driver.poll(1);
    for (const std::uint64_t vectors : {~std::uint64_t{1}, std::uint64_t{1}}) {
        card.set_link(false);
        unsigned events = 0;
        driver.event_queues().poll(vectors, [&](const dingo_eqe& event) {
            events += event.kind == DINGO_EV_PORT_DOWN ? 1 : 0;
        });
        EXPECT_EQ(events, vectors == 1 ? 2U : 0U);
        card.set_link(true);
    }
}

// Memory of a host without clients.
struct BusHost final : HostPort {
    bool dma_read(std::uint64_t addr, std::span<std::byte> dst) override {
        return bus.read(addr, dst);
    }
    bool dma_write(std::uint64_t addr, std::span<const std::byte> src) override {
        return bus.write(addr, src);
    }
    std::byte* dma_pointer(std::uint64_t addr, std::size_t len) override {
        return bus.pointer(addr, len);
    }
    void raise_msix(unsigned /*vector*/) override {}
    BusMap bus;
};

TEST(EventQueueCount, IsTheLeastOfWhatCardAndMachineHave) {
    struct Row {
        std::uint32_t vectors, max_eq;
        int processors;
        unsigned queues;  ///< for completions; 0: the card is refused
    };
    const Row rows[] = {
        {64, 128, 1, 1},   {64, 128, 2, 2},   {64, 128, 0, 1},  // number of processors unknown
        {64, 128, 99, 63}, {70, 128, 99, 63},                   // vectors that a driver has
        {2, 128, 99, 1},   {9, 128, 99, 8},                     // one is not for completions
        {64, 2, 99, 1},    {64, 9, 99, 8},    {1, 128, 99, 0}, {64, 1, 99, 0},
    };
    for (const Row& row : rows) {
        const PretendProcessors pretend(row.processors);
        const auto ends = make_loop_pair();
        BusHost host;
        model::register_model_engine();
        EngineConfig config;
        config.memory_doorbells = true;
        Card card("model", config, host, *ends.first);
        CardView view(card, row.vectors);
        view.write(Bar::kRegisters, DINGO_REG_CTRL, DINGO_CTRL_RESET_MASK, 4);
        view.run_engine();
        AdminQueue admin(view, host.bus);
        dingo_limits limits{};
        limits.max_eq = row.max_eq;
        limits.max_cq = limits.max_qp = limits.max_srq = 100;
        limits.log_max_eq = 10;
        unsigned queues = 0;
        EXPECT_EQ(
            errno_of([&] { queues = EventQueues(view, admin, host.bus, limits).comp_vectors(); }),
            row.queues == 0 ? ENODEV : 0);
        EXPECT_EQ(queues, row.queues) << row.vectors << ' ' << row.max_eq << ' ' << row.processors;
    }
}

// On a real card each doorbell is a write across its bus.
TEST_F(EventQueuesTest, EventsThatCameTogetherAreReportedTogether) {
    CardView view(card, 4);
    driver.start(view);
    driver.poll(1);
    view.eq_doorbells = 0;
    unsigned events = 0;
    driver.on_port_event = [&](int) { ++events; };
    for (int n = 0; n < 5; ++n) {
        card.set_link(false);
        card.set_link(true);
    }
    EXPECT_TRUE(driver.poll(2));
    EXPECT_GT(events, 1U);
    EXPECT_EQ(view.eq_doorbells, 1U);
    EXPECT_FALSE(driver.poll(3)) << "nothing is left";
    card.set_link(false);
    events = 0;
    EXPECT_TRUE(driver.poll(4)) << "one event is something, too";
    EXPECT_EQ(events, 1U);
}

TEST_F(EventQueuesTest, PollTellsWhetherThereWasAnEvent) {
    CardView view(card, 4);
    driver.start(view);
    driver.poll(1);
    bool up = true;
    for (const unsigned events : {0U, 1U, 2U, 0U, 3U}) {
        for (unsigned n = 0; n < events; ++n) {
            up = !up;
            card.set_link(up);
        }
        unsigned taken = 0;
        EXPECT_EQ(driver.event_queues().poll(1, [&](const dingo_eqe&) { ++taken; }), events != 0);
        EXPECT_EQ(taken, events);
    }
}

// Programs distribute their threads over vectors; each has its own interrupt.
TEST(CompletionVectors, EventsOfAQueueComeByItsOwn) {
    constexpr unsigned kVectors = 3;
    const PretendProcessors pretend(kVectors);
    const auto ends = make_loop_pair();
    Host host(*ends.first, 0x02'44'49'00'00'0A, {"10.77.0.1/24"});
    ASSERT_EQ(host.driver.num_comp_vectors(), kVectors);
    EventQueues& queues = host.driver.event_queues();
    const Nanoseconds now = 1'000'000;
    host.poll(now);  // the port's first event
    Client c(host);
    for (unsigned vector = 0; vector < kVectors; ++vector) {
        const dingo_create_cq_req req{};
        Udata udata{bytes_of(req), {}, {}};
        c.cq = std::make_unique<Cq>(host.driver, *c.context, 10, vector, 0, c.listener, udata);
        const auto resp = response_of<dingo_create_cq_resp>(udata);
        c.cqn = resp.cqn;
        c.cq_ring = ClientRing(*c.context, resp.ring);
        c.consumer = c.arm_sn = 0;
        c.arm_cq();
        auto qp = c.make_qp();
        Udata none;
        QpAttr attr;
        attr.qp_state = DINGO_QPS_INIT;
        attr.port_num = 1;
        qp.qp->modify(
            attr, DINGO_QPM_STATE | DINGO_QPM_PORT | DINGO_QPM_PKEY_INDEX | DINGO_QPM_ACCESS, none);
        attr.qp_state = DINGO_QPS_ERR;
        qp.qp->modify(attr, DINGO_QPM_STATE, none);
        dingo_sge sge{};
        c.post_write(qp, sge, 0, 0);  // is flushed
        c.kick();
        for (int n = 0; n < 8; ++n) {
            host.card.poll(now);
        }
        for (unsigned other = 0; other < kVectors; ++other) {
            unsigned events = 0;
            queues.poll(std::uint64_t{1} << queues.eqn(other), [&](const dingo_eqe&) { ++events; });
            EXPECT_EQ(events, other == vector ? 1U : 0U) << vector << ' ' << other;
        }
        EXPECT_FALSE(queues.poll(1, [](const dingo_eqe&) {})) << "no asynchronous one";
    }
}

// ibv_query_port(3): enum values of rdma-core; for each pair the last rate, then the first of the
// next.
TEST_F(EventQueuesTest, ThePortTellsTheSpeedNextAbove) {
    CardView view(card, 4);
    driver.start(view);
    struct Row {
        std::uint32_t mbps;
        unsigned speed, width;
    };
    const Row rows[] = {
        {0, 1, 1},         {2'500, 1, 1},     {2'501, 2, 1},     {5'000, 2, 1},
        {5'001, 8, 1},     {10'000, 8, 1},    {10'001, 32, 1},   {25'000, 32, 1},
        {25'001, 8, 2},    {40'000, 8, 2},    {40'001, 64, 1},   {50'000, 64, 1},
        {50'001, 32, 2},   {100'000, 32, 2},  {100'001, 64, 2},  {200'000, 64, 2},
        {200'001, 128, 2}, {400'000, 128, 2}, {400'001, 256, 2}, {UINT32_MAX, 256, 2},
    };
    for (const Row& row : rows) {
        view.link_mbps = row.mbps;
        const PortAttr port = driver.query_port();
        EXPECT_EQ(port.active_speed, row.speed) << row.mbps;
        EXPECT_EQ(port.active_width, row.width) << row.mbps;
    }
}

// As iboe_get_mtu(): the interface's MTU minus the largest headers.
TEST(PathMtu, IsTheLargestThatFitsTheInterface) {
    for (const auto& [mtu, code] : {std::pair{0U, 1},
                                    {607U, 1},
                                    {608U, 2},
                                    {1119U, 2},
                                    {1120U, 3},
                                    {2143U, 3},
                                    {2144U, 4},
                                    {4191U, 4},
                                    {4192U, 5},
                                    {65535U, 5}}) {
        DriverConfig config;
        config.mtu = mtu;
        const PortMtu port = Driver(config).mtu();
        EXPECT_EQ(port.active, code) << mtu;
        EXPECT_EQ(port.max, 5);
    }
}

// The event changes files, which may take long, and deliver() is called by the card's thread.
TEST_F(EventQueuesTest, PortEventIsToldInPollAndNotInDeliver) {
    CardView view(card, 4);
    driver.start(view);
    driver.poll(1);
    unsigned events = 0;
    driver.on_port_event = [&](int) { ++events; };
    card.set_link(false);
    EXPECT_TRUE(driver.deliver()) << "there is more for poll()";
    EXPECT_EQ(events, 0U);
    EXPECT_TRUE(driver.poll(2));
    EXPECT_EQ(events, 1U);
    EXPECT_FALSE(driver.deliver());
}

// Otherwise the card would hold events back until the last of many is taken.
TEST_F(EventQueuesTest, ALongRunOfEventsMakesRoomBeforeItsEnd) {
    CardView view(card, 4);
    driver.start(view);
    driver.poll(1);
    view.eq_doorbells = 0;
    unsigned events = 0;
    driver.on_port_event = [&](int) { ++events; };
    for (int n = 0; n < 8000; ++n) {
        card.set_link(false);
        card.set_link(true);
    }
    while (driver.poll(2)) {
    }
    EXPECT_EQ(events, 16000U);
    EXPECT_GE(view.eq_doorbells, 4U);
}

}  // namespace
}  // namespace dingo::uverbs::test
