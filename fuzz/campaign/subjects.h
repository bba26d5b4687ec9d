// Whom a campaign fuzzes: what a target's --list prints, what the command line chooses of it, and what files of a subject
// are called.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/archive/archive.h"

namespace flashproof {

/// One line of --list.
struct Listed {
  std::string kernel;  // id; empty for a target without kernels
  std::string form;    // "hardened", "published", "broken", or the target's own word
  std::string format;

  auto operator<=>(const Listed&) const = default;
};

struct TargetList {
  std::string
      tables;  // of what an input's bytes choose from (families, laws, ...), a hash; empty: the target says nothing
  std::vector<Listed> subjects;
};
/// Lines `kernel<TAB>form<TAB>format`, and `#tables HASH`; other lines that begin with # are skipped. Throws
/// InfrastructureError, naming the line, for anything else and for no subject at all.
TargetList parse_list(std::string_view text);

/// Whether a finding here is one against us: everything but what is expected to be wrong.
bool expected_right(const Listed& listed);

/// Those that match a glob of each kind; without kernel globs, those that expected_right(). Throws UsageError, with near
/// matches, for a glob that matches nothing, and if nothing is left.
std::vector<Listed> choose(const std::vector<Listed>& listed, std::span<const std::string> kernels,
                           std::span<const std::string> formats);

/// [A-Za-z0-9._+-]{1,150}, never starting with a dot: `text` with every other character as '+'.
std::string file_name(std::string_view text);

/// "KERNEL.FORMAT", of a target without kernels "FORMAT" or "all": the subject's folder in corpus/ and artifacts/.
std::string subject_folder(const Listed& listed);

/// A file's name for a finding, the same for the same key wherever it was found; no extension.
std::string finding_name(const Finding& finding);

/// "KERNEL FORMAT", with the executor where it is not cpu; for people.
std::string subject_text(const Subject& subject);

}  // namespace flashproof
