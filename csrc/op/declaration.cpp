#include "op/declaration.h"

#include <utility>

#include "kernels/backend.h"
#include "op/stored.h"
#include "op/transform_rules.h"

namespace adjoint {

Object option(PyObject* declaration, const char* name) { return checked(PyObject_GetAttrString(declaration, name)); }

bool truth(const Object& object) { return PyObject_IsTrue(object.get()) == 1; }

std::string text(PyObject* object) {
  const char* utf8 = PyUnicode_AsUTF8(object);
  check(utf8 != nullptr);
  return utf8;
}

int slot_of(const Op& op, std::string_view name) {
  for (size_t i = 0; i < op.arguments.size(); ++i)
    if (name == PyUnicode_AsUTF8(op.arguments[i].name.get())) return static_cast<int>(i);
  return -1;
}

namespace {

void read_arguments(Op& op, PyObject* declaration) {
  Object names = option(declaration, "arguments");
  Object defaults = option(declaration, "defaults");
  Py_ssize_t n = PyTuple_Size(names.get());
  check(n >= 0);
  if (n > kMaxArguments) fail(op.name, ": at most ", kMaxArguments, " arguments are supported");
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* name = Py_NewRef(PyTuple_GET_ITEM(names.get(), i));
    PyUnicode_InternInPlace(&name);
    Argument argument;
    argument.name = Object::steal(name);
    argument.default_value = Object::borrow(PyDict_GetItemWithError(defaults.get(), name));
    if (argument.default_value) to_scalar(argument.default_value.get(), &argument.default_scalar);
    if (text(name) == "tensors") op.list_slot = static_cast<int>(i);
    op.defaults[i] = argument.default_value.get();
    if (!argument.default_value) op.required = static_cast<size_t>(i) + 1;
    op.arguments.push_back(std::move(argument));
  }
  op.count = static_cast<int>(n);
  op.positional = static_cast<int>(PyLong_AsLong(option(declaration, "positional").get()));
  Object varargs = option(declaration, "varargs");
  if (varargs.get() != Py_None) {
    for (Py_ssize_t i = 0; i < n; ++i)
      if (PyUnicode_Compare(PyTuple_GET_ITEM(names.get(), i), varargs.get()) == 0) op.varargs = static_cast<int>(i);
  }
}

/// Output number of a name among the declared outputs ("out" is the first), or -1.
int output_of(const std::vector<std::string>& outputs, std::string_view name) {
  if (name == "out") return 0;
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i] == name) return static_cast<int>(i);
  return -1;
}

void read_short_form(Op& op, PyObject* declaration) {
  Object names = option(declaration, "short");
  for (Py_ssize_t i = 0; i < PyTuple_Size(names.get()); ++i)
    op.short_form.push_back(static_cast<uint8_t>(slot_of(op, text(PyTuple_GET_ITEM(names.get(), i)))));
}

SavedItem resolve_item(const Op& op, const std::vector<std::string>& outputs, const std::string& name) {
  auto as_item = [&](SavedItem::What what, int index) { return SavedItem{what, static_cast<uint8_t>(index), name}; };
  if (int slot = slot_of(op, name); slot >= 0) return as_item(SavedItem::What::Argument, slot);
  if (int output = output_of(outputs, name); output >= 0) return as_item(SavedItem::What::Output, output);
  if (name.ends_with("_meta")) {
    std::string stem = name.substr(0, name.size() - 5);
    if (int slot = slot_of(op, stem); slot >= 0) return as_item(SavedItem::What::ArgumentMeta, slot);
    if (int output = output_of(outputs, stem); output >= 0) return as_item(SavedItem::What::OutputMeta, output);
  }
  fail(ErrorKind::Value, op.name, ": a rule uses '", name, "', which is no argument, result or metadata of the op");
}

uint8_t item_number(Op& op, const std::vector<std::string>& outputs, const std::string& name) {
  for (size_t i = 0; i < op.items.size(); ++i)
    if (op.items[i].name == name) return static_cast<uint8_t>(i);
  if (op.items.size() == 32) fail(ErrorKind::Value, op.name, ": rules use more than 32 different names");
  op.items.push_back(resolve_item(op, outputs, name));
  auto number = static_cast<uint8_t>(op.items.size() - 1);
  if (op.items.back().what >= SavedItem::What::Output) op.output_items |= 1u << number;
  return number;
}

