// An op of the table at run time: binds arguments, runs the forward, records a node, applies the rules in backward.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/overlap.h"
#include "kernels/elementwise.h"
#include "op/arg.h"
#include "op/autocast.h"
#include "op/out_types.h"
#include "ops/elementwise.h"
#include "tape/node.h"

namespace adjoint {

class Op;
class Transform;
struct StoredTypes;
struct TransformRules;

/// Runs a forward written in C++: bound arguments in, the result out. Generated; see src/adjoint/codegen.
using Glue = Object (*)(PyObject* const* slots);
/// The same for a function that writes into its first argument.
using GlueInPlace = void (*)(PyObject* const* slots);
struct GlueEntry {
  const char* op;
  Glue run;
  GlueInPlace change;
  const char* calls;  ///< its rules that are calls: "input=select(g,dim,index);", or null
  uint32_t memory;    ///< bit set of the arguments whose memory the functions give to kernels
};
/// Ends with a null name.
extern const GlueEntry kGlue[];

inline constexpr int kMaxArguments = 16;

struct Argument {
  Object name;            ///< interned
  Object default_value;   ///< null: required
  Scalar default_scalar;  ///< elementwise params: the default, parsed
};

/// Something that rules ask for, kept in a node: the value or the metadata of an argument, or a result.
struct SavedItem {
  enum class What : uint8_t { Argument, ArgumentMeta, Output, OutputMeta };
  What what;
  uint8_t index;     ///< argument slot or output number
  std::string name;  ///< as rules call it
};

struct RuleParameter {
  enum class Source : uint8_t { Gradient, Gradients, Item };
  Source source;
  uint8_t index;  ///< output number, or item number; 0 for the tuple of all gradients
};

/// A rule as a Python function, and what it is called with.
struct RuleForm {
  Object callable;
  std::vector<RuleParameter> parameters;
};

/// A rule that is nothing but one call of another op, which is then made without a way through Python; but not in
/// anomaly mode, where a traceback is to show the rule.
struct DirectCall {
  enum class What : uint8_t { Default, Gradient, Item, Shape, Turned };
  struct Source {
    What what;
    uint8_t index;  ///< output number, or item number; of a shape, and whether a matrix is turned, that of the metadata
  };
  std::string target;           ///< empty: the rule is none
  std::vector<Source> sources;  ///< by slot of the target
  mutable Op* op = nullptr;     ///< the target, once a backward has asked for it
};

/// The derivative with respect to one argument.
struct Rule {
  bool differentiable = false;
  bool identity = false;         ///< `lambda g: g`
  bool identity_at_one = false;  ///< the same where its one parameter beside g is the number 1
  bool zero = false;             ///< a comparison written in place: no gradient passes
  std::string refusal;           ///< the error of a backward that asks for it, where torch waits until then
  RuleForm form;                 ///< at every order ...
  DirectCall direct;             ///< ... and the call that it is, if it is one
  RuleForm fused;                ///< the first order, where the declaration has a form of its own for it ...
  const Kernel* loop = nullptr;  ///< ... or the loop of an elementwise op, with the parameters of `form`
  uint32_t items = 0;            ///< bit set of the items that these use

  /// What a backward calls. `watched`: a graph of the gradients is wanted, or levels of transforms are open.
  const RuleForm& chosen(bool watched) const { return fused.callable && !watched ? fused : form; }
};

/// Whether an argument is a tuple or a list.
inline bool is_sequence(PyObject* object) { return PyTuple_Check(object) || PyList_Check(object); }

/// A tensor that has a shape and a type but no memory: what a rule gets for `input_meta`.
TensorPtr meta_tensor(Shape* shape, DType dtype);

class Op final : public NodeKind {
 public:
  /// Composed: calls other ops, which record; nothing is left to do here.
  enum class Kind : uint8_t { Elementwise, Plain, View, Composed };

  Op(std::string name, std::string node, Kind kind);

