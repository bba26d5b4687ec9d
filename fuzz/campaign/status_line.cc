#include "fuzz/campaign/status_line.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "reference/system/text.h"

namespace flashproof {

std::string status_text(const std::string& target, const Summary& n, const StatusFacts& p) {
  std::string text = fmt::format("fuzz {}: {} executions, {}/s", target, grouped(n.executions),
                                 grouped(static_cast<std::uint64_t>(p.per_second)));
  if (n.worst)
    text += fmt::format(", worst {:.4g} ({} {})", n.worst->ratio, subject_text(n.worst->subject),
                        printable(n.worst->term, 30));
  text += fmt::format(", {} findings, {} corpus files", n.findings, grouped(p.corpus_files));
  if (p.rejected > 0) text += fmt::format(" ({} rejected)", p.rejected);
  return text + fmt::format(", {} workers, {:.0f} s left", p.workers, p.seconds_left);
}

namespace {

/// A line that wraps could not be written again.
int columns() {
  constexpr int kUnknown = 200;
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1 : kUnknown;
}

}  // namespace

StatusLine::StatusLine() : last_(Clock::now()) {
  const char* kind = std::getenv("TERM");
  terminal_ = ::isatty(STDERR_FILENO) == 1 && kind != nullptr && std::string_view(kind) != "dumb";
}

StatusLine::~StatusLine() {
  if (terminal_) std::fputs("\r\033[K", stderr);
}

bool StatusLine::due() const {
  const double since = std::chrono::duration<double>(Clock::now() - last_).count();
  return since >= (terminal_ || first_ ? 1.0 : 10.0);
}

void StatusLine::show(const std::string& text) {
  last_ = Clock::now();
  first_ = false;
  if (terminal_) {
    std::fprintf(stderr, "\r\033[K%.*s", columns(), text.c_str());
    std::fflush(stderr);
  } else {
    std::fprintf(stderr, "flashproof: %s\n", text.c_str());
  }
}

void StatusLine::say(const std::string& text) {
  std::fprintf(stderr, "%sflashproof: %s\n", terminal_ ? "\r\033[K" : "", text.c_str());
}

}  // namespace flashproof
