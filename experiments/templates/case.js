/* One case: the task, the trace beside the workflow with the evidence between them, and the way of a test. */

const STOPS = {
  finish: "finished", error: "ended by an error", turns: "stopped: no turns left", failures: "stopped: too many failed calls",
  unparsed: "stopped: no reply could be read", tokens: "stopped: no tokens left", seconds: "stopped: no time left",
  context: "stopped: the model's context is full", model_error: "stopped: the endpoint failed",
};
const PARSES = {
  clean: "the reply was plain JSON", recovered: "the action was found in other text, or repaired",
  reprompted: "the reply could not be read, and the model was asked again",
  failed: "the reply could not be read, and no question was left",
};
const HOLE = "it equals no input, no result of a tool, and nothing that the task names";
const SIGNS = { passed: "✓", wrong: "✗", unsound: "△", none: "–", error: "!" };
const SHORT = 120;
const article = $("case");
const spaced = (name) => name.replaceAll("_", " ");
const seconds = (value) => `${value < 10 ? value.toFixed(1) : number(Math.round(value))} s`;
const pre = (text) => el("pre", null, text);
const more = (title, ...content) => el("details", null, el("summary", null, title), ...content);
const pairs = (rows) => el("dl", null, rows.map(([name, ...value]) => [el("dt", null, name), el("dd", null, ...value)]));
let shown = null, scrolled = 0, reading = null;

/* Reading: the cases are unpacked when the first one is opened */

function book() {
  reading ||= (async () => {
    const bytes = Uint8Array.from(atob($("data").textContent), (character) => character.charCodeAt(0));
    const read = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
    read.byName = new Map(read.cases.map((one) => [`${one.run} ${one.id}`, one]));
    return read;
  })();
  return reading;
}

async function showCase(row, run) {
  const name = row ? `${run} ${row.id}` : "";
  if (name === (shown ? shown.name : "")) {
    if (shown?.case) chooseTest(state.test);
    return;
  }
  if (!row) {
    const cell = shown.row.cells[shown.run];
    shown = null;
    article.hidden = true;
    article.replaceChildren();
    $("overview").hidden = false;
    window.scrollTo(0, scrolled);
    reach(cell);
    cell.focus({ preventScroll: true });
    return;
  }
  if (!shown) scrolled = window.scrollY;
  shown = { name, row, run };
  try {
    const read = await book();
    if (shown?.name !== name) return;
    shown.book = read;
    shown.case = { tests: [], stages: [], ...read.byName.get(name) };
    shown.task = read.tasks[shown.case.task];
    $("overview").hidden = true;
    article.hidden = false;
    article.replaceChildren(...partsOf(shown));
    chooseTest(state.test);
    window.scrollTo(0, 0);
    article.querySelector("h2").focus({ preventScroll: true });
  } catch (error) {
    shown = null;
    $("trouble").hidden = false;
    $("trouble").textContent = `The cases cannot be shown: ${error.message}. A browser from 2024 or later reads them.`;
  }
  document.documentElement.dataset.ready = "true";
}

function partsOf({ case: one, task, row, run }) {
  const stages = one.stages.filter((stage) => stage.name !== "Summarize");
  return [
    headOf(one, task, row, run),
    one.error ? el("p", { class: "note trouble" }, `The case was not completed: ${one.error}`) : null,
    taskOf(task),
    el("div", { class: "pair" }, traceOf(stages, one), workflowOf(one), svg("svg", { class: "lines", "aria-hidden": "true" })),
    turnsOf(one),
    more("As text", el("div", null, one.lines ? pre(one.lines.join("\n")) : "The case has no workflow.")),
    one.likeness ? likenessOf(one.likeness) : null,
    el("p", { class: "note" }, `Texts of more than ${number(shown.book.cut)} characters are cut; the runs' folders have them whole.`),
  ].filter(Boolean);
}

/* Head: where the reader is, the verdict, the same case in other runs */

