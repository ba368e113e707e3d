// Each event of the provider once, with known values, and what a trace of them must hold.
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
/// In the order of emit_each_event(), with the layers' events.
std::vector<ExpectedEvent> each_event();

} // namespace rtexec::traces::test
