#include "rtexec/command/option_type.hpp"

#include "config/text.hpp"

#include <algorithm>
#include <string_view>

namespace rtexec::command {

OptionType type_of(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return {};
  const std::string all = option.get_type_name();
  const auto end = std::min(all.find(':'), all.size());
  OptionType type{.name = all.substr(0, end), .choices = {}, .range = {}};
  if (type.name == "INT" || type.name == "UINT" || type.name == "FLOAT") type.name = "N";
  const std::string rule = all.substr(std::min(end + 1, all.size()));
  const auto inside = [&](std::string_view open, char close) {
    const auto begin = rule.find(open);
    return begin == std::string::npos ? std::string()
                                      : rule.substr(begin + open.size(), rule.find(close, begin) - begin - open.size());
  };
  const std::string choices = inside("{", '}');
  for (const std::string_view each : config::parts(choices, ',')) type.choices.emplace_back(each);
  type.range = inside("in [", ']');
  if (const auto minus = type.range.find(" - "); minus != std::string::npos) type.range.replace(minus, 3, " to ");
  if (type.range.empty() && rule.find(" to ") != std::string::npos) type.range = rule;
  return type;
}

std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  return names;
}

} // namespace rtexec::command
