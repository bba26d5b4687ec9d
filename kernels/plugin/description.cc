#include "kernels/plugin/description.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <span>

#include "kernels/plugin.h"
#include "kernels/plugin/description_reader.h"
#include "reference/bound/backward/arithmetic_json.h"
#include "reference/bound/declare/arithmetic_json.h"
#include "reference/error/semantics/declared_terms.h"
#include "reference/error/semantics/semantics_json.h"
#include "reference/problem/hidden_keys.h"
#include "reference/system/error.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

/// The first is drawn beside the second alone: pages are partly used, and 8 bits are scaled.
constexpr std::array<std::array<std::string_view, 2>, 2> kTakenTogether = {
    {{"paged", "key_length"}, {"mixed", "descale"}}};

bool is_id(const std::string& id, ProblemKind problem) {
  std::size_t names = 0;
  for (std::size_t begin = 0; begin <= id.size(); ++names) {
    const std::size_t end = std::min(id.find('.', begin), id.size());
    if (!is_name(std::string_view(id).substr(begin, end - begin))) return false;
    begin = end + 1;
  }
  return names == 3 && id.size() <= 120 && id.starts_with(std::string(name(problem)) + ".");
}

std::vector<Format> formats_of(const DescriptionReader& reader) {
  std::vector<std::string_view> names;
  for (const Format format : kStorageFormats) names.push_back(info(format).name);
  std::vector<Format> formats;
  for (const std::string& word : reader.words("formats")) {
    const Format format = kStorageFormats[reader.known("formats: format", word, names)];
    if (std::ranges::find(formats, format) == formats.end()) formats.push_back(format);
  }
  if (formats.empty()) reader.refuse(fmt::format("formats: legal: one or more of {}", fmt::join(names, ", ")));
  return formats;
}

/// All that a check must have tested.
std::vector<const Capability*> declared(ProblemKind problem, const Takes& takes, std::span<const std::string> words) {
  std::vector<const Capability*> list;
  const bool may_share = std::ranges::none_of(  // pages, two sequences
      takes.limits, [](const Limit& limit) { return limit.axis == Axis::batch && limit.most < 2; });
  const auto add = [&](std::string_view name) {
    const Capability* one = &capability(problem, name);
    if (std::ranges::find(list, one) == list.end()) list.push_back(one);
  };
  for (const std::string& word : words) {
    add(word);
    if (word == "paged" && may_share) add("shared pages");
  }
  if (takes.strides != Strides::dense) add("strides: rows");
  if (takes.strides == Strides::any) add("strides: any");
  if (forward_kind(problem) == ProblemKind::attention && takes_other_width(takes.limits)) add("d != dv");
  return list;
}

Contract contract_of(const DescriptionReader& reader, ProblemKind problem) {
  constexpr std::array<std::string_view, 3> kReturns = {"both", "o", "lse"};
  constexpr std::array<std::string_view, 2> kOverflow = {"ieee", "saturate"};
  Contract contract;
  contract.deterministic = reader.flag("deterministic");
  contract.batch_invariant = reader.flag("batch_invariant", true);
  contract.isolates_hidden = reader.flag("isolates_hidden");
  contract.refuses_beyond_range = reader.flag("refuses_beyond_range");
  contract.returns = static_cast<Returns>(reader.choice("returns", kReturns));
  if (problem == ProblemKind::backward && contract.returns != Returns::both) {
    reader.refuse("returns: legal of a gradient: nothing, it returns dq, dk and dv");
  }
  contract.overflow = static_cast<Overflow>(reader.choice("overflow", kOverflow));
  if (const nlohmann::json* json = reader.find("semantics"); json != nullptr) {
    try {
      contract.semantics = parse_semantics(json->dump(), problem);
    } catch (const UsageError& e) {
      reader.refuse(std::string("semantics: ") + e.what());
    }
  }
  return contract;
}

