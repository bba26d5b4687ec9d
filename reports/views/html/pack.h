// A record's parts as the page's script reads them: short arrays, every distinct one once in a pool and by its place there.
// Kernels of one formula agree on many inputs: half of a report's figures, histograms and profiles are another record's, too.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>

#include "reports/views/html/parts.h"

namespace flashproof::html {

using Json = nlohmann::json;

/// Distinct values in the order in which they came; page/data.js looks them up by that.
class Shared {
 public:
  std::size_t index(const Json& value);
  const Json::array_t& list() const { return list_; }

 private:
  std::unordered_map<std::string, std::size_t> index_;
  Json::array_t list_;
};

struct Pool {
  Shared words, figures, octaves, axes, domains, ledgers, heats;
};

/// With that many significant digits; what is not finite as "inf", "-inf" or "nan".
Json shortened(double value, int digits = 3);

/// One list per record and kind; what each place means stands in page/data.js.
Json packed_counts(const Record& record);
Json packed_figures(const Record& record, Pool& pool);
Json packed_terms(const Record& record);
Json packed_mean_ulp(const Record& record);
/// Of every tensor together.
Json packed_ratio_octaves(const Record& record, Pool& pool);
Json packed_ulp_octaves(const Record& record, Pool& pool);
Json packed_profile(const Record& record, Pool& pool);
Json packed_witness(const Record& record, Pool& pool);
Json packed_laws(const Record& record, Pool& pool);
Json packed_domain(const Record& record, Pool& pool);
Json packed_ledger(const Record& record, Pool& pool);
Json packed_heat(const HeatMap& heat, Pool& pool);

}  // namespace flashproof::html
