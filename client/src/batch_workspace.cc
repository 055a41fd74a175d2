#include "client/src/batch_workspace.h"

namespace hotrow::client {
namespace {

template <typename T>
int64_t BytesOf(const std::vector<T>& values) {
  return static_cast<int64_t>(values.capacity() * sizeof(T));
}

}  // namespace

int64_t BatchWorkspace::bytes() const {
  return deduper.workspace_bytes() + summer.workspace_bytes() + BytesOf(groups.order) +
         BytesOf(groups.starts) + BytesOf(group_of_key) + BytesOf(target_of_key) +
         BytesOf(targets) + BytesOf(rows);
}

}  // namespace hotrow::client
