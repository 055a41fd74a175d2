#include "tests/conformance/row_store_conformance.h"

#include "tests/kernels/host_store.h"

namespace hotrow::testing {
namespace {

using HostStores = ::testing::Types<HostStore<4>, HostStore<32>, HostStore<64>, HostStore<4, 8>,
                                    HostStore<32, 32>, HostStore<64, 8>, HostStore<4, 1, 3>,
                                    HostStore<32, 8, 4>, HostStore<64, 32, 2>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Host, RowStoreConformance, HostStores);

}  // namespace
}  // namespace hotrow::testing
