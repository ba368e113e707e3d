// Tests that every transfer is announced to the store before it is requested, in order, so that copies follow each
// other without a gap.
#include "test/rtexec/runtime/swap_sets.hpp"

#include <array>
#include <gtest/gtest.h>

namespace rtexec::test {
namespace {

using namespace std::chrono_literals;

/// One direction: the announced transfers that have not come yet. Used on the thread of its engine.
struct Announced {
  std::array<std::pair<std::size_t, const std::byte*>, 8> pending;
  std::size_t announced = 0, taken = 0, unannounced = 0;
  int wrong = 0;

  void announce(std::size_t chunk, const std::byte* window) {
    wrong += announced - taken == pending.size();
    pending[announced++ % pending.size()] = {chunk, window};
  }
  void take(std::size_t chunk, const std::byte* window) {
    if (announced == taken) return static_cast<void>(++unannounced);
    wrong += pending[taken++ % pending.size()] != std::pair(chunk, window);
  }
};

struct Announcements {
  Announced loads, saves;
};

class ListeningStore final : public hal::BackingStore {
 public:
  ListeningStore(std::unique_ptr<BackingStore> inner, std::shared_ptr<Announcements> heard)
      : inner_(std::move(inner)), heard_(std::move(heard)) {}

  std::string description() const override { return inner_->description(); }
  std::size_t chunks() const override { return inner_->chunks(); }
  Result<> fill(std::size_t chunk, std::span<const std::byte> contents) override {
    return inner_->fill(chunk, contents);
  }
  void begin_load(std::size_t chunk, std::byte* window) noexcept override {
    heard_->loads.announce(chunk, window);
    inner_->begin_load(chunk, window);
  }
  void begin_save(std::size_t chunk, const std::byte* window) noexcept override {
    heard_->saves.announce(chunk, window);
    inner_->begin_save(chunk, window);
  }
  Status load(std::size_t chunk, std::byte* window, hal::DuringCopy beside) noexcept override {
    heard_->loads.take(chunk, window);
    return inner_->load(chunk, window, beside);
  }
  Status save(std::size_t chunk, const std::byte* window, hal::DuringCopy beside) noexcept override {
    heard_->saves.take(chunk, window);
    return inner_->save(chunk, window, beside);
  }

 private:
  std::unique_ptr<BackingStore> inner_;
  std::shared_ptr<Announcements> heard_;
};

/// Runs three tasks of six chunks each, with memory for two of them.
void run(bool skip_unchanged, const std::shared_ptr<Announcements>& heard) {
  const Hashing::Shape shape{.constant = small_chunk * 3, .scratch = {}, .state = small_chunk * 3};
  HashingTasks hashing({shape, shape, shape});
  for (Task& task : hashing.tasks) task.swap_volume = small_chunk * 6;
  TaskSet set = swapping_set(hashing.tasks, endless, SwapPolicy::pipelined, small_chunk * 12);
  set.swap.skip_unchanged = skip_unchanged;
  executive::Setup setup = hashing.setup();
  setup.open_store = [heard](hal::Device& device, std::size_t chunks) -> Result<std::unique_ptr<hal::BackingStore>> {
    auto inner = hal::open_host_store(device, chunks, hal::HostMemoryKind::page_locked);
    if (!inner) return Unexpected(inner.error());
    return std::make_unique<ListeningStore>(std::move(*inner), heard);
  };
  Executive executive = made(std::move(set), std::move(setup));
  begun(executive);
  run_until(executive, [&] { return hashing.executions() > 10; });
  static_cast<void>(executive.stop());
  EXPECT_TRUE(hashing.all_as_expected());
}

TEST(SwapAnnouncements, PrecedeEveryTransferInOrder) {
  const auto heard = std::make_shared<Announcements>();
  run(false, heard);
  for (const Announced* way : {&heard->loads, &heard->saves}) {
    EXPECT_EQ(way->wrong, 0);
    EXPECT_EQ(way->announced, way->taken);
    EXPECT_GT(way->announced, 10u);
  }
  EXPECT_LE(heard->loads.unannounced, 12u) << "those of the set-up";
  EXPECT_EQ(heard->saves.unannounced, 0u);
}

TEST(SwapAnnouncements, AreOmittedForSavesThatDependOnDigest) {
  const auto heard = std::make_shared<Announcements>();
  run(true, heard);
  EXPECT_EQ(heard->loads.wrong, 0);
  EXPECT_EQ(heard->loads.announced, heard->loads.taken);
  EXPECT_GT(heard->loads.announced, 10u);
  EXPECT_EQ(heard->saves.announced, 0u);
  EXPECT_GT(heard->saves.unannounced, 10u);
}

} // namespace
} // namespace rtexec::test
