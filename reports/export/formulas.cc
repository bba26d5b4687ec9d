// The plain formulas as Python that NumPy and PyTorch both run: XP stands for either.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "reports/export/script.h"

namespace flashproof {
namespace {

std::string list_constant(std::string_view name, const std::vector<std::int32_t>& values) {
  return fmt::format("{} = [{}]", name, fmt::join(values, ", "));
}

std::string number_constant(std::string_view name, float value, std::string_view note) {
  return fmt::format("{} = float.fromhex(\"{:a}\"){}", name, double{value}, note);
}

Formula softmax_formula(const SoftmaxProblem& p) {
  Formula f{{"x"}, {}, {}, "o, lse"};
  const bool lengths = !p.row_length.empty();
  if (lengths) f.constants.push_back(list_constant("ROW_LENGTH", p.row_length) + "  # visible columns of each row");
  f.body = R"(    o, lse = XP.zeros(x.shape, dtype=XP.float64), XP.full(x.shape[:1], -XP.inf, dtype=XP.float64)
    for r in range(len(x)):
        see = x[r] != -XP.inf  # NaN is seen
)";
  if (lengths) f.body += "        see[ROW_LENGTH[r]:] = False\n";
  f.body += R"(        s = x[r][see]
        if len(s):  # else nothing is visible: o = 0, lse = -inf
            p = XP.exp(s - s.max())
            o[r][see] = p / p.sum()
            lse[r] = s.max() + XP.log(p.sum())
)";
  return f;
}

Formula merge_formula(const MergeProblem& p) {
  Formula f{{"o", "lse"}, {}, {}, "out, out_lse"};
  if (p.has_l()) f.arguments.emplace_back("l");
  const bool concat = p.form == MergeForm::concat;
  f.body = fmt::format(R"(    n, rows, width = o.shape  # states, rows, columns of one state
    out, out_lse = XP.zeros((rows, {}), dtype=XP.float64), XP.full((rows,), -XP.inf, dtype=XP.float64)
    for r in range(rows):
        see = {}
        s = lse[see, r]
        if not len(s): continue  # no state contributes: o = 0, lse = -inf
)",
                       concat ? "n * width" : "width",
                       p.has_l() ? "(lse[:, r] != -XP.inf) & (l[:, r] != 0)" : "lse[:, r] != -XP.inf");
  if (p.has_l()) {
    f.body += R"(        weight = l[see, r] * XP.exp(s - s.max())  # (m, l, O): not yet divided by l
        total = weight.sum() + 0 * weight.max()  # an infinite l is no state: NaN
)";
  } else {
    f.body += "        total = XP.exp(s - s.max()).sum()\n";
  }
  f.body += R"(        out_lse[r] = s.max() + XP.log(total)
        factor = XP.exp(s - s.max()) / total
)";
  if (concat) {
    f.body += R"(        blocks = XP.zeros((n, width), dtype=XP.float64)
        blocks[see] = factor[:, None] * o[see, r]  # the states side by side
        out[r] = blocks.reshape(n * width)
)";
  } else {
    f.body += "        out[r] = factor @ o[see, r]\n";
  }
  return f;
}

/// The place of a query in q and in the outputs.
std::string row_of(const AttentionProblem& p) { return p.packed() ? "0, h, Q_START[b] + i" : "b, h, i"; }

