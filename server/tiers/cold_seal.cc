#include "server/tiers/cold_seal.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include "proto/wire/status_codec.h"
#include "server/runtime/file_util.h"

namespace hotrow {
namespace {

constexpr const char* kFile = "SEAL";
constexpr const char* kTitle = "hotrow cold store, format 1";
constexpr const char* kStates[] = {"new", "open", "closed"};  // by SealState

std::string InFolder(const std::string& folder, const std::string& file) {
  return folder + "/" + file;
}

absl::Status Damaged(const std::string& file, const std::string& cause) {
  return wire::ToStatus(
      {.kind = wire::ErrorKind::kDataLoss,
       .message = fmt::format("{}: {}", file, cause),
       .hint = "files of the cold tier are damaged or missing: restore its folder from a copy, or "
               "empty it to begin without rows"});
}

// Nothing when there is no such file.
absl::StatusOr<std::optional<std::string>> ReadFile(const std::string& path) {
  std::FILE* const file = std::fopen(path.c_str(), "rbe");
  if (file == nullptr && errno == ENOENT) return std::nullopt;
  std::string text;
  bool read = file != nullptr;
  std::array<char, 4096> piece;
  while (read) {
    const size_t bytes = std::fread(piece.data(), 1, piece.size(), file);
    text.append(piece.data(), bytes);
    read = std::ferror(file) == 0;
    if (bytes < piece.size()) break;
  }
  const std::string cause = std::strerror(errno);
  if (file != nullptr) std::fclose(file);
  if (read) return text;
  return wire::MakeError(wire::ErrorKind::kUnavailable,
                         fmt::format("{} cannot be read: {}", path, cause));
}

std::string Checksum(const std::string& text) {
  return fmt::format("checksum {:016x}\n", XXH3_64bits(text.data(), text.size()));
}

std::string Encode(const ColdSeal& seal) {
  std::string text = fmt::format("{}\npartitions {}\n{}", kTitle, seal.partitions,
                                 kStates[static_cast<int>(seal.state)]);
  if (seal.state == SealState::kClosed) {
    text += fmt::format(" {} {} {:016x}", seal.manifest.file, seal.manifest.bytes,
                        seal.manifest.checksum);
  }
  text += '\n';
  return text + Checksum(text);
}

// The checksum was right: what does not fit is of another version.
bool Decode(const std::string& text, ColdSeal* seal) {
  std::istringstream in(text);
  std::string word;
  if (!std::getline(in, word) || word != kTitle) return false;
  if (!(in >> word >> seal->partitions) || word != "partitions" || !(in >> word)) return false;
  const auto* const state = std::find(std::begin(kStates), std::end(kStates), word);
  if (state == std::end(kStates)) return false;
  seal->state = static_cast<SealState>(state - std::begin(kStates));
  if (seal->state != SealState::kClosed) return true;
  in >> seal->manifest.file >> seal->manifest.bytes >> std::hex >> seal->manifest.checksum;
  return !in.fail();
}

bool HasRocksdbFiles(const std::string& folder) {
  std::error_code listed;
  for (const auto& file : std::filesystem::directory_iterator(folder, listed)) {
    const std::string name = file.path().filename().string();
    if (name.ends_with(".sst") || name.starts_with("MANIFEST") || name == "CURRENT") return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<ColdSeal> ReadColdSeal(const std::string& folder, uint32_t partitions) {
  const std::string path = InFolder(folder, kFile);
  const auto text = ReadFile(path);
  if (!text.ok()) return text.status();
  if (!text->has_value()) {
    if (HasRocksdbFiles(folder)) return Damaged(path, "it is missing beside files of rows");
    return ColdSeal{.partitions = partitions};
  }
  const size_t last_line = (*text)->rfind("checksum ");
  if (last_line == std::string::npos ||
      (*text)->substr(last_line) != Checksum((*text)->substr(0, last_line))) {
    return Damaged(path, "its checksum does not match");
  }
  ColdSeal seal;
  if (Decode(**text, &seal)) return seal;
  return wire::MakeError(wire::ErrorKind::kUnimplemented,
                         fmt::format("{} was written by another version", path));
}

absl::Status WriteColdSeal(const std::string& folder, const ColdSeal& seal) {
  const absl::Status written = WriteFileAtomically(InFolder(folder, kFile), Encode(seal));
  return written.ok()
             ? written
             : wire::MakeError(wire::ErrorKind::kUnavailable, std::string(written.message()));
}

absl::StatusOr<ManifestPrint> PrintOfManifest(const std::string& folder) {
  const std::string path = InFolder(folder, "CURRENT");
  auto name = ReadFile(path);
  if (!name.ok()) return name.status();
  if (!name->has_value()) return Damaged(path, "it is missing");
  std::string file = (*name)->substr(0, (*name)->find('\n'));
  if (!file.starts_with("MANIFEST")) return Damaged(path, "it names no MANIFEST");
  const auto list = ReadFile(InFolder(folder, file));
  if (!list.ok()) return list.status();
  if (!list->has_value()) return Damaged(InFolder(folder, file), "it is missing");
  return ManifestPrint{.file = std::move(file),
                       .bytes = (*list)->size(),
                       .checksum = XXH3_64bits((*list)->data(), (*list)->size())};
}

absl::Status CheckManifest(const std::string& folder, const ColdSeal& seal) {
  if (seal.state == SealState::kNew) return absl::OkStatus();
  const absl::StatusOr<ManifestPrint> found = PrintOfManifest(folder);
  if (!found.ok()) return found.status();
  if (seal.state == SealState::kOpen || *found == seal.manifest) return absl::OkStatus();
  return Damaged(InFolder(folder, seal.manifest.file),
                 "it is not as it was when the store was closed");
}

}  // namespace hotrow
