#include "test/hal/assembled_root.hpp"

#include "config/base/text.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace rtexec::hal::test {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> columns_of(const std::string& line) {
  std::vector<std::string> columns;
  std::stringstream text(line);
  for (std::string column; std::getline(text, column, '\t');) columns.push_back(column);
  return columns;
}

/// Returns one path for each name between the braces.
std::vector<std::string> paths_of(const std::string& pattern) {
  const auto begin = pattern.find('{'), end = pattern.find('}');
  if (begin == pattern.npos) return {pattern};
  std::vector<std::string> paths;
  for (const auto name : config::parts(std::string_view(pattern).substr(begin + 1, end - begin - 1), ','))
    paths.push_back(pattern.substr(0, begin) + std::string(name) + pattern.substr(end + 1));
  return paths;
}

std::string unescaped(const std::string& content) {
  std::string text;
  for (std::size_t at = 0; at < content.size(); ++at) {
    if (content[at] != '\\') {
      text += content[at];
      continue;
    }
    const char escape = content.at(++at);
    text += escape == 'n' ? '\n' : escape == 't' ? '\t' : '\0';
  }
  return text;
}

} // namespace

AssembledRoot::AssembledRoot(std::string_view name) {
  std::ifstream table("test/hal/roots/assembled.table");
  bool found = false;
  for (std::string line; std::getline(table, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    const auto columns = columns_of(line);
    if (columns.size() != 4) throw std::runtime_error("assembled.table: not four columns: " + line);
    const auto trees = config::parts(columns[0], ',');
    if (std::ranges::find(trees, name) == trees.end()) continue;
    found = true;
    for (const std::string& path : paths_of(columns[1])) write(path, unescaped(columns[2]));
  }
  if (!found) throw std::runtime_error("assembled.table: no tree " + std::string(name));
}

std::string AssembledRoot::read(const fs::path& file) const {
  std::string text = rtexec::test::read_text(root_ / file);
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

void AssembledRoot::write(const fs::path& file, std::string_view content) const {
  rtexec::test::write_text(root_ / file, std::string(content) + "\n");
}

void AssembledRoot::remove(const fs::path& file) const { fs::remove_all(root_ / file); }

std::map<std::string, std::string> AssembledRoot::contents() const {
  std::map<std::string, std::string> contents;
  for (const auto& entry : fs::recursive_directory_iterator(root_.path()))
    if (entry.is_regular_file())
      contents["/" + fs::relative(entry.path(), root_.path()).string()] = rtexec::test::read_text(entry.path());
  return contents;
}

} // namespace rtexec::hal::test