/// Of (b, h, i), sequence, head and query: the loop over them, and the keys K and values V that they see.
void attention_loop(Formula& f, const AttentionProblem& p) {
  std::string& b = f.body;
  if (p.packed()) {
    b += fmt::format(
        "    for b, h, i in ((b, h, i) for b in range({}) for h in range(q.shape[1]) for i in range(Q_START[b + 1] - "
        "Q_START[b])):\n",
        p.sequences());
  } else {
    b += "    for b, h, i in itertools.product(*map(range, q.shape[:3])):\n";
  }
  const bool grouped = p.q_heads() != p.k_heads();
  if (grouped) b += "        g = h * k.shape[1] // q.shape[1]  # grouped heads: the kv head that it reads\n";
  const std::string g = grouped ? "g" : "h";
  if (p.paged()) {
    b += fmt::format(R"(        length = {}
        pages = XP.asarray(PAGE_TABLE[b * PAGES:][:-(-length // k.shape[2])], dtype=XP.int64)
        K, V = (x[pages, {}].reshape(len(pages) * x.shape[2], x.shape[3])[:length] for x in (k, v))
)",
                     p.key_length.empty() ? "PAGES * k.shape[2]" : "KEY_LENGTH[b]", g);
  } else if (p.packed()) {
    b += fmt::format("        K, V = (x[0, {}, K_START[b]:K_START[b + 1]] for x in (k, v))\n", g);
  } else {
    b += fmt::format("        K, V = k[b, {0}], v[b, {0}]\n", g);
  }
}

/// Everything up to the scores `s` of one query against the keys of its head, and which of them it may `see`.
/// `outputs`: the lines that make room for the results.
void attention_scores(Formula& f, const AttentionProblem& p, const std::string& outputs) {
  f.constants.push_back(number_constant("SCALE", p.scale, ""));
  if (p.softcap != 0) f.constants.push_back(number_constant("SOFTCAP", p.softcap, ""));
  if (!p.key_length.empty()) {
    f.constants.push_back(list_constant("KEY_LENGTH", p.key_length) + "  # keys of each sequence");
  }
  if (p.packed())
    f.constants.push_back(list_constant("Q_START", p.q_start) + "  # packed: sequence s owns START[s]:START[s+1]");
  if (p.packed() && !p.paged()) f.constants.push_back(list_constant("K_START", p.k_start));
  if (p.paged()) {
    f.constants.push_back(list_constant("PAGE_TABLE", p.page_table));
    f.constants.push_back(fmt::format("PAGES = {}  # of each sequence in PAGE_TABLE",
                                      p.page_table.size() / static_cast<std::size_t>(p.sequences())));
  }
  f.body += outputs;
  attention_loop(f, p);
  const std::string g = p.q_heads() != p.k_heads() ? "g" : "h";
  std::string& b = f.body;
  b += fmt::format("        s = SCALE{}{} * (K @ q[{}]){}\n",
                   p.q_descale.shape.empty() ? "" : fmt::format(" * q_descale[b, {}]", g),
                   p.k_descale.shape.empty() ? "" : fmt::format(" * k_descale[b, {}]", g), row_of(p),
                   p.has_bias() && p.softcap == 0 ? " + bias[b, h, i, :len(K)]" : "");
  if (p.softcap != 0) b += "        s = SOFTCAP * XP.tanh(s / SOFTCAP)\n";
  if (p.has_bias() && p.softcap != 0) b += "        s = s + bias[b, h, i, :len(s)]\n";
  if (p.has_alibi() || p.causal || p.window_left >= 0 || p.window_right >= 0) {
    b += fmt::format("        at = i + len(K) - {}  # aligned bottom right\n",
                     p.packed() ? "(Q_START[b + 1] - Q_START[b])" : "q.shape[2]");
  }
  if (p.has_alibi()) b += "        s = s - alibi[b, h] * abs(at - XP.arange(len(K)))\n";
  const char* bias = p.has_bias() ? "(s != -XP.inf) & (bias[b, h, i, :len(s)] != -XP.inf)" : "s != -XP.inf";
  b += fmt::format("        see = {}  # NaN is seen\n", bias);
  const auto unless = [&](const std::string& condition) { b += "        see = see & (" + condition + ")\n"; };
  if (!p.key_length.empty() && !p.paged()) unless("XP.arange(len(K)) < KEY_LENGTH[b]");
  if (p.causal) unless("XP.arange(len(K)) <= at");
  if (p.window_left >= 0) unless(fmt::format("XP.arange(len(K)) >= at - {}", p.window_left));
  if (p.window_right >= 0) unless(fmt::format("XP.arange(len(K)) <= at + {}", p.window_right));
}

std::vector<std::string> attention_arguments(const AttentionProblem& p) {
  std::vector<std::string> names = {"q", "k", "v"};
  for (const auto& [name, tensor] : {std::pair("bias", &p.bias),
                                     {"alibi", &p.alibi},
                                     {"sink", &p.sink},
                                     {"q_descale", &p.q_descale},
                                     {"k_descale", &p.k_descale},
                                     {"v_descale", &p.v_descale}}) {
    if (!tensor->shape.empty()) names.emplace_back(name);
  }
  return names;
}

Formula attention_formula(const AttentionProblem& p) {
  Formula f{attention_arguments(p), {}, {}, "o, lse"};
  attention_scores(f, p,
                   "    o, lse = XP.zeros((*q.shape[:3], v.shape[3]), dtype=XP.float64), XP.full(q.shape[:3], -XP.inf, "
                   "dtype=XP.float64)\n");
  f.body += "        s, seen = s[see], V[see]\n";
  if (p.has_sink()) {
    f.body += "        s = XP.hstack([s, sink[h:h + 1][sink[h:h + 1] != -XP.inf]])  # one more key, with v = 0\n";
  }
  f.body += fmt::format(R"(        if len(s):  # else no key is visible: o = 0, lse = -inf
            p = XP.exp(s - s.max())
            o[{0}] = p{1} @ seen / p.sum(){2}
            lse[{0}] = s.max() + XP.log(p.sum())
)",
                        row_of(p), p.has_sink() ? "[:len(seen)]" : "",
                        p.v_descale.shape.empty()    ? ""
                        : p.q_heads() != p.k_heads() ? " * v_descale[b, g]"
                                                     : " * v_descale[b, h]");
  return f;
}

Formula backward_formula(const BackwardProblem& p) {
  Formula f{attention_arguments(p.forward), {}, {}, "dq, dk, dv"};
  for (const char* name : {"d_out", "o", "lse"}) f.arguments.emplace_back(name);
  attention_scores(f, p.forward, "    dq, dk, dv = (XP.zeros(x.shape, dtype=XP.float64) for x in (q, k, v))\n");
  f.body += R"(        s = s[see]
        if not len(s):
            continue  # no visible key: this row gives nothing
)";
  f.body += p.mode == BackwardMode::stage
                ? R"(        P, O = XP.exp(s - lse[b, h, i]), o[b, h, i]  # o and lse are inputs like the others
)"
                : R"(        P = XP.exp(s - s.max())  # o and lse are roundings of the exact ones, which count here
        P, O = P / P.sum(), P @ V[see] / P.sum()
)";
  f.body += fmt::format(R"(        dS = P * (V[see] @ d_out[b, h, i] - d_out[b, h, i] @ O)
        dq[b, h, i] = SCALE * (dS @ K[see])
        dk[b, {0}][see] += SCALE * dS[:, None] * q[b, h, i]
        dv[b, {0}][see] += P[:, None] * d_out[b, h, i]
)",
                        p.forward.q_heads() != p.forward.k_heads() ? "g" : "h");
  return f;
}

}  // namespace

Formula formula_of(const Problem& problem) {
  if (const auto* softmax = std::get_if<SoftmaxProblem>(&problem)) return softmax_formula(*softmax);
  if (const auto* merge = std::get_if<MergeProblem>(&problem)) return merge_formula(*merge);
  if (const auto* backward = std::get_if<BackwardProblem>(&problem)) return backward_formula(*backward);
  return attention_formula(std::get<AttentionProblem>(problem));
}

}  // namespace flashproof