function headOf(one, task, row, run) {
  const place = visible.indexOf(row);
  const button = (text, key, act, label) => {
    const made = el("button", { type: "button", "aria-label": label }, text, " ", el("kbd", null, key));
    made.addEventListener("click", act);
    return made;
  };
  const facts = [
    task.difficulty, spaced(task.category || ""), task.flow, ...["solving", "building"].map((stage, index) => tokensOf(one.tokens[index], stage)),
    seconds(one.seconds), one.mixed ? `tools mixed: ${spaced(one.mixed)}` : "", one.coerced ? `${number(one.coerced)} values coerced` : "",
  ];
  const holds = new Set(one.holds || []), passed = one.tests.filter((test) => test.passed).length;
  const gate = (name, yes, detail) => el("li", { class: yes === null ? "open" : yes ? "yes" : "no" },
    el("span", { "aria-hidden": "true" }, yes === null ? "· " : yes ? "✓ " : "✗ "), name,
    el("span", { class: "unseen" }, yes === null ? ": not known" : yes ? ": yes" : ": no"), detail ? ` ${detail}` : "");
  return el("header", null,
    el("nav", { class: "crumbs", "aria-label": "Cases" },
      button("← All cases", "Esc", closeCase), el("span", { class: "grow" }),
      place < 0 ? null : el("span", { class: "of" }, `${place + 1} of ${visible.length}`),
      button("Previous", "k", () => step(-1)), button("Next", "j", () => step(1))),
    el("h2", { tabindex: "-1" }, named(one.id)),
    el("p", { class: `verdict ${one.outcome}` }, SIGNS[one.outcome], " ", capital(one.words)),
    el("ol", { class: "gates" },
      gate("execution right", holds.has("exec_correct"), holds.has("exec_complete") ? "" : "(not completed)"),
      gate("sound", holds.has("graph_valid")), gate("solved", one.solved ?? null, one.solved === undefined ? "(not tried)" : ""),
      gate("passed", one.outcome === "passed", one.tests.length ? `${passed} of ${one.tests.length}` : "")),
    el("nav", { class: "beside", "aria-label": "The same case in the other runs" }, row.cells.map((cell, index) => cell && el("a", {
      href: address({ case: row.id, at: String(index) }), "aria-current": index === run && "true",
    }, badge(index), el("i", { class: cell.className, "aria-hidden": "true" }, cell.textContent), RUNS[index].name))),
    el("p", { class: "facts" }, facts.filter(Boolean).join(" · ")));
}

const capital = (text) => text[0].toUpperCase() + text.slice(1);

function tokensOf([sent, written], stage) {
  if (written === null) return `${stage}: tokens not recorded`;
  return sent || written ? `${stage}: ${sent === null ? "?" : number(sent)} tokens in, ${number(written)} out` : "";
}

function taskOf(task) {
  const examples = task.examples || [], tools = (task.tools || []).map((index) => shown.book.tools[index]);
  return el("section", { class: "task" },
    el("p", { class: "query" }, task.query || "The run has not kept the task's text."),
    el("div", { class: "row" },
      task.inputs && task.inputs.length ? more(`Inputs (${task.inputs.length})`, el("ul", null, task.inputs.map((line) => el("li", null, line)))) : null,
      tools.length ? more(`Tools offered (${tools.length})`, el("ul", { class: "code" }, tools.map((line) => el("li", null, line)))) : null,
      examples.length ? more(`Examples (${examples.length})`,
        examples.map(([input, output]) => pairs([["input", pre(input)], ["answer", pre(output)]]))) : null));
}

/* Trace: the inputs, one card for each call, the answer */

function traceOf(stages, one) {
  const section = el("section", { class: "trace" });
  const choose = (index) => {
    const stage = stages[index], calls = stage.steps.filter((step) => step.tool && !step.graph);
    const edits = stage.steps.filter((step) => step.graph).length;
    const tabs = stages.length > 1 ? el("p", { class: "tabs" }, stages.map((other, place) => {
      const tab = el("button", { type: "button", "aria-pressed": String(place === index) }, other.name);
      tab.addEventListener("click", () => choose(place));
      return tab;
    })) : null;
    section.replaceChildren(
      el("h3", null, "Trace ", el("small", null, `${calls.length} ${calls.length === 1 ? "call" : "calls"}, ${STOPS[stage.stop] || stage.stop}`)),
      ...[tabs].filter(Boolean),
      el("ol", { class: "calls" },
        stage.input ? el("li", { class: "call input" }, el("b", null, "inputs"), argumentsOf(stage.input, {})) : null,
        calls.map((step, place) => callOf(step, place + 1, one, index)),
        edits ? el("li", { class: "of" }, `and ${edits} graph-tool ${edits === 1 ? "call" : "calls"}, listed below`) : null,
        stage.answer ? el("li", { class: "call answer", "data-call": `${index}.${stage.steps.filter((step) => step.tool).length}` },
          el("b", null, "answer "), value(stage.answer), stage.origin ? el("div", { class: "from" }, "← ", originOf(stage.origin)) : null) : null,
        stage.error ? el("li", { class: "call failed" }, el("b", null, "error "), stage.error) : null));
    drawLines();
  };
  const support = stages.map((stage, index) => (one.links || []).filter((link) => link[2] === index).length);
  if (stages.length) choose(support.indexOf(Math.max(...support)));
  else section.append(el("h3", null, "Trace"), el("p", { class: "of" }, "The run has not kept the trace."));
  return section;
}