  std::string name;
  std::string shown;           ///< the function that a user knows it by, in errors: sum for sum_all and sum_dim ...
  std::string shown_in_place;  ///< ... and its form with a trailing underscore
  Kind kind;
  std::vector<Argument> arguments;
  int count = 0;                           ///< of the arguments
  PyObject* defaults[kMaxArguments] = {};  ///< by slot, borrowed from the arguments; null: required
  size_t required = 0;                     ///< all slots from this one on have a default
  int positional = 0;                      ///< arguments that may be given by position
  std::vector<uint8_t> short_form;         ///< the slots of a second form with fewer arguments: arange(end)
  int varargs = -1;                        ///< the slot that takes all further positional arguments as a tuple
  bool has_out = false;                    ///< accepts out=
  OutDemands out_demands;
  uint32_t apart = 0;  ///< bit set of the arguments that what is written must have no memory in common with ...
  uint32_t whole = 0;  ///< ... and of those that it may be, but not lie in part in
  Autocast autocast = Autocast::None;
  int typed_out = -1;  ///< the slot of dtype= whose default is the type of out=
  // Elementwise
  const Kernel* kernel = nullptr;
  ops::ElementwiseOptions options{};
  ops::ElementwiseWords words;
  int n_operands = 0;
  uint32_t number_slots = 0;     ///< bit set of the operands that may be numbers
  bool numbers_suffice = false;  ///< no operand need be a tensor
  // Others
  Glue glue = nullptr;
  GlueInPlace glue_in_place = nullptr;
  Object forward;      ///< a Python callable
  Object result_type;  ///< named tuple of several results
  int list_slot = -1;  ///< the argument that is a sequence of tensors
  int creation = -1;   ///< makes a new tensor: the first slot of its options, see op/creation.h
  // Gradients
  std::vector<Rule> rules;          ///< by slot; empty rule: no gradient
  std::vector<uint8_t> edge_slots;  ///< slots that have a rule
  uint32_t edge_mask = 0;           ///< the same as a bit set
  uint32_t differentiable = 0;      ///< bit set of those whose rule gives a gradient, or refuses to when it is asked
  uint32_t slot_items[kMaxArguments] = {};  ///< by slot: the items that its rule uses
  std::vector<SavedItem> items;
  uint32_t output_items = 0;  ///< bit set of the items that are results or their metadata
  std::vector<uint8_t> output_is_differentiable;
  bool crosses = false;                ///< the arguments may be on several devices
  uint32_t memory = 0;                 ///< bit set of the arguments whose memory kernels read; see Op::check_devices
  bool takes_sparse = false;           ///< the first argument may be sparse, and needs no handler
  bool writes_one_value = false;       ///< in place, elements may share memory
  Op* square = nullptr;                ///< powers: used instead for floats when the exponent is 2 ...
  Op* cube = nullptr;                  ///< ... when it is 3 ...
  Op* root = nullptr;                  ///< ... when it is 0.5 ...
  Op* power = nullptr;                 ///< ... and when it is another number but 0
  std::vector<uint8_t> variant_slots;  ///< of the arguments that have a variant
  Op* number_variant[kMaxArguments] = {};  ///< used instead when the argument is a number (other node name)

  /// What it was made from.
  Object declaration;
  /// What transforms need to know; read from the declaration when it is first asked for.
  const TransformRules& transforms() const;
  /// Which stored types it takes, where it is not elementwise; read from the declaration when it is first asked for.
  const StoredTypes& stored() const;
  /// Raises torch's error for a type that it is not computed in.
  [[noreturn, gnu::cold]] void refuse_type(DType dtype) const;
  /// Makes the bit set of the edges agree with their list.
  void mask_edges();

  /// Calls the op with bound arguments (borrowed). The innermost transform comes first; see op/transform.h.
  Object call(PyObject* const* slots);
  /// Computes into the first argument, recording it as changed in place; a view changes its geometry.
  void call_in_place(PyObject* const* slots);
  /// Computes into `out` (a tensor, or a tuple of them), which is resized to fit; nothing is recorded.
  Object call_out(PyObject* const* slots, PyObject* out);

