// The parts of hotrow._native, one function and one file each; module.cc calls them in this order.
//
// Thread safety: called once, at import. The module is internal: hotrow/*.py is the public surface,
// and does all conversions and checks of Python types.

#pragma once

#include <nanobind/nanobind.h>

namespace hotrow::python {

void BindSchema(nanobind::module_& module);   // optimizers, initializers, TableSchema, TableInfo
void BindFutures(nanobind::module_& module);  // PendingPull, PendingPush
void BindTable(nanobind::module_& module);
void BindClient(nanobind::module_& module);
void BindBags(nanobind::module_& module);  // pooled pulls of hotrow.torch
void BindHashes(nanobind::module_& module);

}  // namespace hotrow::python
