#include "reference/oracle/fp64/attention_head.h"

#include <algorithm>
#include <cmath>

#include "reference/oracle/descale.h"
#include "reference/oracle/environment_guard.h"
#include "reference/oracle/fp64/vector/proven_exp.h"
#include "reference/oracle/symbolic.h"

namespace flashproof::attention64 {
namespace {

/// Four products below the range of double, and the radius of a product that was.
constexpr double kDescaleFloor = 0x1p-1070;

struct Storage {
  Buffer packed;
  Scratch scratch;

  void keep_little() {
    if (packed.size() > kKeptDoubles) packed.release();
    if (scratch.buffer.size() > kKeptDoubles) scratch.buffer.release();
  }
};
Storage& storage() {
  static thread_local Storage mine;
  return mine;
}

class Head {
 public:
  Head(Call& call, std::int64_t sequence, std::int64_t kv_head, const Threads& threads)
      : call_(call), sequence_(sequence), kv_head_(kv_head), threads_(threads) {}

  void run(std::span<RowState> rows) {
    std::vector<RowState*> plain;
    for (RowState& state : rows) {
      plain.push_back(&state);
      last_key_ = std::max(last_key_, state.visible.last);
    }
    pass(plain);
    std::vector<RowState*> special;
    for (RowState& state : rows) {
      if (state.special) special.push_back(&state);
    }
    const std::int64_t length = std::max<std::int64_t>(call_.problem.visible_length(sequence_), 1);
    const auto batch = static_cast<std::size_t>(std::max(kGroup, kListedKeys / length));
    for (std::size_t at = 0; at < special.size(); at += batch) {
      run_special(std::span(special).subspan(at, std::min(batch, special.size() - at)));
    }
  }

 private:
  /// The chunks that lie packed, and which they are.
  struct Packed {
    std::int64_t first = 0, last = 0;  // chunk numbers
    std::vector<Chunk> chunks;
  };

  void run_special(std::span<RowState*> rows) {
    HeadFlags flags(call_.problem, sequence_, kv_head_);
    std::vector<RowKeys> keys(rows.size());
    std::vector<RowState*> numeric;
    for (std::size_t n = 0; n < rows.size(); ++n) {
      collect_keys(call_.problem, rows[n]->row, flags, keys[n]);
      RowBalls balls;
      if (symbolic_row(call_.problem, keys[n], balls)) {
        call_.cause[rows[n]->place] = {};
        call_.note(rows[n]->place, std::move(balls));
        continue;
      }
      rows[n]->keys = &keys[n];
      numeric.push_back(rows[n]);
    }
    pass(numeric);
    for (RowState* state : numeric) mark_columns(*state, flags);
  }

  void mark_columns(const RowState& state, HeadFlags& flags) {
    const std::int64_t width = call_.truth.width;
    RowBalls balls;
    balls.tier = Tier::fp64;
    for (std::int64_t c = 0; c < width; ++c) balls.o.push_back(call_.truth.o[state.place * width + c]);
    balls.lse = call_.truth.lse[state.place];
    mark_special_values(call_.problem, state.row, *state.keys, flags, balls);
    call_.note(state.place, std::move(balls));
  }

  /// Sums all keys into the rows and writes their balls; then once more, relative to an exact score, for rows with a
  /// weight that could not be bounded. Leaves out rows that turn out to be special.
  void pass(std::span<RowState*> rows) {
    sum(rows);
    std::vector<RowState*> failed;
    for (RowState* state : rows) {
      if (state->failed && !state->special) failed.push_back(state);
    }
    for (RowState* state : failed) anchor(*state);
    sum(failed);
  }

  /// The largest score becomes the reference: README.md, "Anchored rows".
  void anchor(RowState& state) const {
    const double sink = sink_of(state);
    state.anchored = true;
    if (sink >= state.top) {
      state.anchor = -1;
      state.anchor_error = 0;
      state.m = sink;
    } else {
      state.anchor = state.top_key;
      state.anchor_error = state.top_error;
      state.m = state.top;
    }
  }

  /// −inf if there is none.
  double sink_of(const RowState& state) const {
    return call_.problem.has_sink() ? call_.problem.sink.at({state.row.head}) : kMinusInfinity;
  }

