// SPDX-License-Identifier: Apache-2.0
// Figures of a machine cannot be foretold, but more work must take more time and energy counters
// must be read as the kernel documents them.
#include "runtime/tune/machine_probe.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "kernels/registry.hpp"

namespace bittern::runtime {
namespace {

TEST(MachineProbe, BytesStayInRange) {
  EXPECT_GE(ProbeBytes(), std::size_t{16} << 20);
  EXPECT_LE(ProbeBytes(), std::size_t{512} << 20);
}

TEST(MachineProbe, RatesAreThoseOfAComputer) {
  auto pool = ThreadPool::Create(2);
  ASSERT_TRUE(pool.has_value());
  const auto bandwidth = MeasureReadBandwidth(*pool, std::size_t{32} << 20);
  ASSERT_TRUE(bandwidth.has_value());
  EXPECT_GT(*bandwidth, 1e7);
  EXPECT_LT(*bandwidth, 1e13);  // a loop that was optimised away would be above
  const auto kernels = kernels::SelectKernelsForced();
  ASSERT_TRUE(kernels.has_value());
  const auto rate = MeasureInt8Rate(*pool, *kernels);
  ASSERT_TRUE(rate.has_value());
  EXPECT_GT(*rate, 1e6);
  EXPECT_LT(*rate, 1e15);
}

// A program beside it makes most runs of either longer, each by another time.
TEST(MachineProbe, ARatioOfLeastIsNotThatOfDisturbedRuns) {
  int runs = 0;
  const auto disturbed = [&](double seconds) {
    return [&runs, seconds] {
      const bool quiet = ++runs % 9 == 0 || runs % 7 == 0;
      return quiet ? seconds : seconds * (2 + 0.1 * runs);
    };
  };
  EXPECT_DOUBLE_EQ(RatioOfLeast(disturbed(3), disturbed(2)), 1.5);
  EXPECT_GT(runs, 2 * 5);
  runs = 0;
  const auto quiet = [&](double seconds) { return [&runs, seconds] { return ++runs, seconds; }; };
  EXPECT_DOUBLE_EQ(RatioOfLeast(quiet(3), quiet(4)), 0.75);
  EXPECT_EQ(runs, 2 * 5);
  runs = 0;
  const auto growing = [&](double) { return [&runs] { return 1.0 / ++runs; }; };
  EXPECT_GT(RatioOfLeast(growing(1), growing(1)), 0);
  EXPECT_LE(runs, 2 * 40);  // it ends where nothing comes to rest
}

class FakePowercap : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(root_); }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void Write(const std::string& zone, const std::string& file, std::uint64_t value) {
    std::filesystem::create_directories(root_ / zone);
    std::ofstream(root_ / zone / file) << value << '\n';
  }
  std::filesystem::path root_ =
      std::filesystem::temp_directory_path() / ("bittern-powercap-" + std::to_string(getpid()));
};

TEST_F(FakePowercap, NothingWithoutCounters) {
  EXPECT_FALSE(EnergyMeter::Open(root_).has_value());
  EXPECT_FALSE(EnergyMeter::Open(root_ / "none").has_value());
  Write("thermal:0", "energy_uj", 5);
  Write("intel-rapl:0:0", "energy_uj", 5);  // a part of a package
  EXPECT_FALSE(EnergyMeter::Open(root_).has_value());
}

TEST_F(FakePowercap, SumsPackagesAndFollowsWrapping) {
  Write("intel-rapl:0", "energy_uj", 1'000'000);
  Write("intel-rapl:0:0", "energy_uj", 900'000);
  Write("intel-rapl:1", "energy_uj", 9'000'000);
  Write("intel-rapl:1", "max_energy_range_uj", 10'000'000);
  auto meter = EnergyMeter::Open(root_);
  ASSERT_TRUE(meter.has_value());
  Write("intel-rapl:0", "energy_uj", 3'500'000);
  Write("intel-rapl:1", "energy_uj", 1'000'000);  // over the top
  EXPECT_DOUBLE_EQ(meter->Take().value_or(-1), 2.5 + 2.0);
  EXPECT_DOUBLE_EQ(meter->Take().value_or(-1), 0);
  std::filesystem::remove_all(root_ / "intel-rapl:1");
  EXPECT_FALSE(meter->Take().has_value());
}

}  // namespace
}  // namespace bittern::runtime
