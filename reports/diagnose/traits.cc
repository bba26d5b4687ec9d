#include "reports/diagnose/traits.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/error/element.h"
#include "reference/problem/special_values.h"
#include "reports/diagnose/row_look.h"

namespace flashproof {
namespace {

using Kind = Trait::Kind;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// Collects either the traits or their values: one list says both, so that they cannot differ in order.
class Collector {
 public:
  explicit Collector(std::vector<Trait>* traits) : traits_(traits) {}
  void yes(const char* id, const char* phrase, bool value) { add(id, phrase, Kind::yes_no, value ? 1 : 0); }
  void count(const char* id, const char* phrase, std::int64_t value) {
    add(id, phrase, Kind::count, static_cast<double>(value));
  }
  void real(const char* id, const char* phrase, Real value) { add(id, phrase, Kind::real, static_cast<double>(value)); }
  std::vector<double> values;

 private:
  void add(const char* id, const char* phrase, Kind kind, double value) {
    values.push_back(value);
    if (traits_ != nullptr) traits_->push_back({id, phrase, kind});
  }
  std::vector<Trait>* traits_;
};

void collect_scores(const RowLook& look, Collector& c, ProblemKind kind) {
  const bool merge = kind == ProblemKind::merge;
  c.real("max_score", merge ? "the row's largest lse" : "the row's largest score",
         look.visible > 0 ? look.most : kNone);
  c.real("lse", "the exact lse", std::isfinite(look.lse) ? look.lse : kNone);
  c.real("abs_lse", "the exact |lse|", std::isfinite(look.lse) ? std::fabs(look.lse) : kNone);
  c.real("fall",
         merge ? "the largest fall of lse from one state to the next"
               : "the largest fall of the maximum from one chunk to the next",
         look.fall);
  c.real(
      "rise",
      merge ? "the largest rise of lse above all before" : "the largest rise of the maximum from one chunk to the next",
      look.rise);
  c.real("dip",
         merge ? "how far a state's lse lies below the largest before"
               : "how far a chunk's maximum lies below the largest before",
         look.dip);
  c.real("min_score", merge ? "the row's least lse" : "the row's least score", look.visible > 0 ? look.least : kNone);
}

void collect_mask(const AttentionProblem& p, Collector& c) {
  const auto keys = [](std::int32_t reach) { return reach >= 0 ? static_cast<Real>(reach) : kNone; };
  c.yes("causal", "the mask is causal", p.causal);
  c.yes("window", "there is a window", p.window_left >= 0 || p.window_right >= 0);
  c.real("window_left", "window_left", keys(p.window_left));
  c.real("window_right", "window_right", keys(p.window_right));
}

void collect_attention(const AttentionProblem& p, const RowTerms& t, const RowLook& look, const Kernel& kernel,
                       double neighbours[4], Collector& c) {
  c.yes("no_visible_key", "the row sees no key", look.visible == 0);
  c.yes("hidden_nan_k", "k of a hidden key is NaN or infinite", look.hidden_nan_score || special_behind(p, true, t));
  c.yes("hidden_nan_v", "v of a hidden key is NaN or infinite", look.hidden_nan_value || special_behind(p, false, t));
  c.yes("nan_chunk", "every score that the row sees in a chunk is NaN", look.nan_chunk);
  c.yes("nan_score", "a score that the row sees is NaN", look.nan_score);
  c.yes("nan_value", "v of a key that the row sees is NaN or infinite", look.nan_value);
  c.yes("first_chunk_hidden", "the row sees nothing of the chunk that is visited first", look.first_hidden);
  c.yes("first_key_hidden", "the row does not see the first key that is visited", look.first_key_hidden);
  c.yes("first_chunk_hidden_of_4", "the row sees nothing of the first chunk that its block of 4 rows visits",
        first_of_block_hidden(p, t, 4));
  c.yes("first_chunk_hidden_of_16", "the row sees nothing of the first chunk that its block of 16 rows visits",
        first_of_block_hidden(p, t, 16));
  c.yes("part_beyond_keys", "a part of the split lies wholly beyond the sequence's keys", look.part_beyond);
  c.yes("first_part_empty", "the first part of the split sees no key", look.first_part_empty);
  c.yes("empty_part", "a part of the split sees no key", look.empty_part);
  c.yes("some_chunk_hidden", "the row sees nothing of a chunk", look.some_hidden);
  c.real("softcap_argument", "the largest |score| in units of the softcap",
         p.softcap > 0 && look.visible > 0 ? raw_score(t) * std::fabs(static_cast<Real>(p.scale)) / p.softcap : kNone);
  collect_scores(look, c, ProblemKind::attention);
  c.real("raw_score", "the largest |q.k| before the scale", raw_score(t));
  static constexpr const char* kIds[] = {"below_2_rows", "below_4_rows", "below_8_rows", "below_16_rows"};
  static constexpr const char* kPhrases[] = {"how far the row's maximum lies below that of its 2 neighbours",
                                             "how far the row's maximum lies below that of its 4 neighbours",
                                             "how far the row's maximum lies below that of its 8 neighbours",
                                             "how far the row's maximum lies below that of its 16 neighbours"};
  for (int g = 0; g < 4; ++g) c.real(kIds[g], kPhrases[g], neighbours[g]);
  c.yes("softcap", "there is a softcap", p.softcap > 0);
  c.real("softcap_level", "the softcap", p.softcap > 0 ? static_cast<Real>(p.softcap) : kNone);
  collect_mask(p, c);
  c.yes("bias", "there is a bias", p.has_bias());
  c.yes("alibi", "there are ALiBi slopes", p.has_alibi());
  c.yes("sink", "there is a sink", p.has_sink());
  c.yes("descale", "there are descale factors", p.has_descale());
  c.yes("packed", "sequences are packed", p.packed());
  c.yes("paged", "keys are in pages", p.paged());
  c.yes("order", "chunks are visited in another order than theirs",
        !std::is_sorted(p.plan.order.begin(), p.plan.order.end()));
  c.yes("dv_differs", "dv is not d", p.head_dim() != p.value_dim());
  c.yes("lengths_differ", "the sequence has more or fewer keys than queries", p.q_length(t.s) != p.k_length(t.s));
  c.count("format_bits", "the number of bits of q", info(p.q.format).bits);
  c.count("visible", "the number of keys that the row sees", look.visible);
  c.count("length", "the number of keys", t.length);
  c.count("last_visible", "the last key that the row sees", look.last_visible);
  c.count("chunks", "the number of chunks", t.visits);
  c.count("chunk_keys", "the number of keys of the longest chunk", look.longest_chunk);
  c.count("queries", "the number of queries", p.q_length(t.s));
  c.count("group", "the number of query heads per kv head", p.q_heads() / p.k_heads());
  c.count("heads", "the number of query heads", p.q_heads());
  c.count("batch", "the number of sequences", p.sequences());
  c.count("d", "d", p.head_dim());
  c.count("dv", "dv", p.value_dim());
  c.real("scale", "the scale", std::fabs(p.scale));
  c.yes("negative_scale", "the scale is negative", p.scale < 0);
  c.count("query", "the query", t.i);
  c.count("head", "the query head", t.h);
  c.count("sequence", "the sequence", t.s);
  c.yes("refuses", "the kernel refuses what is out of range", kernel.contract.refuses_beyond_range);
}

void collect_merge(const MergeProblem& p, const RowTerms& t, const RowLook& look, Collector& c) {
  c.yes("all_empty", "every state is empty", look.visible == 0);
  c.yes("empty_join", "two empty states are joined", empty_join(p, t));
  c.yes("hidden_nan_v", "o of an empty state is NaN or infinite", look.hidden_nan_value);
  c.count("empty_states", "the number of empty states", look.empty_groups);
  c.yes("empty_neighbours", "two neighbouring states are empty", look.adjacent_empty);
  c.yes("nan_score", "the lse of a state is NaN", look.nan_score);
  collect_scores(look, c, ProblemKind::merge);
  c.real("magnitude", "the largest |lse|",
         look.visible > 0 ? std::max(std::fabs(look.most), std::fabs(look.least)) : kNone);
  c.count("visible", "the number of states that are not empty", look.visible);
  c.count("states", "the number of states", p.o.shape[0]);
  c.count("dv", "the number of columns", p.o.shape[2]);
  c.count("rows", "the number of rows", p.o.shape[1]);
  c.count("row", "the row", t.row);
  c.yes("joins", "states are joined by a tree", !p.joins.empty());
  c.yes("concat", "the form is concat", p.form == MergeForm::concat);
  c.yes("has_l", "states are not normalised", p.has_l());
  c.count("format_bits", "the number of bits of o", info(p.o.format).bits);
}

void collect_softmax(const SoftmaxProblem& p, const RowTerms& t, const RowLook& look, Collector& c) {
  c.yes("all_empty", "the row has no column that counts", look.visible == 0);
  c.yes("nan_score", "an x of the row is NaN", look.nan_score);
  c.yes("first_key_hidden", "the first x that is visited is -inf", look.first_key_hidden);
  c.yes("first_chunk_hidden", "every x of the chunk that is visited first is -inf", look.first_hidden);
  c.yes("some_chunk_hidden", "every x of a chunk is -inf", look.some_hidden);
  c.real("first_minus_inf", "the first column that is -inf",
         look.first_missing < p.x.shape[1] ? static_cast<Real>(look.first_missing) : kInfinity);
  collect_scores(look, c, ProblemKind::softmax);
  c.yes("shortened", "the row is shorter than the columns", t.length < p.x.shape[1]);
  c.count("hidden", "the number of columns that are -inf", look.hidden);
  c.count("cols", "cols", p.x.shape[1]);
  c.count("length", "the length of the row", t.length);
  c.count("rows", "the number of rows", p.x.shape[0]);
  c.count("row", "the row", t.row);
  c.count("chunks", "the number of chunks", t.visits);
  c.count("format_bits", "the number of bits of x", info(p.x.format).bits);
}

void collect_gradient(const BackwardProblem& p, Part part, std::int64_t row, Collector& c) {
  const AttentionProblem& f = p.forward;
  const bool query = part == Part::dq;
  const std::int64_t length = query ? f.q_length() : f.k_length(), heads = query ? f.q_heads() : f.k_heads();
  const std::int64_t i = row % length, h = row / length % heads, b = row / length / heads;
  bool unseen = true;
  for (std::int64_t other = 0; unseen && other < (query ? f.k_length() : f.q_length()); ++other)
    unseen = !(query ? f.position_visible(b, i, other) : f.position_visible(b, other, i));
  c.yes("unseen", "the query sees no key, or no query the key", unseen);
  c.yes("is_dq", "it is dq", query);
  c.yes("is_dv", "it is dv", part == Part::dv);
  collect_mask(f, c);
  c.yes("bias", "there is a bias", f.has_bias());
  c.yes("alibi", "there are ALiBi slopes", f.has_alibi());
  c.yes("dv_differs", "dv is not d", f.head_dim() != f.value_dim());
  c.count("group", "the number of query heads per kv head", p.group());
  c.count("queries", "the number of queries", f.q_length());
  c.count("length", "the number of keys", f.k_length());
  c.count("d", "d", f.head_dim());
  c.count("dv", "dv", f.value_dim());
  c.real("scale", "the scale", std::fabs(f.scale));
  c.yes("negative_scale", "the scale is negative", f.scale < 0);
  c.count("head", "the head", h);
  c.count("position", "the position", i);
  c.count("sequence", "the sequence", b);
}

}  // namespace

const std::vector<Trait>& traits(ProblemKind kind) {
  static const auto of = [](ProblemKind k) {
    std::vector<Trait> list;
    Collector c(&list);
    const RowTerms terms;
    const RowLook look;
    static const Kernel kernel{};
    double neighbours[4] = {};
    AttentionProblem attention;
    attention.q = attention.k = attention.v = Tensor::dense(Format::f32, {1, 1, 1, 1});
    if (k == ProblemKind::attention) collect_attention(attention, terms, look, kernel, neighbours, c);
    MergeProblem merge;
    merge.o = Tensor::dense(Format::f32, {1, 1, 1});
    if (k == ProblemKind::merge) collect_merge(merge, terms, look, c);
    SoftmaxProblem softmax;
    softmax.x = Tensor::dense(Format::f32, {1, 1});
    if (k == ProblemKind::softmax) collect_softmax(softmax, terms, look, c);
    BackwardProblem gradient;
    gradient.forward = attention;
    if (k == ProblemKind::backward) collect_gradient(gradient, Part::dq, 0, c);
    list.push_back({"column", "the column", Kind::count});
    return list;
  };
  static const std::vector<Trait> all[] = {of(ProblemKind::softmax), of(ProblemKind::merge), of(ProblemKind::attention),
                                           of(ProblemKind::backward)};
  return all[static_cast<std::size_t>(kind)];
}

TraitReader::TraitReader(const Kernel& kernel, const Problem& problem) : kernel_(kernel), problem_(problem) {
  const auto* p = std::get_if<AttentionProblem>(&problem);
  if (p == nullptr) return;
  const std::int64_t rows = output_shape(problem).rows;
  constexpr std::int64_t kMostWork = 20'000'000;
  if (rows * p->k_length() * p->head_dim() > kMostWork) return;
  for (std::int64_t row = 0; row < rows; ++row) {
    Real most = kNothing;
    for (const Term& t : row_terms(problem, kernel.arithmetic, row).terms)
      if (t.visible) most = std::max(most, t.score);
    largest_.push_back(static_cast<double>(most));
  }
}

std::vector<double> TraitReader::row(Part part, std::int64_t row) const {
  Collector c(nullptr);
  if (const auto* gradient = std::get_if<BackwardProblem>(&problem_)) {
    collect_gradient(*gradient, part, row, c);
    return c.values;
  }
  const RowTerms terms = row_terms(problem_, kernel_.arithmetic, row);
  const RowLook look = look_at(terms);
  if (const auto* softmax = std::get_if<SoftmaxProblem>(&problem_)) collect_softmax(*softmax, terms, look, c);
  if (const auto* merge = std::get_if<MergeProblem>(&problem_)) collect_merge(*merge, terms, look, c);
  if (const auto* p = std::get_if<AttentionProblem>(&problem_)) {
    double neighbours[4] = {kNone, kNone, kNone, kNone};
    for (std::int64_t g = 2, at = 0; at < 4 && !largest_.empty(); g *= 2, ++at) {
      // Blocks of g queries of one head, from the head's first.
      const std::int64_t first = row - terms.i % g, end = std::min(first + g, row - terms.i + p->q_length(terms.s));
      double most = -kInfinity;
      for (std::int64_t r = first; r < end; ++r) most = std::max(most, largest_[static_cast<std::size_t>(r)]);
      neighbours[at] = look.visible > 0 ? most - static_cast<double>(look.most) : kNone;
    }
    collect_attention(*p, terms, look, kernel_, neighbours, c);
  }
  return c.values;
}

}  // namespace flashproof
