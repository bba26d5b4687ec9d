#include "kernels/plugin/description.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "kernels/plugin.h"
#include "kernels/plugin/takes.h"
#include "reference/bound/arithmetic_json.h"
#include "reference/bound/backward/arithmetic_json.h"
#include "reference/problem/error.h"
#include "reference/problem/hidden_keys.h"
#include "reference/problem/near_matches.h"
#include "reference/problem/strict_json.h"
#include "reference/problem/text.h"
#include "reference/problem/text_place.h"

namespace flashproof {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kLongest = 65536;
constexpr int kDeepest = 6;
constexpr std::int64_t kMostPromised = 256;  // bytes: all that memory of a device has for certain
constexpr int kFeatures = static_cast<int>(Feature::joins) + 1;

/// The first is drawn beside the second alone: pages are partly used, and 8 bits are scaled.
constexpr std::array<std::array<std::string_view, 2>, 2> kTakenTogether = {
    {{"paged", "key_length"}, {"mixed", "descale"}}};

/// The JSON with messages that name the kernel.
class Reader {
 public:
  Reader(std::string id, const std::string& text) : id_(std::move(id)) {
    if (text.size() > kLongest) refuse(fmt::format("description: legal: at most {} bytes", kLongest));
    try {
      json_ = strict_json<Json>(text, kDeepest);
    } catch (const UsageError& error) {
      refuse(std::string("description: ") + error.what());
    }
    if (!json_.is_object()) refuse("description: legal: a JSON object");
    constexpr std::array<std::string_view, 12> kFields = {
        "formats", "arithmetic",    "takes",           "limits",   "strides",         "alignment",
        "returns", "deterministic", "batch_invariant", "overflow", "isolates_hidden", "refuses_beyond_range"};
    for (const auto& [key, value] : json_.items()) known("description: field", key, kFields);
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw UsageError("kernel " + printable(id_) + ": " + what);
  }

  /// Index of the word among the legal ones.
  template <class Names>
  std::size_t known(const std::string& what, const std::string& word, const Names& names) const {
    const auto found = std::ranges::find(names, std::string_view(word));
    if (found == names.end()) {
      const std::vector<std::string_view> list(names.begin(), names.end());
      const auto near = near_matches(word, list);
      refuse(fmt::format("unknown {} {}; {}legal: {}", what, quote(word),
                         near.empty() ? "" : fmt::format("near: {}; ", fmt::join(near, ", ")), fmt::join(list, ", ")));
    }
    return static_cast<std::size_t>(found - names.begin());
  }

  const Json* find(const char* key) const {
    const auto found = json_.find(key);
    return found == json_.end() ? nullptr : &*found;
  }
  std::string word(const std::string& field, const Json& json) const {
    if (!json.is_string() || json.get_ref<const std::string&>().size() > kLongest) refuse(field + ": legal: a text");
    return json.get<std::string>();
  }
  std::vector<std::string> words(const char* key) const {
    const Json* json = find(key);
    if (json == nullptr) return {};
    if (!json->is_array() || json->size() > 64) refuse(std::string(key) + ": legal: an array of at most 64 texts");
    std::vector<std::string> list;
    for (const Json& one : *json) list.push_back(word(key, one));
    return list;
  }
  bool flag(const char* key, bool absent = false) const {
    const Json* json = find(key);
    if (json != nullptr && !json->is_boolean()) refuse(std::string(key) + ": legal: true or false");
    return json == nullptr ? absent : json->get<bool>();
  }
  template <class Names>
  std::size_t choice(const char* key, const Names& names) const {
    const Json* json = find(key);
    return json == nullptr ? 0 : known(key, word(key, *json), names);
  }
  std::int64_t count(const std::string& field, const Json& json, std::int64_t least) const {
    if (!json.is_number_integer() || (json.is_number_unsigned() && json.get<std::uint64_t>() > kMaxExtent) ||
        json.get<std::int64_t>() < least) {
      refuse(fmt::format("{}: legal: integers in {}..{}", field, least, kMaxExtent));
    }
    return json.get<std::int64_t>();
  }
  /// Bytes; 1 where the description says nothing.
  std::size_t alignment() const {
    const Json* json = find("alignment");
    const std::int64_t bytes = json == nullptr ? 1 : count("alignment", *json, 1);
    if (bytes > kMostPromised || !std::has_single_bit(static_cast<std::uint64_t>(bytes))) {
      refuse(fmt::format("alignment: legal: a power of 2 in 1..{}", kMostPromised));
    }
    return static_cast<std::size_t>(bytes);
  }
  std::vector<Limit> limits(ProblemKind problem) const {
    const Json* json = find("limits");
    if (json == nullptr) return {};
    if (!json->is_object()) refuse("limits: legal: an object");
    const std::vector<Axis> axes = axes_of(problem);
    std::vector<std::string_view> names;
    names.reserve(axes.size());
    for (const Axis axis : axes) names.push_back(kAxes[static_cast<std::size_t>(axis)]);
    std::vector<Limit> list;
    for (const auto& [axis, range] : json->items()) {
      const std::string field = "limits." + printable(axis);
      const std::size_t index = known("limits: axis", axis, names);
      if (axes[index] == Axis::dv && forward_kind(problem) == ProblemKind::attention && range == "d") {
        list.push_back({Axis::dv, 0, 0, 1, true});
        continue;
      }
      if (!range.is_array() || range.size() < 2 || range.size() > 3) {
        refuse(field + ": legal: [least, most] or [least, most, step]" +
               (axes[index] == Axis::dv ? ", of attention \"d\"" : ""));
      }
      const Limit limit{axes[index], count(field, range[0], 0), count(field, range[1], 0),
                        range.size() == 3 ? count(field, range[2], 1) : 1};
      if (limit.least > limit.most) refuse(field + ": legal: least <= most");
      list.push_back(limit);
    }
    return list;
  }

