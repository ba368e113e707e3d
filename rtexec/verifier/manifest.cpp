#include "rtexec/verifier/manifest.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <set>
#include <utility>
#include <vector>

namespace rtexec::verifier {
namespace {

constexpr std::pair<std::string_view, Entry::Type> types[] = {
    {"file", Entry::Type::file}, {"dir", Entry::Type::directory}, {"link", Entry::Type::link}};
constexpr std::size_t digest_length = 64;

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(separator));
    if (!part.empty()) parts.push_back(part);
    text.remove_prefix(std::min(part.size() + 1, text.size()));
  }
  return parts;
}

template <class T> bool take_number(std::string_view text, T& number, int base) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return error == std::errc() && end == text.data() + text.size();
}

/// Replaces each \ooo in `text` by the byte with this octal number. Returns false if `text` is malformed.
bool take_text(std::string_view text, std::string& unescaped) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned char byte = static_cast<unsigned char>(text[i]);
    if (byte == '\\') {
      const std::string_view digits = text.substr(i + 1, 3);
      if (digits.size() != 3 || !take_number(digits, byte, 8)) return false;
      i += 3;
    }
    unescaped += static_cast<char>(byte);
  }
  return unescaped.find('\0') == std::string::npos;
}

bool take_type(std::string_view text, Entry::Type& type) {
  for (const auto& [name, value] : types)
    if (name == text) return type = value, true;
  return false;
}

bool take_digest(std::string_view text, std::string& digest) {
  digest = text;
  return digest.size() == digest_length && digest.find_first_not_of("0123456789abcdef") == std::string::npos;
}

bool take_value(std::string_view keyword, std::string_view value, Entry& entry) {
  if (keyword == "type") return take_type(value, entry.type);
  if (keyword == "mode") return take_number(value, entry.mode, 8);
  if (keyword == "uid") return take_number(value, entry.user, 10);
  if (keyword == "gid") return take_number(value, entry.group, 10);
  if (keyword == "size") return take_number(value, entry.size, 10);
  if (keyword == "sha256digest") return take_digest(value, entry.digest);
  if (keyword == "link") return take_text(value, entry.target);
  return false;
}

std::set<std::string_view> needed_keywords(Entry::Type type) {
  std::set<std::string_view> keywords = {"type", "mode", "uid", "gid"};
  if (type == Entry::Type::file) keywords.insert({"size", "sha256digest"});
  if (type == Entry::Type::link) keywords.insert("link");
  return keywords;
}

bool take_path(std::string_view text, std::string& path) {
  if (text == "/.") text = "."; // bsdtar writes the root as "/."
  return take_text(text.starts_with("./") ? text.substr(2) : text, path) && !path.empty();
}

std::string parse_line(std::string_view line, Manifest& manifest) {
  const auto words = split(line, ' ');
  std::string path;
  if (!take_path(words.front(), path)) return "its path is wrong";
  Entry entry;
  std::set<std::string_view> found;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    const std::string_view keyword = words[i].substr(0, equals);
    if (equals == std::string_view::npos || !take_value(keyword, words[i].substr(equals + 1), entry) ||
        !found.insert(keyword).second)
      return "'" + std::string(words[i]) + "' is wrong";
  }
  if (found != needed_keywords(entry.type)) return "its keywords are not those of its type";
  if (!manifest.emplace(path, std::move(entry)).second) return path + " is named twice";
  return {};
}

} // namespace

std::expected<Manifest, std::string> parse_manifest(std::string_view text) {
  Manifest manifest;
  std::size_t number = 0;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    ++number;
    if (line.find_first_not_of(' ') == std::string_view::npos || line.starts_with('#')) continue;
    if (const std::string problem = parse_line(line, manifest); !problem.empty())
      return std::unexpected("line " + std::to_string(number) + ": " + problem);
  }
  return manifest;
}

} // namespace rtexec::verifier