RuleForm read_form(Op& op, const std::vector<std::string>& outputs, PyObject* callable, PyObject* uses,
                   uint32_t* items) {
  RuleForm form{Object::borrow(callable), {}};
  for (Py_ssize_t i = 0; i < PyTuple_Size(uses); ++i) {
    std::string name = text(PyTuple_GET_ITEM(uses, i));
    if (name == "gs") {
      form.parameters.push_back({RuleParameter::Source::Gradients, 0});
      continue;
    }
    int gradient = name == "g" ? 0 : name.starts_with("g_") ? output_of(outputs, name.substr(2)) : -1;
    if (gradient >= 0) {
      form.parameters.push_back({RuleParameter::Source::Gradient, static_cast<uint8_t>(gradient)});
      continue;
    }
    uint8_t item = item_number(op, outputs, name);
    *items |= 1u << item;
    form.parameters.push_back({RuleParameter::Source::Item, item});
  }
  return form;
}

/// Reads "select(g,dim,index)", which codegen/calls.py has written for a rule, whose names are items already.
DirectCall read_call(Op& op, const std::vector<std::string>& outputs, std::string_view written) {
  const size_t opening = written.find('(');
  DirectCall call{std::string(written.substr(0, opening)), {}};
  written = written.substr(opening + 1, written.size() - opening - 2);
  for (bool more = true; more;) {
    const size_t comma = written.find(',');
    std::string name(written.substr(0, comma));
    more = comma != std::string_view::npos;
    if (more) written.remove_prefix(comma + 1);
    if (name.empty()) {
      call.sources.push_back({DirectCall::What::Default, 0});
    } else if (name == "g" || name.starts_with("g_")) {
      const int output = name == "g" ? 0 : output_of(outputs, std::string_view(name).substr(2));
      call.sources.push_back({DirectCall::What::Gradient, static_cast<uint8_t>(output)});
    } else {
      using What = DirectCall::What;
      const What what = name.ends_with(".shape") ? What::Shape : name.ends_with(".turned") ? What::Turned : What::Item;
      call.sources.push_back({what, item_number(op, outputs, name.substr(0, name.find('.')))});
    }
  }
  return call;
}

/// Its rules that are calls: "input=select(g,dim,index);other=..;".
void read_calls(Op& op, const std::vector<std::string>& outputs, std::string_view written) {
  while (!written.empty()) {
    const size_t sign = written.find('='), end = written.find(';');
    const int slot = slot_of(op, written.substr(0, sign));
    op.rules[slot].direct = read_call(op, outputs, written.substr(sign + 1, end - sign - 1));
    written.remove_prefix(end + 1);
  }
}

const Kernel* kernel_of(const std::string& name) { return on(DeviceType::Cpu).elementwise.kernel(name.c_str()); }

void read_rule(Op& op, const std::vector<std::string>& outputs, const std::string& argument, PyObject* callable,
               PyObject* uses) {
  int slot = slot_of(op, argument);
  if (slot < 0) fail(ErrorKind::Value, op.name, ": a rule is given for '", argument, "', which is no argument");
  Rule& rule = op.rules[slot];
  op.edge_slots.push_back(static_cast<uint8_t>(slot));
  rule.zero = op.kernel && op.kernel->result == ResultKind::Bool;
  rule.differentiable = rule.zero;
  if (callable == Py_None) return;
  rule.differentiable = true;
  if (op.kind == Op::Kind::Elementwise) rule.loop = kernel_of(op.name + "." + argument);
  rule.form = read_form(op, outputs, callable, uses, &rule.items);
}

