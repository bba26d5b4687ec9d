#include "kernels/plugin/description.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "kernels/dense_features.h"
#include "kernels/plugin.h"
#include "reference/bound/arithmetic_json.h"
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

/// Beyond the features of a problem: what this project's kernels all take, and a stranger's may not.
enum class Plain : std::uint8_t { causal, key_length, bias, gqa, row_length, concat, order };
constexpr std::array<std::string_view, 7> kPlain = {"causal",     "key_length", "bias", "gqa",
                                                    "row_length", "concat",     "order"};
constexpr int kFeatures = static_cast<int>(Feature::joins) + 1;

ProblemKind problem_of(Plain plain) {
  if (plain == Plain::row_length) return ProblemKind::softmax;
  return plain == Plain::concat || plain == Plain::order ? ProblemKind::merge : ProblemKind::attention;
}
ProblemKind problem_of(Feature feature) {
  return feature == Feature::unnormalised || feature == Feature::joins ? ProblemKind::merge : ProblemKind::attention;
}

enum class Strides : std::uint8_t { dense, rows, any };

enum class Axis : std::uint8_t { rows, cols, states, batch, q_heads, k_heads, q_length, k_length, d, dv };
/// The keys of a case spec.
constexpr std::array<std::string_view, 10> kKeys = {"rows", "cols", "n", "b", "hq", "hk", "sq", "sk", "d", "dv"};
constexpr std::array<std::string_view, 10> kAxes = {"rows",    "cols",     "states",   "batch", "q_heads",
                                                    "k_heads", "q_length", "k_length", "d",     "dv"};

std::vector<Axis> axes_of(ProblemKind problem) {
  using enum Axis;
  if (problem == ProblemKind::softmax) return {rows, cols};
  if (problem == ProblemKind::merge) return {states, rows, dv};
  return {batch, q_heads, k_heads, q_length, k_length, d, dv};
}

struct Limit {
  Axis axis;
  std::int64_t least, most, step;
  bool as_d = false;  // dv: the extent is that of d, whatever it is
};

/// What a description takes.
struct Takes {
  std::vector<bool> plain = std::vector<bool>(kPlain.size(), false);
  Strides strides = Strides::dense;
  std::vector<Limit> limits;

  bool has(Plain p) const { return plain[static_cast<std::size_t>(p)]; }
};

std::string not_taken(Plain what, std::string_view legal) {
  return fmt::format("{}: this kernel does not take it, legal: {}", kPlain[static_cast<std::size_t>(what)], legal);
}

bool laid(const Tensor& tensor, Strides strides) {
  if (tensor.shape.empty() || strides == Strides::any || tensor.elements() == 0) return true;
  if (strides == Strides::rows) return tensor.stride.back() == 1 || tensor.shape.back() == 1;
  return is_dense(tensor);
}

std::vector<std::pair<Axis, std::int64_t>> extents(const SoftmaxProblem& p) {
  return {{Axis::rows, p.x.shape[0]}, {Axis::cols, p.x.shape[1]}};
}
std::vector<std::pair<Axis, std::int64_t>> extents(const MergeProblem& p) {
  return {{Axis::states, p.o.shape[0]}, {Axis::rows, p.o.shape[1]}, {Axis::dv, p.o.shape[2]}};
}
std::vector<std::pair<Axis, std::int64_t>> extents(const AttentionProblem& p) {
  return {{Axis::batch, p.sequences()},   {Axis::q_heads, p.q_heads()},   {Axis::k_heads, p.k_heads()},
          {Axis::q_length, p.q_length()}, {Axis::k_length, p.k_length()}, {Axis::d, p.head_dim()},
          {Axis::dv, p.value_dim()}};
}

std::string plain_refusal(const Takes& takes, const SoftmaxProblem& p) {
  if (!p.row_length.empty() && !takes.has(Plain::row_length)) return not_taken(Plain::row_length, "every column");
  if (!laid(p.x, takes.strides)) return "strides of x: this kernel does not take them";
  return "";
}

std::string plain_refusal(const Takes& takes, const MergeProblem& p) {
  if (p.form == MergeForm::concat && !takes.has(Plain::concat)) return not_taken(Plain::concat, "form = sum");
  if (!std::ranges::is_sorted(p.order) && !takes.has(Plain::order)) return not_taken(Plain::order, "0, 1, 2, ...");
  for (const Tensor* tensor : {&p.o, &p.lse, &p.l}) {
    if (!laid(*tensor, takes.strides)) return "strides of o, lse or l: this kernel does not take them";
  }
  return "";
}

