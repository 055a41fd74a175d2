#include "tests/conformance/row_store_conformance.h"

#include "tests/kernels/host_store.h"

namespace hotrow::testing {
namespace {

using HostStores = ::testing::Types<HostStore<4>, HostStore<32>, HostStore<64>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Host, RowStoreConformance, HostStores);

}  // namespace
}  // namespace hotrow::testing