  void start(RowState& state) const {
    const double sink = sink_of(state);
    state.sum = state.weight_radius = state.sum_rounding = state.star_weight = state.star_radius = 0;
    state.score_error = state.roundings = 0;
    state.seen = state.failed = false;
    std::fill(state.o, state.o + call_.padded(), 0.0);
    std::fill(state.radius, state.radius + call_.padded(), 0.0);
    std::fill(state.star, state.star + call_.padded(), 0.0);
    if (!state.anchored) {
      state.m = state.top = kMinusInfinity;
      state.special = !(sink < std::numeric_limits<double>::infinity());  // NaN or +inf
      if (state.keys != nullptr) state.special = false;
    }
    if (!std::isfinite(sink)) return;
    if (!state.anchored) state.m = sink;
    add_sink(sink, state);
  }

  /// One more key, with v = 0 and an exact score.
  void add_sink(double sink, RowState& state) const {
    const AttentionTerms& terms = call_.options.terms;
    const double x = sink - state.m;
    const double m_part = x - sink;
    const double rest = std::fabs((sink - (x - m_part)) + (-state.m - m_part));  // TwoSum
    const double e = terms.argument * rest + (state.anchored && state.anchor >= 0 ? state.anchor_error : 0.0);
    if (x >= kExpLowest && e < 0.25) {
      state.star_weight = state.sum = proven_exp(x);
      if (x != 0 || e != 0) state.star_radius = state.sum * (e + e * e + terms.exp * kExpError);
    } else if (const double most = x + e * kInflation; most <= -60) {
      state.star_radius = terms.vanished * (most <= -700 ? 0x1p-1000 : 0x1p-86);
    } else {
      state.failed = true;
    }
  }

  void sum(std::span<RowState*> rows) {
    const AttentionProblem& problem = call_.problem;
    const std::int64_t capacity = chunk_capacity(problem, call_.options);
    const std::int64_t padded = call_.padded();
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    std::int64_t last = 0;
    for (const RowState* state : rows) {
      if (state->visible.first >= state->visible.last) continue;
      first = std::min(first, state->visible.first);
      last = std::max(last, state->visible.last);
    }
    const std::int64_t first_chunk = last == 0 ? 0 : first / capacity;
    const std::int64_t last_chunk = last == 0 ? 0 : (last + capacity - 1) / capacity;
    const std::int64_t doubles = Chunk::doubles(capacity, problem.head_dim(), padded);
    const std::int64_t together =
        std::max<std::int64_t>(1, call_.options.pack_bytes / (doubles * static_cast<std::int64_t>(sizeof(double))));
    const bool once = last_chunk - first_chunk <= together;
    Buffer kept;  // the rows' vectors, if they must outlast a task
    double* const vectors = once ? nullptr : kept.grow(static_cast<std::int64_t>(rows.size()) * 3 * padded);
    const auto blocks = (static_cast<std::int64_t>(rows.size()) + kBlockRows - 1) / kBlockRows;
    for (std::int64_t at = first_chunk; at == first_chunk || at < last_chunk; at += together) {
      const std::int64_t end = std::min(at + together, last_chunk);
      if (end > at) pack(at, end, capacity);
      threads_.for_each(blocks, [&](std::int64_t b) {
        const auto begin = static_cast<std::size_t>(b * kBlockRows);
        const auto block = rows.subspan(begin, std::min<std::size_t>(kBlockRows, rows.size() - begin));
        add(block, once ? nullptr : vectors + b * kBlockRows * 3 * padded, capacity, at == first_chunk,
            end == last_chunk);
      });
    }
  }

  void pack(std::int64_t at, std::int64_t end, std::int64_t capacity) {
    if (!packed_.chunks.empty() && packed_.first <= at && end <= packed_.last) return;
    const AttentionProblem& problem = call_.problem;
    const std::int64_t doubles = Chunk::doubles(capacity, problem.head_dim(), call_.padded());
    double* const base = storage().packed.grow((end - at) * doubles);
    packed_.first = at;
    packed_.last = end;
    packed_.chunks.assign(static_cast<std::size_t>(end - at), Chunk());
    threads_.for_each(end - at, [&](std::int64_t n) {
      Chunk& chunk = packed_.chunks[static_cast<std::size_t>(n)];
      chunk.first = (at + n) * capacity;
      chunk.count = std::min(capacity, last_key_ - chunk.first);
      chunk.capacity = round_up(chunk.count, kTerms);
      chunk.place(base + n * doubles, problem.head_dim(), call_.padded());
      Scratch& scratch = storage().scratch;
      scratch.prepare(capacity, problem.head_dim(), call_.padded());
      pack_chunk(problem, sequence_, kv_head_, chunk, scratch);
    });
  }

