#include "kernels/plugin/printed.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "reference/system/error.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

constexpr std::size_t kMostShown = std::size_t{1}
                                   << 16;  // bytes of one process; a sanitizer's report has some thousand
constexpr std::size_t kLongestLine = 4096;
constexpr int kMostReads = 64;  // at a time: a process may print without end

/// In one piece: other judges write there, too.
void say(const std::string& line) {
  const std::string text = "plugin: " + line + "\n";
  if (::write(STDERR_FILENO, text.data(), text.size()) < 0) return;  // no stderr
}

}  // namespace

Printed::Printed() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw InfrastructureError(fmt::format("pipe: {}", std::strerror(errno)));
  ours_ = Descriptor(ends[0]), theirs_ = Descriptor(ends[1]);
  if (::fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) {
    throw InfrastructureError(fmt::format("pipe: {}", std::strerror(errno)));
  }
}

void Printed::show() {
  char bytes[4096];
  for (int reads = 0; reads < kMostReads; ++reads) {
    const ssize_t n = ::read(ours_.get(), bytes, sizeof bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) ours_.close();  // both ends of the process are closed: poll() would report that without end
    if (n <= 0) return;
    take(std::string_view(bytes, static_cast<std::size_t>(n)));
  }
}

void Printed::show_last() {
  show();
  if (!line_.empty()) end_line();
}

void Printed::take(std::string_view text) {
  while (!text.empty() && shown_ < kMostShown) {
    const std::size_t end = text.find('\n');
    const std::size_t size = std::min({end, text.size(), kLongestLine - line_.size()});
    line_ += text.substr(0, size);
    shown_ += size + 1;
    text.remove_prefix(size);
    if (end == size) text.remove_prefix(1);
    if (end == size || line_.size() == kLongestLine) end_line();
    if (shown_ >= kMostShown) {
      if (!line_.empty()) end_line();
      say("(what it prints from here on is not shown)");
    }
  }
}

void Printed::end_line() {
  std::ranges::replace(line_, '\t', ' ');
  say(one_line(line_));
  line_.clear();
}

}  // namespace flashproof
