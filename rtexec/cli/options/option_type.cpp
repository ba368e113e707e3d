#include "rtexec/cli/options/option_type.hpp"

#include "config/base/text.hpp"

#include <algorithm>
#include <string_view>

namespace rtexec::command {

OptionType type_of(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return {};
  const std::string all = option.get_type_name();
  const auto end = std::min(all.find(':'), all.size());
  OptionType type{.name = all.substr(0, end), .choices = {}, .range = {}};
  const std::string_view rule = std::string_view(all).substr(std::min(end + 1, all.size()));
  if (rule.starts_with('{'))
    for (const std::string_view each : config::parts(rule.substr(1, rule.find('}') - 1), ','))
      type.choices.emplace_back(each);
  else if (rule.find(" to ") != std::string_view::npos) type.range = rule;
  return type;
}

std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  return names;
}

} // namespace rtexec::command