 private:
  std::string id_;
  Json json_;
};

bool is_id(const std::string& id, ProblemKind problem) {
  std::size_t names = 0;
  for (std::size_t begin = 0; begin <= id.size(); ++names) {
    const std::size_t end = std::min(id.find('.', begin), id.size());
    if (!is_name(std::string_view(id).substr(begin, end - begin))) return false;
    begin = end + 1;
  }
  return names == 3 && id.size() <= 120 && id.starts_with(std::string(name(problem)) + ".");
}

std::vector<Format> formats_of(const Reader& reader) {
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
  const auto add = [&](std::string_view name) {
    const Capability* one = &capability(problem, name);
    if (std::ranges::find(list, one) == list.end()) list.push_back(one);
  };
  for (const std::string& word : words) add(word);
  if (takes.strides != Strides::dense) add("strides: rows");
  if (takes.strides == Strides::any) add("strides: any");
  if (forward_kind(problem) == ProblemKind::attention && takes_other_width(takes.limits)) add("d != dv");
  return list;
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

  const Reader reader(entry.id, entry.description);
  d.formats = formats_of(reader);
  constexpr std::array<std::string_view, 3> kReturns = {"both", "o", "lse"};
  constexpr std::array<std::string_view, 2> kOverflow = {"ieee", "saturate"};
  constexpr std::array<std::string_view, 3> kStrides = {"dense", "rows", "any"};
  d.contract.deterministic = reader.flag("deterministic");
  d.contract.batch_invariant = reader.flag("batch_invariant", true);
  d.contract.isolates_hidden = reader.flag("isolates_hidden");
  d.contract.refuses_beyond_range = reader.flag("refuses_beyond_range");
  d.contract.returns = static_cast<Returns>(reader.choice("returns", kReturns));
  if (d.problem == ProblemKind::backward && d.contract.returns != Returns::both) {
    reader.refuse("returns: legal of a gradient: nothing, it returns dq, dk and dv");
  }
  d.contract.overflow = static_cast<Overflow>(reader.choice("overflow", kOverflow));

  Takes takes;
  takes.strides = static_cast<Strides>(reader.choice("strides", kStrides));
  takes.limits = reader.limits(d.problem);
  d.alignment = reader.alignment();
  // Those of this problem: another's would be a promise that nothing asks for.
  std::vector<Plain> plain;
  std::vector<Feature> features, taken;
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < kPlain.size(); ++i) {
    if (problem_of(static_cast<Plain>(i)) == forward_kind(d.problem))
      plain.push_back(static_cast<Plain>(i)), names.push_back(kPlain[i]);
  }
  for (int i = 0; i < kFeatures; ++i) {
    const auto feature = static_cast<Feature>(i);
    if (has_feature(d.problem, feature)) features.push_back(feature), names.push_back(name(feature));
  }
  const std::vector<std::string> words = reader.words("takes");
  for (const auto& [one, with] : kTakenTogether) {
    if (std::ranges::find(words, one) != words.end() && std::ranges::find(words, with) == words.end()) {
      reader.refuse(fmt::format("takes: {}: legal with {}, without which no case has it", one, with));
    }
  }
  for (const std::string& word : words) {
    const std::size_t index = reader.known("takes: feature", word, names);
    if (index < plain.size()) {
      takes.plain[static_cast<std::size_t>(plain[index])] = true;
    } else {
      taken.push_back(features[index - plain.size()]);
    }
  }
  d.sizes = sizes(takes.limits);
  d.declared = declared(d.problem, takes, words);
  d.refusal = Refusal(
      [takes, isolates = d.contract.isolates_hidden](const Problem& problem) {
        std::string why = refused(takes, problem);
        if (why.empty() && !isolates) why = needs_isolation(problem);
        return why;
      },
      taken);

  const Json* arithmetic = reader.find("arithmetic");
  std::string text = "unknown";
  if (arithmetic != nullptr) {
    text = arithmetic->is_string() ? arithmetic->get<std::string>() : arithmetic->is_object() ? arithmetic->dump() : "";
    if (text.empty()) reader.refuse("arithmetic: legal: the name of a preset, or an object");
  }
  for (const Format format : d.formats) {
    try {
      if (d.problem == ProblemKind::backward) {
        d.backward.push_back(parse_backward_arithmetic(text, format));
      } else {
        d.arithmetic.push_back(parse_arithmetic(text, d.problem, format));
      }
    } catch (const UsageError& e) {
      reader.refuse(std::string("arithmetic: ") + e.what());
    }
  }
  return d;
}

}  // namespace flashproof
