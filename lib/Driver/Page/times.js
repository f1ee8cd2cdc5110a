// Operations by kind, against what the device could do at most.

const phases = ["forward", "backward", "recomputed", "optimizer"];

function groupTimes(weigh) {
  const groups = new Map();
  for (const step of shown.steps) {
    const name = step.op === "kernel" ? "elementwise kernels" : step.op;
    const group = groups.get(name) ?? { name, count: 0, total: 0, flops: 0, traffic: 0, arithmetic: 0, memory: 0, predicted: 0, phases: {} };
    groups.set(name, group);
    const weight = weigh(step);
    ++group.count;
    group.total += weight;
    group.phases[phaseOf(step)] = (group.phases[phaseOf(step)] ?? 0) + weight;
    group.flops += step.flops;
    group.traffic += step.traffic_bytes ?? 0;
    group.arithmetic += (step.arithmetic_ns ?? 0) / 1e6;
    group.memory += (step.traffic_ns ?? 0) / 1e6;
    group.predicted += (step.predicted_ns ?? 0) / 1e6;
  }
  return [...groups.values()].sort((l, r) => r.total - l.total);
}

function drawBars(group, most) {
  const bars = html("div", { class: "bars" });
  for (const phase of phases)
    if (group.phases[phase])
      bars.append(html("span", { title: phase, style: `width:${(group.phases[phase] / most) * 100}%;background:var(--${phase})` }));
  return html("td", { class: "bar" }, bars);
}

function limitOf(group) {
  if (!group.predicted) return "";
  const [share, name] = group.arithmetic >= group.memory
    ? [group.arithmetic / group.total, "arithmetic"] : [group.memory / group.total, "traffic"];
  return share < 0.01 ? "its start" : `${name}, ${formatPercent(share)}`;
}

function drawTimes() {
  const known = shown.timed;
  const weigh = known ? (step) => stepTime(shown, step) : (step) => step.flops;
  const groups = groupTimes(weigh), sum = groups.reduce((total, group) => total + group.total, 0);
  const again = groups.reduce((total, group) => total + (group.phases.recomputed ?? 0), 0);
  const amount = known ? formatTime : formatFlops;
  const source = shown.measured ? "Measured" : known ? `Predicted by the model of ${shown.device} ${shown.arch}` : "A program file carries no times (run it with --profile to measure them): arithmetic";
  byId("times-lead").textContent =
    `${source}: ${amount(sum)} together, ${amount(again)} of it (${formatPercent(sum ? again / sum : 0)}) computing again.` +
    (shown.steps[0]?.predicted_ns !== undefined ? " What limits an operation is the larger of its arithmetic and its memory traffic at the device's highest rates, with the part of its time that this alone would take." : "");
  const most = Math.max(...groups.map((group) => group.total), 1e-12);
  const heads = ["operations", "number", known ? "time" : "arithmetic", "share", "", "arithmetic", "traffic", "limited by"];
  if (shown.measured && shown.steps[0]?.predicted_ns !== undefined) heads.splice(3, 0, "predicted");
  const numeric = new Set(["number", "time", "share", "arithmetic", "traffic", "predicted"]);
  const head = html("tr", {}, ...heads.map((text) => html("th", { class: numeric.has(text) ? "number" : undefined }, text)));
  const number = (text) => html("td", { class: "number" }, text);
  const rows = groups.map((group) => html("tr", {}, html("td", {}, group.name), number(formatCount(group.count)), number(amount(group.total)),
    ...(heads.includes("predicted") ? [number(formatTime(group.predicted))] : []),
    number(formatPercent(sum ? group.total / sum : 0)), drawBars(group, most), number(formatFlops(group.flops)),
    number(group.traffic ? formatBytes(group.traffic) : ""), html("td", { class: "source" }, limitOf(group))));
  const place = byId("table-times");
  place.replaceChildren(html("div", { class: "legend" }, ...phases.map((phase) => swatch(phase, phase === "recomputed" ? "computed again" : phase))),
    html("div", { class: "scroll" }, html("table", {}, head, ...rows)));
  place.dataset.total = sum;
}
