// Two small networks, one of which feeds the other, for tests and benches of links. The second one's output identifies
// its input.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/channels.hpp>
#include <rtexec/choices.hpp>
#include <rtexec/workload.hpp>
#include "tasks/engine/dnn_workload.hpp"
#include "tasks/engine/models/graph_writer.hpp"
#include "test/support/test_files.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace rtexec::test {

/// Wraps a network, and changes it as a test requires.
class AlteredNetwork final : public Workload {
 public:
  struct Changes {
    bool links = true; // false: acts as a workload that does not support links
    // if true, fails after it has done all its work
    std::function<bool(std::uint64_t job)> fails_executing = {}, fails_after = {};
  };
  AlteredNetwork(const std::filesystem::path& model, DeviceKind kind, Precision precision, Changes changes)
      : changes_(std::move(changes)) {
    auto network = tasks::DnnWorkload::load(model, kind, precision);
    if (!network) throw std::runtime_error(network.error().what);
    network_ = std::move(*network);
  }

  MemoryDemand memory() const override { return network_->memory(); }
  std::span<const std::byte> constants() const override { return network_->constants(); }
  std::string fingerprint() const override { return network_->fingerprint(); }
  Result<> bind(Device& device, const Memory& memory) override { return network_->bind(device, memory); }
  std::span<const Tensor> inputs() const override { return network_->inputs(); }
  std::span<const Tensor> outputs() const override { return network_->outputs(); }
  bool links_on_device() const override { return changes_.links; }
  void link_input(std::size_t input) override { network_->link_input(input); }
  void link_output(std::size_t output, bool on_host) override { network_->link_output(output, on_host); }
  void take_input(std::size_t input, const std::byte* from) noexcept override { network_->take_input(input, from); }
  void give_output(std::size_t output, std::byte* to) noexcept override { network_->give_output(output, to); }
  Status before(std::uint64_t job) noexcept override { return job_ = job, network_->before(job); }
  Status execute() noexcept override { return failing(network_->execute(), changes_.fails_executing); }
  Status after(std::uint64_t job) noexcept override { return failing(network_->after(job), changes_.fails_after); }

 private:
  Status failing(Status outcome, const std::function<bool(std::uint64_t)>& fails) const noexcept {
    return fails && fails(job_) ? Unexpected(Errc::io_error) : outcome;
  }

  Changes changes_;
  std::unique_ptr<tasks::DnnWorkload> network_;
  std::uint64_t job_ = 0;
};

/// The files of the two networks: [1, 3, size, size] -> [1, 8, size, size] -> [1, 4].
struct LinkedModels {
  explicit LinkedModels(int size = 16) {
    tasks::GraphWriter first("first", 1), second("second", 2);
    first.output(first.relu(first.conv(first.input(3, size), {.channels = 8, .kernel = 3})));
    second.output(second.linear(second.flatten(second.global_average_pool(
                                    second.relu(second.conv(second.input(8, size), {.channels = 8, .kernel = 1})))),
                                4));
    for (const auto& [graph, file] : {std::pair(&first, writer), std::pair(&second, reader)})
      if (const auto saved = graph->save(file); !saved) throw std::runtime_error(saved.error().what);
  }
  ScratchFolder folder;
  std::filesystem::path writer = folder / "writer.onnx", reader = folder / "reader.onnx";
};

/// The number of pictures with different contents. After these, they repeat.
inline constexpr std::size_t distinct_pictures = 16;

/// Fills a picture that differs from its neighbours. Its sampling instant identifies it.
inline Status feed(InputJob& job) noexcept {
  float value = static_cast<float>(job.job % distinct_pictures + 1);
  for (float& each : job.inputs[0].as<float>()) {
    value = value * 1.37F - static_cast<float>(static_cast<int>(value * 1.37F));
    each = value + static_cast<float>(job.job % distinct_pictures);
  }
  job.sampled = Instant(Duration(static_cast<std::int64_t>(job.job) + 1));
  return {};
}
/// Returns the job whose picture the output is based on. A warm-up without a picture gives an invalid number.
inline std::size_t fed_by(const OutputJob& job) noexcept {
  return static_cast<std::size_t>(job.sampled.time_since_epoch().count() - 1);
}

/// The results that a reader computed from each picture.
class Results {
 public:
  static constexpr std::size_t most = 4096;

  void take(const OutputJob& job) noexcept {
    const std::size_t picture = fed_by(job);
    if (picture >= most) return;
    std::uint64_t digest = 0xcbf29ce484222325;
    for (const std::byte each : job.outputs[0].bytes)
      digest = (digest ^ static_cast<std::uint64_t>(each)) * 0x100000001b3;
    if (const auto before = digests_[picture].exchange(digest); before != 0 && before != digest) ++wrong_;
    if (picture < last_) ++wrong_;
    repeated_ += picture == last_ && count_ > 0;
    last_ = picture;
    ++count_;
  }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::uint64_t repeated() const { return repeated_; }
  [[nodiscard]] bool has(std::size_t picture) const { return digests_[picture] != 0; }
  /// Returns how many pictures gave two different results, or came after a later one.
  [[nodiscard]] std::uint64_t wrong() const { return wrong_; }
  /// Returns the number of different pictures seen.
  [[nodiscard]] std::size_t distinct() const {
    std::size_t seen = 0;
    for (std::size_t i = 0; i < distinct_pictures; ++i) seen += digest_like(i) != 0;
    return seen;
  }
  /// Returns the number of different pictures that both have seen, or 0 if one of these gave different results.
  [[nodiscard]] std::size_t agreed(const Results& other) const {
    std::size_t both = 0;
    for (std::size_t i = 0; i < distinct_pictures; ++i) {
      const std::uint64_t own = digest_like(i), others = other.digest_like(i);
      if (own == 0 || others == 0) continue;
      if (own != others) return 0;
      ++both;
    }
    return both;
  }

 private:
  /// Returns the result of the first picture with these contents, or 0 if none was seen.
  [[nodiscard]] std::uint64_t digest_like(std::size_t picture) const {
    for (; picture < most; picture += distinct_pictures)
      if (has(picture)) return digests_[picture];
    return 0;
  }

  std::vector<std::atomic<std::uint64_t>> digests_ = std::vector<std::atomic<std::uint64_t>>(most);
  std::atomic<std::uint64_t> wrong_{0}, count_{0}, repeated_{0};
  std::size_t last_ = 0;
};

} // namespace rtexec::test
