#include <yaml-cpp/yaml.h>

#include <cctype>
#include <fstream>
#include <set>
#include <sstream>

#include "server/ops/config.h"

namespace hotrow {
namespace {

constexpr int kMaxDepth = 4;
constexpr size_t kMaxFileBytes = size_t{1} << 20;
constexpr const char* kPrefix = "HOTROW_";

// What the library finds wrong, in words that help whoever wrote the line.
std::string ExplainYaml(const YAML::Exception& error, const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  for (int i = 0; i <= error.mark.line && std::getline(lines, line); ++i) {
  }
  if (line.find('\t') != std::string::npos) return "indent with spaces, not with tabs";
  return error.msg + "; look at the indentation and the quotes of this line and the one above";
}

// Walks a parsed file into settings.
class Flattener {
 public:
  explicit Flattener(std::string path) : path_(std::move(path)) {}

  absl::Status Add(const std::string& key, const YAML::Node& node, int depth) {
    if (node.IsMap() && depth < kMaxDepth) return AddMap(key, node, depth);
    if (node.IsSequence()) return AddSequence(key, node);
    if (node.IsScalar()) return Emit(key, node.Scalar(), node);
    return Refuse(node, key + ": sections do not nest so deep");
  }
  std::vector<Setting> Take() { return std::move(settings_); }

 private:
  absl::Status Refuse(const YAML::Node& node, const std::string& reason) const {
    return absl::InvalidArgumentError(Origin(node) + ": " + reason);
  }
  absl::Status RefuseEmpty(const std::string& key, const YAML::Node& node) const {
    const std::string below = KeysBelow(key);
    return Refuse(node, key + (below.empty() ? ": has no value"
                                             : ": is a section; write its keys, indented, below "
                                               "it: " +
                                                   below));
  }
  std::string Origin(const YAML::Node& node) const {
    return path_ + ":" + std::to_string(node.Mark().line + 1);
  }

  absl::Status AddMap(const std::string& key, const YAML::Node& node, int depth) {
    // An empty section says nothing, but its name may be one that is refused.
    if (!key.empty() && node.size() == 0 && KeysBelow(key).empty()) return Emit(key, "", node);
    for (const auto& entry : node) {
      if (!entry.first.IsScalar()) return Refuse(entry.first, "a key is not a plain word");
      const std::string inner =
          key.empty() ? entry.first.Scalar() : key + "." + entry.first.Scalar();
      if (!seen_.insert(inner).second) return Refuse(entry.first, inner + ": is given twice");
      if (entry.second.IsNull()) return RefuseEmpty(inner, entry.first);
      if (absl::Status status = Add(inner, entry.second, depth + 1); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status AddSequence(const std::string& key, const YAML::Node& node) {
    std::string joined;
    for (const auto& item : node) {
      if (!item.IsScalar()) return Refuse(item, key + ": a list item is not a plain value");
      joined += (joined.empty() ? "" : ",") + item.Scalar();
    }
    return Emit(key, joined, node);
  }

  absl::Status Emit(const std::string& key, std::string value, const YAML::Node& node) {
    settings_.push_back({key, std::move(value), Origin(node)});
    return absl::OkStatus();
  }

  const std::string path_;
  std::set<std::string> seen_;
  std::vector<Setting> settings_;
};

absl::StatusOr<std::string> ReadText(const std::string& path) {
  std::ifstream file(path);
  if (!file) return absl::InvalidArgumentError(path + ": cannot be read");
  std::string text(kMaxFileBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) return absl::InvalidArgumentError(path + ": cannot be read; is it a file?");
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() > kMaxFileBytes) {
    return absl::InvalidArgumentError(path + ": is larger than 1MiB");
  }
  return text;
}

}  // namespace

absl::StatusOr<std::vector<Setting>> ReadConfigFile(const std::string& path) {
  absl::StatusOr<std::string> text = ReadText(path);
  if (!text.ok()) return text.status();
  // The one place where the library's exceptions can come up.
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(*text);
    if (documents.size() > 1) {
      return absl::InvalidArgumentError(path +
                                        ": has several documents (lines of ---), of which "
                                        "only the first would be read; keep one");
    }
    const YAML::Node root = documents.empty() ? YAML::Node() : documents.front();
    if (root.IsNull()) return std::vector<Setting>();
    if (!root.IsMap())
      return absl::InvalidArgumentError(path + ":1: is not `key: value` lines, such as shard: 0");
    Flattener flattener(path);
    if (absl::Status status = flattener.Add("", root, 0); !status.ok()) return status;
    return flattener.Take();
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError(path + ":" + std::to_string(error.mark.line + 1) + ": " +
                                      ExplainYaml(error, *text));
  }
}

std::vector<Setting> ReadEnvironment(const std::vector<std::string>& variables) {
  std::vector<Setting> settings;
  for (const std::string& variable : variables) {
    const size_t equals = variable.find('=');
    if (variable.rfind(kPrefix, 0) != 0 || equals == std::string::npos) continue;
    const std::string name = variable.substr(0, equals);
    std::string key;
    for (size_t i = std::string(kPrefix).size(); i < name.size(); ++i) {
      const bool section = name.compare(i, 2, "__") == 0;
      key += section ? '.' : static_cast<char>(std::tolower(static_cast<unsigned char>(name[i])));
      if (section) ++i;
    }
    // Other programs have variables of this prefix; one with a section is meant for the server.
    if (NearestKey(key).empty() && key.find('.') == std::string::npos) continue;
    settings.push_back({key, variable.substr(equals + 1), name});
  }
  return settings;
}

}  // namespace hotrow
