#include <nanobind/nanobind.h>

#include "client/python/src/bindings.h"

NB_MODULE(_native, module) {
  // A graph that lives to the end of the program keeps its rows: no leak worth a user's attention.
  nanobind::set_leak_warnings(false);
  module.doc() = "Native part of hotrow: internal, use the package.";
  module.attr("__version__") = HOTROW_VERSION;
  hotrow::python::BindSchema(module);
  hotrow::python::BindFutures(module);
  hotrow::python::BindTable(module);
  hotrow::python::BindClient(module);
  hotrow::python::BindBags(module);
  hotrow::python::BindHashes(module);
}
