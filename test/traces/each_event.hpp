// Emits each event of the provider once, with known values, and lists the expected contents of a trace of them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace rtexec::traces::test {

struct ExpectedEvent {
  std::string name;
  std::map<std::string, std::int64_t> integers;
  std::map<std::string, std::string> texts;
};

void emit_each_event();
/// Returns the expected events in the order of emit_each_event(), including those of layers.
std::vector<ExpectedEvent> each_event();

} // namespace rtexec::traces::test
