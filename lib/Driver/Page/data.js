// The data of the page, and what several views need of it.

const data = JSON.parse(byId("data").textContent);
const report = data.report;

/// Position 0 stands before the first step, position s + 1 at step s, the last one at the end.
function prepare(program) {
  if (!program) return null;
  const steps = program.steps.length;
  program.totals = new Array(steps + 2).fill(0);
  for (const values of Object.values(program.live_bytes))
    values.forEach((bytes, at) => (program.totals[at] += bytes));
  program.measured = steps > 0 && program.steps[0].measured_ns !== undefined;
  program.timed = program.measured || (steps > 0 && program.steps[0].predicted_ns !== undefined);
  program.begins = { step: [-1], time: [0] };
  let now = 0;
  for (let s = 0; s <= steps; ++s) {
    program.begins.step.push(s);
    program.begins.time.push(now);
    if (s < steps) now += stepTime(program, program.steps[s]) ?? 0;
  }
  program.begins.step.push(steps + 1);
  program.begins.time.push(now);
  program.lineOf = new Array(program.tensors.length);
  for (const line of program.lines) for (const tensor of line.tensors) program.lineOf[tensor] = line;
  return program;
}

/// Milliseconds, measured if they are; undefined where nothing is known.
function stepTime(program, step) {
  if (program.measured) return step.measured_ns / 1e6;
  return step.predicted_ns === undefined ? undefined : step.predicted_ns / 1e6;
}

const planned = prepare(data.planned);
const unplanned = prepare(data.unplanned);
const smallest = prepare(data.smallest);
/// The program that most views show.
const shown = planned ?? smallest;

// From the bottom of a stack to its top.
const stack = ["parameters", "optimizer_state", "constants", "inputs", "outputs", "gradients", "activations",
  "temporaries", "workspaces"].filter((name) => data.classes.includes(name));
const used = stack.filter((name) =>
  [planned, unplanned, smallest].some((p) => p && p.live_bytes[name].some((bytes) => bytes > 0)));

function phaseOf(step) {
  return step.recomputes !== undefined ? "recomputed" : step.phase;
}

/// What an operation is called where many of its kind are one.
function describeOp(step) {
  if (!step.body) return step.op;
  const names = [...new Set(step.body)];
  return `kernel (${names.slice(0, 4).join(", ")}${names.length > 4 ? ", …" : ""})`;
}

/// The tensors that hold something at a position, largest first.
function aliveAt(program, position) {
  return program.tensors
    .map((tensor, number) => ({ tensor, number }))
    .filter(({ tensor }) => tensor.first <= position - 1 && position - 1 <= tensor.last)
    .sort((l, r) => r.tensor.bytes - l.tensor.bytes);
}

function sourceOf(program, tensor) {
  const step = tensor.first >= 0 ? program.steps[tensor.first] : undefined;
  return step ? step.location ?? "" : "argument";
}

function typeOf(tensor) {
  return `${tensor.type}[${tensor.shape.join("×")}]`;
}

const state = { axis: "step", position: null, from: 0, to: 1, rows: 40, kind: "again", text: "" };