  /// The op with another node name that is used for these arguments, numbers among them; or this one.
  Op& variant(PyObject* const* slots);
  /// What computes a new result: a simpler op or a variant where there is one.
  Op& chosen(PyObject* const* slots);
  /// For an op that is made of others.
  Object call_composed(PyObject* const* slots);
  /// Gives new results their history, where one is to be recorded.
  void record_results(PyObject* const* slots, Tensor* const* outputs, uint32_t n) const;
  /// Changes the first argument as call_in_place does, for a transform that has the call; `write` is how its values are
  /// changed.
  void change_through(Transform& transform, PyObject* const* slots, const std::function<void()>& write);
  /// Saves a result that a node has saved before, now that it carries a tangent.
  void save_output_again(Node& node, Tensor* output) const;
  /// The derivative of an elementwise op of real numbers, by one argument, times a tangent: by the loop of the rule,
  /// which nothing records, and by the rule in Python.
  TensorPtr loop_tangent(const Rule& rule, Tensor* tangent, PyObject* const* slots, Tensor* result) const;
  TensorPtr rule_tangent(const Rule& rule, Tensor* tangent, PyObject* const* slots, Tensor* result) const;

  /// Fills slots from a vectorcall; returns the out= argument (borrowed) or null. `owned` keeps collected varargs
  /// alive.
  PyObject* bind(PyObject* const* args, size_t nargs, PyObject* kwnames, PyObject** slots, Object& owned) const;

  /// Fills slots from add(input, alpha, other) and its like, as they were once written; false if this is not one.
  [[gnu::cold]] bool bind_old_numbers(PyObject* const* args, size_t nargs, PyObject** slots) const;

  /// Refuses to record arguments without a rule, where others of the op have one.
  [[gnu::cold]] void check_differentiable(uint32_t recorded) const;
  /// Bit set of the slots whose arguments require grad; 0 when the call need not be recorded.
  uint32_t recorded_slots(PyObject* const* slots) const;
  /// Makes the node of a call with these arguments, keeping the arguments that the rules of `recorded` slots need;
  /// results are attached by `save_outputs` and set_history.
  NodePtr record(PyObject* const* slots, uint32_t recorded, uint32_t n_outputs) const;
  void save_outputs(Node& node, uint32_t recorded, Tensor* const* outputs) const;

  void apply(Node& node, TensorPtr* outputs, TensorPtr* edges, const ApplyContext& context) const override;
  void release_saved(Node& node) const override;
  Object attribute(Node& node, const char* name) const override;
  std::vector<std::string> attribute_names() const override;

