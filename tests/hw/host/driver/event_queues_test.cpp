// SPDX-License-Identifier: BSD-2-Clause
//
// Event queues on cards that are not the model's usual one.
#include "host/driver/event_queues.h"

#include <stdexcept>

#include "dingo/model.h"
#include "host/driver/gsi.h"
#include "two_cards.h"

namespace dingo::uverbs::test {
namespace {

/// A card with as many interrupt vectors as we say; counts doorbells of event queues.
class CardView final : public LocalCard {
  public:
    CardView(Card& card, std::uint32_t vectors) : card_(card), vectors_(vectors) {}

    unsigned eq_doorbells = 0;

    std::uint64_t read(Bar bar, std::uint64_t offset, unsigned size) override {
        return bar == Bar::kRegisters && offset == DINGO_REG_VECTORS
                   ? vectors_
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

// Else the card keeps events back until the last of many is taken.
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
