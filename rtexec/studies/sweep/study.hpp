// A design-space study of many random task sets: how many each device test proves, and how many are possible at all.
// One quantity of the sets is varied. Results depend on the study alone, not on the number of threads, their order, or
// the number of sittings.
#pragma once

#include <rtexec/choices.hpp>
#include "policies/device/device_tests.hpp"
#include "policies/device/segment_search.hpp"
#include "policies/device/task_generator.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace rtexec::study {

/// A necessary condition, which every feasible set meets.
enum class Necessary {
  utilisation, // the utilisation is at most 1
  memory,      // and the largest task fits into the memory
};

/// A test, and its assumptions about the device and memory.
struct Column {
  std::string_view name;
  std::variant<policies::DeviceTest, Necessary> test{};
  policies::MemoryModel memory{};
  unsigned copy_engines = 1;
  policies::Levels levels{}; // used by `segmented`
};

/// Returns all columns for this order of jobs, the weakest first. `segments`: for tasks that are cut; necessary
/// conditions come first.
[[nodiscard]] std::span<const Column> columns(Order order, bool segments);

enum class Axis { tasks, utilisation, reduced, high };
/// Returns the name in tables, CSV and JSON: "n", "utilisation", "reduced_percent", "high_resolution".
[[nodiscard]] std::string_view name_of(Axis axis);

struct Study {
  std::string source_name{}; // origin of the tasks
  policies::TaskSource source{};
  policies::StudyDevice device{};
  Order order = Order::edf;
  policies::StudyPoint point{}; // without the varied quantity
  Axis axis = Axis::tasks;
  std::vector<double> values{}; // of the axis, one per row
  std::size_t sets = 0;         // in each row
  std::uint64_t seed = 1;
  std::vector<Column> tests{}; // fewer than 31
};

/// Returns the text of a value in tables and files.
[[nodiscard]] std::string text_of(double value);

/// Returns the tests that prove the set of this number at `value` of the axis: bit i stands for `study.tests[i]`.
[[nodiscard]] std::uint32_t proved(const Study& study, double value, std::size_t number);

/// A part of the sets of each row: every `of`th set, so that all parts take about equally long.
struct Part {
  std::size_t number = 1; // from 1
  std::size_t of = 1;
  [[nodiscard]] bool has(std::size_t set) const { return set % of == number - 1; }
  [[nodiscard]] std::size_t size(std::size_t sets) const { return (sets + of - number) / of; }
  friend bool operator==(const Part&, const Part&) = default;
};

/// By row and set, the tests that proved it, if known. Only one thread writes each entry.
class Outcomes {
 public:
  Outcomes(std::size_t rows, std::size_t sets)
      : sets_(sets), size_(rows * sets), masks_(std::make_unique<std::atomic<std::uint32_t>[]>(size_)) {}

  [[nodiscard]] std::size_t sets() const { return sets_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  /// `item` is row * sets + set.
  [[nodiscard]] bool known(std::size_t item) const {
    return (masks_[item].load(std::memory_order_acquire) & done) != 0;
  }
  [[nodiscard]] std::uint32_t mask(std::size_t item) const {
    return masks_[item].load(std::memory_order_acquire) & ~done;
  }
  void set(std::size_t item, std::uint32_t mask) { masks_[item].store(mask | done, std::memory_order_release); }
  /// Returns the number of known outcomes of `part`.
  [[nodiscard]] std::size_t count_known(const Part& part = {}) const;

 private:
  static constexpr std::uint32_t done = std::uint32_t{1} << 31;
  std::size_t sets_, size_;
  std::unique_ptr<std::atomic<std::uint32_t>[]> masks_;
};

/// Computes the unknown outcomes of `part` with `threads` threads. Now and then, and at the end, the calling thread
/// passes new items to `finished`, in order; there may be none. This goes on until everything is done or `finished`
/// returns false; then it also gets the items that threads had begun.
void work_out(const Study& study, Outcomes& outcomes, unsigned threads,
              const std::function<bool(std::span<const std::size_t> items)>& finished, const Part& part = {});

struct Row {
  double value = 0;
  std::vector<double> percent; // percent of sets proved, by test
};

/// Returns the rows. All outcomes must be known.
[[nodiscard]] std::vector<Row> rows_of(const Study& study, const Outcomes& outcomes);

} // namespace rtexec::study
