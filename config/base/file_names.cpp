#include "config/base/file_names.hpp"

#include "config/base/text.hpp"

#include <algorithm>
#include <set>

namespace rtexec::config {
namespace {

std::string file_name(std::string name) {
  std::ranges::replace_if(
      name, [](unsigned char c) { return c == '/' || c < 0x20 || c == 0x7f; }, '_');
  return std::string(beginning(name, max_file_name_bytes));
}

} // namespace

std::vector<std::string> file_names(std::span<const std::string> names) {
  std::set<std::string> taken; // contains first the names that need no change, so that these names stay unchanged
  for (const std::string& name : names)
    if (file_name(name) == name) taken.insert(name);
  std::vector<std::string> files;
  for (const std::string& name : names) {
    const std::string plain = file_name(name);
    std::string file = plain;
    if (plain != name)
      for (unsigned number = 2; !taken.insert(file).second; ++number) file = plain + "_" + std::to_string(number);
    files.push_back(std::move(file));
  }
  return files;
}

} // namespace rtexec::config
