// Those of the fuzzer, whose library of campaigns has names that reports have, too.
#include <stdlib.h>

#include <filesystem>
#include <stdexcept>

#include "fuzz/campaign/folder.h"
#include "fuzz/input/elite_line.h"
#include "reference/problem/case.h"
#include "reports/readers/reader_cases.h"

namespace flashproof {
namespace {

const std::string kCase = "attention:mask_first_tile:17:causal=0,dv=18,format=bf16,scale=0,sk=4,sq=14";
const std::string kElite =
    "attention.deferred.hardened bf16 lse.output 0.5 " + kCase + " 306479691:22:0 4148429021:10:0";
const std::string kCampaign =
    R"({"version": 1, "target": "attention", "starts": 3, "state": "finished", "program": "p", "tables": "0",
 "subjects": [["attention.row.hardened", "plain", "f16"]]})";

/// The campaign's file leads to the text.
void read_campaign(const std::string& text) {
  struct Folder {
    std::filesystem::path root;
    Folder() {
      std::string made = std::filesystem::temp_directory_path() / "flashproof-campaign-XXXXXX";
      if (::mkdtemp(made.data()) == nullptr) throw std::runtime_error("no temporary folder");
      root = made;
      std::filesystem::create_symlink(file_of(""), CampaignFolder{root}.description());
    }
    ~Folder() { std::filesystem::remove_all(root); }
  };
  static const Folder folder;
  file_of(text);
  read_description({folder.root});
}

const ReaderCase kReaders[] = {
    {"case", [] { return kCase; }, [](const std::string& t) { parse_case_spec(t); }},
    {"elite", [] { return kElite; }, [](const std::string& t) { parse_elite_line(t); }},
    {"campaign", [] { return kCampaign; }, read_campaign},
};

}  // namespace

std::span<const ReaderCase> reader_cases() { return kReaders; }

}  // namespace flashproof
