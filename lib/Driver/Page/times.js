// Operations by kind, against what the device could do at most.

const phases = ["forward", "backward", "recomputed", "optimizer"];
const phaseName = (phase) => (phase === "recomputed" ? "computed again" : phase);
const hasCeilings = () => shown.steps[0]?.predicted_ns !== undefined;

function groupTimes(weigh) {
  const groups = new Map();
  for (const step of shown.steps) {
    const name = step.op === "kernel" ? "elementwise kernels" : step.op;
    if (!groups.has(name))
      groups.set(name,
        { name, count: 0, total: 0, flops: 0, traffic: 0, arithmetic: 0, memory: 0, predicted: 0, phases: {} });
    const group = groups.get(name), weight = weigh(step), phase = phaseOf(step);
    ++group.count;
    group.total += weight;
    group.phases[phase] = (group.phases[phase] ?? 0) + weight;
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
    if (group.phases[phase]) {
      const width = (group.phases[phase] / most) * 100;
      bars.append(html("span", { title: phaseName(phase), style: `width:${width}%;background:var(--${phase})` }));
    }
  return html("td", { class: "bar" }, bars);
}

function limitOf(group) {
  if (!group.predicted) return "";
  const [share, name] = group.arithmetic >= group.memory
    ? [group.arithmetic / group.total, "arithmetic"] : [group.memory / group.total, "traffic"];
  return share < 0.01 ? "its start" : `${name}, ${formatPercent(share)}`;
}

function describeTimes(sum, again, amount) {
  let source = "A program file carries no times (run it with --profile to measure them): arithmetic";
  if (shown.measured) source = "Measured";
  else if (shown.timed) source = `Predicted by the model of ${`${shown.device} ${shown.arch}`.trim()}`;
  const part = formatPercent(sum ? again / sum : 0);
  return `${source}: ${amount(sum)} together, ${amount(again)} of it (${part}) computing again.` +
    (hasCeilings() ? " What limits an operation is the larger of its arithmetic and its memory traffic at the device's " +
      "highest rates, with the part of its time that this alone would take." : "");
}

/// The table's columns: a heading, whether it is of numbers, and the cell of a group.
function timeColumns(sum, most, amount) {
  const columns = [["operations", false, (g) => g.name], ["number", true, (g) => formatCount(g.count)],
    [shown.timed ? "time" : "arithmetic", true, (g) => amount(g.total)]];
  if (shown.measured && hasCeilings()) columns.push(["predicted", true, (g) => formatTime(g.predicted)]);
  columns.push(["share", true, (g) => formatPercent(sum ? g.total / sum : 0)], ["", false, (g) => drawBars(g, most)],
    ["arithmetic", true, (g) => formatFlops(g.flops)],
    ["traffic", true, (g) => (g.traffic ? formatBytes(g.traffic) : "")], ["limited by", false, limitOf]);
  return columns;
}

function drawTimes() {
  const amount = shown.timed ? formatTime : formatFlops;
  const groups = groupTimes(shown.timed ? (step) => stepTime(shown, step) : (step) => step.flops);
  const sum = groups.reduce((total, group) => total + group.total, 0);
  const again = groups.reduce((total, group) => total + (group.phases.recomputed ?? 0), 0);
  const most = Math.max(...groups.map((group) => group.total), 1e-12);
  byId("times-lead").textContent = describeTimes(sum, again, amount);
  const columns = timeColumns(sum, most, amount);
  const ofNumbers = (isNumber) => ({ class: isNumber ? "number" : undefined });
  const head = html("tr", {}, ...columns.map(([text, isNumber]) => html("th", ofNumbers(isNumber), text)));
  const rows = groups.map((group) => html("tr", {}, ...columns.map(([, isNumber, make]) => {
    const cell = make(group);
    return cell instanceof Node ? cell : html("td", ofNumbers(isNumber), cell);
  })));
  const place = byId("table-times");
  place.replaceChildren(
    html("div", { class: "legend" }, ...phases.map((phase) => swatch(phase, phaseName(phase)))),
    html("div", { class: "scroll" }, html("table", {}, head, ...rows)));
  place.dataset.total = sum;
}