/// What an op refuses: pairs of a type family with the operands that are asked about, and of the error.
ops::Refusal read_refusal(const Op& op, PyObject* key, PyObject* error) {
  auto [kind, message] = read_error(error);
  ops::Refusal refusal{.kind = kind, .text = std::move(message)};
  std::string family = text(PyTuple_GET_ITEM(key, 0));
  auto bit = [](Category category) { return 1u << static_cast<int>(category); };
  refusal.categories = family == "bool"      ? bit(Category::Bool)
                       : family == "integer" ? bit(Category::Bool) | bit(Category::Integer)
                                             : bit(Category::Complex);
  for (Py_ssize_t i = 1; i < PyTuple_GET_SIZE(key); ++i) {
    std::string word = text(PyTuple_GET_ITEM(key, i));
    refusal.of = word == "any" ? ops::Refusal::Of::Any : ops::Refusal::Of::All;
    refusal.operands |= word == "any" ? ~0u : 1u << slot_of(op, word);
  }
  return refusal;
}

void read_words(Op& op, PyObject* declaration) {
  for (const Argument& argument : op.arguments) op.words.arguments.push_back(text(argument.name.get()));
  Object refused = option(declaration, "refused");
  PyObject *key, *error;
  for (Py_ssize_t place = 0; PyDict_Next(refused.get(), &place, &key, &error);)
    op.words.refusals.push_back(read_refusal(op, key, error));
  if (Object mixed = option(declaration, "mixed"); mixed.get() != Py_None) op.words.mixed = text(mixed.get());
  op.words.loop = text(option(declaration, "loop").get());
  op.options.words = &op.words;
}

/// The names of several results; none where there is one.
std::vector<std::string> output_names(PyObject* declaration) {
  std::vector<std::string> outputs;
  Object names = option(declaration, "outputs");
  if (names.get() == Py_None) return outputs;
  for (Py_ssize_t i = 0; i < PyTuple_Size(names.get()); ++i) outputs.push_back(text(PyTuple_GET_ITEM(names.get(), i)));
  return outputs;
}

void read_rules(Op& op, PyObject* declaration, const char* calls) {
  std::vector<std::string> outputs = output_names(declaration);
  op.rules.resize(op.arguments.size());
  Object rules = option(declaration, "rules");
  Object uses = option(declaration, "uses");
  Object identity = option(declaration, "identity_rules");
  Object unit = option(declaration, "unit_rules");
  Object refusals = option(declaration, "refusals");
  Object fused = option(declaration, "fused");
  Object fused_uses = option(declaration, "fused_uses");
  for (const Argument& argument : op.arguments) {  // in signature order, whatever the order of the rules
    PyObject* callable = PyDict_GetItemWithError(rules.get(), argument.name.get());
    if (!callable) continue;
    read_rule(op, outputs, text(argument.name.get()), callable,
              PyDict_GetItemWithError(uses.get(), argument.name.get()));
    Rule& rule = op.rules[op.edge_slots.back()];
    if (PyObject* refusal = PyDict_GetItemWithError(refusals.get(), argument.name.get())) rule.refusal = text(refusal);
    rule.identity = PySequence_Contains(identity.get(), argument.name.get()) == 1;
    rule.identity_at_one = PySequence_Contains(unit.get(), argument.name.get()) == 1;
    if (PyObject* form = PyDict_GetItemWithError(fused.get(), argument.name.get()))
      rule.fused =
          read_form(op, outputs, form, PyDict_GetItemWithError(fused_uses.get(), argument.name.get()), &rule.items);
    const uint8_t slot = op.edge_slots.back();
    op.slot_items[slot] = rule.items;
    if (rule.differentiable || !rule.refusal.empty()) op.differentiable |= 1u << slot;
  }
  if (calls) read_calls(op, outputs, calls);
  for (const std::string& output : outputs) {
    // An output is differentiable if some rule takes its gradient; the first always is.
    bool used = &output == &outputs.front();
    for (const Rule& rule : op.rules)
      for (const RuleParameter& parameter : rule.form.parameters)
        used |= parameter.source == RuleParameter::Source::Gradients ||
                (parameter.source == RuleParameter::Source::Gradient && parameter.index == &output - outputs.data());
    op.output_is_differentiable.push_back(used);
  }
  op.mask_edges();
}

std::vector<uint8_t> slots_of(const Op& op, PyObject* names) {
  std::vector<uint8_t> slots;
  for (Py_ssize_t i = 0; i < PyTuple_Size(names); ++i)
    slots.push_back(static_cast<uint8_t>(slot_of(op, text(PyTuple_GET_ITEM(names, i)))));
  return slots;
}

