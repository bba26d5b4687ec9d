#include "properties/generators/keys.h"

#include <charconv>
#include <cmath>
#include <vector>

#include "properties/generators/family.h"
#include "reference/system/error.h"
#include "reference/system/near_matches.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

using enum KeyInfo::Kind;

constexpr std::string_view kFormats[] = {"f32", "f16", "bf16"};
constexpr std::string_view kLayouts[] = {"dense", "padded", "transposed"};
constexpr std::string_view kOrders[] = {"forward", "reverse", "random"};
constexpr std::string_view kForms[] = {"sum", "concat"};
constexpr std::string_view kNone[] = {"none"};
constexpr std::string_view kEightBits[] = {"e4m3fn", "e5m2"};
constexpr std::string_view kDescale[] = {"around_one", "powers", "large", "tiny", "negative", "zero"};

constexpr std::int64_t kMaxRows = 1 << 20;

constexpr KeyInfo kSoftmaxKeys[] = {
    {"format", choice, 0, 0, kFormats},      {"layout", choice, 0, 0, kLayouts},
    {"rows", integer, 0, kMaxRows},          {"cols", integer, 0, kMaxCaseElements},
    {"chunk", integer, 1, kMaxCaseElements}, {"order", choice_or_index, 0, 0, kOrders},
};

constexpr KeyInfo kMergeKeys[] = {
    {"format", choice, 0, 0, kFormats},
    {"layout", choice, 0, 0, kLayouts},
    {"n", integer, 1, 4096},
    {"rows", integer, 0, kMaxRows},
    {"dv", integer, 1, 65536},
    {"form", choice, 0, 0, kForms},
    {"order", choice_or_index, 0, 0, kOrders},
};

constexpr KeyInfo kAttentionKeys[] = {
    {"format", choice, 0, 0, kFormats},
    {"layout", choice, 0, 0, kLayouts},
    {"b", integer, 1, 1024},
    {"hq", integer, 1, 256},
    {"hk", integer, 1, 256},
    {"sq", integer, 0, kMaxRows},
    {"sk", integer, 0, kMaxRows},
    {"d", integer, 1, 1024},
    {"dv", integer, 1, 1024},
    {"causal", integer, 0, 1},
    {"scale", number, 0, 0},
    {"bias", choice, 0, 0, kNone},
    {"features", integer, 0, 1023},
    {"kv_format", choice, 0, 0, kEightBits},
    {"descale", choice, 0, 0, kDescale},
    {"chunk", integer, 1, kMaxRows},
    {"order", choice_or_index, 0, 0, kOrders},
};

const KeyInfo* find_key(ProblemKind problem, std::string_view name) {
  for (const KeyInfo& key : keys_of(problem)) {
    if (key.name == name) return &key;
  }
  return nullptr;
}

template <class Number>
std::optional<Number> parse(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool among(std::string_view text, std::span<const std::string_view> choices) {
  for (const std::string_view choice : choices) {
    if (choice == text) return true;
  }
  return false;
}

void check_value(const KeyInfo& key, const std::string& text) {
  const std::string start = "key " + std::string(key.name) + ": " + quote(text) + " is not ";
  switch (key.kind) {
    case integer: {
      const auto value = parse<std::int64_t>(text);
      if (!value || *value < key.lo || *value > key.hi) {
        throw UsageError(start + "an integer in " + std::to_string(key.lo) + ".." + std::to_string(key.hi));
      }
      return;
    }
    case number: {
      const auto value = parse<double>(text);
      if (!value || !std::isfinite(round_to(Format::f32, *value))) {
        throw UsageError(start + "a finite f32 number, -3.4028234e38..3.4028234e38");
      }
      return;
    }
    case choice_or_index: {
      const auto value = parse<std::int64_t>(text);
      if (value && *value >= 0) return;  // the upper end depends on the number of chunks; see plan.cc
      if (!among(text, key.choices)) {
        throw UsageError(start + join(key.choices, ", ") + " or the index of a permutation, 0..n!-1" +
                         did_you_mean(text, key.choices));
      }
      return;
    }
    case choice:
      if (!among(text, key.choices)) {
        throw UsageError(start + join(key.choices, " or ") + did_you_mean(text, key.choices));
      }
      return;
  }
}

}  // namespace

std::span<const KeyInfo> keys_of(ProblemKind problem) {
  const std::span<const KeyInfo> all[] = {kSoftmaxKeys, kMergeKeys, kAttentionKeys, kAttentionKeys};
  return all[static_cast<std::size_t>(problem)];
}

void check_keys(const CaseSpec& spec) {
  for (const auto& [name, value] : spec.keys) {
    const KeyInfo* key = find_key(spec.problem, name);
    if (key == nullptr) {
      std::vector<std::string_view> names;
      for (const KeyInfo& known : keys_of(spec.problem)) names.push_back(known.name);
      throw UsageError("key " + quote(name) + " does not exist for " + std::string(flashproof::name(spec.problem)) +
                       did_you_mean(name, names) + "; legal keys: " + join(names, ", "));
    }
    check_value(*key, value);
  }
}

std::optional<std::int64_t> integer_key(const CaseSpec& spec, std::string_view name) {
  const auto text = text_key(spec, name);
  return text ? parse<std::int64_t>(*text) : std::nullopt;
}

std::optional<double> number_key(const CaseSpec& spec, std::string_view name) {
  const auto text = text_key(spec, name);
  return text ? parse<double>(*text) : std::nullopt;
}

std::optional<std::string> text_key(const CaseSpec& spec, std::string_view name) {
  const auto found = spec.keys.find(std::string(name));
  if (found == spec.keys.end()) return std::nullopt;
  return found->second;
}

std::string join(std::span<const std::string_view> names, std::string_view last_separator) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += i + 1 == names.size() ? last_separator : ", ";
    out += names[i];
  }
  return out;
}

}  // namespace flashproof
