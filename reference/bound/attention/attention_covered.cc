// Which declarations README.md covers, and which problems with each. The rest is refused by name.
#include <cmath>
#include <stdexcept>
#include <string>

#include "reference/bound/declare/declaration.h"
#include "reference/bound/problem_bounds.h"
#include "reference/system/error.h"

namespace flashproof::bound {

namespace {

void require(bool holds, const std::string& what) {
  if (!holds) throw std::invalid_argument("declared arithmetic: " + what);
}

}  // namespace

void require_attention(const Arithmetic& a) {
  const std::string contradiction = attention_contradiction(a);
  require(contradiction.empty(), contradiction);
  const auto sixteen_or_more = [](Format f) { return f == Format::f32 || f == Format::f16 || f == Format::bf16; };
  require(a.query != Format::f64, "query: f32 or narrower");
  require(a.weights.format != Format::f64, "weights.format: f32 or narrower");
  require(a.tanh_error >= 0 && a.tanh_error < 0.5, "tanh_error in [0, 1/2)");
  require(a.lse_format == Format::f32, "lse_format: f32, there are no joins");
  require(a.split.parts == 1 || sixteen_or_more(a.split.partial_o), "split.partial_o: f32, f16 or bf16");
  require(a.split.parts == 1 || sixteen_or_more(a.split.partial_lse), "split.partial_lse: f32, f16 or bf16");
}

void require_attention_problem(const AttentionProblem& p, const Arithmetic& a) {
  if (a.unit == ScoreUnit::raw) {
    if (const std::string why = raw_scores_refused(p); !why.empty()) throw UsageError(why);
  }
  if (a.underflow == Underflow::flush) {
    for (std::int64_t s = 0; s < p.sequences() && !p.v_descale.shape.empty(); ++s) {
      for (std::int64_t kv = 0; kv < p.k_heads(); ++kv) {
        const double factor = std::fabs(p.v_descale.at({s, kv}));
        if (factor == 0 || factor >= 0x1p-126) continue;
        throw UsageError("v_descale[" + std::to_string(s) + ", " + std::to_string(kv) +
                         "]: subnormal, must be 0 or 2^-126 or more where subnormals are flushed");
      }
    }
  }
  if (p.softcap != 0.0F && a.tanh_error == 0) {
    throw UsageError("softcap: the declared arithmetic has no tanh_error, legal: softcap = 0");
  }
  if (p.softcap != 0.0F && p.softcap < 0x1p-126F && a.underflow == Underflow::flush) {
    throw UsageError("softcap: subnormal, must be 2^-126 or more where subnormals are flushed");
  }
}

}  // namespace flashproof::bound
