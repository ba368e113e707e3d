// Rewrites a board file statement by statement. A statement is a key with its value, a table header, or a line with
// neither. The TOML parser determines the kind of each statement.
#include "config/board_writer.hpp"

#include "config/document.hpp"
#include "config/toml_readers.hpp"
#include "config/base/text.hpp"
#include "config/types.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace rtexec {
namespace {

using namespace config;

/// Returns the position behind the string that begins at `at`, in any of TOML's four kinds of quotes.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  const char quote = text[at];
  const std::string three(3, quote);
  const std::string_view closing = text.substr(at).starts_with(three) ? three : std::string_view(three).substr(2);
  for (at += closing.size(); at < text.size(); ++at) {
    if (quote == '"' && text[at] == '\\') ++at;
    else if (text.substr(at).starts_with(closing)) break;
  }
  at += closing.size();
  if (closing.size() == 3) // one or two quotes may precede the closing quotes
    for (int more = 0; more < 2 && text.substr(std::min(at, text.size())).starts_with(quote); ++more) ++at;
  return std::min(at, text.size());
}

/// Returns the position after the first `stop` outside strings, comments and brackets. Returns the end of the text if
/// there is no such `stop`.
std::size_t end_at(char stop, std::string_view text) {
  int depth = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"' || c == '\'') {
      at = end_of_string(text, at);
    } else if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
    } else {
      ++at;
      if (c == '[' || c == '{') ++depth;
      if (c == ']' || c == '}') --depth;
      if (depth == 0 && c == stop) return at;
    }
  }
  return text.size();
}

std::size_t end_of_statement(std::string_view text) { return end_at('\n', text); }

/// Returns `statement`, a key with a string or a number, with its value replaced by `value`.
std::string with_value(std::string_view statement, const std::string& value) {
  const std::size_t begin = statement.find_first_not_of(" \t", end_at('=', statement));
  const bool is_string = statement[begin] == '"' || statement[begin] == '\'';
  const std::size_t end = is_string ? end_of_string(statement, begin)
                                    : std::min(statement.find_first_of(" \t\r\n#", begin), statement.size());
  return std::string(statement.substr(0, begin)) + value + std::string(statement.substr(end));
}

bool is_header(std::string_view statement) {
  // The text may begin with a byte order mark
  const std::size_t first = statement.find_first_not_of(" \t\xEF\xBB\xBF");
  return first != std::string_view::npos && statement[first] == '[';
}

/// Returns the first key of the statement or of its table header; empty if the statement has no key.
std::string key_of(std::string_view statement) {
  const Result<Table> content = parse_document(statement, "board");
  return content && !content->empty() ? content->front().key : std::string();
}

std::string comments_of(std::string_view lines) {
  std::string comments;
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, end_of_statement(lines));
    if (line.contains('#')) comments += line;
    lines.remove_prefix(line.size());
  }
  return comments;
}

/// Replaces the [[swap_cost]] tables in a text. The caller passes the statements one by one to put().
class Rewriter {
 public:
  explicit Rewriter(std::optional<Bytes> chunk) : chunk_(chunk) {}

  void put(std::string_view statement) {
    const std::string key = key_of(statement);
    if (key.empty() && section_ == swap_cost) {
      pending_ += statement;
      return;
    }
    if (is_header(statement)) section_ = key == "swap_cost" ? swap_cost : other;
    if (section_ == swap_cost) return drop_table_line();
    kept_ += std::exchange(pending_, {});
    if (section_ == top && key == "swap_cost") return; // the tables in the form of one array: [{...}, ...]
    kept_ += section_ == top && key == "chunk" && chunk_ ? with_value(statement, toml_string(to_string(*chunk_)))
                                                         : statement;
  }

  /// Returns the whole text, with `tables` at the position where the former tables ended.
  [[nodiscard]] std::string finish(std::string tables, std::string_view line_end) {
    kept_ += std::exchange(pending_, {});
    if (tables.empty()) return kept_;
    if (place_) tables.erase(0, line_end.size()); // the empty line above the former tables still exists
    else if (!kept_.empty() && !kept_.ends_with('\n')) kept_ += line_end;
    return kept_.insert(place_.value_or(kept_.size()), tables);
  }

