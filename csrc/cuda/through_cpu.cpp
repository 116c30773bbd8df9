#include "cuda/through_cpu.h"

#include <type_traits>
#include <utility>

#include "core/warning.h"
#include "cuda/staging.h"
#include "kernels/operand.h"
#include "kernels/uniform.h"

namespace adjoint::cuda {

/// The names of all kernels in the order of the table (generated).
extern const char* const all_kernel_names[];

namespace {

using AnyFunction = void (*)();
constexpr size_t kKernels = sizeof(Backend) / sizeof(AnyFunction);

AnyFunction entry_of(const Backend& table, size_t number) {
  return reinterpret_cast<const AnyFunction*>(&table)[number];
}

/// Says so, the first time.
void warn_of(size_t number) {
  static bool warned[kKernels];
  if (std::exchange(warned[number], true)) return;
  const std::string text = std::string(all_kernel_names[number]) +
                           " has no kernel on cuda yet: it is computed on the CPU, and values go there and back; "
                           "docs/cuda.md lists such kernels";
  warn_with_lock(text);
}

// ---- What has views in it, argument by argument: noting them, and the same with views of values here

template <class T>
void note(Staging&, const T&) {}
void note(Staging& staging, const View& view) { staging.note(view); }
void note(Staging& staging, const View* view) {
  if (view) staging.note(*view);
}
void note(Staging& staging, const kernels::AttentionInputs& of) {
  for (const View* view : {&of.query, &of.key, &of.value}) staging.note(*view);
}
void note(Staging& staging, const kernels::Bags& bags) {
  staging.note(bags.indices);
  staging.note(bags.starts);
}
void note(Staging& staging, const kernels::SparseRows& rows) {
  note(staging, rows.order);
  for (const View* view : {&rows.starts, &rows.columns, &rows.values}) staging.note(*view);
}

/// An argument as the CPU's kernel takes it; lives as long as the call.
template <class T>
struct Here {
  Here(const Staging&, T given) : value(given) {}
  T value;
  operator T() const { return value; }
};
template <>
struct Here<const View&> {
  Here(const Staging& staging, const View& view) : moved(staging.here(view)) {}
  View moved;
  operator const View&() const { return moved; }
};
template <>
struct Here<const View*> {
  Here(const Staging& staging, const View* view) : there(view != nullptr) {
    if (view) moved = staging.here(*view);
  }
  View moved;
  bool there;
  operator const View*() const { return there ? &moved : nullptr; }
};
template <>
struct Here<const kernels::AttentionInputs&> {
  Here(const Staging& staging, const kernels::AttentionInputs& of) : moved(of) {
    for (View* view : {&moved.query, &moved.key, &moved.value}) *view = staging.here(*view);
  }
  kernels::AttentionInputs moved;
  operator const kernels::AttentionInputs&() const { return moved; }
};
template <>
struct Here<const kernels::Bags&> {
  Here(const Staging& staging, const kernels::Bags& bags) : moved(bags) {
    moved.indices = staging.here(bags.indices);
    moved.starts = staging.here(bags.starts);
  }
  kernels::Bags moved;
  operator const kernels::Bags&() const { return moved; }
};
template <>
struct Here<const kernels::SparseRows&> {
  Here(const Staging& staging, const kernels::SparseRows& rows) : order(staging, rows.order), moved(rows) {
    moved.order = order;
    for (View* view : {&moved.starts, &moved.columns, &moved.values}) *view = staging.here(*view);
  }
  Here<const View*> order;
  kernels::SparseRows moved;
  operator const kernels::SparseRows&() const { return moved; }
};

/// f(), after which what has changed goes back.
template <class F>
auto with_changes(Staging& staging, F f) {
  if constexpr (std::is_void_v<decltype(f())>) {
    f();
    staging.write_back();
  } else {
    auto result = f();
    staging.write_back();
    return result;
  }
}

/// Becomes kernel `number` of the table.
template <size_t number>
struct OnCpu {
  template <class Result, class... Args>
  constexpr operator kernels::Function<Result, Args...>() const {
    return [](Args... args) -> Result {
      warn_of(number);
      Staging staging;
      (note(staging, args), ...);
      staging.fetch();
      return with_changes(staging, [&]() -> Result {
        auto function = reinterpret_cast<Result (*)(Args...)>(entry_of(on(DeviceType::Cpu), number));
        return function(Here<Args>(staging, args)...);
      });
    };
  }
};

template <class Table, size_t first>
constexpr Table family() {
  constexpr size_t count = sizeof(Table) / sizeof(AnyFunction);
  return []<size_t... i>(std::index_sequence<i...>) {
    return Table{OnCpu<first + i>()...};
  }(std::make_index_sequence<count>());
}
#define ADJOINT_FAMILY(name) .name = family<decltype(Backend::name), offsetof(Backend, name) / sizeof(AnyFunction)>()

// ---- Kernels with lists of views

#define ADJOINT_NUMBER(member) (offsetof(Backend, member) / sizeof(AnyFunction))

void run_elementwise(const Kernel& kernel, DType compute, const View& out, const View* inputs, const Scalar* params) {
  Staging staging;
  staging.note(out);
  for (int i = 0; i < kernel.inputs; ++i) staging.note(inputs[i]);
  staging.fetch();
  View here[kernels::kMaxInputs];
  for (int i = 0; i < kernel.inputs; ++i) here[i] = staging.here(inputs[i]);
  on(DeviceType::Cpu).elementwise.run(kernel, compute, staging.here(out), here, params);
  staging.write_back();
}

/// run(views) with the views of the indices here; null where a dimension has none.
template <class Run>
void with_indices(Staging& staging, int count, const View* const* indices, Run run) {
  for (int i = 0; i < count; ++i) note(staging, indices[i]);
  staging.fetch();
  std::vector<View> moved(static_cast<size_t>(count));
  std::vector<const View*> here(static_cast<size_t>(count));
  for (size_t i = 0; i < here.size(); ++i) {
    if (!indices[i]) continue;
    moved[i] = staging.here(*indices[i]);
    here[i] = &moved[i];
  }
  run(here.data());
  staging.write_back();
}

void index_get(const View& in, int count, const View* const* indices, const View& out) {
  warn_of(ADJOINT_NUMBER(indexing.index_get));
  Staging staging;
  staging.note(in);
  staging.note(out);
  with_indices(staging, count, indices, [&](const View* const* here) {
    on(DeviceType::Cpu).indexing.index_get(staging.here(in), count, here, staging.here(out));
  });
}

void index_put(const View& dst, int count, const View* const* indices, const View& src, bool accumulate) {
  warn_of(ADJOINT_NUMBER(indexing.index_put));
  Staging staging;
  staging.note(dst);
  staging.note(src);
  with_indices(staging, count, indices, [&](const View* const* here) {
    on(DeviceType::Cpu).indexing.index_put(staging.here(dst), count, here, staging.here(src), accumulate);
  });
}

void histogram(const View& points, const View* edges, bool even, const View* weight, const View& out) {
  warn_of(ADJOINT_NUMBER(search.histogram));
  Staging staging;
  staging.note(points);
  staging.note(out);
  note(staging, weight);
  for (int d = 0; d < out.ndim; ++d) staging.note(edges[d]);
  staging.fetch();
  std::vector<View> here;
  for (int d = 0; d < out.ndim; ++d) here.push_back(staging.here(edges[d]));
  on(DeviceType::Cpu)
      .search.histogram(staging.here(points), here.data(), even, Here<const View*>(staging, weight), staging.here(out));
  staging.write_back();
}

constexpr Backend all_on_cpu() {
  Backend table = {
      ADJOINT_FAMILY(memory),      ADJOINT_FAMILY(ranges),    ADJOINT_FAMILY(random),
      ADJOINT_FAMILY(elementwise), ADJOINT_FAMILY(reduce),    ADJOINT_FAMILY(scan),
      ADJOINT_FAMILY(softmax),     ADJOINT_FAMILY(sort),      ADJOINT_FAMILY(indexing),
      ADJOINT_FAMILY(structure),   ADJOINT_FAMILY(search),    ADJOINT_FAMILY(unique),
      ADJOINT_FAMILY(sparse),      ADJOINT_FAMILY(matmul),    ADJOINT_FAMILY(convolution),
      ADJOINT_FAMILY(pooling),     ADJOINT_FAMILY(folding),   ADJOINT_FAMILY(grid),
      ADJOINT_FAMILY(resampling),  ADJOINT_FAMILY(ctc),       ADJOINT_FAMILY(embedding_bag),
      ADJOINT_FAMILY(loss_labels), ADJOINT_FAMILY(linalg),    ADJOINT_FAMILY(normalization),
      ADJOINT_FAMILY(attention),   ADJOINT_FAMILY(recurrent), ADJOINT_FAMILY(fft),
      ADJOINT_FAMILY(distance),
  };
  table.elementwise.run = run_elementwise;
  table.indexing.index_get = index_get;
  table.indexing.index_put = index_put;
  table.search.histogram = histogram;
  return table;
}

}  // namespace

constinit const Backend through_cpu = all_on_cpu();

std::vector<std::string> kernel_names(const Backend& table, bool native) {
  std::vector<std::string> names;
  for (size_t i = 0; i < kKernels; ++i)
    if ((entry_of(table, i) != entry_of(through_cpu, i)) == native) names.emplace_back(all_kernel_names[i]);
  return names;
}

}  // namespace adjoint::cuda
