#include "server/ops/method.h"

namespace hotrow {
namespace {

constexpr std::array<const char*, kMethodCount> kMethodNames = {
    "Pull",        "Push",          "Scan",       "OpenSession",      "CloseSession",
    "CreateTable", "DescribeTable", "ListTables", "DropTable",        "GetStats",
    "GetShardMap", "GetSlowCalls",  "Drain",      "CreateCheckpoint", "Restore",
    "Reshard"};

constexpr std::array<const char*, kStageCount> kStageNames = {"decode", "route", "queue", "host",
                                                              "encode"};

}  // namespace

const char* NameOf(Method method) { return kMethodNames[static_cast<size_t>(method)]; }

const char* NameOf(Stage stage) { return kStageNames[static_cast<size_t>(stage)]; }

}  // namespace hotrow
