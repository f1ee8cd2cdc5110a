// Why a budget was refused.

/// Other ways to compile the graph, and what they would take.
function drawRemedies(section) {
  // Where less than the best is known of what a change needs, it saves more.
  const sure = { exact: "", at_most: "at least ", about: "about " };
  const found = report.smallest_feasible_bytes;
  const rows = [[`--budget ${found}`, found, "the smallest budget found"],
    ...report.refused.remedies.map((r) =>
      [r.change, r.smallest_feasible_bytes, `saves ${sure[r.known]}${formatBytes(r.saved_bytes)}; ${r.effect}`])];
  section.append(html("h3", {}, "What to try"),
    html("table", {}, ...rows.map(([change, bytes, effect]) => html("tr", {},
      html("td", {}, html("code", {}, change)), html("td", { class: "number" }, formatBytes(bytes)),
      html("td", { class: "source" }, effect)))));
}

/// The budget beside what was found and proven.
function drawComparison(section) {
  const rows = [["without recomputation", report.unplanned_peak_bytes, "activations"],
    ["smallest found", report.smallest_feasible_bytes, "parameters"],
    ["proven too small", report.impossible_bytes, "outputs"], ["budget", report.budget_bytes, "recomputed"]];
  const most = Math.max(...rows.map(([, bytes]) => bytes), 1);
  section.append(html("table", {}, ...rows.map(([name, bytes, color]) => {
    const bar = html("span", { style: `width:${(bytes / most) * 100}%;background:var(--${color})` });
    return html("tr", {}, html("td", {}, name), html("td", { class: "number" }, formatBytes(bytes)),
      html("td", { class: "bar", style: "width:60%" }, html("div", { class: "bars" }, bar)));
  })));
}

function drawRefusal() {
  if (!report.refused) return;
  const section = byId("refusal");
  section.hidden = false;
  section.classList.add("refused");
  const found = formatBytes(report.smallest_feasible_bytes);
  const short = formatBytes(report.smallest_feasible_bytes - report.budget_bytes);
  const proven = report.budget_bytes <= report.impossible_bytes
    ? "That no program fits the budget is proven." : "More planner effort may find less.";
  section.replaceChildren(
    html("h2", {}, `Refused: no program was found that fits ${formatBytes(report.budget_bytes)}`),
    html("p", { class: "lead" }, `The smallest arena found is ${found}, ${short} more than the budget. ${proven} ` +
      "The pictures below show the smallest program found."));
  drawComparison(section);
  drawRemedies(section);
  if (!smallest) return;
  const at = smallest.peak_step + 1;
  section.append(html("h3", {}, "At the peak of the smallest program found"),
    html("div", { class: "beside" }, html("div", {}, ...describePosition(smallest, at)), describeClasses(smallest, at)));
}
