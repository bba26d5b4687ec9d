#include "python/bindings/shape_features.h"

#include <algorithm>
#include <cmath>

#include "reference/system/error.h"
#include "reference/system/text.h"

namespace flashproof::python {
namespace {

/// One thing that a problem may use, and what is legal for a callable that does not take it.
struct Shape {
  std::string_view name, legal;
  bool (*used)(const Problem& problem);
};

/// Of a gradient its forward problem.
const AttentionProblem* attention(const Problem& problem) { return attention_of(problem); }

constexpr Shape kShapes[] = {
    {"causal", "causal = False", [](const Problem& p) { return attention(p) != nullptr && attention(p)->causal; }},
    {"bias", "no bias", [](const Problem& p) { return attention(p) != nullptr && attention(p)->has_bias(); }},
    {"key_length", "key_length = Sk for every sequence",
     [](const Problem& p) { return attention(p) != nullptr && !attention(p)->key_length.empty(); }},
    {"scale", "scale = 1/sqrt(d)",
     [](const Problem& p) {
       return attention(p) != nullptr &&
              attention(p)->scale != static_cast<float>(1 / std::sqrt(static_cast<double>(attention(p)->head_dim())));
     }},
    {"gqa", "Hq = Hk",
     [](const Problem& p) { return attention(p) != nullptr && attention(p)->q_heads() != attention(p)->k_heads(); }},
    {"cross", "Sq = Sk",
     [](const Problem& p) { return attention(p) != nullptr && attention(p)->q_length() != attention(p)->k_length(); }},
    {"value_dim", "dv = d",
     [](const Problem& p) { return attention(p) != nullptr && attention(p)->value_dim() != attention(p)->head_dim(); }},
    {"row_length", "row_length = cols for every row",
     [](const Problem& p) {
       const auto* softmax = std::get_if<SoftmaxProblem>(&p);
       return softmax != nullptr && !softmax->row_length.empty();
     }},
    {"concat", "concat = False",
     [](const Problem& p) {
       const auto* merge = std::get_if<MergeProblem>(&p);
       return merge != nullptr && merge->form == MergeForm::concat;
     }},
    {"empty", "no axis of length 0",
     [](const Problem& p) {
       const OutputShape shape = output_shape(p);
       const AttentionProblem* a = attention(p);
       return shape.rows == 0 || shape.width == 0 || (a != nullptr && (a->k.elements() == 0 || a->value_dim() == 0));
     }},
};

}  // namespace

std::vector<std::string_view> feature_names() {
  std::vector<std::string_view> names;
  for (const Shape& shape : kShapes) names.push_back(shape.name);
  for (const Feature feature : kFeatures) names.push_back(name(feature));
  return names;
}

std::vector<Feature> features_among(std::span<const std::string> names) {
  std::vector<Feature> features;
  for (const std::string& text : names) {
    if (std::ranges::find(kShapes, text, &Shape::name) != std::end(kShapes)) continue;
    const auto* feature = std::ranges::find(kFeatures, text, [](Feature f) { return name(f); });
    if (feature == std::end(kFeatures)) {
      std::string legal;
      for (const std::string_view one : feature_names()) legal += (legal.empty() ? "" : ", ") + std::string(one);
      throw UsageError("feature " + quote(text) + ": legal " + legal);
    }
    features.push_back(*feature);
  }
  return features;
}

std::string beyond_shape(const Problem& problem, std::span<const std::string> taken) {
  for (const Shape& shape : kShapes) {
    if (shape.used(problem) && std::ranges::find(taken, shape.name) == taken.end()) {
      return std::string(shape.name) + ": this callable does not take it, legal: " + std::string(shape.legal);
    }
  }
  return {};
}

}  // namespace flashproof::python
