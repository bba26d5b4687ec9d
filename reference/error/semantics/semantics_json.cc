#include "reference/error/semantics/semantics_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "reference/system/error.h"
#include "reference/system/near_matches.h"
#include "reference/system/strict_json.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 4> kEmptyO = {"zero", "nan", "mean", "any"};
constexpr std::array<std::string_view, 4> kLse = {"nan", "+inf", "-inf", "any"};
constexpr std::array<std::string_view, 2> kBase = {"e", "2"};
constexpr std::array<std::string_view, 2> kDiagonal = {"bottom_right", "top_left"};
constexpr std::array<std::string_view, 2> kNanO = {"nan", "any"};
constexpr std::array<std::string_view, 2> kInfState = {"nan", "empty"};

bool of_all(ProblemKind kind) { return kind != ProblemKind::backward; }
bool of_attention(ProblemKind kind) { return kind == ProblemKind::attention; }
bool of_merge(ProblemKind kind) { return kind == ProblemKind::merge; }

template <auto Member>
constexpr SemanticsField field(std::string_view name, std::span<const std::string_view> legal, bool (*of)(ProblemKind),
                               std::string_view meaning) {
  using Value = std::remove_cvref_t<decltype(Semantics{}.*Member)>;
  return {name,
          meaning,
          legal,
          [](const Semantics& s) { return static_cast<std::size_t>(s.*Member); },
          [](Semantics& s, std::size_t value) { s.*Member = static_cast<Value>(value); },
          of};
}

constexpr SemanticsField kFields[] = {
    field<&Semantics::empty_o>("empty_o", kEmptyO, of_all, "o of rows without keys"),
    field<&Semantics::empty_lse>("empty_lse", kLse, of_all, "lse of rows without keys"),
    field<&Semantics::lse_base>("lse_base", kBase, of_all, "the base of the logarithm lse, of merged states too"),
    field<&Semantics::diagonal>("diagonal", kDiagonal, of_attention, "the alignment of causal and window"),
    field<&Semantics::nan_o>("nan_o", kNanO, of_all, "o where NaN is right"),
    field<&Semantics::nan_lse>("nan_lse", kLse, of_all, "lse of rows that see NaN"),
    field<&Semantics::inf_lse>("inf_lse", kLse, of_all, "lse of rows that see a score of +inf"),
    field<&Semantics::inf_state>("inf_state", kInfState, of_merge, "a state of lse = +inf"),
};

constexpr SemanticsPreset kPresets[] = {
    {"torch-sdpa",
     ProblemKind::attention,
     {.empty_lse = LseValue::any, .diagonal = Diagonal::top_left},
     "is_causal is causal_upper_left (torch.nn.attention.bias); rows without keys are 0 by _safe_softmax "
     "(aten/src/ATen/native/transformers/attention.cpp); lse is no part of the interface"},
    {"flash-attention-2",
     ProblemKind::attention,
     {.empty_lse = LseValue::plus_infinity, .nan_lse = LseValue::plus_infinity, .inf_lse = LseValue::plus_infinity},
     "csrc/flash_attn/src/softmax.h, normalize_softmax_lse without Split: +inf where the sum is 0 or NaN; README, 2.1: "
     "causal is "
     "aligned bottom right"},
    {"flash-attention-3",
     ProblemKind::attention,
     {.nan_lse = LseValue::minus_infinity, .inf_lse = LseValue::minus_infinity},
     "hopper/softmax.h, finalize: -inf where the sum is 0 or NaN"},
    {"flashinfer",
     ProblemKind::attention,
     {.lse_base = LseBase::two},
     "include/flashinfer/attention/state.cuh, get_lse: m + log2(d), m = -inf at first"},
    {"flashinfer",
     ProblemKind::merge,
     {.empty_o = EmptyOutput::nan, .empty_lse = LseValue::nan, .lse_base = LseBase::two},
     "include/flashinfer/attention/cascade.cuh, MergeStateKernel: exp2(s - max(s)), of two states of -inf NaN"},
    {"cudnn",
     ProblemKind::attention,
     {.empty_o = EmptyOutput::any, .empty_lse = LseValue::any, .diagonal = Diagonal::top_left},
     "cudnn-frontend, docs/operations/Attention.md: the causal mask is top left unless bottom right is asked for; of "
     "rows without "
     "keys it says nothing"},
    {"triton-tutorial",
     ProblemKind::attention,
     {.lse_base = LseBase::two, .diagonal = Diagonal::top_left},
     "python/tutorials/06-fused-attention.py: M = m + log2(l), scores times 1.44269504; row >= column is visible"},
    {"vllm-merge",
     ProblemKind::merge,
     {.empty_o = EmptyOutput::nan, .empty_lse = LseValue::nan, .inf_state = InfiniteState::empty},
     "csrc/attention/merge_attn_states.cu at 0150b0b: infinities become -inf, lse - max of -inf alone is NaN"},
    {"jax",
     ProblemKind::attention,
     {.empty_o = EmptyOutput::mean, .empty_lse = LseValue::any, .diagonal = Diagonal::top_left},
     "jax/_src/nn/functions.py: masked scores are -0.7 times the largest number, _get_causal_mask is tril(ones(T, S))"},
};