 private:
  /// The argument that stands for all further positional ones: themselves, if they are one sequence, or a tuple.
  PyObject* collect(PyObject* const* args, size_t count, Object& owned) const;
  [[noreturn, gnu::cold]] void refuse_none(size_t slot) const;
  /// Whether these are the arguments of the second form.
  bool is_short(size_t nargs, PyObject* kwnames) const;
  /// Fills slots from keywords, of which the first `taken` are there; returns the out= argument (borrowed) or null.
  PyObject* bind_keywords(PyObject* const* values, PyObject* kwnames, PyObject** slots, size_t taken) const;
  /// The simpler op that stands for pow with this exponent, or null.
  Op* simpler_power(PyObject* const* slots) const;
  /// As call and call_in_place, in a mode that few programs use.
  [[gnu::cold]] Object call_in_mode(PyObject* const* slots);
  [[gnu::cold]] void change_in_mode(PyObject* const* slots);
  /// As call_in_place, in no such mode.
  void change(PyObject* const* slots);
  /// Checks that the first argument may be changed; returns the slots that are recorded.
  uint32_t begin_change(PyObject* const* slots) const;
  /// It has been: it becomes a result of `node`, its record or null.
  void end_change(PyObject* const* slots, NodePtr node, uint32_t recorded) const;
  Object run(PyObject* const* slots) {
    return kind == Kind::Elementwise ? call_elementwise(slots)
           : kind == Kind::Composed  ? call_composed(slots)
           : creation < 0            ? call_plain(slots)
                                     : call_creation(slots);
  }
  Object call_elementwise(PyObject* const* slots);
  Object call_plain(PyObject* const* slots);
  Object call_creation(PyObject* const* slots);
  /// Refuses an out= that lies in the memory of an argument in a way that is not allowed.
  void check_out(PyObject* const* slots, PyObject* out, PyObject* result) const;
  /// As record, before an in-place change: rules that use the first argument get a copy of the values about to be lost.
  NodePtr record_change(PyObject* const* slots, uint32_t recorded) const;
  /// Refuses arguments that lie in the memory of the first one, which is about to be changed, where that is not
  /// allowed.
  void check_apart(PyObject* const* slots) const;
  /// The three ways of changing the first argument. Arguments are checked, recorded, then used; returns the
  /// record, or null.
  NodePtr change_by_kernel(PyObject* const* slots, uint32_t recorded);
  /// By a function of its own, which checks before it writes: until then the record is nobody's.
  NodePtr change_by_native(PyObject* const* slots, uint32_t recorded);
  NodePtr change_by_result(PyObject* const* slots, uint32_t recorded);
  Object run_forward(PyObject* const* slots) const;
  /// Reads the arguments of an elementwise op; returns what recorded_slots would.
  /// `sparse` is set, and nothing else, where one of them is.
  uint32_t read_operands(PyObject* const* slots, Operand* operands, Scalar* params, bool* sparse) const;
  /// Whether a handler must take the call, some of whose arguments are not in the program's memory; if not, they are
  /// checked.
  [[gnu::cold]] bool left_to_handler(PyObject* const* slots) const;
  /// Refuses tensors that are not on the device of the first one, and notes which op runs there.
  [[gnu::cold]] void check_devices(PyObject* const* slots) const;
  /// What is done with special arguments (op/meta.h) before a call; gives its result where that is a call of another
  /// kind, else null.
  [[gnu::cold]] Object call_special(PyObject* const* slots);
  /// Says which operands must be tensors.
  [[noreturn]] void refuse_operands(PyObject* const* slots, int place) const;
  /// Bit set of the items that the rules of these slots use.
  uint32_t used_items(uint32_t recorded) const;
  void save_argument(Node& node, uint32_t item, PyObject* argument) const;
  void apply_list_rule(const Rule& rule, Node& node, const TensorPtr* gradients, TensorPtr* edges, uint32_t edge,
                       uint32_t count, const ApplyContext& context) const;
  /// Whether a gradient or something saved is sparse: then the loops cannot run.
  [[gnu::cold]] bool meets_sparse(const Node& node, const TensorPtr* gradients) const;
  void apply_rules(Node& node, TensorPtr* outputs, TensorPtr* edges, const ApplyContext& context) const;
  /// Whether the gradients of a node are loops alone, which do not depend on one another.
  bool all_by_loops(const Node& node, const TensorPtr* gradients, const ApplyContext& context) const;
  TensorPtr run_loop(const Rule& rule, Node& node, const TensorPtr* gradients) const;
  /// `edge`: the first edge that the rule answers for.
  Object call_rule(const Rule& rule, Node& node, const TensorPtr* gradients, uint32_t edge,
                   const ApplyContext& context) const;
  TensorPtr call_directly(const DirectCall& call, Node& node, const TensorPtr* gradients,
                          const ApplyContext& context) const;
  /// What a rule receives for an item: a tensor, with its history if that is asked for, a meta tensor, or the argument
  /// as it was.
  Object unpack_item(Node& node, uint32_t item, bool with_history) const;
  uint32_t edge_of_slot(const Node& node, uint8_t slot) const;

  mutable std::shared_ptr<const TransformRules> transform_rules_;
  mutable std::shared_ptr<const StoredTypes> stored_types_;
  mutable uint32_t number_of_name_ = 0;  ///< see Note [Origins] in core/origin.h
};

/// The op of this name; null when there is none.
Op* find_op(const char* name);
/// As find_op, but a missing op is an internal error.
Op& require_op(const char* name);

/// Refuses an argument, or out= itself, that requires grad while gradients are recorded.
void refuse_out(const char* op, PyObject* object);
/// Refuses an out= that would lie in the memory of an argument (or of one in a list of them).
void check_out_overlap(PyObject* out, PyObject* result, PyObject* argument, Allowed allowed);
/// Writes a result (or a tuple of results) into out=, a tensor (or a sequence of them), which is resized to fit.
Object write_results(const char* op, PyObject* out, PyObject* result, const OutDemands& demands);

/// What a rule written in Python may ask about the backward that calls it.
struct RuleCall {
  const bool* wanted;  ///< per edge that the rule answers for: is a gradient needed?
  uint32_t n_edges;
};
/// The innermost call of a rule in this thread, or null.
const RuleCall* running_rule();

/// Adds `declare_op` and the type of op objects to the module.
void init_ops(PyObject* module);

}  // namespace adjoint