/// The words of `takes`: those of this problem, as another's would be a promise that nothing asks for. What they name goes into `plain`
/// and `features`.
std::vector<std::string> read_takes(const DescriptionReader& reader, ProblemKind problem, std::vector<bool>& plain,
                                    std::vector<Feature>& features) {
  std::vector<Plain> known_plain;
  std::vector<Feature> known_features;
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < kPlain.size(); ++i) {
    if (problem_of(static_cast<Plain>(i)) != forward_kind(problem)) continue;
    known_plain.push_back(static_cast<Plain>(i)), names.push_back(kPlain[i]);
  }
  for (const Feature feature : kFeatures) {
    if (has_feature(problem, feature)) known_features.push_back(feature), names.push_back(name(feature));
  }
  std::vector<std::string> words = reader.words("takes");
  for (const auto& [one, with] : kTakenTogether) {
    if (std::ranges::find(words, one) != words.end() && std::ranges::find(words, with) == words.end()) {
      reader.refuse(fmt::format("takes: {}: legal with {}, without which no case has it", one, with));
    }
  }
  for (const std::string& word : words) {
    const std::size_t index = reader.known("takes: feature", word, names);
    if (index < known_plain.size()) {
      plain[static_cast<std::size_t>(known_plain[index])] = true;
    } else {
      features.push_back(known_features[index - known_plain.size()]);
    }
  }
  return words;
}

void read_arithmetic(const DescriptionReader& reader, Described& d) {
  std::string text = "unknown";
  if (const nlohmann::json* json = reader.find("arithmetic"); json != nullptr) {
    text = json->is_string() ? json->get<std::string>() : json->is_object() ? json->dump() : "";
    if (text.empty()) reader.refuse("arithmetic: legal: the name of a preset, or an object");
  }
  try {
    for (const Format format : d.formats) {
      if (d.problem == ProblemKind::backward) {
        d.backward.push_back(parse_backward_arithmetic(text, format));
      } else {
        d.arithmetic.push_back(parse_arithmetic(text, d.problem, format));
      }
    }
  } catch (const UsageError& e) {
    reader.refuse(e.what());  // begins with the field's name
  }
}

}  // namespace

Described describe(const PluginEntry& entry) {
  Described d;
  d.id = entry.id;
  const auto refuse = [&](const std::string& what) { throw UsageError("kernel " + quote(entry.id) + ": " + what); };
  if (entry.problem < 0 || entry.problem > FLASHPROOF_ATTENTION_BACKWARD) {
    refuse(
        fmt::format("problem {}: legal 0 (softmax), 1 (merge), 2 (attention), 3 (attention_backward)", entry.problem));
  }
  d.problem = static_cast<ProblemKind>(entry.problem);
  if (!is_id(entry.id, d.problem)) {
    refuse(fmt::format("id: legal: three names of [a-z][a-z0-9_]* with dots, the first {}: {}.row.mine",
                       name(d.problem), name(d.problem)));
  }
  if (entry.device_type != FLASHPROOF_CPU && entry.device_type != FLASHPROOF_CUDA) {
    refuse(fmt::format("device_type {}: legal 1 (CPU), 2 (CUDA)", entry.device_type));
  }
  d.on_device = entry.device_type == FLASHPROOF_CUDA;

  constexpr std::array<std::string_view, 3> kStrides = {"dense", "rows", "any"};
  const DescriptionReader reader(entry.id, entry.description);
  d.formats = formats_of(reader);
  d.contract = contract_of(reader, d.problem);
  d.alignment = reader.alignment();
  Takes takes;
  takes.strides = static_cast<Strides>(reader.choice("strides", kStrides));
  takes.limits = reader.limits(d.problem);
  std::vector<Feature> features;
  d.declared = declared(d.problem, takes, read_takes(reader, d.problem, takes.plain, features));
  const auto counts = std::ranges::find_if(features, [](Feature feature) { return counts_distances(feature); });
  if (d.contract.semantics.diagonal == Diagonal::top_left && counts != features.end()) {
    reader.refuse(
        fmt::format("semantics: diagonal: legal with {}: bottom_right, from where its distances count", name(*counts)));
  }
  d.limits = takes.limits;
  d.refusal = Refusal(
      [takes, isolates = d.contract.isolates_hidden, semantics = d.contract.semantics](const Problem& problem) {
        std::string why = refused(takes, problem);
        if (why.empty() && !isolates) why = needs_isolation(problem);
        if (why.empty()) why = not_handed_over(problem, semantics);
        return why;
      },
      features);
  read_arithmetic(reader, d);
  return d;
}

}  // namespace flashproof
