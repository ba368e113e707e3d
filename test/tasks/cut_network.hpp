// Networks cut into segments, with their own memory on a device. Whatever happens to scratch between two segments, the
// outputs must equal those of the uncut network, bit by bit.
#pragma once

#include "hal/device_interface.hpp"
#include "tasks/engine/graph/network.hpp"
#include "test/support/expected_result.hpp"
#include "test/tasks/dnn_test_graph.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace rtexec::tasks {

using Cuts = std::vector<std::uint32_t>;

class CutNetwork {
 public:
  CutNetwork(hal::Device& device, std::unique_ptr<Network> network, const Cuts& after = {})
      : device_(device), network_(std::move(network)) {
    if (const auto image = network_->constants(); !image.empty()) {
      constants_ = given(Bytes{image.size()});
      EXPECT_TRUE(device_.copy(constants_.device, image.data(), constants_.size));
    }
    cut(after);
  }
  ~CutNetwork() {
    network_.reset();
    for (const Buffer& buffer : {constants_, scratch_, carry_}) give_back(buffer);
  }
  CutNetwork(const CutNetwork&) = delete;
  CutNetwork& operator=(const CutNetwork&) = delete;

  [[nodiscard]] Network& network() { return *network_; }

  /// Cuts the network. Under M and H it may be called only once.
  void cut(const Cuts& after) {
    segments_ = static_cast<std::uint32_t>(after.size() + 1);
    const auto told = network_->memory_if_cut(after);
    ASSERT_EQ(test::problem(told), "none");
    ASSERT_EQ(test::problem(network_->cut(after)), "none");
    const MemoryDemand asked = network_->memory();
    EXPECT_EQ(std::pair(told->scratch, told->carry), std::pair(asked.scratch, asked.carry));
    EXPECT_EQ(told->objects.size(), asked.objects.size());
    for (const auto& [buffer, size] :
         {std::pair(&scratch_, network_->memory().scratch), std::pair(&carry_, network_->memory().carry)}) {
      give_back(*buffer);
      *buffer = given(size);
    }
    const Memory memory{.constant = constants_.device, .scratch = scratch_.device, .carry = carry_.device};
    ASSERT_EQ(test::problem(network_->bind(device_, memory)), "none");
  }

  /// Runs the network in one piece.
  [[nodiscard]] std::vector<std::vector<std::byte>> run() {
    fill_inputs(*network_, {});
    spoil(scratch_);
    EXPECT_TRUE(network_->run());
    return outputs();
  }
  /// Runs segment by segment, and changes scratch before each. With `ahead`, that many segments are launched beyond the
  /// one that is waited for, and scratch is not changed between these.
  [[nodiscard]] std::vector<std::vector<std::byte>> run_segments(std::uint32_t ahead = 0) {
    fill_inputs(*network_, {});
    spoil(carry_);
    std::uint32_t launched = 0;
    for (std::uint32_t segment = 0; segment < segments_; ++segment) {
      if (launched <= segment) spoil(scratch_), launched = segment;
      while (ahead > 0 && launched < segments_ && launched <= segment + ahead)
        EXPECT_TRUE(network_->launch_segment(launched++));
      EXPECT_TRUE(network_->run_segment(segment));
    }
    return outputs();
  }
  /// Like run_segments(), but also changes the live state (carry) before each segment.
  [[nodiscard]] std::vector<std::vector<std::byte>> run_without_carry() {
    fill_inputs(*network_, {});
    for (std::uint32_t segment = 0; segment < segments_; ++segment) {
      spoil(scratch_);
      spoil(carry_);
      EXPECT_TRUE(network_->run_segment(segment));
    }
    return outputs();
  }

 private:
  /// Overwrites a buffer, alternately with NaN and with large numbers.
  void spoil(const Buffer& buffer) {
    const std::vector<std::byte> garbage(buffer.size.count, ++spoilt_ % 2 == 0 ? std::byte{0xff} : std::byte{0x47});
    EXPECT_TRUE(garbage.empty() || device_.copy(buffer.device, garbage.data(), buffer.size));
  }

  [[nodiscard]] std::vector<std::vector<std::byte>> outputs() {
    std::vector<std::vector<std::byte>> all;
    for (const auto& port : network_->outputs()) {
      all.emplace_back(port.bytes.begin(), port.bytes.end());
      std::ranges::fill(port.bytes, std::byte{0x77});
    }
    return all;
  }
  [[nodiscard]] Buffer given(Bytes size) {
    if (size == Bytes{0}) return {};
    const auto buffer = device_.allocate(BufferKind::device, size);
    EXPECT_EQ(test::problem(buffer), "none");
    return buffer.value_or(Buffer());
  }
  void give_back(const Buffer& buffer) {
    if (buffer.device != nullptr) (void)device_.free(buffer);
  }

  hal::Device& device_;
  std::unique_ptr<Network> network_;
  Buffer constants_, scratch_, carry_;
  std::uint32_t segments_ = 1;
  unsigned spoilt_ = 0;
};

/// Returns cuts after every layer.
inline Cuts all_cuts(const Network& network) {
  Cuts cuts(std::max<std::size_t>(network.layers().size(), 1) - 1);
  std::iota(cuts.begin(), cuts.end(), 0);
  return cuts;
}

/// Returns cuts after one layer in `each`, on average.
inline Cuts random_cuts(const Network& network, std::mt19937& engine, unsigned each) {
  Cuts cuts = all_cuts(network);
  std::erase_if(cuts, [&](std::uint32_t) { return engine() % each != 0; });
  return cuts;
}

using MakeNetwork = std::function<std::unique_ptr<Network>()>;

struct CutSets {
  std::size_t single = std::numeric_limits<std::size_t>::max(); // maximum number of single cuts to try, evenly spread
  unsigned random = 4;
};

/// Tries one cut, all cuts, and random ones.
inline void expect_same_when_cut(hal::Device& device, const MakeNetwork& make, const std::string& what,
                                 const CutSets& sets = CutSets()) {
  SCOPED_TRACE(what);
  auto network = std::make_unique<CutNetwork>(device, make());
  const auto expected = network->run();
  const Cuts all = all_cuts(network->network());
  const bool bound_once = network->network().policy() != MemoryPolicy::device;
  const auto expect_same = [&](const Cuts& cuts, std::uint32_t ahead) {
    if (bound_once) network = std::make_unique<CutNetwork>(device, make(), cuts);
    else network->cut(cuts);
    EXPECT_TRUE(network->run_segments(ahead) == expected)
        << testing::PrintToString(cuts) << ", launched ahead: " << ahead;
  };
  const std::size_t single = std::min(sets.single, all.size());
  for (std::size_t i = 0; i < single; ++i) expect_same({all[i * all.size() / single]}, 0);
  expect_same(all, 0);
  std::mt19937 engine(3);
  for (unsigned i = 0; i < sets.random; ++i) expect_same(random_cuts(network->network(), engine, 2 + i % 6), i % 3);
  EXPECT_TRUE(network->run() == expected) << "in one piece again";
}

} // namespace rtexec::tasks
