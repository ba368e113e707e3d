// Tasks in classes and segments on a device that swaps, in small integer times. The second implementation, the search
// and the enumeration of the rule `segmented` use them.
#pragma once

#include "policies/device/segmented_tests.hpp"

#include <rtexec/choices.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace rtexec::test {

struct CutTask {
  long long period = 1;
  long long deadline = 1; // after the latest request; jitter + deadline <= period
  long long jitter = 0;   // of the request, after the nominal release
  unsigned device_class = 1;
  unsigned chunks = 0;
  std::vector<long long> segments;
};

struct CutSet {
  std::vector<CutTask> tasks; // under static priority the most urgent of each class first
  Order order = Order::edf;
  unsigned frames = 0;
  unsigned copy_engines = 1;
  long long in = 1, out = 1;             // of one chunk
  long long in_fixed = 0, out_fixed = 0; // of a load, and of each of its victims
  unsigned launch_ahead = 0;
};

/// Returns the set in the form that plans use, with its charges.
[[nodiscard]] policies::SegmentedSet charged(const CutSet& set);

/// Returns bounds on the ends of jobs after their nominal releases, by task, or an empty list if they are not proved.
[[nodiscard]] std::vector<long long> bounds_of(const CutSet& set);

[[nodiscard]] std::string described(const CutSet& set);

} // namespace rtexec::test
