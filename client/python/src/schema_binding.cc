#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>

#include "client/python/src/bindings.h"
#include "hotrow/client.h"
#include "hotrow/table_schema.h"

namespace hotrow::python {

namespace nb = nanobind;

namespace {

void BindOptimizers(nb::module_& module) {
  nb::class_<Sgd>(module, "Sgd").def(nb::init<>()).def_rw("lr", &Sgd::lr);
  nb::class_<Adagrad>(module, "Adagrad")
      .def(nb::init<>())
      .def_rw("lr", &Adagrad::lr)
      .def_rw("eps", &Adagrad::eps)
      .def_rw("initial_accumulator_value", &Adagrad::initial_accumulator_value);
  nb::class_<RowwiseAdagrad>(module, "RowwiseAdagrad")
      .def(nb::init<>())
      .def_rw("lr", &RowwiseAdagrad::lr)
      .def_rw("eps", &RowwiseAdagrad::eps)
      .def_rw("initial_accumulator_value", &RowwiseAdagrad::initial_accumulator_value);
  nb::class_<Adam>(module, "Adam")
      .def(nb::init<>())
      .def_rw("lr", &Adam::lr)
      .def_rw("beta1", &Adam::beta1)
      .def_rw("beta2", &Adam::beta2)
      .def_rw("eps", &Adam::eps);
}

void BindInitializers(nb::module_& module) {
  nb::class_<Zeros>(module, "Zeros").def(nb::init<>());
  nb::class_<Constant>(module, "Constant").def(nb::init<>()).def_rw("value", &Constant::value);
  nb::class_<Uniform>(module, "Uniform")
      .def(nb::init<>())
      .def_rw("low", &Uniform::low)
      .def_rw("high", &Uniform::high);
  nb::class_<Normal>(module, "Normal")
      .def(nb::init<>())
      .def_rw("mean", &Normal::mean)
      .def_rw("standard_deviation", &Normal::standard_deviation);
}

void BindEvictions(nb::module_& module) {
  nb::class_<Lru>(module, "Lru").def(nb::init<>());
  nb::class_<Lfu>(module, "Lfu").def(nb::init<>()).def_rw("decay", &Lfu::decay);
  nb::class_<NoEviction>(module, "NoEviction").def(nb::init<>());
}

}  // namespace

void BindSchema(nb::module_& module) {
  BindOptimizers(module);
  BindInitializers(module);
  BindEvictions(module);
  nb::class_<TableSchema>(module, "TableSchema")
      .def(nb::init<>())
      .def_rw("name", &TableSchema::name)
      .def_rw("dim", &TableSchema::dim)
      .def_rw("optimizer", &TableSchema::optimizer)
      .def_rw("initializer", &TableSchema::initializer)
      .def_rw("seed", &TableSchema::seed)
      .def_rw("num_embeddings", &TableSchema::num_embeddings)
      .def_rw("gradient_bound", &TableSchema::gradient_bound)
      .def_rw("eviction", &TableSchema::eviction);
  nb::class_<TableInfo>(module, "TableInfo").def_ro("schema", &TableInfo::schema);
}

}  // namespace hotrow::python