std::string plain_refusal(const Takes& takes, const AttentionProblem& p) {
  if (p.causal && !takes.has(Plain::causal)) return not_taken(Plain::causal, "causal = 0");
  if (p.has_bias() && !takes.has(Plain::bias)) return not_taken(Plain::bias, "no bias");
  if (!p.key_length.empty() && !takes.has(Plain::key_length)) return not_taken(Plain::key_length, "every key");
  if (p.q_heads() != p.k_heads() && !takes.has(Plain::gqa)) return not_taken(Plain::gqa, "k_heads = q_heads");
  for (const Tensor* tensor : {&p.q, &p.k, &p.v, &p.bias}) {
    if (!laid(*tensor, takes.strides)) return "strides of q, k, v or bias: this kernel does not take them";
  }
  return "";
}

std::string refused(const Takes& takes, const Problem& problem) {
  return visit_forward(
      [&](const auto& p) {
        if (std::string why = plain_refusal(takes, p); !why.empty()) return why;
        const auto list = extents(p);
        for (const auto& [axis, extent] : list) {
          for (const Limit& limit : takes.limits) {
            if (limit.axis != axis) continue;
            if (limit.as_d && extent != list[list.size() - 2].second) return std::string("dv: legal: as d");
            if (limit.as_d || (extent >= limit.least && extent <= limit.most && extent % limit.step == 0)) continue;
            return fmt::format("{} = {}: legal range {}..{}{}", kAxes[static_cast<std::size_t>(axis)], extent,
                               limit.least, limit.most,
                               limit.step > 1 ? fmt::format(", multiples of {}", limit.step) : "");
          }
        }
        return std::string();
      },
      problem);
}

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
      if (axes[index] == Axis::dv && problem == ProblemKind::attention && range == "d") {
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

/// Whether d and dv may differ.
bool takes_other_width(const std::vector<Limit>& limits) {
  std::int64_t least[2] = {0, 0}, most[2] = {kMaxExtent, kMaxExtent};
  for (const Limit& limit : limits) {
    if (limit.as_d) return false;
    if (limit.axis != Axis::d && limit.axis != Axis::dv) continue;
    const int i = limit.axis == Axis::d ? 0 : 1;
    least[i] = limit.least, most[i] = limit.most;
  }
  return least[0] != most[0] || least[1] != most[1] || least[0] != least[1];
}

/// Of each limited axis a size that is not the least unless it must be: 0 and 1 test little.
std::vector<std::pair<std::string, std::int64_t>> sizes(const std::vector<Limit>& limits) {
  constexpr std::int64_t kSize = 33;
  std::vector<std::pair<std::string, std::int64_t>> list;
  std::int64_t d = 0;
  for (const Limit& limit : limits) {
    if (limit.as_d) continue;
    const std::int64_t size = std::clamp(kSize, limit.least, limit.most);
    const std::int64_t up = (size + limit.step - 1) / limit.step * limit.step;
    const std::int64_t fit = up <= limit.most ? up : limit.most / limit.step * limit.step;
    if (fit < limit.least) continue;  // no size at all
    list.emplace_back(kKeys[static_cast<std::size_t>(limit.axis)], fit);
    if (limit.axis == Axis::d) d = fit;
  }
  for (const Limit& limit : limits) {
    if (limit.as_d && d > 0) list.emplace_back("dv", d);
  }
  return list;
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
  if (problem == ProblemKind::attention && takes_other_width(takes.limits)) add("d != dv");
  return list;
}

}  // namespace

Described describe(const PluginEntry& entry) {
  Described d;
  d.id = entry.id;
  const auto refuse = [&](const std::string& what) { throw UsageError("kernel " + quote(entry.id) + ": " + what); };
  if (entry.problem < 0 || entry.problem > FLASHPROOF_ATTENTION) {
    refuse(fmt::format("problem {}: legal 0 (softmax), 1 (merge), 2 (attention)", entry.problem));
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
    if (problem_of(static_cast<Plain>(i)) == d.problem)
      plain.push_back(static_cast<Plain>(i)), names.push_back(kPlain[i]);
  }
  for (int i = 0; i < kFeatures; ++i) {
    const auto feature = static_cast<Feature>(i);
    if (problem_of(feature) == d.problem) features.push_back(feature), names.push_back(name(feature));
  }
  const std::vector<std::string> words = reader.words("takes");
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
      d.arithmetic.push_back(parse_arithmetic(text, d.problem, format));
    } catch (const UsageError& e) {
      reader.refuse(std::string("arithmetic: ") + e.what());
    }
  }
  return d;
}

}  // namespace flashproof
