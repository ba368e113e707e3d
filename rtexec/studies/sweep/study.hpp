// A design-space study: how many of many random task sets each device test proves, and what is possible at all, while
// one quantity of the sets is varied. Results depend on the study alone, not on how many threads work on it, in which
// order, or in how many sittings.
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

/// What no set does without, whatever is done about it.
enum class Necessary {
  utilisation, // at most 1
  memory,      // and the largest task fits
};

/// A test, and what it supposes of the device and of memory.
struct Column {
  std::string_view name;
  std::variant<policies::DeviceTest, Necessary> test{};
  policies::MemoryModel memory{};
  unsigned copy_engines = 1;
  policies::Levels levels{}; // of `segmented`
};

/// All for jobs in this order, the weakest first. `segments`: of tasks that are cut, what is possible in front.
[[nodiscard]] std::span<const Column> columns(Order order, bool segments);

enum class Axis { tasks, utilisation, reduced, high };
/// "n", "utilisation", "reduced_percent", "high_resolution": in tables, CSV and JSON.
[[nodiscard]] std::string_view name_of(Axis axis);

struct Study {
  std::string source_name{}; // whose tasks
  policies::TaskSource source{};
  policies::StudyDevice device{};
  Order order = Order::edf;
  policies::StudyPoint point{}; // the varied one aside
  Axis axis = Axis::tasks;
  std::vector<double> values{}; // of the axis, one a row
  std::size_t sets = 0;         // in each row
  std::uint64_t seed = 1;
  std::vector<Column> tests{}; // fewer than 31
};

/// A value of an axis, as tables and files have it.
[[nodiscard]] std::string text_of(double value);

/// Which tests prove the set of this number at `value` of the axis: bit i for `study.tests[i]`.
[[nodiscard]] std::uint32_t proved(const Study& study, double value, std::size_t number);

/// Of the sets of each row: every `of`th, so that parts take about equally long.
struct Part {
  std::size_t number = 1; // from 1
  std::size_t of = 1;
  [[nodiscard]] bool has(std::size_t set) const { return set % of == number - 1; }
  [[nodiscard]] std::size_t size(std::size_t sets) const { return (sets + of - number) / of; }
  friend bool operator==(const Part&, const Part&) = default;
};

/// By row and set: which tests proved it, where that is known. One thread writes each.
class Outcomes {
 public:
  Outcomes(std::size_t rows, std::size_t sets)
      : sets_(sets), size_(rows * sets), masks_(std::make_unique<std::atomic<std::uint32_t>[]>(size_)) {}

  [[nodiscard]] std::size_t sets() const { return sets_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  /// `item`: row * sets + set.
  [[nodiscard]] bool known(std::size_t item) const {
    return (masks_[item].load(std::memory_order_acquire) & done) != 0;
  }
  [[nodiscard]] std::uint32_t mask(std::size_t item) const {
    return masks_[item].load(std::memory_order_acquire) & ~done;
  }
  void set(std::size_t item, std::uint32_t mask) { masks_[item].store(mask | done, std::memory_order_release); }
  /// Of `part`.
  [[nodiscard]] std::size_t count_known(const Part& part = {}) const;

 private:
  static constexpr std::uint32_t done = std::uint32_t{1} << 31;
  std::size_t sets_, size_;
  std::unique_ptr<std::atomic<std::uint32_t>[]> masks_;
};

/// Works out what of `part` is not known yet, by `threads` threads. Now and then, and at the end, the calling thread
/// hands over what came since, in order
/// (`finished`, which may be empty: items), until everything is done or `finished` returns false; what threads had
/// begun then is handed over too.
void work_out(const Study& study, Outcomes& outcomes, unsigned threads,
              const std::function<bool(std::span<const std::size_t> items)>& finished, const Part& part = {});

struct Row {
  double value = 0;
  std::vector<double> percent; // of sets proved, by test
};

/// All outcomes must be known.
[[nodiscard]] std::vector<Row> rows_of(const Study& study, const Outcomes& outcomes);

} // namespace rtexec::study
