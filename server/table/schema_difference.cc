#include "server/table/schema_difference.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/text_format.h>

#include "hotrow/v1/table.pb.h"

namespace hotrow {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

std::string Print(const Message& message, const FieldDescriptor* field) {
  const auto* reflection = message.GetReflection();
  const bool is_message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
  if (is_message && !reflection->HasField(message, field)) return "unset";
  if (is_message) {
    const std::string text = reflection->GetMessage(message, field).ShortDebugString();
    return "{" + text + "}";
  }
  std::string text;
  google::protobuf::TextFormat::PrintFieldValueToString(message, field, -1, &text);
  return text;
}

// The choice that a message makes in a oneof: "adagrad {lr: 0.05}".
std::string Choice(const Message& message, const google::protobuf::OneofDescriptor* oneof) {
  const FieldDescriptor* field = message.GetReflection()->GetOneofFieldDescriptor(message, oneof);
  if (field == nullptr) return "unset";
  const std::string name(field->name());
  const bool is_message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
  return name + " " + (is_message ? "" : "= ") + Print(message, field);
}

// A oneof has no field of its own: it is what the message around it is.
std::optional<SchemaDifference> CompareChoices(const Message& first, const Message& second,
                                               const std::string& prefix) {
  const auto* descriptor = first.GetDescriptor();
  for (int i = 0; i < descriptor->oneof_decl_count(); ++i) {
    const auto* oneof = descriptor->oneof_decl(i);
    const auto* mine = first.GetReflection()->GetOneofFieldDescriptor(first, oneof);
    const auto* other = second.GetReflection()->GetOneofFieldDescriptor(second, oneof);
    if (mine == other) continue;
    const std::string path =
        prefix.empty() ? std::string(oneof->name()) : prefix.substr(0, prefix.size() - 1);
    return SchemaDifference{path, Choice(first, oneof), Choice(second, oneof)};
  }
  return std::nullopt;
}

std::optional<SchemaDifference> Compare(const Message& first, const Message& second,
                                        const std::string& prefix) {
  if (auto choice = CompareChoices(first, second, prefix)) return choice;
  const auto* descriptor = first.GetDescriptor();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const FieldDescriptor* field = descriptor->field(i);
    const std::string path = prefix + std::string(field->name());
    const bool both = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE &&
                      first.GetReflection()->HasField(first, field) &&
                      second.GetReflection()->HasField(second, field);
    if (both) {
      auto inner = Compare(first.GetReflection()->GetMessage(first, field),
                           second.GetReflection()->GetMessage(second, field), path + ".");
      if (inner) return inner;
      continue;
    }
    SchemaDifference difference{path, Print(first, field), Print(second, field)};
    if (difference.of_first != difference.of_second) return difference;
  }
  return std::nullopt;
}

}  // namespace

std::optional<SchemaDifference> FirstDifference(const v1::TableSchema& first,
                                                const v1::TableSchema& second) {
  return Compare(first, second, "");
}

}  // namespace hotrow
