#include "kernels/simt/shadow/shadow_traffic.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace flashproof::simt {

int TrafficCount::add(std::string name, std::size_t bytes, std::size_t element_bytes) {
  Counter counter;
  counter.traffic.name = std::move(name);
  counter.traffic.elements = bytes / element_bytes;
  counter.element_bytes = element_bytes;
  counter.loaded.resize(counter.traffic.elements);
  counter.stored.resize(counter.traffic.elements);
  counters_.push_back(std::move(counter));
  return static_cast<int>(counters_.size()) - 1;
}

void TrafficCount::note(int counter, std::size_t offset, std::size_t bytes, bool store, unsigned thread,
                        CodeOffset place) {
  Counter& c = counters_[static_cast<std::size_t>(counter)];
  const std::size_t end = std::min((offset + bytes - 1) / c.element_bytes + 1, std::size_t{c.traffic.elements});
  for (std::size_t i = offset / c.element_bytes; i < end; ++i) {
    ++(store ? c.traffic.stores : c.traffic.loads);
    (store ? c.stored : c.loaded)[i] = true;
    events_.push_back({i, place, static_cast<std::uint16_t>(counter),
                       static_cast<std::uint16_t>(thread * 2 + static_cast<unsigned>(store))});
  }
}

void TrafficCount::end_block() {
  std::ranges::sort(events_);
  const auto instruction = [](const Event& e) { return std::tuple(e.element, e.place, e.counter); };
  for (auto first = events_.begin(); first != events_.end();) {
    std::uint64_t most[2] = {0, 0};  // by one thread: loads, stores
    auto end = first;
    while (end != events_.end() && instruction(*end) == instruction(*first)) {
      auto same = end;
      while (same != events_.end() && *same == *end) ++same;
      std::uint64_t& count = most[end->thread_and_store % 2];
      count = std::max(count, static_cast<std::uint64_t>(same - end));
      end = same;
    }
    Traffic& traffic = counters_[first->counter].traffic;
    traffic.merged_loads += most[0];
    traffic.merged_stores += most[1];
    first = end;
  }
  events_.clear();
}

std::vector<Traffic> TrafficCount::result() const {
  std::vector<Traffic> result;
  for (const Counter& counter : counters_) {
    result.push_back(counter.traffic);
    result.back().touched_loads = static_cast<std::uint64_t>(std::ranges::count(counter.loaded, true));
    result.back().touched_stores = static_cast<std::uint64_t>(std::ranges::count(counter.stored, true));
  }
  return result;
}

}  // namespace flashproof::simt
