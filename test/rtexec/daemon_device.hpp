// A device and its clients in software, on a virtual clock, behind a Dispatcher: two copy engines, frames with
// contents, programs that ask for jobs, agents that carry out commands. Everything that a client has written it finds
// again when it executes, or the test fails.
#pragma once

#include "rtexec/daemon/clients.hpp"
#include "rtexec/daemon/dispatcher.hpp"
#include "test/support/resolved.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <vector>

namespace rtexec::daemon::test {

/// `frames` chunks of 2 MiB, which take 100 us each way, on two copy engines; EDF.
Terms terms_of(std::uint32_t frames, std::uint32_t places);

} // namespace rtexec::daemon::test
