#include "fuzz/score/shape_class.h"

#include <bit>
#include <cstdint>
#include <vector>

namespace flashproof {
namespace {

struct Traits {
  std::vector<std::string_view> masks = {}, features = {};
  std::int64_t length = 0;  // keys, columns, states
};

Traits traits(const SoftmaxProblem& p) {
  Traits t{.length = p.x.shape[1]};
  if (!p.row_length.empty()) t.masks.push_back("ragged");
  return t;
}

void add_features(Traits& t, const std::vector<Feature>& features) {
  for (const Feature feature : features) {
    (feature == Feature::window ? t.masks : t.features).push_back(name(feature));
  }
}

Traits traits(const MergeProblem& p) {
  Traits t{.length = p.o.shape[0]};
  if (p.form == MergeForm::concat) t.features.push_back("concat");
  add_features(t, p.features());
  return t;
}

Traits traits(const AttentionProblem& p) {
  Traits t{.length = p.k_length()};
  if (p.causal) t.masks.push_back("causal");
  if (!p.key_length.empty()) t.masks.push_back("ragged");
  if (p.has_bias()) t.masks.push_back("bias");
  if (p.q_heads() != p.k_heads()) t.features.push_back("gqa");
  add_features(t, p.features());
  return t;
}

Traits traits(const BackwardProblem& p) { return traits(p.forward); }

std::string text_of(const Traits& t) {
  std::string text;
  for (const auto* list : {&t.masks, &t.features}) {
    for (const std::string_view word : *list) text += std::string(word) + " ";
  }
  return text + "2^" + std::to_string(std::bit_width(static_cast<std::uint64_t>(t.length)));
}

std::string coarse(const Traits& t) {
  if (t.masks.empty()) return t.features.empty() ? "plain" : "featured";
  return t.features.empty() ? "masked" : "masked featured";
}

Traits traits_of(const Problem& problem) {
  return std::visit([](const auto& p) { return traits(p); }, problem);
}

}  // namespace

std::string shape_class(const Problem& problem) { return text_of(traits_of(problem)); }
std::string finding_class(const Problem& problem) { return coarse(traits_of(problem)); }

}  // namespace flashproof
