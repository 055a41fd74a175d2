// The seal of a cold store: a small file of ours beside those of RocksDB, that says what RocksDB
// has to find there.
//
//   hotrow cold store, format 1
//   partitions 64
//   closed MANIFEST-000012 401 8f3e1c0a5b7d9e21        or "open", or "new"
//   checksum 0123456789abcdef                          XXH3 of the lines before
//
// RocksDB alone takes a folder without CURRENT for a new one, and a list of files (MANIFEST) that
// breaks off for a whole one, and then deletes the files of rows that are not listed. The seal is
// there before the first file of RocksDB, and a store that was closed has its MANIFEST under seal.
//
// Thread safety: pure functions on files; one process at a time. Errors: kDataLoss for a seal or a
// list of files that is damaged or missing, kUnavailable when the disk fails; both name the file.

#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hotrow {

enum class SealState : uint8_t {
  kNew,     // nothing was ever promised: what is there may be the remains of a first start
  kOpen,    // in use, or its last process did not close it
  kClosed,  // everything is there, and listed in the MANIFEST of the seal
};

// Which MANIFEST it is, and what is in it.
struct ManifestPrint {
  std::string file;
  uint64_t bytes = 0;
  uint64_t checksum = 0;

  friend bool operator==(const ManifestPrint&, const ManifestPrint&) = default;
};

struct ColdSeal {
  SealState state = SealState::kNew;
  uint32_t partitions = 0;
  ManifestPrint manifest{};  // of kClosed
};

// Reads the seal of a folder. One without files of RocksDB may lack it: kNew then, for
// `partitions`.
absl::StatusOr<ColdSeal> ReadColdSeal(const std::string& folder, uint32_t partitions);
// Replaces it in one step, durable on return.
absl::Status WriteColdSeal(const std::string& folder, const ColdSeal& seal);

// The print of the MANIFEST that is in use.
absl::StatusOr<ManifestPrint> PrintOfManifest(const std::string& folder);
// What is under seal must be what is there; a store that was not closed has some MANIFEST.
absl::Status CheckManifest(const std::string& folder, const ColdSeal& seal);

}  // namespace hotrow
