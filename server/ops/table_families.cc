#include <map>
#include <set>
#include <string>

#include "server/ops/metric_family.h"
#include "server/ops/metrics_page.h"

namespace hotrow {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;
using v1::TableStats;

v1::TierStats& TierNamed(const std::string& name, TableStats& table) {
  for (v1::TierStats& tier : *table.mutable_tiers()) {
    if (tier.name() == name) return tier;
  }
  table.add_tiers()->set_name(name);
  return *table.mutable_tiers(table.tiers_size() - 1);
}

void Add(const TableStats& table, TableStats& sum) {
  for (const v1::TierStats& tier : table.tiers()) {
    v1::TierStats& to = TierNamed(tier.name(), sum);
    to.set_rows(to.rows() + tier.rows());
    to.set_rows_pulled(to.rows_pulled() + tier.rows_pulled());
  }
  sum.set_promotions(sum.promotions() + table.promotions());
  sum.set_evictions(sum.evictions() + table.evictions());
  sum.set_eviction_failures(sum.eviction_failures() + table.eviction_failures());
  sum.set_tier_read_failures(sum.tier_read_failures() + table.tier_read_failures());
  sum.set_rows(sum.rows() + table.rows());
  sum.set_slots(sum.slots() + table.slots());
  sum.set_rows_pulled(sum.rows_pulled() + table.rows_pulled());
  sum.set_rows_pulled_initial(sum.rows_pulled_initial() + table.rows_pulled_initial());
  sum.set_rows_pushed(sum.rows_pushed() + table.rows_pushed());
  sum.set_rows_created(sum.rows_created() + table.rows_created());
  sum.set_rows_refused(sum.rows_refused() + table.rows_refused());
  sum.set_gradients_refused(sum.gradients_refused() + table.gradients_refused());
  sum.set_gradients_nonfinite(sum.gradients_nonfinite() + table.gradients_nonfinite());
  sum.set_keys_pushed(sum.keys_pushed() + table.keys_pushed());
  sum.set_keys_pushed_unique(sum.keys_pushed_unique() + table.keys_pushed_unique());
}

// Statistics by table label, those without one of their own summed.
std::map<std::string, TableStats> ByLabel(const v1::GetStatsResponse& stats,
                                          const std::set<uint32_t>& labelled) {
  std::map<std::string, TableStats> by_label;
  for (const TableStats& table : stats.tables()) {
    const bool own = labelled.contains(table.table_id());
    Add(table, by_label[own ? table.name() : kOtherTables]);
  }
  return by_label;
}

// A counter of every table.
struct TableCounter {
  const char* name;
  const char* help;
  uint64_t (TableStats::*value)() const;
};

const TableCounter kCounters[] = {
    {"hotrow_rows_pushed_total", "Rows that pushes changed, once a sub-push.",
     &TableStats::rows_pushed},
    {"hotrow_rows_created_total", "Rows created by pushes and upserts.", &TableStats::rows_created},
    {"hotrow_keys_pushed_total",
     "Keys of pushes as they came; one that is twice in a sub-push counts twice.",
     &TableStats::keys_pushed},
    {"hotrow_slot_index_insert_failures_total", "New keys that found no room.",
     &TableStats::rows_refused},
    {"hotrow_gradients_refused_total",
     "Sub-pushes refused for a gradient that is not finite or out of bound.",
     &TableStats::gradients_refused},
    {"hotrow_gradients_nonfinite_total", "Of those, with a gradient that is not finite.",
     &TableStats::gradients_nonfinite},
    {"hotrow_tier_promotions_total", "Rows brought into the hot tier from below.",
     &TableStats::promotions},
    {"hotrow_tier_evictions_total", "Rows displaced from the hot tier.", &TableStats::evictions},
    {"hotrow_tier_eviction_failures_total",
     "Batches for which no row could leave the hot tier, as none could go down.",
     &TableStats::eviction_failures},
    {"hotrow_tier_read_failures_total",
     "Batches that failed because rows of lower tiers could not be read.",
     &TableStats::tier_read_failures},
};

// 0 where there is nothing to divide by.
double Ratio(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

std::set<uint32_t> TableLabels::Of(const v1::GetStatsResponse& stats) {
  std::set<uint32_t> ids;  // ids count up, so this is the order of creation
  for (const TableStats& table : stats.tables()) ids.insert(table.table_id());
  MutexLock lock(mutex_);
  std::erase_if(known_, [&ids](const auto& table) { return !ids.contains(table.first); });
  size_t taken = 0;
  for (const auto& [id, own] : known_) taken += own ? 1 : 0;
  for (const uint32_t id : ids) {
    const auto [table, is_new] = known_.try_emplace(id, taken < kMaxTableLabels);
    if (is_new && table->second) ++taken;
  }
  for (const auto& [id, own] : known_) {
    if (!own) ids.erase(id);
  }
  return ids;
}

void AppendTableMetrics(const v1::GetStatsResponse& stats, const std::set<uint32_t>& labelled,
                        std::vector<MetricFamily>& families) {
  const std::map<std::string, TableStats> tables = ByLabel(stats, labelled);
  auto pulled = Family("hotrow_rows_pulled_total",
                       "Rows answered to pulls, by where they were found.", MetricType::Counter);
  auto rows = Family("hotrow_tier_rows",
                     "Rows that lie in a tier; in cold, older copies of rows above it among them.",
                     MetricType::Gauge);
  auto stored = Family("hotrow_table_rows", "Rows stored, each once.", MetricType::Gauge);
  auto load = Family("hotrow_slot_index_load_factor_ratio",
                     "Share of the hot tier's places for rows that are taken.", MetricType::Gauge);
  auto unique = Family("hotrow_unique_keys_ratio",
                       "Unique keys a key of pushes, within a sub-push, since the start. 1 with "
                       "clients that sum gradients of equal keys themselves.",
                       MetricType::Gauge);
  for (const auto& [name, table] : tables) {
    for (const v1::TierStats& tier : table.tiers()) {
      AddCounter(pulled, {{"table", name}, {"tier", tier.name()}},
                 static_cast<double>(tier.rows_pulled()));
      AddGauge(rows, {{"table", name}, {"tier", tier.name()}}, static_cast<double>(tier.rows()));
      if (tier.name() == "hot") {
        AddGauge(load, {{"table", name}}, Ratio(tier.rows(), table.slots()));
      }
    }
    AddCounter(pulled, {{"table", name}, {"tier", "new"}},
               static_cast<double>(table.rows_pulled_initial()));
    AddGauge(stored, {{"table", name}}, static_cast<double>(table.rows()));
    if (table.keys_pushed() == 0) continue;
    AddGauge(unique, {{"table", name}}, Ratio(table.keys_pushed_unique(), table.keys_pushed()));
  }
  families.push_back(std::move(pulled));
  for (const TableCounter& counter : kCounters) {
    auto family = Family(counter.name, counter.help, MetricType::Counter);
    for (const auto& [name, table] : tables) {
      AddCounter(family, {{"table", name}}, static_cast<double>((table.*counter.value)()));
    }
    families.push_back(std::move(family));
  }
  for (MetricFamily* family : {&rows, &stored, &load, &unique})
    families.push_back(std::move(*family));
}

}  // namespace hotrow
