#include "reports/diagnose/traits.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/error/element.h"
#include "reports/diagnose/terms.h"

namespace flashproof {
namespace {

using Kind = Trait::Kind;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

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

bool not_finite(double x) { return class_of(x) == kNaN || std::isinf(x); }

/// What the terms of one row say.
struct RowLook {
  std::int64_t visible = 0, hidden = 0, empty_groups = 0;
  Real most = kNothing, least = std::numeric_limits<Real>::infinity(), lse = kNothing, rise = 0, fall = 0, dip = 0;
  bool first_hidden = false, some_hidden = false, empty_part = false, first_part_empty = false, part_beyond = false;
  bool nan_score = false, hidden_nan_score = false, hidden_nan_value = false, nan_value = false, nan_chunk = false;
  std::int64_t last_visible = -1, first_missing = 0, longest_chunk = 0, last_chunk = 0;
  bool adjacent_empty = false;
};

bool special_value(const RowTerms& t, std::size_t j) {
  if (t.values.empty()) return false;
  const std::int64_t columns = t.block > 0 ? t.block : t.width;
  for (std::int64_t c = 0; c < columns; ++c)
    if (not_finite(static_cast<double>(t.value(j, c)))) return true;
  return false;
}

void look_at_chunks(const RowTerms& t, RowLook& look) {
  const auto visits = static_cast<std::size_t>(std::max(t.visits, 1));
  std::vector<std::int64_t> keys(visits), visible(visits), nan(visits);
  std::vector<Real> most(visits, kNothing);
  std::vector<std::int64_t> of_part(static_cast<std::size_t>(std::max(t.parts, 1)));
  for (const Term& term : t.terms) {
    const auto v = static_cast<std::size_t>(term.visit);
    ++keys[v];
    look.longest_chunk = std::max(look.longest_chunk, keys[v]);
    if (!term.visible) continue;
    ++visible[v];
    nan[v] += std::isnan(term.score) ? 1 : 0;
    ++of_part[static_cast<std::size_t>(term.part)];
    if (!std::isnan(term.score)) most[v] = std::max(most[v], term.score);
  }
  Real running = t.sink, before = kNothing;
  bool first = true, was_empty = false;
  for (std::size_t v = 0; v < visits; ++v) {
    if (keys[v] == 0 && t.kind != ProblemKind::merge) continue;
    if (visible[v] == 0) {
      look.some_hidden = true;
      if (first) look.first_hidden = true;
      look.adjacent_empty |= was_empty;
      ++look.empty_groups;
    }
    was_empty = visible[v] == 0;
    first = false;
    look.nan_chunk |= visible[v] > 0 && nan[v] == visible[v];
    if (visible[v] == 0) continue;
    if (running != kNothing) look.rise = std::max(look.rise, most[v] - running);
    if (before != kNothing) look.fall = std::max(look.fall, before - most[v]);
    before = most[v];
    running = std::max(running, most[v]);
    look.dip = std::max(look.dip, running - most[v]);
    look.last_chunk = keys[v];
  }
  if (t.parts > 1) {
    look.empty_part = std::ranges::find(of_part, 0) != of_part.end();
    look.first_part_empty = of_part[0] == 0;
    std::vector<int> chunks(of_part.size()), within(of_part.size());
    for (int v = 0; v < t.visits; ++v) {
      const auto part = static_cast<std::size_t>(part_of_visit(v, t.visits, t.parts));
      ++chunks[part];
      within[part] += t.begins[static_cast<std::size_t>(v)] < t.length ? 1 : 0;
    }
    for (std::size_t p = 0; p < chunks.size(); ++p) look.part_beyond |= chunks[p] > 0 && within[p] == 0;
  }
}

RowLook look_at(const RowTerms& t) {
  RowLook look;
  std::vector<Real> scores{t.sink};
  look.first_missing = t.length;
  for (std::size_t j = 0; j < t.terms.size(); ++j) {
    const Term& term = t.terms[j];
    if (term.visible) {
      ++look.visible;
      look.last_visible = term.position;
      look.nan_score |= std::isnan(term.score);
      look.nan_value |= special_value(t, j);
      look.most = std::max(look.most, term.score), look.least = std::min(look.least, term.score);
      scores.push_back(term.score);
    } else {
      ++look.hidden;
      look.first_missing = std::min(look.first_missing, term.position);
      look.hidden_nan_score |= std::isnan(term.score);
      look.hidden_nan_value |= special_value(t, j);
    }
  }
  look.lse = log_sum(scores);
  look_at_chunks(t, look);
  return look;
}

/// Largest |q·k| of the keys that a row sees, before any factor.
Real raw_score(const AttentionProblem& p, const RowTerms& t) {
  Real most = 0;
  const std::int64_t kv = p.kv_head(t.h), q = p.q_offset(t.s, t.h, t.i);
  for (const Term& term : t.terms) {
    if (!term.visible) continue;
    const std::int64_t k = p.k_offset(t.s, kv, term.position);
    Real sum = 0;
    for (std::int64_t c = 0; c < p.head_dim(); ++c)
      sum += static_cast<Real>(decode(p.q.format, p.q.bits(q + c * p.q.stride[3]))) *
             static_cast<Real>(decode(p.k.format, p.k.bits(k + c * p.k.stride[3])));
    most = std::max(most, std::fabs(sum));
  }
  return most;
}

/// NaN or inf in storage between the length and the end of the tensor, which no row of the sequence may notice.
bool special_behind(const AttentionProblem& p, const Tensor& tensor, bool keys, const RowTerms& t) {
  if (p.paged() || p.packed()) return false;
  const std::int64_t kv = p.kv_head(t.h);
  for (std::int64_t j = t.length; j < p.k_length(t.s); ++j) {
    const std::int64_t at = keys ? p.k_offset(t.s, kv, j) : p.v_offset(t.s, kv, j);
    for (std::int64_t c = 0; c < tensor.shape[3]; ++c)
      if (not_finite(decode(tensor.format, tensor.bits(at + c * tensor.stride[3])))) return true;
  }
  return false;
}

/// The first visited chunk in which a query of the row's block sees a key by its position: does the row see nothing of it?
bool first_of_block_hidden(const AttentionProblem& p, const RowTerms& t, std::int64_t block) {
  AttentionProblem::Keys range{t.length, 0};
  const std::int64_t first = t.i / block * block, end = std::min(first + block, p.q_length(t.s));
  for (std::int64_t i = first; i < end; ++i) {
    const AttentionProblem::Keys keys = p.visible_keys(t.s, i);
    if (keys.first >= keys.last) continue;
    range.first = std::min(range.first, keys.first), range.last = std::max(range.last, keys.last);
  }
  std::int32_t visit = std::numeric_limits<std::int32_t>::max();
  for (const Term& term : t.terms)
    if (range.first <= term.position && term.position < range.last) visit = std::min(visit, term.visit);
  if (visit == std::numeric_limits<std::int32_t>::max()) return false;
  return std::ranges::none_of(t.terms, [&](const Term& term) { return term.visit == visit && term.visible; });
}

/// Are two states joined that are both empty? By the problem's tree, or a balanced one over the order of visits.
bool empty_join(const MergeProblem& p, const RowTerms& t) {
  std::vector<bool> empty(t.terms.size());
  for (const Term& term : t.terms) empty[static_cast<std::size_t>(term.visit)] = !term.visible;
  if (!p.joins.empty()) {
    bool any = false;
    for (const Join& join : p.joins) {
      const bool both = empty[static_cast<std::size_t>(join.left)] && empty[static_cast<std::size_t>(join.right)];
      any |= both;
      empty.push_back(both);
    }
    return any;
  }
  bool any = false;
  while (empty.size() > 1) {
    std::vector<bool> next;
    for (std::size_t i = 0; i < empty.size(); i += 2) {
      const bool both = empty[i] && (i + 1 == empty.size() || empty[i + 1]);
      any |= both && i + 1 < empty.size();
      next.push_back(both);
    }
    empty = next;
  }
  return any;
}

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

void collect_attention(const AttentionProblem& p, const RowTerms& t, const RowLook& look, const Kernel& kernel,
                       double neighbours[4], Collector& c) {
  c.yes("no_visible_key", "the row sees no key", look.visible == 0);
  c.yes("hidden_nan_k", "k of a hidden key is NaN or infinite",
        look.hidden_nan_score || special_behind(p, p.k, true, t));
  c.yes("hidden_nan_v", "v of a hidden key is NaN or infinite",
        look.hidden_nan_value || special_behind(p, p.v, false, t));
  c.yes("nan_chunk", "every score that the row sees in a chunk is NaN", look.nan_chunk);
  c.yes("nan_score", "a score that the row sees is NaN", look.nan_score);
  c.yes("nan_value", "v of a key that the row sees is NaN or infinite", look.nan_value);
  c.yes("first_chunk_hidden", "the row sees nothing of the chunk that is visited first", look.first_hidden);
  c.yes("first_chunk_hidden_of_4", "the row sees nothing of the first chunk that its block of 4 rows visits",
        first_of_block_hidden(p, t, 4));
  c.yes("first_chunk_hidden_of_16", "the row sees nothing of the first chunk that its block of 16 rows visits",
        first_of_block_hidden(p, t, 16));
  c.yes("part_beyond_keys", "a part of the split lies wholly beyond the sequence's keys", look.part_beyond);
  c.yes("first_part_empty", "the first part of the split sees no key", look.first_part_empty);
  c.yes("empty_part", "a part of the split sees no key", look.empty_part);
  c.yes("some_chunk_hidden", "the row sees nothing of a chunk", look.some_hidden);
  c.real(
      "softcap_argument", "the largest |score| in units of the softcap",
      p.softcap > 0 && look.visible > 0 ? raw_score(p, t) * std::fabs(static_cast<Real>(p.scale)) / p.softcap : kNone);
  collect_scores(look, c, ProblemKind::attention);
  c.real("raw_score", "the largest |q.k| before the scale", raw_score(p, t));
  static constexpr const char* kIds[] = {"below_2_rows", "below_4_rows", "below_8_rows", "below_16_rows"};
  static constexpr const char* kPhrases[] = {"how far the row's maximum lies below that of its 2 neighbours",
                                             "how far the row's maximum lies below that of its 4 neighbours",
                                             "how far the row's maximum lies below that of its 8 neighbours",
                                             "how far the row's maximum lies below that of its 16 neighbours"};
  for (int g = 0; g < 4; ++g) c.real(kIds[g], kPhrases[g], neighbours[g]);
  c.yes("softcap", "there is a softcap", p.softcap > 0);
  c.yes("causal", "the mask is causal", p.causal);
  c.yes("window", "there is a window", p.window_left >= 0 || p.window_right >= 0);
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
  c.real("first_minus_inf", "the first column that is -inf",
         look.first_missing < p.x.shape[1] ? static_cast<Real>(look.first_missing) : kInf);
  c.yes("nan_score", "an x of the row is NaN", look.nan_score);
  c.yes("first_chunk_hidden", "every x of the chunk that is visited first is -inf", look.first_hidden);
  c.yes("some_chunk_hidden", "every x of a chunk is -inf", look.some_hidden);
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
  c.yes("causal", "the mask is causal", f.causal);
  c.yes("window", "there is a window", f.window_left >= 0 || f.window_right >= 0);
  c.yes("bias", "there is a bias", f.has_bias());
  c.yes("alibi", "there are ALiBi slopes", f.has_alibi());
  c.yes("dv_differs", "dv is not d", f.head_dim() != f.value_dim());
  c.count("group", "the number of query heads per kv head", p.group());
  c.count("queries", "the number of queries", f.q_length());
  c.count("length", "the number of keys", f.k_length());
  c.count("d", "d", f.head_dim());
  c.count("dv", "dv", f.value_dim());
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
      double most = -kInf;
      for (std::int64_t r = first; r < end; ++r) most = std::max(most, largest_[static_cast<std::size_t>(r)]);
      neighbours[at] = look.visible > 0 ? most - static_cast<double>(look.most) : kNone;
    }
    collect_attention(*p, terms, look, kernel_, neighbours, c);
  }
  return c.values;
}

}  // namespace flashproof