function callOf(step, place, one, trace) {
  const name = `${trace}.${step.call}`, nodes = new Map();
  for (const [node, field, number_, call] of one.links || []) {
    if (`${number_}.${call}` === name) nodes.set(node, [...(nodes.get(node) || []), field].filter(Boolean));
  }
  const chips = [...nodes].map(([node, fields]) => {
    const chip = el("button", { type: "button", class: "chip" }, "→ ", named(node), fields.length ? ` · ${fields.join(", ")}` : "");
    chip.addEventListener("click", () => pin(node));
    return chip;
  });
  const card = el("li", { class: `call ${step.error ? "failed" : ""}`, "data-call": name },
    el("b", null, String(place), " "), el("code", { class: "tool" }, named(step.tool)),
    argumentsOf(step.args, step.origins || {}),
    el("div", { class: "result" }, step.error ? "✗" : "=", value(step.error || step.value)),
    chips.length ? el("p", { class: "chips" }, chips) : null);
  card.addEventListener("mouseenter", () => light([...nodes.keys()], name));
  card.addEventListener("mouseleave", unlight);
  return card;
}

const argumentsOf = (args, origins) => el("dl", { class: "args" }, args.map(([name, text]) => [
  el("dt", null, named(name)), el("dd", null, value(text), origins[name] ? [" ", el("span", { class: "from" }, "← ", originOf(origins[name]))] : null),
]));

/* A value on the page: a long one is folded. */
function value(text) {
  if (text.length <= SHORT) return el("code", null, text);
  return el("details", { class: "long" }, el("summary", null, el("code", null, `${text.slice(0, SHORT)}…`)), pre(text));
}

function originOf([from, hole]) {
  return [from, hole ? [" ", el("span", { class: "tag failed", title: HOLE }, "⚠ in the head")] : null];
}

/* Workflow: the tests, the drawing, and the way of the chosen test through it */

function workflowOf(one) {
  const section = el("section", { class: "built" }, el("h3", null, "Workflow"));
  if (one.problems) section.append(el("p", { class: "trouble" }, "Not sound:"), el("ul", { class: "code" }, one.problems.map((line) => el("li", null, line))));
  section.append(testsOf(one));
  if (one.drawing === undefined) {
    section.append(el("p", { class: "of" }, "The case left no workflow."));
    return section;
  }
  const drawn = new DOMParser().parseFromString(shown.book.drawings[one.drawing], "image/svg+xml").documentElement;
  const frame = el("div", { class: "scroll drawing", role: "region", tabindex: "0", "aria-label": "Drawing of the workflow" }, document.importNode(drawn, true));
  const zoom = el("button", { type: "button", class: "zoom", "aria-pressed": "false" }, "Full size");
  zoom.addEventListener("click", () => {
    zoom.setAttribute("aria-pressed", String(frame.classList.toggle("full")));
    drawLines();
  });
  for (const node of frame.querySelectorAll("[data-node]")) {
    node.addEventListener("mouseenter", () => light([node.dataset.node]));
    node.addEventListener("mouseleave", unlight);
  }
  section.append(zoom, frame);
  if (one.links?.length) {
    const guessed = one.links.some((link) => !link[4]);
    section.append(el("p", { class: "note" }, "Lines lead from a call to the node that it supports",
      guessed ? "; dashed ones only from the same tool, because the workflow names no evidence." : "."));
  }
  return section;
}

