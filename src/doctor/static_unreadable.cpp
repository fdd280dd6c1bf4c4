// SPDX-License-Identifier: Apache-2.0
// Files that no reader takes: the reader's words, sorted.
#include "doctor/static_checks.hpp"

namespace bittern::doctor {
namespace {

bool Says(const Error& error, std::string_view part) {
  return error.message.find(part) != std::string::npos;
}

}  // namespace

Finding FindingOfUnreadable(const std::string& path, const Error& error) {
  Finding finding{.id = "unreadable",
                  .cause = "The file cannot be read as a model.",
                  .evidence = AsSentence(error.message),
                  .cure = "fetch or make the file again",
                  .curable = false};
  if (error.code == ErrorCode::kNotFound) {
    finding.id = "not_found";
    finding.cause = "There is no such file: " + path + ".";
    finding.cure = "look for the right name";
    return finding;
  }
  if (Says(error, "past the end of the file") || Says(error, "left in the file") ||
      Says(error, "unfinished download") || Says(error, "file is empty")) {
    finding.id = "truncated";
    finding.cause = "A part of the file is missing: an interrupted download or copy.";
    finding.cure = "fetch the file again and compare its size with the original's";
  } else if (Says(error, "Git LFS") || Says(error, "web page") || Says(error, "text file")) {
    finding.id = "not_a_model";
    finding.cause = "This is not the model but what stands in its place.";
    finding.cure = "fetch the file itself";
  } else if (Says(error, "config.json")) {
    finding.id = kUnsupportedId;
    finding.cause = "The folder has weights, but not the config.json that says what they are.";
    finding.cure = "fetch config.json and tokenizer.json of the same model into the folder";
  } else if (Says(error, "not supported") ||
             (error.code == ErrorCode::kUnsupported && !Says(error, "type "))) {
    finding.id = kUnsupportedId;
    finding.cause = "The file is of a kind that Bittern does not run.";
    finding.cure = "docs/models.md lists the models that run here";
  } else if (Says(error, "expected first")) {
    finding.id = "magic";
    finding.cause = "The file is no model file, or of a kind that is not read.";
  } else if (Says(error, "data offset") || Says(error, "type ")) {
    finding.id = "tensor_type";
    finding.cause =
        "The types of tensors do not agree with the bytes they take, or are not read: programs "
        "give "
        "one number to several formats.";
    finding.cure = "fetch a file of another format, or make it again";
  }
  return finding;
}

}  // namespace bittern::doctor
