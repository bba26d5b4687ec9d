#include "kernels/ptx/map/map.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "kernels/ptx/map/address.h"
#include "kernels/ptx/map/argument.h"
#include "kernels/ptx/translate/translate.h"
#include "reference/problem/problems.h"
#include "reference/system/error.h"
#include "reference/system/near_matches.h"
#include "reference/system/text.h"

namespace flashproof::ptx {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostLaunches = 16, kMostScratch = 16;

/// what(), and where it stands before what it throws.
template <class Function>
auto at(const std::string& place, Function what) {
  try {
    return what();
  } catch (const UsageError& e) {
    throw UsageError(place + ": " + e.what());
  }
}

void refuse_unknown(const Json& table, const std::vector<std::string_view>& legal) {
  for (const auto& [key, value] : table.items()) {
    if (std::ranges::find(legal, key) != legal.end()) continue;
    throw UsageError(
        fmt::format("unknown key {}{}; legal: {}", quote(key), did_you_mean(key, legal), fmt::join(legal, ", ")));
  }
}

/// One to three; those that are not given are 1.
std::array<Expression, 3> sizes(const Json& table, const char* key, int problem) {
  const std::string legal = fmt::format("{}: legal: a whole number, an expression, or an array of one to three", key);
  const auto given = table.find(key);
  if (given == table.end()) throw UsageError(legal);
  const Json list = given->is_array() ? *given : Json::array({*given});
  if (list.empty() || list.size() > 3) throw UsageError(legal);
  std::array<Expression, 3> sizes = {Expression(std::int64_t{1}), Expression(std::int64_t{1}),
                                     Expression(std::int64_t{1})};
  for (std::size_t i = 0; i < list.size(); ++i) sizes.at(i) = at(key, [&] { return expression_of(list[i], problem); });
  return sizes;
}

MappedLaunch launch_of(const Json& table, const Map& map, const Module& module, const std::string& place) {
  MappedLaunch launch;
  launch.place = place;
  if (!table.is_object()) throw UsageError("legal: tables, each headed [[launch]]");
  refuse_unknown(table, {"entry", "grid", "block", "shared", "arguments"});
  const auto name = table.find("entry");
  if (name != table.end() && !name->is_string()) throw UsageError("entry: legal: the name of an entry");
  const Entry& entry = at("entry", [&]() -> const Entry& {
    return find_entry(module, name == table.end() ? "" : name->get<std::string>());
  });
  launch.entry = entry.name;
  launch.grid = sizes(table, "grid", map.problem);
  launch.block = sizes(table, "block", map.problem);
  const auto shared = table.find("shared");
  launch.shared = shared == table.end() ? Expression(std::int64_t{0})
                                        : at("shared", [&] { return expression_of(*shared, map.problem); });
  const auto arguments = table.find("arguments");
  if (arguments == table.end() || !arguments->is_array() || arguments->size() != entry.parameters.size()) {
    throw UsageError(fmt::format("arguments: {} has {} parameters, legal: an array of as many", quote(entry.name),
                                 entry.parameters.size()));
  }
  for (std::size_t i = 0; i < arguments->size(); ++i) {
    const std::string where = fmt::format("arguments {}", i + 1);
    std::vector<Piece> pieces = at(where, [&] {
      std::vector<Piece> made = pieces_of((*arguments)[i], entry.parameters[i], map);
      if (made[0].kind == Piece::Kind::value && made[0].expression.text() != "0" && is_address(entry, i)) {
        throw UsageError(fmt::format("{}: {} uses it as an address, legal: a tensor, scratch memory, 0 for none",
                                     quote(made[0].expression.text()), quote(entry.name)));
      }
      return made;
    });
    for (Piece& piece : pieces) {
      piece.place = where;
      launch.pieces.push_back(std::move(piece));
    }
  }
  return launch;
}

void read_id(Map& map, const Json& fields) {
  std::vector<std::string_view> problems;
  for (int i = 0; i <= FLASHPROOF_ATTENTION_BACKWARD; ++i) problems.push_back(name(static_cast<ProblemKind>(i)));
  const auto given = fields.find("id");
  map.id = given == fields.end() || !given->is_string() ? "" : given->get<std::string>();
  const auto problem = std::ranges::find(problems, std::string_view(map.id).substr(0, map.id.find('.')));
  if (problem == problems.end()) {
    throw UsageError(fmt::format("id: legal: PROBLEM.NAME.NAME, as \"softmax.row.mine\", of the problems {}",
                                 fmt::join(problems, ", ")));
  }
  map.problem = static_cast<int>(problem - problems.begin());
}

void read_scratch(Map& map, const Json& table) {
  const std::string legal = fmt::format("a table of at most {}: NAME = bytes, a number or an expression", kMostScratch);
  if (!table.is_object() || table.size() > kMostScratch) throw UsageError("legal: " + legal);
  const std::vector<std::string_view> taken = all_names(map.problem);
  for (const auto& [name, bytes] : table.items()) {
    if (std::ranges::find(taken, name) != taken.end() || !is_name(name)) {
      throw UsageError(fmt::format("{}: legal: a name of [a-z][a-z0-9_]* that the problem has not", quote(name)));
    }
    map.scratch.push_back({name, at(name, [&] { return expression_of(bytes, map.problem); })});
  }
}

}  // namespace

Map read_map(const std::string& file, const Json& fields, const Module& module) {
  Map map;
  map.file = file;
  at(file, [&] {
    if (!fields.is_object()) throw UsageError("legal: a table");
    read_id(map, fields);
    if (const auto scratch = fields.find("scratch"); scratch != fields.end()) {
      at("scratch", [&] { read_scratch(map, *scratch); });
    }
    const auto launches = fields.find("launch");
    if (launches == fields.end() || !launches->is_array() || launches->empty() || launches->size() > kMostLaunches) {
      throw UsageError(fmt::format(
          "launch: legal: 1 to {} tables, each headed [[launch]], in the order in which they run", kMostLaunches));
    }
    for (std::size_t i = 0; i < launches->size(); ++i) {
      const std::string place = fmt::format("launch {}", i + 1);
      map.launches.push_back(at(place, [&] { return launch_of((*launches)[i], map, module, place); }));
    }
    Json rest = fields;
    for (const char* key : {"id", "scratch", "launch"}) rest.erase(key);
    map.description = rest.dump();
  });
  return map;
}

}  // namespace flashproof::ptx