function testsOf(one) {
  if (!one.tests.length) return "";
  if (!(one.holds || []).includes("graph_valid")) {
    return el("p", { class: "of" }, `The ${one.tests.length} held-out tests were not run: there is no sound workflow.`);
  }
  const strip = one.tests.map((test, index) => {
    const tab = el("button", { type: "button", class: test.passed ? "passed" : "failed", "data-test": String(index + 1), "aria-pressed": "false" },
      `${test.passed ? "✓" : "✗"} Test ${index + 1}`, el("span", { class: "unseen" }, test.passed ? " passed" : " failed"));
    tab.addEventListener("click", () => go({ test: tab.getAttribute("aria-pressed") === "true" ? "0" : String(index + 1) }, true));
    return tab;
  });
  return el("div", { class: "tests" }, el("p", { class: "tabs", role: "group", "aria-label": "Held-out tests" }, strip), el("div", { id: "test", "aria-live": "polite" }));
}

function chooseTest(given) {
  const one = shown.case, worst = one.tests.findIndex((test) => !test.passed), panel = $("test");
  if (!panel) return drawLines();
  const chosen = given === "" ? Math.max(worst, 0) : Number(given) - 1, test = one.tests[chosen];
  for (const tab of article.querySelectorAll("[data-test]")) tab.setAttribute("aria-pressed", String(Number(tab.dataset.test) === chosen + 1));
  panel.replaceChildren(...(test ? [testOf(test, shown.task.tests[chosen])] : []));
  lightWay(article.querySelector(".drawing svg"), test ? (one.ways || [])[chosen] : null);
  if (test && one.drawing !== undefined && !(one.ways || [])[chosen]) {
    panel.append(el("p", { class: "note" }, "This run has not kept the way of the test. The command flowmind exp --replay adds it."));
  }
  drawLines();
}

const marked = (parts) => el("pre", null, parts.map((part, index) => (index % 2 && part ? el("mark", null, part) : part)));

function testOf(test, [input, expected]) {
  const given = test.error ? pre(test.error) : test.actual ? marked(test.actual) : pre(expected);
  return el("div", { class: `test ${test.passed ? "passed" : "failed"}` },
    el("div", { class: "wide" }, el("h4", null, "Input"), value(input)),
    el("div", null, el("h4", null, "Expected"), test.expected ? marked(test.expected) : pre(expected)),
    el("div", null, el("h4", null, test.error ? "Given: an error" : "Given"), given));
}

/* Evidence: lines from calls to nodes, drawn over the gap between both columns */

function drawLines() {
  const pair = article.querySelector(".pair"), lines = pair?.querySelector(".lines");
  if (!lines) return;
  lines.replaceChildren();
  const room = pair.getBoundingClientRect(), [trace, flow] = [".trace", ".built"].map((part) => pair.querySelector(part).getBoundingClientRect());
  if (flow.left < trace.right) return;
  const seen = new Set();
  for (const [node, , number_, call, recorded] of shown.case.links || []) {
    const name = `${number_}.${call}`, key = `${node} ${name}`;
    const from = pair.querySelector(`[data-call="${name}"]`), to = pair.querySelector(`[data-node="${CSS.escape(node)}"] .shape`);
    if (!from || !to || seen.has(key)) continue;
    seen.add(key);
    const [a, b] = [from, to].map((element) => element.getBoundingClientRect());
    const [x, y, endX, endY] = [a.right - room.left, a.top + Math.min(16, a.height / 2) - room.top, b.left - room.left, b.top + b.height / 2 - room.top];
    const edge = Math.min(endX, flow.left - room.left - 6), bend = (edge - x) / 2; // from the edge of the column on it runs level
    lines.append(svg("path", { d: `M${x} ${y}C${x + bend} ${y} ${edge - bend} ${endY} ${edge} ${endY}H${endX}`, class: recorded ? "recorded" : "same", "data-of": node, "data-by": name }));
  }
  if (shown.pinned) unlight();
}

function light(nodes, call) {
  for (const line of article.querySelectorAll(".lines path")) {
    line.classList.toggle("on", nodes.includes(line.dataset.of) && (!call || line.dataset.by === call));
  }
  for (const node of article.querySelectorAll(".drawing [data-node]")) node.classList.toggle("meant", nodes.includes(node.dataset.node));
  for (const card of article.querySelectorAll("[data-call]")) {
    card.classList.toggle("meant", !call && (shown.case.links || []).some((link) => nodes.includes(link[0]) && `${link[2]}.${link[3]}` === card.dataset.call));
  }
}

/* A click on the name of a node keeps its evidence lit; a second click ends it. */
function pin(node) {
  shown.pinned = shown.pinned === node ? null : node;
  unlight();
  if (shown.pinned) article.querySelector(`[data-node="${CSS.escape(node)}"]`)?.scrollIntoView({ block: "nearest" });
}