std::vector<uint8_t> numbers_of(PyObject* tuple) {
  std::vector<uint8_t> numbers;
  for (Py_ssize_t i = 0; i < PyTuple_Size(tuple); ++i)
    numbers.push_back(static_cast<uint8_t>(PyLong_AsLong(PyTuple_GET_ITEM(tuple, i))));
  return numbers;
}

void read_batch(TransformRules& rules, PyObject* declaration) {
  Object batch = option(declaration, "batch_rule");
  if (batch.get() == Py_None) return;
  rules.batch = batch;
  if (PyObject_HasAttrString(batch.get(), "rows"))
    rules.rows = static_cast<int>(PyLong_AsLong(option(batch.get(), "rows").get()));
  if (PyObject_HasAttrString(batch.get(), "along"))
    rules.along = &require_op(text(option(batch.get(), "along").get()).c_str());
  if (!PyObject_HasAttrString(batch.get(), "places")) return;
  Object places = option(batch.get(), "places");
  rules.places = {numbers_of(PyTuple_GET_ITEM(places.get(), 0)), numbers_of(PyTuple_GET_ITEM(places.get(), 1)),
                  PyTuple_GET_ITEM(places.get(), 2) == Py_True};
}

void read_substitutions(TransformRules& rules, const Op& op, PyObject* declaration) {
  Object groups = option(declaration, "substitutions");
  for (Py_ssize_t i = 0; i < PyTuple_Size(groups.get()); ++i) {
    PyObject* group = PyTuple_GET_ITEM(groups.get(), i);
    rules.substitutions.push_back({slots_of(op, PyTuple_GET_ITEM(group, 0)), slots_of(op, PyTuple_GET_ITEM(group, 1))});
    for (uint8_t slot : rules.substitutions.back().tangents) rules.linear_slots |= 1u << slot;
  }
}

void read_jvp(TransformRules& rules, const Op& op, PyObject* declaration) {
  Object jvp = option(declaration, "jvp");
  if (jvp.get() == Py_None) return;
  rules.jvp.callable = jvp;
  std::vector<std::string> outputs = output_names(declaration);
  Object uses = option(declaration, "jvp_uses");
  for (Py_ssize_t i = 0; i < PyTuple_Size(uses.get()); ++i) {
    std::string name = text(PyTuple_GET_ITEM(uses.get(), i));
    const bool tangent = name.ends_with("_t") && slot_of(op, name.substr(0, name.size() - 2)) >= 0;
    if (tangent) name.resize(name.size() - 2);
    rules.jvp.parameters.push_back({tangent, resolve_item(op, outputs, name)});
  }
}

bool declares(PyObject* declaration, const char* name) { return option(declaration, name).get() != Py_None; }

void read_elementwise(Op& op, PyObject* declaration) {
  op.kernel = kernel_of(op.name);
  if (!op.kernel) fail(op.name, ": no kernel of this name was generated; rebuild the package");
  if (op.kernel->params > kernels::kMaxParams) fail(op.name, ": more than ", kernels::kMaxParams, " parameters");
  Object check = option(declaration, "integers");
  auto integers = check.get() == Py_None           ? ops::IntegerCheck::None
                  : text(check.get()) == "divisor" ? ops::IntegerCheck::Divisor
                                                   : ops::IntegerCheck::Exponent;
  std::string promote = text(option(declaration, "promote").get());
  op.options = {op.name.c_str(), promote == "float", integers, promote == "never"};
  op.n_operands = static_cast<int>(PyTuple_Size(option(declaration, "operands").get()));
  op.whole = (1u << op.n_operands) - 1;
  Object numbers = option(declaration, "numbers");
  for (Py_ssize_t i = 0; i < PyTuple_Size(numbers.get()); ++i) {
    std::string word = text(PyTuple_GET_ITEM(numbers.get(), i));
    op.numbers_suffice |= word == "all";
    op.number_slots |= word == "all" ? ~0u : 1u << slot_of(op, word);
  }
  Object rounded = option(declaration, "rounded");
  for (Py_ssize_t i = 0; i < PyTuple_Size(rounded.get()); ++i)
    op.options.rounded |= 1u << slot_of(op, text(PyTuple_GET_ITEM(rounded.get(), i)));
  if (Object factor = option(declaration, "factor"); factor.get() != Py_None)
    op.options.factors = 1u << (slot_of(op, text(factor.get())) - op.n_operands);
  op.options.stored = read_stored(declaration).taken;
  read_words(op, declaration);
}

