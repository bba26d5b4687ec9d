// What merging promises, over random archives in which everything collides: few keys, few ratios, few runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <map>

#include "fuzz/archive/archive_fixture.h"
#include "fuzz/archive/contents.h"

namespace flashproof {
namespace {

using archive::Contents;
using Bytes = std::vector<std::uint8_t>;

struct Step {
  enum class Kind { offer, report, witness, record } kind;
  Elite offered;
  Finding reported;
  Run recorded;
  std::string run;
};

rc::Gen<std::string> few_names() { return rc::gen::element<std::string>("a", "b", "é"); }
/// Anything at all, now and then.
rc::Gen<std::string> some_text() {
  return rc::gen::weightedOneOf<std::string>({{9, few_names()}, {1, rc::gen::arbitrary<std::string>()}});
}

Step draw_step() {
  const auto bytes = rc::gen::resize(3, rc::gen::container<Bytes>(rc::gen::inRange<std::uint8_t>(0, 3)));
  const auto seconds = rc::gen::inRange<std::int64_t>(1, 4);
  Step step;
  step.kind = static_cast<Step::Kind>(*rc::gen::inRange(0, 4));
  step.run = *few_names();
  const Subject subject{"attention", *some_text(), "f32", "cpu", "det"};
  step.offered = {subject,      "causal", *few_names(), *rc::gen::inRange(0, 3) / 2.0,
                  *some_text(), *bytes,   *some_text(), *seconds};
  Finding& reported = step.reported;
  reported.subject = subject;
  reported.what = *few_names();
  reported.schedule = *some_text();
  reported.ratio = *rc::gen::inRange(-1, 2);
  reported.detail = *some_text();
  reported.input = *bytes;
  reported.hits = *rc::gen::inRange<std::uint64_t>(0, 5);
  reported.first = *seconds;
  reported.last = *seconds;
  reported.witness = *bytes;
  reported.brief = *some_text();
  step.recorded = {step.run, subject, *rc::gen::inRange<std::uint64_t>(0, 3), *rc::gen::inRange<std::uint64_t>(0, 3),
                   0,        0.5};
  return step;
}

using Steps = std::vector<Step>;
Steps draw_steps() { return *rc::gen::resize(12, rc::gen::container<Steps>(rc::gen::exec(draw_step))); }

void replay(const Steps& steps, Archive& into, std::size_t flush_every) {
  std::size_t count = 0;
  for (const Step& step : steps) {
    if (step.kind == Step::Kind::offer) into.offer(step.offered);
    if (step.kind == Step::Kind::report) into.report(step.reported, step.run);
    if (step.kind == Step::Kind::witness && !step.reported.witness.empty()) into.put_witness(step.reported);
    if (step.kind == Step::Kind::record) into.record(step.recorded);
    if (++count % flush_every == 0) into.flush();
  }
}

class Merge : public ArchiveTest {
 protected:
  Merge() : ArchiveTest(fast_folder()) {}

  fs::path name(int number) const { return folder / std::to_string(number); }
  Archive fresh() { return {name(++made), Archive::Open::create}; }
  /// Before each random case: without the files of the last one.
  void start_over() {
    for (const auto& old : fs::directory_iterator(folder)) fs::remove(old);
    made = 0;
  }

  Archive united(std::initializer_list<const Archive*> parts) {
    Archive result = fresh();
    for (const Archive* part : parts) result.merge(*part);
    return result;
  }

  static bool same(const Archive& a, const Archive& b) {
    return a.elites() == b.elites() && a.findings() == b.findings() && a.runs() == b.runs();
  }

  int made = 0;
};

TEST_F(Merge, is_commutative_associative_and_idempotent) {
  EXPECT_TRUE(rc::check("three archives, all orders", [&] {
    start_over();
    Archive a = fresh();
    Archive b = fresh();
    Archive c = fresh();
    for (Archive* each : {&a, &b, &c}) replay(draw_steps(), *each, *rc::gen::inRange<std::size_t>(1, 20));

    const Archive all = united({&a, &b, &c});
    std::array order{&a, &b, &c};
    std::sort(order.begin(), order.end());
    do {
      RC_ASSERT(same(united({order[0], order[1], order[2]}), all));
    } while (std::next_permutation(order.begin(), order.end()));

    const Archive bc = united({&b, &c});
    RC_ASSERT(same(united({&a, &bc}), all));
    RC_ASSERT(same(united({&a, &a, &b, &all, &c, &b, &bc}), all));
    RC_ASSERT(same(united({&a}), a));
    a.merge(all);
    a.merge(a);
    RC_ASSERT(same(a, all));
    // What was merged stands in the file, not only in memory.
    RC_ASSERT(same(Archive(name(1), Archive::Open::existing), all));
  }));
}

TEST_F(Merge, keeps_of_every_key_the_worst_that_anybody_offered) {
  EXPECT_TRUE(rc::check("elites against a plain search", [&] {
    start_over();
    const Steps one = draw_steps();
    const Steps two = draw_steps();
    Archive a = fresh();
    Archive b = fresh();
    replay(one, a, 3);
    replay(two, b, 5);
    a.merge(b);
    // No text that needs repair, so that offers can be compared as they are.
    const auto plain = [](const Step& s) {
      return s.kind == Step::Kind::offer && s.offered.subject.kernel.size() == 1 && s.offered.subject.kernel[0] > ' ';
    };
    for (const Steps* steps : {&one, &two}) {
      for (const Step& step : *steps) {
        if (!plain(step)) continue;
        const auto elites = a.elites();
        const auto kept =
            std::find_if(elites.begin(), elites.end(), [&](const Elite& e) { return e.same_key(step.offered); });
        RC_ASSERT(kept != elites.end());
        const Elite& o = step.offered;
        RC_ASSERT(std::make_tuple(-kept->ratio, kept->input.size(), kept->input) <=
                  std::make_tuple(-o.ratio, o.input.size(), o.input));
      }
    }
  }));
}

TEST_F(Merge, a_shard_that_is_merged_twice_or_grows_in_between_counts_once) {
  Archive shard = fresh();
  Archive all = fresh();
  Archive other = fresh();
  other.report(finding("k"), "other run");
  shard.report(finding("k"), "run");
  shard.record(run("run", 10));
  all.merge(shard);  // not flushed there
  shard.report(finding("k"), "run");
  shard.record(run("run", 20));
  all.merge(shard);
  all.merge(other);
  all.merge(shard);
  EXPECT_EQ(all.findings().at(0).hits, 3U);
  ASSERT_EQ(all.runs().size(), 1U);
  EXPECT_EQ(all.runs()[0].executions, 20U);
}

TEST_F(Merge, the_property_has_teeth) {
  // Adding, as flush() does, is not idempotent: were merge() to add, the property above would see it.
  Contents once;
  once.hits[{"key", "run"}] = {2, 1};
  Contents twice = once;
  twice.join(once, Contents::Join::add);
  EXPECT_EQ((twice.hits[{"key", "run"}].hits), 4U);
  twice = once;
  twice.join(once, Contents::Join::unite);
  EXPECT_EQ((twice.hits[{"key", "run"}].hits), 2U);
  // And two archives that differ in one bit of one row are told apart.
  Archive a = fresh();
  Archive b = fresh();
  a.offer(elite("k", 0.5, {1}));
  b.offer(elite("k", 0.5, {2}));
  EXPECT_FALSE(same(a, b));
}

}  // namespace
}  // namespace flashproof
