// Checks the real-time rules on every thread of an executive.
#pragma once

#include <rtexec/executive.hpp>
#include "test/support/thread_counts.hpp"

#include <gtest/gtest.h>
#include <set>
#include <string>
#include <vector>

namespace rtexec::test {

/// Checks a started executive: during `run` its threads neither allocate nor lock (except those named in `may_lock`),
/// and until its stop they do not fault.
template <class Run>
Report expect_real_time(Executive& executive, Run run, const std::set<std::string>& may_lock = {}) {
  const std::vector<ThreadReport> threads = executive.progress().threads;
  const auto counts = [&] {
    std::vector<ThreadCounts> all;
    for (const ThreadReport& thread : threads) all.push_back(counts_of(thread.kernel_id));
    return all;
  };
  const std::vector<ThreadCounts> before = counts();
  run();
  const std::vector<ThreadCounts> after = counts();
  Report report = executive.stop();

  const std::size_t engines = executive.plan().co_runs() ? 4 : 3;
  EXPECT_EQ(threads.size(), engines + 1 + 2 * report.tasks.size()) << "engines, the scheduler, two for each task";
  for (std::size_t i = 0; i < threads.size(); ++i) {
    const ThreadReport& thread = report.threads.at(i);
    EXPECT_EQ(after[i].allocations, before[i].allocations) << thread.name;
    if (!may_lock.contains(thread.name)) { EXPECT_EQ(after[i].locks, before[i].locks) << thread.name; }
    if (report.degraded.empty()) { EXPECT_EQ(thread.page_faults, 0) << thread.name; }
  }
  return report;
}

} // namespace rtexec::test
