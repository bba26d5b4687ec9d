#include "reports/export/script.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "reference/system/text.h"

namespace flashproof {
namespace {

bool has(const std::vector<Format>& formats, Format format) {
  return std::find(formats.begin(), formats.end(), format) != formats.end();
}

std::string library(std::string text, Python python) {
  const std::string name = python == Python::numpy ? "np" : "torch";
  for (std::size_t at = 0; (at = text.find("XP", at)) != std::string::npos;) text.replace(at, 2, name);
  return text;
}

/// How a format of the file is called, and of what integers NumPy, which lacks it, makes it.
std::string numpy_types(const std::vector<Format>& formats) {
  std::vector<std::string> types;
  types.reserve(formats.size());
  for (const Format f : formats) {
    types.push_back(fmt::format("\"{}\": \"<{}{}\"", info(f).safetensors,
                                f == Format::f64 || f == Format::f32 || f == Format::f16 ? "f" : "u", bytes_of(f)));
  }
  return fmt::format("{}", fmt::join(types, ", "));
}

std::string torch_types(const std::vector<Format>& formats) {
  const auto name = [](Format f) {
    switch (f) {
      case Format::f64:
        return "float64";
      case Format::f32:
        return "float32";
      case Format::f16:
        return "float16";
      case Format::bf16:
        return "bfloat16";
      case Format::e4m3fn:
        return "float8_e4m3fn";
      default:
        return "float8_e5m2";
    }
  };
  std::vector<std::string> types;
  types.reserve(formats.size());
  for (const Format f : formats) types.push_back(fmt::format("\"{}\": torch.{}", info(f).safetensors, name(f)));
  return fmt::format("{}", fmt::join(types, ", "));
}

/// Every tensor of the file as `t[name]`; `load` makes one of its description `d`.
std::string file_reader(const std::string& load) {
  return fmt::format(R"(raw = pathlib.Path(__file__).with_name("{}").read_bytes()
start = 8 + int.from_bytes(raw[:8], "little")
t = {{name: {} for name, d in json.loads(raw[8:start]).items() if name != "__metadata__"}}
)",
                     kReproductionFile, load);
}

/// The formats that NumPy does not have are parts of ones that it has, or small enough to spell out.
std::string numpy_reader(const std::vector<Format>& formats) {
  const std::string stored = fmt::format(
      "np.frombuffer(raw[start:][slice(*d[\"data_offsets\"])], {{{}}}[d[\"dtype\"]])", numpy_types(formats));
  const std::string import = "import argparse, itertools, json, pathlib\nimport numpy as np\n\n";
  const std::string ignore = "np.seterr(all=\"ignore\")\n";
  if (!has(formats, Format::bf16) && !has(formats, Format::e5m2) && !has(formats, Format::e4m3fn)) {
    return import + file_reader(stored + ".reshape(d[\"shape\"]).astype(\"f8\")\n    ") + ignore;
  }
  std::string text = import + "def tensor(d):  # every value as it is\n    a = " + stored + "\n";
  if (has(formats, Format::bf16))
    text += R"(    if d["dtype"] == "BF16":
        a = (a.astype("<u4") << 16).view("<f4")
)";
  if (has(formats, Format::e5m2))
    text += R"(    if d["dtype"] == "F8_E5M2":
        a = (a.astype("<u2") << 8).view("<f2")
)";
  if (has(formats, Format::e4m3fn))
    text += R"(    if d["dtype"] == "F8_E4M3":
        e, m = (a.astype("i4") >> 3) & 15, a.astype("i4") & 7
        size = np.ldexp(m + 8.0 * (e > 0), np.maximum(e, 1) - 10)
        a = np.where(a & 127 == 127, np.nan, np.where(a & 128, -size, size))
)";
  return text + "    return a.reshape(d[\"shape\"]).astype(\"f8\")\n\n" + file_reader("tensor(d)") + ignore;
}

std::string torch_reader(const std::vector<Format>& formats) {
  return fmt::format(R"(import argparse, itertools, json, pathlib
import torch

def tensor(d):  # frombuffer refuses an empty buffer
    begin, end = d["data_offsets"]
    a = torch.frombuffer(bytearray(raw[start:][begin:end] or 8), dtype={{{}}}[d["dtype"]])
    return a[:None if end > begin else 0].reshape(d["shape"])

)",
                     torch_types(formats)) +
         file_reader("tensor(d)");
}

/// What rounds into the format of the output.
std::string rounding(const ReproducedTensor& tensor, Python python) {
  const std::string name = tensor.format == Format::f32   ? "float32"
                           : tensor.format == Format::f16 ? "float16"
                                                          : "bfloat16";
  if (python == Python::torch) return "torch." + name;
  return tensor.format == Format::bf16 ? "bf16" : "np." + name;
}

constexpr std::string_view kNumpyBf16 = R"(
def bf16(y):  # to nearest, ties to even; NumPy has no such type
    b = np.asarray(y, "<f4").view("<u4")
    return np.where(np.isnan(y), np.nan, ((b + 0x7FFF + (b >> 16 & 1)) & 0xFFFF0000).view("<f4"))
)";