std::size_t known(std::string_view what, const std::string& word, const std::vector<std::string_view>& legal) {
  const auto found = std::ranges::find(legal, word);
  if (found != legal.end()) return static_cast<std::size_t>(found - legal.begin());
  const auto near = near_matches(word, legal);
  throw UsageError(fmt::format("{} {}; {}legal: {}", what, quote(word),
                               near.empty() ? "" : fmt::format("near: {}; ", fmt::join(near, ", ")),
                               fmt::join(legal, ", ")));
}

Semantics preset(const std::string& name, ProblemKind problem) {
  std::vector<std::string_view> names;
  std::vector<const SemanticsPreset*> list;
  for (const SemanticsPreset& one : kPresets) {
    if (one.problem == problem) names.push_back(one.name), list.push_back(&one);
  }
  if (names.empty())
    throw UsageError(fmt::format("preset {}: there is none of {}", quote(name), flashproof::name(problem)));
  return list[known("unknown preset", name, names)]->semantics;
}

std::string text_of(const Json& value, std::string_view name) {
  constexpr std::size_t kLongest = 64;
  if (!value.is_string() || value.get_ref<const std::string&>().size() > kLongest)
    throw UsageError(fmt::format("{}: legal: a text", name));
  return value.get<std::string>();
}

void read_field(const std::string& name, const Json& value, ProblemKind problem, Semantics& semantics) {
  std::vector<std::string_view> names = {"preset"};
  for (const SemanticsField& one : kFields) {
    if (one.of(problem)) names.push_back(one.name);
  }
  const std::string_view found = names[known("unknown field", name, names)];
  if (found == "preset") return;
  const SemanticsField& field = *std::ranges::find(kFields, found, &SemanticsField::name);
  std::vector<std::string_view> legal;
  std::vector<std::size_t> values;
  for (std::size_t i = 0; i < field.legal.size(); ++i) {
    if (!is_legal(field, i, problem)) continue;
    legal.push_back(field.legal[i]), values.push_back(i);
  }
  field.set(semantics, values[known(std::string(found) + ":", text_of(value, found), legal)]);
}

}  // namespace

std::span<const SemanticsField> semantics_fields() { return kFields; }
std::span<const SemanticsPreset> semantics_presets() { return kPresets; }

bool is_legal(const SemanticsField& field, std::size_t value, ProblemKind problem) {
  if (!field.of(problem) || value >= field.legal.size()) return false;
  return problem == ProblemKind::attention || field.legal[value] != "mean";
}

Semantics parse_semantics(const std::string& json, ProblemKind problem) {
  constexpr int kDeepest = 2;
  const Json given = strict_json<Json>(json, kDeepest);
  if (problem == ProblemKind::backward) throw UsageError("legal of a gradient: nothing");
  if (given.is_string()) return preset(text_of(given, "preset"), problem);
  if (!given.is_object()) throw UsageError("legal: the name of a preset, or an object");
  Semantics semantics;
  if (const auto found = given.find("preset"); found != given.end()) {
    semantics = preset(text_of(*found, "preset"), problem);
  }
  for (const auto& [name, value] : given.items()) read_field(name, value, problem, semantics);
  return semantics;
}

std::string semantics_json(const Semantics& semantics, ProblemKind problem) {
  constexpr Semantics kReference;
  Json json = Json::object();
  for (const SemanticsField& field : kFields) {
    if (field.get(semantics) != field.get(kReference))
      json[std::string(field.name)] = field.legal[field.get(semantics)];
  }
  const auto same = std::ranges::find_if(
      kPresets, [&](const SemanticsPreset& p) { return p.problem == problem && p.semantics == semantics; });
  if (json.size() > 1 && same != std::end(kPresets)) json = same->name;
  return json.dump();
}

std::vector<std::string> semantics_words(const Semantics& semantics) {
  constexpr Semantics kReference;
  std::vector<std::string> list;
  for (const SemanticsField& field : kFields) {
    if (field.get(semantics) == field.get(kReference)) continue;
    const std::string_view value = field.legal[field.get(semantics)];
    list.push_back(fmt::format("{} {}", field.meaning, value == "any" ? "is not judged" : fmt::format("is {}", value)));
  }
  return list;
}

}  // namespace flashproof