  void add(std::span<RowState*> rows, double* kept, std::int64_t capacity, bool begin, bool end) {
    const std::int64_t padded = call_.padded();
    const auto count = static_cast<std::int64_t>(rows.size());
    Scratch& scratch = storage().scratch;
    scratch.prepare(capacity, call_.problem.head_dim(), padded);
    if (kept == nullptr) kept = scratch.vectors;
    for (std::int64_t r = 0; r < count; ++r) {
      RowState& state = *rows[static_cast<std::size_t>(r)];
      state.o = kept + r * 3 * padded;
      state.radius = state.o + padded;
      state.star = state.radius + padded;
      if (begin) start(state);
    }
    RowBlock block;
    block.rows = rows.data();
    block.count = count;
    load_queries(call_.problem, block, scratch);
    for (const Chunk& chunk : packed_.chunks) add_chunk(call_.problem, call_.options, chunk, block, scratch);
    if (!end) return;
    for (RowState* state : rows) {
      // m is a rounded score. Far above the exact one it leaves no weight near 1, and sums that underflow.
      if (!state->special && state->seen && !(state->sum > 0.5)) state->failed = true;
      finish(*state);
    }
  }

  void finish(const RowState& state) {
    if (state.special || (state.failed && !state.anchored)) return;  // comes again
    const std::int64_t width = call_.truth.width;
    if (!state.seen) {
      RowBalls balls;
      balls.o.assign(static_cast<std::size_t>(width), zero_ball());
      const double sink = sink_of(state);
      balls.lse = std::isfinite(sink) ? Ball{.hi = sink} : special_ball(kNegInf);
      call_.cause[static_cast<std::size_t>(state.place)] = {};
      call_.note(state.place, std::move(balls));
      return;
    }
    Ball lse;
    finish_row(state, width, call_.options.terms, call_.truth.o.hi() + state.place * width,
               call_.truth.o.radius() + state.place * width, lse, call_.cause[static_cast<std::size_t>(state.place)]);
    descale_row(state, width);
    call_.truth.lse.hi()[state.place] = lse.hi;
    call_.truth.lse.radius()[state.place] = lse.radius;
    call_.truth.tier[static_cast<std::size_t>(state.place)] = Tier::fp64;
  }

  /// README.md, "Descale factors".
  void descale_row(const RowState& state, std::int64_t width) {
    const double factor = value_factor(call_.problem, sequence_, kv_head_);
    if (factor == 1.0) return;
    double* const o = call_.truth.o.hi() + state.place * width;
    double* const radius = call_.truth.o.radius() + state.place * width;
    for (std::int64_t c = 0; c < width; ++c) {
      const double value = o[c] * factor;
      const double rest = std::fabs(std::fma(o[c], factor, -value));
      radius[c] = factor == 0.0 ? 0.0
                                : (radius[c] * std::fabs(factor) + call_.options.terms.descale * rest) * kInflation +
                                      kDescaleFloor;
      o[c] = value;
    }
  }

  Call& call_;
  std::int64_t sequence_, kv_head_;
  Threads threads_;
  std::int64_t last_key_ = 0;  // behind the last key that any row sees
  Packed packed_;
};

}  // namespace

std::int64_t chunk_capacity(const AttentionProblem& problem, const AttentionOptions& options) {
  if (options.chunk > 0) return round_up(options.chunk, kTerms);
  const std::int64_t columns = problem.head_dim() + problem.value_dim();
  return std::clamp(kMaxChunk * 1024 / columns / kTerms * kTerms, kTerms, kMaxChunk);
}

void run_head(Call& call, std::int64_t sequence, std::int64_t kv_head, const Threads& threads,
              std::span<RowState> rows) {
  Head(call, sequence, kv_head, threads).run(rows);
  storage().keep_little();
}

}  // namespace flashproof::attention64
