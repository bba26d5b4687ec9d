// The extension module flashproof._flashproof. Nothing here is public: flashproof/*.py says what a user may rely on.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <iterator>

#include "properties/generators/family.h"
#include "properties/laws/law.h"
#include "python/bindings/check.h"
#include "python/bindings/door_time.h"
#include "python/bindings/problem_dict.h"
#include "python/bindings/references.h"
#include "python/bindings/semantics.h"
#include "python/bindings/shape_features.h"
#include "python/bindings/suggest.h"
#include "reference/bound/arithmetic_json.h"
#include "reference/bound/backward/gradient_bound.h"
#include "reference/problem/error.h"
#include "reports/views/terminal/verdict_block.h"

namespace nb = nanobind;

namespace flashproof::python {
namespace {

using Named = std::vector<std::pair<std::string, std::string>>;

Named law_list() {
  Named list;
  for (const Law& law : laws()) list.emplace_back(law.name, law.summary);
  return list;
}

Named family_list(const std::string& problem, const std::vector<std::string>& globs) {
  Named list;
  for (const Family* family : families_named(problem_kind(problem), globs))
    list.emplace_back(family->name, family->summary);
  return list;
}

Named arithmetic_list(const std::string& problem) {
  Named list;
  const ProblemKind kind = problem_kind(problem);
  const auto presets = kind == ProblemKind::backward ? gradient_presets() : arithmetic_presets(kind);
  for (const ArithmeticPreset& preset : presets) list.emplace_back(preset.name, preset.text);
  return list;
}

Returns returns_named(const std::string& text) {
  if (text == "both") return Returns::both;
  if (text == "o") return Returns::o;
  if (text == "lse") return Returns::lse;
  throw UsageError("returns " + text + ": legal both, o, lse");
}

using Notes = std::vector<std::pair<std::string, std::string>>;

std::vector<BlockNote> notes_of(const Notes& pairs) {
  std::vector<BlockNote> notes;
  for (const auto& [heading, text] : pairs) notes.push_back({heading, text});
  return notes;
}

/// The block of the commands, of what Python found. A cause is (sentence, extent, replay).
std::string shown_block(const std::string& outcome, const std::string& sentence, const Notes& tested,
                        const std::vector<std::vector<std::string>>& causes, const Notes& notes, const Notes& rest,
                        bool colour) {
  constexpr std::pair<std::string_view, BlockOutcome> kOutcomes[] = {{"pass", BlockOutcome::pass},
                                                                     {"fail", BlockOutcome::fail},
                                                                     {"undecided", BlockOutcome::undecided},
                                                                     {"partial", BlockOutcome::partial}};
  const auto* of = std::ranges::find(kOutcomes, outcome, &std::pair<std::string_view, BlockOutcome>::first);
  if (of == std::end(kOutcomes)) throw UsageError("outcome " + outcome + ": legal pass, fail, undecided, partial");
  VerdictBlock block{of->second, sentence, notes_of(tested), {}, notes_of(notes), notes_of(rest), "result.details()"};
  for (const std::vector<std::string>& cause : causes) block.causes.push_back({cause.at(0), cause.at(1), cause.at(2)});
  return block_text(block, colour ? Colour::on : Colour::off);
}

/// Of a failure by its name what it says; of a name that is none of them, that of a fault of the call, the name.
std::string failure_words(const std::string& failure) {
  for (int i = 0; i <= static_cast<int>(Failure::error); ++i) {
    const auto one = static_cast<Failure>(i);
    if (one != Failure::none && name(one) == failure) return std::string(in_words(one));
  }
  return failure;
}

}  // namespace
}  // namespace flashproof::python

