// A suggestion as text to paste: JSON for a description, TOML for --declare, keywords for Python.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "reference/system/text.h"
#include "reports/suggest/suggest.h"

namespace flashproof {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostUnexplained = 5;

/// As an inline value of TOML, or a literal of Python: texts, integers and doubles are what JSON writes.
std::string literal(const Json& json, bool python) {
  if (json.is_boolean()) return python ? (json.get<bool>() ? "True" : "False") : json.dump();
  if (!json.is_object()) return json.dump();
  std::string text;
  for (const auto& [key, value] : json.items()) {
    text += fmt::format("{}{}{}{}", text.empty() ? "" : ", ", python ? "\"" + key + "\": " : key + " = ",
                        literal(value, python), "");
  }
  return python ? "{" + text + "}" : "{ " + text + " }";
}

std::string to_paste(const Suggestion& s, const std::string& id) {
  const Json arithmetic = Json::parse(s.arithmetic);
  Json fields = Json::object();
  // Of a callable its keywords alone.
  const Json semantics = Json::parse(s.semantics);
  if (!semantics.is_object() || !semantics.empty()) fields["semantics"] = semantics;
  fields["arithmetic"] = arithmetic;
  std::string json, toml, python;
  for (const auto& [name, value] : fields.items()) {
    json += fmt::format("{}\"{}\": {}", json.empty() ? "" : ", ", name, value.dump());
    toml += fmt::format("  {} = {}\n", name, literal(value, false));
    python += fmt::format("{}{}={}", python.empty() ? "" : ", ", name, literal(value, true));
  }
  std::string text;
  if (!id.empty()) {
    text += fmt::format("in the description:\n  {}\n", json);
    text += fmt::format("in a file for check --declare:\n  [kernel.\"{}\"]\n{}", id, toml);
  }
  return text + fmt::format("in Python:\n  {}\n", python);
}

std::string unexplained(const Suggestion& s) {
  std::string text;
  for (std::size_t i = 0; i < std::min(s.unexplained.size(), kMostUnexplained); ++i) {
    const auto& [spec, verdict] = s.unexplained[i];
    text += fmt::format("  {}  {}: {}\n", to_string(spec), name(verdict.failure), one_line(verdict.detail));
  }
  const std::size_t more = s.unexplained.size() - std::min(s.unexplained.size(), kMostUnexplained);
  return more > 0 ? text + fmt::format("  {} more\n", more) : text;
}

}  // namespace

std::string suggestion_text(const Suggestion& s, const std::string& heading, const std::string& id) {
  std::string text;
  if (s.found) {
    text = fmt::format("FOUND {}: a declaration explains all of {} cases\n", heading, s.cases);
    text += to_paste(s, id);
    if (!s.alternative.empty()) {
      text += fmt::format("the arithmetic is open; of what it stands for these fields explain the cases:\n  {}\n",
                          s.alternative);
    }
  } else if (s.unexplained.empty()) {
    text = fmt::format("UNDECIDED {}: what explains all of {} cases would decide too little: {}\n", heading, s.cases,
                       one_line(s.undecided));
  } else {
    text = fmt::format(
        "NOT EXPLAINED {}: no declaration explains all of {} cases; the nearest leaves {} unexplained:\n  {}\n",
        heading, s.cases, s.unexplained.size(), fmt::format("semantics {}, arithmetic {}", s.semantics, s.arithmetic));
    text += "unexplained, the smallest case first:\n" + unexplained(s);
  }
  for (const std::string& note : s.notes) text += fmt::format("note: {}\n", note);
  return text;
}

}  // namespace flashproof