/// The functions that an op that is not elementwise calls. Returns its rules that are calls, or null.
const char* read_functions(Op& op, PyObject* declaration) {
  const char* calls = nullptr;
  op.forward = option(declaration, "forward");
  if (op.forward.get() == Py_None) {
    op.forward.reset();
    if (truth(option(declaration, "creates"))) op.creation = slot_of(op, "dtype");
  }
  for (const GlueEntry* entry = kGlue; entry->op; ++entry) {
    if (op.name != entry->op) continue;
    op.glue = entry->run;
    op.glue_in_place = entry->change;
    calls = entry->calls;
    op.memory = entry->memory;
  }
  if ((declares(declaration, "native") || declares(declaration, "composed")) != (op.glue != nullptr) ||
      declares(declaration, "inplace_native") != (op.glue_in_place != nullptr))
    fail(op.name, ": no C++ function was built for this op; rebuild the package");
  op.crosses = truth(option(declaration, "crosses"));
  op.takes_sparse = truth(option(declaration, "sparse"));
  op.result_type = option(declaration, "result_type");
  if (op.result_type.get() == Py_None) op.result_type.reset();
  return calls;
}

}  // namespace

std::unique_ptr<Op> read_declaration(PyObject* declaration, const std::string& node) {
  std::string kind = text(option(declaration, "kind").get());
  auto op_kind = kind == "elementwise"               ? Op::Kind::Elementwise
                 : kind == "view"                    ? Op::Kind::View
                 : declares(declaration, "composed") ? Op::Kind::Composed
                                                     : Op::Kind::Plain;
  auto op = std::make_unique<Op>(text(option(declaration, "name").get()), node, op_kind);
  op->shown = text(option(declaration, "shown").get());
  op->shown_in_place = op->shown + "_";
  read_arguments(*op, declaration);
  read_short_form(*op, declaration);
  Object out = option(declaration, "out");
  op->has_out = truth(out);
  std::string demands = PyUnicode_Check(out.get()) ? text(out.get()) : "";
  op->out_demands = read_demands(out.get(), option(declaration, "out_words").get());
  for (auto [name, slots] : {std::pair("apart", &op->apart), std::pair("whole", &op->whole)}) {
    Object names = option(declaration, name);
    for (Py_ssize_t i = 0; i < PyTuple_Size(names.get()); ++i)
      *slots |= 1u << slot_of(*op, text(PyTuple_GET_ITEM(names.get(), i)));
  }
  if (demands.find("typed") != std::string::npos) op->typed_out = slot_of(*op, "dtype");
  op->writes_one_value = truth(option(declaration, "uniform"));
  op->autocast = to_autocast(option(declaration, "autocast").get());
  const char* calls = nullptr;
  if (op_kind == Op::Kind::Elementwise)
    read_elementwise(*op, declaration);
  else
    calls = read_functions(*op, declaration);
  read_rules(*op, declaration, calls);
  op->declaration = Object::borrow(declaration);
  return op;
}

const StoredTypes& Op::stored() const {
  if (!stored_types_) stored_types_ = std::make_shared<StoredTypes>(read_stored(declaration.get()));
  return *stored_types_;
}

const TransformRules& Op::transforms() const {
  if (!transform_rules_) {
    auto rules = std::make_shared<TransformRules>();
    read_batch(*rules, declaration.get());
    read_substitutions(*rules, *this, declaration.get());
    read_jvp(*rules, *this, declaration.get());
    rules->random = truth(option(declaration.get(), "random"));
    transform_rules_ = std::move(rules);
  }
  return *transform_rules_;
}

}  // namespace adjoint
