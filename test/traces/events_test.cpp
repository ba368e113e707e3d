// Tests that other descriptions of the events agree with the table.
#include "test/support/test_files.hpp"
#include "traces/events.hpp"

#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace rtexec::traces::test {
namespace {

using Fields = std::vector<std::string>;

template <class Event> Fields fields_of() {
  Fields names;
  Event{}.parts([&](const char* name, auto&) { names.emplace_back(name); });
  return names;
}

/// Returns the fields of the table, by event.
std::map<std::string, Fields> of_table() {
  std::map<std::string, Fields> all;
#define RTEXEC_EVENT(event_, ...) all[#event_] = fields_of<event::event_>();
#include "traces/events.inc"
  return all;
}

std::vector<std::string> split(const std::string& text, const std::string& by) {
  const std::regex separator("\\s*" + by + "\\s*");
  return {std::sregex_token_iterator(text.begin(), text.end(), separator, -1), {}};
}

/// Reads the rows `| `event`, `event` | field, field (remark) | when |`. If the events of a row differ, a semicolon
/// separates the lists.
std::map<std::string, Fields> of_readme() {
  std::map<std::string, Fields> all;
  std::istringstream readme(rtexec::test::read_text("rtexec/docs/design/traces.md"));
  const std::regex row(R"(\| ((?:`\w+`(?:, )?)+) \| ([^|]*) \|.*)"), remark(R"( \([^)]*\))");
  bool events = false;
  for (std::string line; std::getline(readme, line);) {
    if (line.starts_with("| event |")) events = true;
    if (line.empty()) events = false;
    std::smatch cells;
    if (!events || !std::regex_match(line, cells, row)) continue;
    const auto lists = split(std::regex_replace(cells[2].str(), remark, ""), ";");
    std::size_t next = 0;
    for (const std::string& name : split(std::regex_replace(cells[1].str(), std::regex("`"), ""), ","))
      all[name] = split(lists[lists.size() == 1 ? 0 : next++], ",");
  }
  return all;
}

TEST(Events, DocumentationListsEveryEventWithItsFieldsInOrder) { EXPECT_EQ(of_readme(), of_table()); }

} // namespace
} // namespace rtexec::traces::test
