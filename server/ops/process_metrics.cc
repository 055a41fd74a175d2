#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "server/ops/metric_family.h"
#include "server/ops/metrics_page.h"

namespace hotrow {
namespace {

struct ProcessStatus {
  double resident_bytes = 0;
  double virtual_bytes = 0;
  double threads = 0;
};

ProcessStatus ReadStatus() {
  ProcessStatus status;
  std::ifstream file("/proc/self/status");
  std::string line;
  while (std::getline(file, line)) {
    const auto value = [&line](const char* name) {
      return line.rfind(name, 0) == 0 ? std::stod(line.substr(line.find(':') + 1)) : -1.0;
    };
    if (const double kib = value("VmRSS:"); kib >= 0) status.resident_bytes = kib * 1024;
    if (const double kib = value("VmSize:"); kib >= 0) status.virtual_bytes = kib * 1024;
    if (const double threads = value("Threads:"); threads >= 0) status.threads = threads;
  }
  return status;
}

// Since 1970, from the ticks since the machine started.
double StartSeconds() {
  std::ifstream file("/proc/self/stat");
  std::string text;
  std::getline(file, text);
  // The name of the program, in brackets, may hold anything.
  std::istringstream fields(text.substr(text.rfind(')') + 1));
  constexpr int kFieldsBefore = 19;
  std::string field;
  for (int i = 0; i < kFieldsBefore; ++i) fields >> field;
  double ticks = 0;
  fields >> ticks;
  timespec now{};
  timespec since_boot{};
  clock_gettime(CLOCK_REALTIME, &now);
  clock_gettime(CLOCK_BOOTTIME, &since_boot);
  const auto seconds = [](const timespec& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
  };
  return seconds(now) - seconds(since_boot) + ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double OpenDescriptors() {
  std::error_code error;
  double count = 0;
  for (std::filesystem::directory_iterator it("/proc/self/fd", error), end; !error && it != end;
       it.increment(error)) {
    ++count;
  }
  return count;
}

double MaxDescriptors() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<double>(limit.rlim_cur);
}

}  // namespace

double ProcessStartSeconds() {
  static const double start = StartSeconds();
  return start;
}

void AppendProcessMetrics(std::vector<prometheus::MetricFamily>& families) {
  const ProcessStatus status = ReadStatus();
  families.push_back(
      SingleGauge("process_resident_memory_bytes", "Memory held in RAM.", status.resident_bytes));
  families.push_back(
      SingleGauge("process_virtual_memory_bytes", "Address space in use.", status.virtual_bytes));
  families.push_back(SingleGauge("process_start_time_seconds", "Start of the process since 1970.",
                                 ProcessStartSeconds()));
  families.push_back(SingleGauge("process_threads", "Threads.", status.threads));
  families.push_back(SingleCounter("process_cpu_seconds_total",
                                   "Processor time in user and system mode.", CpuSeconds()));
  families.push_back(SingleGauge("process_open_fds", "Open file descriptors.", OpenDescriptors()));
  families.push_back(
      SingleGauge("process_max_fds", "Limit of open file descriptors.", MaxDescriptors()));
}

}  // namespace hotrow