/// Without a bound the units in the last place stand for it.
std::string check_text(const Reproduction& r, const Formula& formula, Python python) {
  std::vector<std::string> stored, inputs;
  for (const ReproducedTensor& t : r.outputs) {
    stored.push_back(fmt::format("\"{}\": {}", t.name, rounding(t, python)));
  }
  for (const std::string& name : formula.arguments) inputs.push_back("t[\"" + name + "\"]");
  const bool judged = !r.kernel.empty();
  const bool numpy = python == Python::numpy;
  return fmt::format(R"(
parser = argparse.ArgumentParser()
parser.add_argument("source", nargs="?", default="kernel", choices=["kernel", {7}"exact"])
source, stored = parser.parse_args().source, {{{0}}}
outputs = kernel({1}) if source == "kernel" else [t[f"{{name}}.{{source}}"] for name in stored]
wrong, total, worst = 0, 0, (False, -2.0, "there is no element")
for name, y in itertools.zip_longest(stored, outputs):  # each of them, and no more
    exact, lo, ulp, low, high, may_be, bound = (t[f"{{name}}.{{c}}"] for c in "exact exact_lo ulp low high may_be bound".split())
    a = {2}
    assert a.shape == exact.shape, (name, a.shape)
    bit = 4 * XP.isnan(a) + 2 * (a == -XP.inf) + 1 * (a == XP.inf)  # in may_be, if such a value is right here
    bad = XP.where(bit > 0, may_be // bit % 2 != 1, ~((low <= a) & (a <= high)))
    error = XP.where(XP.isfinite(a) & XP.isfinite(exact), abs(a - exact - lo), XP.inf)
{4}    share = XP.where(XP.isfinite(exact) & (bad | (error < XP.inf)), XP.where(error == 0, 0.0, error / {3}), -1.0)
    wrong, total = wrong + int(bad.sum()), total + {5}
    i = max(itertools.product(*map(range, a.shape)), key=lambda i: (bad[i], share[i]), default=None)
    worst = worst if i is None else max(worst, (bad[i], share[i], f"{{name}}{{list(i)}}: computed {{a[i]:.9g}}, exact {{exact[i]:.17g}}, error "
        f"{{error[i]:.6g}}, {{error[i] / ulp[i]:.6g}} ulp{6}"))
print(f"{{source}}: {{wrong}} of {{total}} elements wrong; worst: {{worst[2]}}")
raise SystemExit(1 if wrong else 0)
)",
                     fmt::join(stored, ", "), fmt::join(inputs, ", "),
                     numpy ? "np.asarray(stored[name](y), \"f8\")" : "torch.as_tensor(y).to(stored[name]).double()",
                     judged ? "bound" : "ulp", judged ? "" : "    bad = bad | (error / ulp > LIMIT_ULP)\n",
                     numpy ? "a.size" : "a.numel()", judged ? ", {share[i]:.6g} of its bound" : "",
                     r.has_recorded() ? "\"recorded\", " : "");
}

std::string opening(const Reproduction& r, Python python, const std::string& command) {
  std::string text = fmt::format(
      "# Is a kernel right on {}? Exit code 1: not. Needs {}, and {} beside it.\n"
      "#   python3 {}            your kernel, called in kernel() below; until then the plain formula\n",
      one_line(r.case_line), python == Python::numpy ? "NumPy" : "PyTorch", kReproductionFile, kScriptFile);
  if (r.has_recorded())
    text += fmt::format("#   python3 {} recorded   what {} computed ({}):\n", kScriptFile, r.kernel, r.place);
  // Of a failure its worst element, else the verdict: what follows the script says itself.
  std::vector<std::string> lines;
  for (std::string_view rest = r.verdict; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    lines.push_back(one_line(line.substr(std::min(line.find_first_not_of(' '), line.size()))));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  }
  if (!lines.empty()) text += "#     " + lines[lines.size() > 1 ? 1 : 0] + "\n";
  text += r.kernel.empty()
              ? "# Right is a NaN, inf or number where the result is one, at most LIMIT_ULP units in the last place "
                "off: set it.\n"
              : fmt::format(
                    "# Right is low..high: as far from exact + exact_lo as the declared arithmetic of {} explains.\n",
                    r.kernel);
  return text + "# Made by flashproof: " + one_line(command) + "\n";
}

}  // namespace

std::string script_text(const Reproduction& r, const Formula& formula, const std::vector<Format>& formats,
                        Python python, const std::string& command) {
  const bool numpy = python == Python::numpy;
  std::string text = opening(r, python, command) + (numpy ? numpy_reader(formats) : torch_reader(formats));
  if (r.kernel.empty()) text += "LIMIT_ULP = float(\"inf\")\n";
  for (const std::string& line : formula.constants) text += line + "\n";
  const bool bf16 =
      std::any_of(r.outputs.begin(), r.outputs.end(), [](const auto& t) { return t.format == Format::bf16; });
  if (numpy && bf16) text += kNumpyBf16;
  const std::string arguments = fmt::format("{}", fmt::join(formula.arguments, ", "));
  text += fmt::format(
      "\ndef kernel({}):  # <- call your kernel here; {}\n", arguments,
      numpy ? "float64 arrays with the values of the stored inputs" : "the stored tensors, in their own types");
  if (!numpy)
    text += fmt::format("    {}{} = (x.double() for x in ({},))\n", arguments, formula.arguments.size() == 1 ? "," : "",
                        arguments);
  text += library(formula.body, python) + "    return " + formula.returns + "\n";
  return text + library(check_text(r, formula, python), python);
}

}  // namespace flashproof
