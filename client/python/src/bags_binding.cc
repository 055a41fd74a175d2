#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>

#include <tuple>
#include <utility>
#include <vector>

#include "client/python/src/arrays.h"
#include "client/python/src/bindings.h"
#include "client/python/src/pooled_bags.h"
#include "client/python/src/raise.h"

namespace hotrow::python {

namespace {

// What hotrow.torch says about one forward call; arrays are borrowed for its length.
struct BagsRequest {
  PoolingMode mode = PoolingMode::kSum;
  std::optional<Key> padding;
  int threads = 1;
  PullOptions pull;
};

// Keys (n), offsets (bags + 1), weights (n) or none.
using BagArrays = std::tuple<KeyArray, InputArray<int64_t, 1>, std::optional<InputArray<float, 1>>>;

std::unique_ptr<PooledBags> Forward(const Table& table, const BagsRequest& request,
                                    const BagArrays& arrays, OutputArray<float, 2> out) {
  const auto& [keys, offsets, weights] = arrays;
  BagsInput input{.mode = request.mode,
                  .keys = SpanOf(keys),
                  .offsets = SpanOf(offsets),
                  .weights = {},
                  .padding = request.padding,
                  .threads = request.threads,
                  .pull = request.pull};
  if (weights) input.weights = SpanOf(*weights);
  if (weights && input.weights.size() != input.keys.size()) {
    RaiseInvalidArgument("weights and keys must have the same length",
                         "Give one weight for every key.");
  }
  if (out.shape(0) + 1 != offsets.size() || static_cast<int64_t>(out.shape(1)) != table.dim()) {
    RaiseInvalidArgument("out must have the shape (bags, dim)",
                         "The module was changed by hand: embedding_dim must be the table's.");
  }
  return WithoutGil([&] { return PooledBags::Forward(table, input, SpanOf(out)); });
}

void CheckOutGradient(const PooledBags& bags, const RowArray& out_gradient) {
  if (static_cast<int64_t>(out_gradient.shape(0)) != bags.bags() ||
      static_cast<int64_t>(out_gradient.shape(1)) != bags.dim()) {
    RaiseInvalidArgument("the gradient must have the shape of the output, (bags, dim)",
                         "Check the backward hooks of the module's output.");
  }
}

// (u) unique keys and (u, dim) their gradients.
std::pair<NumpyArray<Key>, NumpyArray<float>> Backward(const PooledBags& bags,
                                                       RowArray out_gradient, GradientScale scale) {
  CheckOutGradient(bags, out_gradient);
  std::vector<Key> keys;
  std::vector<float> gradients;
  {
    nb::gil_scoped_release release;
    keys.assign(bags.unique_keys().begin(), bags.unique_keys().end());
    gradients.resize(keys.size() * static_cast<size_t>(bags.dim()));
    bags.Backward(SpanOf(out_gradient), scale, gradients);
  }
  const size_t unique = keys.size();
  return {ToNumpy(std::move(keys), {unique}),
          ToNumpy(std::move(gradients), {unique, static_cast<size_t>(bags.dim())})};
}

NumpyArray<float> BackwardWeights(const PooledBags& bags, RowArray out_gradient) {
  CheckOutGradient(bags, out_gradient);
  std::vector<float> gradients(static_cast<size_t>(bags.key_count()));
  {
    nb::gil_scoped_release release;
    bags.BackwardWeights(SpanOf(out_gradient), gradients);
  }
  const size_t n = gradients.size();
  return ToNumpy(std::move(gradients), {n});
}

}  // namespace

void BindBags(nb::module_& module) {
  nb::enum_<PoolingMode>(module, "PoolingMode")
      .value("sum", PoolingMode::kSum)
      .value("mean", PoolingMode::kMean)
      .value("max", PoolingMode::kMax);
  nb::enum_<GradientScale>(module, "GradientScale")
      .value("none", GradientScale::kNone)
      .value("inverse_frequency", GradientScale::kInverseFrequency);
  nb::class_<BagsRequest>(module, "BagsRequest")
      .def(
          "__init__",
          [](BagsRequest* self, PoolingMode mode, std::optional<Key> padding, bool read_only,
             int threads) {
            new (self) BagsRequest{.mode = mode,
                                   .padding = padding,
                                   .threads = threads,
                                   .pull = {.read_only = read_only, .timeout = {}}};
          },
          nb::arg("mode"), nb::arg("padding").none(), nb::arg("read_only"), nb::arg("threads"));
  nb::class_<PooledBags>(module, "PooledBags")
      .def("backward", &Backward, nb::arg("out_gradient"), nb::arg("scale"))
      .def("backward_weights", &BackwardWeights, nb::arg("out_gradient"));
  module.def("pool_forward", &Forward, nb::arg("table"), nb::arg("request"), nb::arg("arrays"),
             nb::arg("out").noconvert());
}

}  // namespace hotrow::python