 private:
  void drop_table_line() {
    kept_ += comments_of(std::exchange(pending_, {}));
    place_ = kept_.size();
  }

  enum { top, swap_cost, other } section_ = top;
  std::optional<Bytes> chunk_;
  std::string kept_;
  // Lines without a key, in or after a [[swap_cost]] table. Only the next statement shows whether these lines belong to
  // the table
  std::string pending_;
  std::optional<std::size_t> place_; // position in `kept_` at which the last table ended
};

struct Fact {
  std::string key, value;
};

/// Replaces the facts of one table in a text. If the name of the table is empty, replaces keys outside of all tables.
class TableRewriter {
 public:
  TableRewriter(std::string_view table, std::vector<Fact> facts)
      : section_(table.empty() ? own : top), table_(table), facts_(std::move(facts)) {
    if (table.empty()) place_ = 0;
  }

  void put(std::string_view statement) {
    const std::string key = key_of(statement);
    if (is_header(statement)) section_ = key == table_ ? own : other;
    if (section_ == top && key == table_) return; // the table in another form: {...}, or as a dotted key
    const auto fact = section_ == own ? std::ranges::find(facts_, key, &Fact::key) : facts_.end();
    if (fact != facts_.end()) {
      text_ += with_value(statement, fact->value);
      facts_.erase(fact);
    } else {
      text_ += statement;
    }
    if (section_ == own && !key.empty()) place_ = text_.size();
  }

  [[nodiscard]] std::string finish(std::string_view line_end) {
    if (facts_.empty()) return text_;
    const std::string end(line_end);
    std::string added = place_ ? "" : end + "[" + table_ + "]" + end;
    for (const auto& [key, value] : facts_) added += key + " = " + value + end;
    const std::size_t place = place_.value_or(text_.size());
    if (place > 0 && text_[place - 1] != '\n') added.insert(0, end);
    return text_.insert(place, added);
  }

 private:
  enum { top, own, other } section_;
  std::string table_;
  std::vector<Fact> facts_; // facts that have not been written yet
  std::string text_;
  std::optional<std::size_t> place_; // position behind the last key of the table
};

/// Passes the statements of `toml` one by one to the rewriter.
void put_all(std::string_view toml, auto& rewriter) {
  while (!toml.empty()) {
    const std::size_t end = end_of_statement(toml);
    rewriter.put(toml.substr(0, end));
    toml.remove_prefix(end);
  }
}

std::string_view line_end_of(std::string_view toml) {
  return toml.substr(0, toml.find('\n')).ends_with('\r') ? "\r\n" : "\n";
}

std::string with_table(std::string_view toml, std::string_view table, std::vector<Fact> facts) {
  TableRewriter rewriter(table, std::move(facts));
  put_all(toml, rewriter);
  return rewriter.finish(line_end_of(toml));
}

/// Returns the facts that are known (not 0).
std::vector<Fact> facts_of(const MemoryFacts& measured) {
  std::vector<Fact> facts;
  if (measured.core_bandwidth != Bandwidth{})
    facts.emplace_back("core_bandwidth", toml_string(to_string(measured.core_bandwidth)));
  if (measured.saturation != Bandwidth{}) facts.emplace_back("saturation", toml_string(to_string(measured.saturation)));
  return facts;
}

/// Returns all values that apply to the platform's kind (unified memory or not), including zeros.
std::vector<Fact> facts_of(const MemoryCosts& measured) {
  const auto time = [](std::string_view key, Duration value) {
    return Fact{std::string(key), toml_string(to_string(value))};
  };
  const auto number = [](std::string_view key, double value) {
    return Fact{std::string(key), real(0, 0).write(value)};
  };
  std::vector<Fact> facts{time("copy_start", measured.copy_start), number("copied_in", measured.copied_in),
                          number("copied_out", measured.copied_out), number("host_touched", measured.host_touched)};
  if (measured.unified)
    facts.insert(facts.end(),
                 {number("mapped", measured.mapped), time("host_flush", measured.host_flush),
                  time("device_flush", measured.device_flush), number("written_back", measured.written_back),
                  number("memory_access", measured.memory_access), number("cache_access", measured.cache_access)});
  else
    facts.insert(facts.end(), {number("faulted", measured.faulted), time("prefetch_start", measured.prefetch_start),
                               number("prefetched", measured.prefetched), number("returned", measured.returned),
                               time("linked_start", measured.linked_start), number("linked", measured.linked),
                               number("linked_access", measured.linked_access)});
  facts.insert(facts.end(), {number("mean_error", measured.mean_error), number("worst_error", measured.worst_error)});
  return facts;
}

