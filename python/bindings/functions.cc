// The functions of the library by their names. Nothing here is public: flashproof/*.py says what a user may rely on.
#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "properties/generators/family.h"
#include "properties/laws/law.h"
#include "python/bindings/check.h"
#include "python/bindings/door.h"
#include "python/bindings/door_time.h"
#include "python/bindings/problem_json.h"
#include "python/bindings/ptx.h"
#include "python/bindings/references.h"
#include "python/bindings/semantics.h"
#include "python/bindings/shape_features.h"
#include "python/bindings/suggest.h"
#include "python/bindings/values.h"
#include "reference/bound/backward/gradient_bound.h"
#include "reference/bound/declare/arithmetic_json.h"
#include "reference/system/error.h"
#include "reference/system/option_table.h"
#include "reports/views/terminal/verdict_block.h"

namespace flashproof::python {
namespace {

using Named = std::vector<std::pair<std::string, std::string>>;

void law_list(const Json& /*request*/, const Python& python) {
  Named named;
  for (const Law& law : laws()) named.emplace_back(law.name, law.summary);
  python.answer(named);
}

void family_list(const Json& request, const Python& python) {
  Named named;
  const ProblemKind problem = problem_kind(value<std::string>(request, "problem"));
  for (const Family* family : families_named(problem, value<std::vector<std::string>>(request, "globs")))
    named.emplace_back(family->name, family->summary);
  python.answer(named);
}

void arithmetic_list(const Json& request, const Python& python) {
  Named named;
  const ProblemKind kind = problem_kind(value<std::string>(request, "problem"));
  const auto presets = kind == ProblemKind::backward ? gradient_presets() : arithmetic_presets(kind);
  for (const ArithmeticPreset& preset : presets) named.emplace_back(preset.name, preset.text);
  python.answer(named);
}

/// The rows of the option table that a command takes, for the parser of a shell's words.
void option_list(const Json& request, const Python& python) {
  Json list = Json::array();
  for (const OptionDeclaration* option : options_of(value<std::string>(request, "command"))) {
    list.push_back(
        {{"name", option->name},
         {"type", option->type},
         {"help", option->help},
         {"range", option->legal.range()},
         {"number", option->legal.kind == LegalValue::Kind::whole || option->legal.kind == LegalValue::Kind::real},
         {"repeats", option->repeats}});
  }
  python.answer(list);
}

/// The number that a text is, where the row lets it be one. `shown`: the option as the user wrote it.
void option_number(const Json& request, const Python& python) {
  const LegalValue& legal =
      declared_option(value<std::string>(request, "command"), value<std::string>(request, "option")).legal;
  const auto shown = value<std::string>(request, "shown"), text = value<std::string>(request, "text");
  if (legal.kind == LegalValue::Kind::real) return python.answer(legal.real(shown, text));
  python.answer(legal.whole(shown, text));
}

void feature_list(const Json& /*request*/, const Python& python) { python.answer(feature_names()); }

std::vector<BlockNote> notes_of(const Json& request, const char* list) {
  std::vector<BlockNote> notes;
  for (const auto& [heading, text] : request.at(list).get<Named>()) notes.push_back({heading, text});
  return notes;
}

/// The block of the commands, of what Python found. A cause is (sentence, extent, replay).
void shown_block(const Json& request, const Python& python) {
  constexpr std::pair<std::string_view, BlockOutcome> kOutcomes[] = {{"pass", BlockOutcome::pass},
                                                                     {"fail", BlockOutcome::fail},
                                                                     {"undecided", BlockOutcome::undecided},
                                                                     {"partial", BlockOutcome::partial}};
  const auto outcome = value<std::string>(request, "outcome");
  const auto* of = std::ranges::find(kOutcomes, outcome, &std::pair<std::string_view, BlockOutcome>::first);
  if (of == std::end(kOutcomes)) throw UsageError("outcome " + outcome + ": legal pass, fail, undecided, partial");
  VerdictBlock block{of->second,
                     value<std::string>(request, "sentence"),
                     notes_of(request, "tested"),
                     {},
                     notes_of(request, "notes"),
                     notes_of(request, "rest"),
                     "result.details()"};
  for (const auto& cause : value<std::vector<std::vector<std::string>>>(request, "causes"))
    block.causes.push_back({cause.at(0), cause.at(1), cause.at(2)});
  python.answer(block_text(block, value<bool>(request, "colour") ? Colour::on : Colour::off));
}

void stdout_has_colour(const Json& /*request*/, const Python& python) { python.answer(colour_of(1) == Colour::on); }

/// Of a failure by its name what it says; of a name that is none of them, that of a fault of the call, the name.
void failure_words(const Json& request, const Python& python) {
  auto words = value<std::string>(request, "failure");
  for (int i = 0; i <= static_cast<int>(Failure::error); ++i) {
    const auto one = static_cast<Failure>(i);
    if (one != Failure::none && name(one) == words) return python.answer(in_words(one));
  }
  python.answer(words);
}

constexpr std::pair<std::string_view, Function> kFunctions[] = {{"arithmetics", arithmetic_list},
                                                                {"block_text", shown_block},
                                                                {"bound", bound},
                                                                {"check", check},
                                                                {"families", family_list},
                                                                {"features", feature_list},
                                                                {"in_words", failure_words},
                                                                {"laws", law_list},
                                                                {"make_case", make_case},
                                                                {"option_number", option_number},
                                                                {"options", option_list},
                                                                {"ptx_drop", ptx_drop},
                                                                {"ptx_launch", ptx_launch},
                                                                {"ptx_module", ptx_module},
                                                                {"ptx_program", ptx_program},
                                                                {"ptx_tensor_map", ptx_tensor_map},
                                                                {"read_witness", read_witness},
                                                                {"seconds_per_call", seconds_per_call},
                                                                {"semantics", semantics_table},
                                                                {"semantics_words", semantics_in_words},
                                                                {"stdout_has_colour", stdout_has_colour},
                                                                {"suggest", suggest},
                                                                {"truth", truth},
                                                                {"write_witness", write_witness}};

}  // namespace

Function function_named(std::string_view name) {
  for (const auto& [one, function] : kFunctions) {
    if (one == name) return function;
  }
  throw UsageError("function " + std::string(name) + ": there is none of this name");
}

}  // namespace flashproof::python