const unlight = () => light(shown.pinned ? [shown.pinned] : []);

/* All turns with their replies, the derivation, the comparison with gold */

function turnsOf(one) {
  const parts = one.stages.map((stage) => stageOf(stage));
  if (one.derived) parts.push(more("How the workflow was derived", pairs(one.derived.map(([name, ...lines]) => [name, lines.map((line) => el("div", null, line))]))));
  return el("div", { class: "stages" }, parts);
}

function stageOf(stage) {
  const loose = stage.steps.filter((step) => step.turn === null);
  const count = Math.max(stage.turns.length, ...stage.steps.map((step) => (step.turn ?? -1) + 1));
  const phased = stage.steps.some((step) => step.phase > 0);
  const turns = Array.from({ length: count }, (_, index) =>
    turnOf(stage.turns[index], stage.steps.filter((step) => step.turn === index), phased));
  return more(`${stage.name}: ${count} ${count === 1 ? "turn" : "turns"} with their replies, ${STOPS[stage.stop] || stage.stop}`,
    el("ol", { class: "turns" }, turns), loose.map(stepOf));
}

function turnOf(turn, steps, phased) {
  const made = el("li", null);
  if (turn) {
    const [parse, asked, said, spent, text] = turn;
    const tokens = said === null ? "tokens not reported" : `${asked === null ? "?" : number(asked)} in, ${number(said)} out`;
    const phase = phased && steps.length && steps[0].tool ? ` · step ${steps[0].phase + 1} of the plan` : "";
    made.append(el("p", { class: "facts" },
      el("span", { class: `tag ${parse}`, title: PARSES[parse] }, parse), ` ${tokens} · ${seconds(spent)}${phase}`));
    made.append(...steps.map(stepOf));
    const raw = more(`Reply as it came (${number(text.length)} characters)`, pre(text));
    raw.open = !steps.length;
    made.append(raw);
  } else {
    made.append(...steps.map(stepOf));
  }
  return made;
}

function stepOf(step) {
  if (step.plan) {
    return el("div", { class: "step" }, step.analysis ? el("p", null, step.analysis) : null,
      el("p", null, "Plan:"), el("ol", null, step.plan.map((line) => el("li", null, line))));
  }
  if (!step.tool) return el("div", { class: "step" }, pre(step.note));
  return el("div", { class: `step ${step.graph ? "graph" : ""} ${step.error ? "failed" : ""}` },
    step.reasoning ? el("p", null, step.reasoning) : null,
    pairs([
      [step.graph ? "graph tool" : "tool", el("code", null, named(step.tool)), argumentsOf(step.args, step.origins || {})],
      step.error ? ["error", pre(step.error)] : ["gives", pre(step.value)],
    ]));
}

function likenessOf(like) {
  const scores = like.scores.map(([name, score]) => `${name} ${score}`).join(", ");
  const said = like.equivalent ? "Known to give the same answers as the gold workflow."
    : `F1 in percent: ${scores}; paths of gold: ${like.paths[0]}, paths of its own: ${like.paths[1]}.`;
  return more("Against the gold workflow", el("p", null, said), like.diff.length ? pre(like.diff.join("\n")) : null);
}

/* Keys of the case */

const closeCase = () => go({ case: "", at: "", test: "" });

function step(by) {
  const place = visible.indexOf(shown.row), rest = by > 0 ? visible.slice(place + 1) : visible.slice(0, Math.max(place, 0)).reverse();
  const next = rest.find((row) => row.cells[shown.run]);
  if (next) go({ case: next.id, at: String(shown.run), test: "" }, true);
}

function sideways(by) {
  const runs = shown.row.cells.flatMap((cell, run) => (cell ? [run] : []));
  const next = runs[(runs.indexOf(shown.run) + by + runs.length) % runs.length];
  go({ at: String(next) }, true);
}

function pressedInCase(key, at) {
  if (!shown.case) return false;
  const across = { l: 1, h: -1, ArrowRight: 1, ArrowLeft: -1 }[key];
  if (key === "j" || key === "k") step(key === "j" ? 1 : -1);
  else if (across && !(key.startsWith("Arrow") && at.closest(".scroll"))) sideways(across);
  else if (/^\d$/.test(key) && (key === "0" || shown.case.tests[Number(key) - 1])) go({ test: key }, true);
  else return false;
  return true;
}
