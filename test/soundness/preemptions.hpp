// The tests of the rule `segmented` for a device alone, and deliberate errors of theirs: sets with random classes and
// cuts, or with those that search_preemption() finds, at the edge of what is accepted.
#pragma once

#include "test/soundness/subjects.hpp"

#include <vector>

namespace rtexec::soundness {

[[nodiscard]] std::vector<Subject> divided_tests();
[[nodiscard]] std::vector<Subject> broken_divided_tests();

} // namespace rtexec::soundness
