#include "rtexec/studies/bringup/bringup_page.hpp"

#include "config/base/text.hpp"
#include "traces/report/report_page.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace rtexec::bringup {

namespace {

constexpr std::string_view own_style =
    "td { vertical-align: top; overflow-wrap: anywhere; } td.name { white-space: nowrap; } "
    "tbody th { padding-top: 18px; font-size: 14px; color: var(--ink); } "
    "ul { margin: 4px 0 0; padding-left: 18px; }";

/// Escapes a text for use between HTML tags.
std::string text_in_html(std::string_view text) {
  std::string html;
  for (const char c : config::printable(text, text.size() * 8 + 1)) {
    if (c == '&') html += "&amp;";
    else if (c == '<') html += "&lt;";
    else if (c == '>') html += "&gt;";
    else html += c;
  }
  return html;
}

std::string group_of(const std::string& item) { return item.substr(0, item.find('/')); }

const char* tone_of(Outcome outcome) {
  switch (outcome) {
  case Outcome::passed: return "good";
  case Outcome::failed: return "bad";
  case Outcome::skipped: return "soft";
  }
  return "";
}

std::string lines_in_html(std::string_view text) {
  std::string html;
  for (const auto line : config::parts(text, '\n')) html += "<p>" + text_in_html(line) + "</p>";
  return html;
}

std::string list_of(const std::vector<Figure>& figures) {
  if (figures.empty()) return {};
  std::string html = "<ul>";
  for (const Figure& figure : figures)
    html += "<li>" + text_in_html(figure.name) + ": " + text_in_html(text_of(figure)) + "</li>";
  return html + "</ul>";
}

std::string changes_of(const Entry& entry, const Comparison& comparison) {
  const auto change = std::ranges::find(comparison.changes, entry.name, &Change::item);
  if (change == comparison.changes.end()) return "<td></td>";
  const bool worse = change->lost() || !change->worse.empty();
  return std::string("<td class=\"") + (worse ? "bad" : "soft") + "\">" + text_in_html(text_of(*change)) + "</td>";
}

void write_row(const Entry& entry, const Comparison* comparison, std::ostream& out) {
  const Answer& answer = entry.answer;
  out << "<tr><td class=\"name\">" << text_in_html(entry.title) << "<br><span class=\"soft\">"
      << text_in_html(entry.name) << "</span></td><td class=\"" << tone_of(answer.outcome) << "\">"
      << name(answer.outcome) << "</td><td>" << lines_in_html(answer.state) << list_of(answer.figures) << "</td><td>"
      << lines_in_html(answer.advice) << "</td>" << (comparison == nullptr ? "" : changes_of(entry, *comparison))
      << "</tr>\n";
}

void write_head(const Report& report, const Comparison* comparison, std::ostream& out) {
  const std::size_t failures = report.count(Outcome::failed);
  out << "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
         "content=\"width=device-width\"><title>Bring-up of "
      << text_in_html(report.board) << "</title>\n<style>" << traces::page_files().css << own_style
      << "</style></head><body>\n<h1>Bring-up of board " << text_in_html(report.board) << "</h1>\n<p class=\"soft\">"
      << text_in_html(report.machine + "; " + report.time + "; rtexec " + report.version)
      << (report.emulated ? "; computed by an emulator" : "") << "</p>\n<div id=\"verdict\"><div class=\"box "
      << (failures > 0 ? "bad" : "good") << "\"><p id=\"summary\">" << report.count(Outcome::passed) << " passed, "
      << failures << " failed, " << report.count(Outcome::skipped) << " skipped"
      << "</p>";
  if (comparison != nullptr)
    out << "<p>Compared with the report " << text_in_html(comparison->earlier) << ": "
        << (comparison->changes.empty() ? "nothing changed"
                                        : std::to_string(comparison->changes.size()) + " of the items changed")
        << "</p>";
  out << "</div></div>\n";
}

} // namespace

void write_page(const Report& report, const Comparison* comparison, std::ostream& out) {
  write_head(report, comparison, out);
  out << "<div class=\"scroll\"><table><thead><tr><th>Item</th><th>Outcome</th><th>Found</th><th>What to change</th>"
      << (comparison == nullptr ? "" : "<th>Since the earlier report</th>") << "</tr></thead>\n<tbody>\n";
  std::string group;
  for (const Entry& entry : report.entries) {
    if (group_of(entry.name) != group) {
      group = group_of(entry.name);
      out << "<tr><th colspan=\"" << (comparison == nullptr ? 4 : 5) << "\">" << text_in_html(group) << "</th></tr>\n";
    }
    write_row(entry, comparison, out);
  }
  out << "</tbody></table></div>\n</body></html>\n";
}

} // namespace rtexec::bringup