NB_MODULE(_flashproof, m) {
  namespace fp = flashproof;
  namespace py = flashproof::python;
  nb::exception<fp::UsageError>(m, "UsageError", PyExc_ValueError);
  nb::exception<fp::InfrastructureError>(m, "InfrastructureError", PyExc_RuntimeError);
  m.def("laws", &py::law_list);
  m.def("families", &py::family_list, nb::arg("problem"), nb::arg("globs"));
  m.def("arithmetics", &py::arithmetic_list, nb::arg("problem"));
  m.def("features", &py::feature_names);
  m.def("truth", &py::truth, nb::arg("problem"), nb::arg("narrow"));
  m.def("bound", &py::bound, nb::arg("problem"), nb::arg("arithmetic"));
  m.def("make_case", &py::make_case, nb::arg("line"));
  m.def("read_witness", &py::read_witness, nb::arg("path"));
  m.def("write_witness", &py::write_witness, nb::arg("path"), nb::arg("problem"), nb::arg("case_line"),
        nb::arg("notes"));
  m.def(
      "seconds_per_call",
      [](nb::object call, const std::string& line, std::uint64_t runs) {
        const fp::CaseSpec spec = fp::parse_case_spec(line);
        const auto format = spec.keys.find("format");
        py::CallableDeclaration declaration{.id = "door",
                                            .problem = spec.problem,
                                            .format = py::format_named(format == spec.keys.end() ? "" : format->second),
                                            .arithmetic = "unknown",
                                            .contract = {},
                                            .takes = {"causal", "cross", "scale"},
                                            .call = std::move(call),
                                            .refuses = nb::none()};
        return py::seconds_per_call(std::move(declaration), line, runs);
      },
      nb::arg("call"), nb::arg("line"), nb::arg("runs"));
  m.def(
      "check",
      [](std::string id, const std::string& problem, const std::string& format, std::string arithmetic,
         const std::string& semantics, const std::string& returns, bool deterministic, bool batch_invariant,
         bool isolates_hidden, bool saturates, std::vector<std::string> takes, nb::object call, nb::object refuses,
         std::vector<std::string> laws, std::vector<std::string> families, std::uint64_t seed, std::uint64_t cases,
         std::uint64_t measured, double seconds, std::string witnesses, std::vector<std::string> replay,
         std::string program, nb::object progress) {
        py::CallableDeclaration declaration;
        declaration.id = std::move(id);
        declaration.problem = py::problem_kind(problem);
        declaration.format = py::format_named(format);
        declaration.arithmetic = std::move(arithmetic);
        declaration.contract.semantics = py::semantics_named(semantics, declaration.problem);
        declaration.contract.returns = py::returns_named(returns);
        declaration.contract.deterministic = deterministic;
        declaration.contract.batch_invariant = batch_invariant;
        declaration.contract.isolates_hidden = isolates_hidden;
        declaration.contract.overflow = saturates ? fp::Overflow::saturate : fp::Overflow::ieee;
        declaration.takes = std::move(takes);
        declaration.call = std::move(call);
        declaration.refuses = std::move(refuses);
        return py::check(std::move(declaration),
                         {std::move(laws), std::move(families), seed, cases, measured, seconds, std::move(witnesses),
                          std::move(replay), std::move(program), std::move(progress)});
      },
      nb::kw_only(), nb::arg("id"), nb::arg("problem"), nb::arg("format"), nb::arg("arithmetic"), nb::arg("semantics"),
      nb::arg("returns"), nb::arg("deterministic"), nb::arg("batch_invariant"), nb::arg("isolates_hidden"),
      nb::arg("saturates"), nb::arg("takes"), nb::arg("call"), nb::arg("refuses").none(), nb::arg("laws"),
      nb::arg("families"), nb::arg("seed"), nb::arg("cases"), nb::arg("measured"), nb::arg("seconds"),
      nb::arg("witnesses"), nb::arg("replay"), nb::arg("program"), nb::arg("progress").none());
  m.def(
      "suggest",
      [](std::string id, const std::string& problem, const std::string& format, const std::string& returns,
         bool isolates_hidden, bool saturates, std::vector<std::string> takes, nb::object call, nb::object refuses,
         const std::vector<std::string>& families, std::uint64_t seed, std::uint64_t cases, nb::object progress) {
        py::CallableDeclaration declaration;
        declaration.id = std::move(id);
        declaration.problem = py::problem_kind(problem);
        declaration.format = py::format_named(format);
        declaration.arithmetic = "unknown";
        declaration.contract.returns = py::returns_named(returns);
        declaration.contract.isolates_hidden = isolates_hidden;
        declaration.contract.overflow = saturates ? fp::Overflow::saturate : fp::Overflow::ieee;
        declaration.takes = std::move(takes);
        declaration.call = std::move(call);
        declaration.refuses = std::move(refuses);
        return py::suggest(std::move(declaration), {families, seed, cases, std::move(progress)});
      },
      nb::kw_only(), nb::arg("id"), nb::arg("problem"), nb::arg("format"), nb::arg("returns"),
      nb::arg("isolates_hidden"), nb::arg("saturates"), nb::arg("takes"), nb::arg("call"), nb::arg("refuses").none(),
      nb::arg("families"), nb::arg("seed"), nb::arg("cases"), nb::arg("progress").none());
  m.def("semantics_words", &py::semantics_in_words, nb::arg("semantics"), nb::arg("problem"));
  m.def("semantics", &py::semantics_table, nb::arg("problem"));
  m.def("block_text", &py::shown_block, nb::kw_only(), nb::arg("outcome"), nb::arg("sentence"), nb::arg("tested"),
        nb::arg("causes"), nb::arg("notes"), nb::arg("rest"), nb::arg("colour"));
  m.def("stdout_has_colour", [] { return fp::colour_of(1) == fp::Colour::on; });
  m.def("in_words", &py::failure_words, nb::arg("failure"));
}