std::string with_line_ends(std::string_view text, std::string_view line_end) {
  std::string result;
  for (const char c : text) {
    if (c == '\n') result += line_end;
    else result += c;
  }
  return result;
}

/// Returns the costs of both lists, sorted by store and chunk size. For each store and chunk size, the result has the
/// last cost in `measured`. If `measured` has no such cost, the result has the cost in `before`.
std::vector<SwapCost> merged(std::span<const SwapCost> before, std::span<const SwapCost> measured) {
  std::map<std::pair<StoreKind, Bytes>, SwapCost> costs;
  for (const auto source : {before, measured})
    for (const SwapCost& cost : source) costs.insert_or_assign({cost.store, cost.chunk}, cost);
  std::vector<SwapCost> result;
  for (const auto& [key, cost] : costs) result.push_back(cost);
  return result;
}

/// Applies `rewrite()` to `board_toml` and returns the new text. Checks that both texts are valid boards.
template <class Rewrite> Result<std::string> rewritten(std::string_view board_toml, Rewrite rewrite) {
  if (const auto before = parse_board(board_toml, "board"); !before) return Unexpected(before.error());
  std::string text = rewrite();
  if (const auto after = parse_board(text, "board"); !after)
    return fail(Errc::bad_input, "the measured values make an invalid board file:\n" + after.error().what);
  return text;
}

} // namespace

std::string config::replace_swap_costs(std::string_view toml, std::optional<Bytes> chunk,
                                       std::span<const SwapCost> costs) {
  Rewriter rewriter(chunk);
  put_all(toml, rewriter);
  const std::string_view line_end = line_end_of(toml);
  return rewriter.finish(with_line_ends(swap_cost_tables(costs), line_end), line_end);
}

Result<std::string> with_swap_costs(std::string_view board_toml, std::optional<Bytes> chunk,
                                    std::span<const SwapCost> costs) {
  return rewritten(board_toml, [&] { return replace_swap_costs(board_toml, chunk, costs); });
}

Result<std::string> with_memory(std::string_view board_toml, const MemoryFacts& measured) {
  return rewritten(board_toml, [&] { return with_table(board_toml, "memory", facts_of(measured)); });
}

Result<std::string> with_memory_costs(std::string_view board_toml, const MemoryCosts& measured) {
  return rewritten(board_toml, [&] { return with_table(board_toml, "memory_costs", facts_of(measured)); });
}

Result<std::string> with_cut(std::string_view board_toml, Duration cut) {
  return rewritten(board_toml, [&] { return with_table(board_toml, "", {{"cut", toml_string(to_string(cut))}}); });
}

Result<std::string> with_measured_costs(std::string_view board_toml, Bytes chosen, std::span<const SwapCost> measured) {
  const auto before = parse_board(board_toml, "board");
  if (!before) return Unexpected(before.error());
  if (measured.empty()) return std::string(board_toml);
  const std::vector<SwapCost> costs = merged(before->swap_costs, measured);
  const StoreKind store = measured.front().store;
  const bool only_store = std::ranges::all_of(costs, [&](const SwapCost& cost) { return cost.store == store; });
  const bool has_default = std::ranges::any_of(
      costs, [&](const SwapCost& cost) { return cost.store == store && cost.chunk == before->chunk; });
  const bool set_default = (only_store || !has_default) && before->capacity.count % chosen.count == 0;
  return with_swap_costs(board_toml, set_default ? std::optional(chosen) : std::nullopt, costs);
}

} // namespace rtexec
