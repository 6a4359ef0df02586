// Max-min rates by SimGrid's solver (Debian: libsimgrid-dev). Its headers are not installed, so the few functions used are
// declared here as the library exports them; objects are made by the library alone.
//
// In: "links flows", the capacity of each link, then a line a flow: the number of links on its path, and the links.
// Out: CPU seconds to enter all flows, CPU seconds to solve, and the sum of what all links carry.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>
#include <vector>

namespace simgrid::kernel {
namespace resource {
class Action;
class Resource;
} // namespace resource
namespace lmm {
class Variable;
class Constraint {
public:
  double get_usage() const;
};
class System {
public:
  static System* build(std::string_view solver, bool selective_update);
  Constraint* constraint_new(resource::Resource* id, double capacity);
  Variable* variable_new(resource::Action* id, double penalty, double bound, size_t constraints);
  void expand(Constraint* constraint, Variable* variable, double weight, bool force);
  void solve();
};
} // namespace lmm
} // namespace simgrid::kernel

static double cpu_secs() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec + now.tv_nsec * 1e-9;
}

int main() {
  using namespace simgrid::kernel;
  size_t links, flows;
  if (scanf("%zu %zu", &links, &flows) != 2) return 1;
  std::vector<double> capacity(links);
  for (auto& one : capacity)
    if (scanf("%lf", &one) != 1) return 1;
  std::vector<std::vector<unsigned>> paths(flows);
  for (auto& path : paths) {
    size_t length;
    if (scanf("%zu", &length) != 1) return 1;
    path.resize(length);
    for (auto& link : path)
      if (scanf("%u", &link) != 1) return 1;
  }
  const double begun = cpu_secs();
  auto* system = lmm::System::build("maxmin", false);
  std::vector<lmm::Constraint*> constraints;
  for (const double one : capacity) constraints.push_back(system->constraint_new(nullptr, one));
  for (const auto& path : paths) {
    auto* variable = system->variable_new(nullptr, 1.0, -1.0, path.size());
    for (const unsigned link : path) system->expand(constraints[link], variable, 1.0, false);
  }
  const double entered = cpu_secs();
  system->solve();
  const double solved = cpu_secs();
  double carried = 0;
  for (const auto* constraint : constraints) carried += constraint->get_usage();
  printf("%.6f %.6f %.9g\n", entered - begun, solved - entered, carried);
  fflush(stdout);
  _Exit(0); // freeing is not part of the measurement
}
