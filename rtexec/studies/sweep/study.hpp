// A study of many random task sets. For each device test, the study computes how many sets the test proves schedulable.
// For comparison, it computes how many sets meet conditions that every schedulable set meets. One quantity of the sets
// is varied. The results do not depend on the number of threads, their order, or interruptions.
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

/// A condition that every schedulable set meets. A set that violates the condition is certainly not schedulable.
enum class Necessary {
  utilisation, // the utilisation is at most 1
  memory,      // additionally, the largest task fits into the memory
};

/// A column of the results: a test and its assumptions about the device and the memory.
struct Column {
  std::string_view name;
  std::variant<policies::DeviceTest, Necessary> test{};
  policies::MemoryModel memory{};
  unsigned copy_engines = 1;
  policies::Levels levels{}; // used by the test `segmented`
};

/// Returns all columns for this order of jobs. Necessary conditions come first. Tests follow, in ascending order of the
/// expected number of proved sets. `segments`: true to get the columns for tasks that are cut into segments.
[[nodiscard]] std::span<const Column> columns(Order order, bool segments);

enum class Axis { tasks, utilisation, reduced, high };
/// Returns the name of the varied quantity in tables, CSV and JSON: "n", "utilisation", "reduced_percent",
/// "high_resolution".
[[nodiscard]] std::string_view name_of(Axis axis);

struct Study {
  std::string source_name{}; // the name of the tasks' origin
  policies::TaskSource source{};
  policies::StudyDevice device{};
  Order order = Order::edf;
  policies::StudyPoint point{}; // the quantities that are not varied
  Axis axis = Axis::tasks;
  std::vector<double> values{}; // the values of the varied quantity, one per row
  std::size_t sets = 0;         // the number of task sets in each row
  std::uint64_t seed = 1;
  std::vector<Column> tests{}; // fewer than 31
};

/// Returns a value of the varied quantity as text, as in tables and files.
[[nodiscard]] std::string text_of(double value);

/// Generates the task set with this number at `value` of the varied quantity, and applies the tests. Bit i of the
/// result is set if `study.tests[i]` proves the set schedulable.
[[nodiscard]] std::uint32_t proved(const Study& study, double value, std::size_t number);

/// A part of a sweep: every `of`-th set of each row. With this division all parts take about equally long.
struct Part {
  std::size_t number = 1; // from 1 to `of`
  std::size_t of = 1;
  [[nodiscard]] bool has(std::size_t set) const { return set % of == number - 1; }
  [[nodiscard]] std::size_t size(std::size_t sets) const { return (sets + of - number) / of; }
  friend bool operator==(const Part&, const Part&) = default;
};

/// The outcome of each task set, if known: which tests proved the set. Each entry is written by one thread only.
class Outcomes {
 public:
  Outcomes(std::size_t rows, std::size_t sets)
      : sets_(sets), size_(rows * sets), masks_(std::make_unique<std::atomic<std::uint32_t>[]>(size_)) {}

  [[nodiscard]] std::size_t sets() const { return sets_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  /// True if the outcome of `item` is known. `item` is row * sets + set.
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

/// Computes the unknown outcomes of `part` with `threads` threads. From time to time, and at the end, the calling
/// thread passes the newly computed items, in order, to `finished`. The list of items may be empty. The function
/// returns when all outcomes are known or `finished` returns false. In the latter case it calls `finished` once more,
/// with the items that were in progress.
void work_out(const Study& study, Outcomes& outcomes, unsigned threads,
              const std::function<bool(std::span<const std::size_t> items)>& finished, const Part& part = {});

struct Row {
  double value = 0;
  std::vector<double> percent; // for each test, the percentage of the row's sets that it proved
};

/// Returns the rows of the results. All outcomes must be known.
[[nodiscard]] std::vector<Row> rows_of(const Study& study, const Outcomes& outcomes);

} // namespace rtexec::study
