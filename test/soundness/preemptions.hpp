// Subjects for the tests of the rule `segmented` on a device alone, and those tests with deliberate errors. Sets at the
// edge of acceptance have random classes and cuts, or those that search_preemption() finds.
#pragma once

#include "test/soundness/subjects.hpp"

#include <vector>

namespace rtexec::soundness {

[[nodiscard]] std::vector<Subject> divided_tests();
[[nodiscard]] std::vector<Subject> broken_divided_tests();

} // namespace rtexec::soundness
