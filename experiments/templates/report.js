"use strict";
(async () => {
  const KEYS = ["q", "run", "category", "difficulty", "outcome", "sort", "case", "at"];
  const LEVELS = ["easy", "medium", "hard"];
  const STOPS = {
    finish: "finished", error: "ended by an error", turns: "stopped: no turns left", failures: "stopped: too many failed calls",
    unparsed: "stopped: no reply could be read", tokens: "stopped: no tokens left", seconds: "stopped: no time left",
    model_error: "stopped: the endpoint failed",
  };
  const PARSES = {
    clean: "the reply was plain JSON", recovered: "the action was found in other text, or repaired",
    reprompted: "the reply could not be read, and the model was asked again",
    failed: "the reply could not be read, and no question was left",
  };
  const HOLE = "it equals no input, nothing that a tool gave, and nothing that the task names";
  const $ = (id) => document.getElementById(id);
  const [list, article, panes, form, help] = ["list", "case", "panes", "filter", "help"].map($);
  const book = await read();
  if (!book) return;
  const OUTCOMES = Object.fromEntries([...$("outcome").options].map((option) => [option.value, option.text]));
  const cases = book.cases.map(prepared);
  let state = {}, visible = [], shown = null;

  /* Reading */

  async function read() {
    try {
      const bytes = Uint8Array.from(atob($("data").textContent), (character) => character.charCodeAt(0));
      const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
      return await new Response(stream).json();
    } catch (error) {
      $("trouble").hidden = false;
      $("trouble").textContent = `The cases cannot be shown: ${error.message}. A browser from 2023 or later reads them.`;
      return null;
    }
  }

  function prepared(one) {
    const task = book.tasks[one.task], tests = one.tests || [], tokens = one.tokens.map((pair) => pair[1]);
    return {
      ...one, about: task, tests, stages: one.stages || [],
      passed: tests.filter((test) => test.passed).length,
      used: tokens.includes(null) ? null : tokens[0] + tokens[1],
      words: `${one.id} ${task.query || ""}`.toLowerCase(),
      row: null,
    };
  }

  /* Building elements: text is only ever set as text */

  function el(tag, given, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(given || {})) {
      if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
    }
    made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== ""));
    return made;
  }

  const number = (value) => value.toLocaleString("en");
  const spaced = (name) => name.replaceAll("_", " ");
  const sign = (one) => (one.outcome === "none" ? "✓" : one.outcome === "error" ? "!" : "✗");
  const kind = (one) => (one.outcome === "none" ? "passed" : one.outcome === "error" ? "error" : "failed");
  const mark = (one) => el("span", { class: `mark ${kind(one)}`, "aria-hidden": "true" }, sign(one));
  const seconds = (value) => `${value < 10 ? value.toFixed(1) : number(Math.round(value))} s`;

  function row(one) {
    const about = [book.runs[one.run], one.about.difficulty].filter(Boolean).join(" · ");
    const link = el("a", { class: "row" },
      mark(one), el("span", { class: "id" }, one.id), el("span", { class: "tests" }, `${one.passed}/${one.tests.length}`),
      el("span", { class: "about" }, about), el("span", { class: "about" }, OUTCOMES[one.outcome]));
    one.row = el("li", null, link);
    return one.row;
  }

  /* The filter, which is the address */

  function address(change) {
    const parts = new URLSearchParams(), next = { ...state, ...change };
    for (const key of KEYS) if (next[key]) parts.set(key, next[key]);
    return `#cases${parts.toString() ? "&" : ""}${parts}`;
  }

  function go(change, replace) {
    const next = address(change);
    try {
      history[replace ? "replaceState" : "pushState"](null, "", next);
    } catch {
      /* A browser that takes so many changes at once for an attack: the page follows all the same. */
    }
    follow(next);
  }

  function follow(next) {
    const hash = next.slice(1);
    if (hash && !/^cases(&|$)/.test(hash)) return;
    const given = new URLSearchParams(hash.replace(/^cases&?/, ""));
    state = Object.fromEntries(KEYS.map((key) => [key, given.get(key) || ""]));
    for (const key of KEYS.slice(0, 6)) if ($(key).value !== state[key]) $(key).value = state[key];
    filter();
    open(cases.find((one) => one.id === state.case && String(one.run) === (state.at || "0")) || null);
  }

  function wanted(one) {
    const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
    const outcome = state.outcome === "failed" ? kind(one) === "failed" : !state.outcome || one.outcome === state.outcome;
    return outcome && (!state.run || String(one.run) === state.run) && words.every((word) => one.words.includes(word))
      && (!state.category || one.about.category === state.category)
      && (!state.difficulty || one.about.difficulty === state.difficulty);
  }

  const level = (one) => (LEVELS.indexOf(one.about.difficulty) + 1) || 9;
  const place = (one) => Object.keys(OUTCOMES).indexOf(one.outcome);
  const ORDERS = {
    id: (a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : a.run - b.run),
    difficulty: (a, b) => level(a) - level(b),
    outcome: (a, b) => place(a) - place(b),
    tokens: (a, b) => (b.used ?? -1) - (a.used ?? -1),
    seconds: (a, b) => b.seconds - a.seconds,
  };

  function filter() {
    visible = cases.filter(wanted);
    if (ORDERS[state.sort]) visible.sort(ORDERS[state.sort]);
    list.replaceChildren(...visible.map((one) => one.row || row(one)));
    for (const one of visible) one.row.firstChild.setAttribute("href", address({ case: one.id, at: String(one.run) }));
    const passed = visible.filter((one) => one.outcome === "none").length;
    $("count").textContent = `${number(visible.length)} of ${number(cases.length)} cases, ${number(passed)} of them passed`;
  }

  /* One case */

  function open(one) {
    const before = shown;
    shown = one;
    panes.classList.toggle("open", Boolean(one));
    article.hidden = !one;
    for (const other of cases) if (other.row) other.row.firstChild.removeAttribute("aria-current");
    if (!one) {
      article.replaceChildren();
      if (before && before.row && before.row.isConnected) before.row.firstChild.focus();
      return;
    }
    if (one.row) one.row.firstChild.setAttribute("aria-current", "true");
    if (before === one) {
      article.querySelector(".beside")?.replaceWith(beside(one));
      return;
    }
    article.replaceChildren(...told(one));
    article.querySelector("h3").focus({ preventScroll: true });
    article.scrollIntoView({ block: "start" });
    if (one.row && one.row.isConnected) one.row.scrollIntoView({ block: "nearest" });
  }

  function told(one) {
    const stages = one.stages.map((stage) => [stage.name, stageOf(stage)]);
    const parts = [["Task", taskOf(one)], ...stages, ["Workflow", workflowOf(one)], ["Tests", testsOf(one)]];
    const jump = ([name, part]) => {
      const button = el("button", { type: "button" }, name);
      button.addEventListener("click", () => {
        part.scrollIntoView();
        part.querySelector("h4").focus({ preventScroll: true });
      });
      return button;
    };
    const close = el("button", { type: "button", class: "close" }, "Close ", el("kbd", null, "Esc"));
    close.addEventListener("click", shut);
    return [
      el("header", null,
        el("h3", { tabindex: "-1" }, mark(one), " ", one.id), close,
        el("p", { class: "facts" }, facts(one)), beside(one),
        el("nav", { class: "jump", "aria-label": "Parts of the case" }, parts.map(jump))),
      one.error ? el("p", { class: "note" }, `The case was not tried to its end: ${one.error}`) : null,
      ...parts.map(([, part]) => part),
    ].filter(Boolean);
  }

  function facts(one) {
    const holds = new Set(one.holds || []), yes = (name, words) => `${words}: ${holds.has(name) ? "yes" : "no"}`;
    const tokens = (pair, name) => (pair[1] === null ? `${name}: tokens not reported` : `${name}: ${number(pair[1])} tokens out`);
    return [
      OUTCOMES[one.outcome], book.runs[one.run], one.about.difficulty, spaced(one.about.category), one.about.flow,
      yes("exec_complete", "execution complete"), yes("exec_correct", "answer right"), yes("graph_valid", "graph sound"),
      tokens(one.tokens[0], "execute"), tokens(one.tokens[1], "summarize"), seconds(one.seconds),
      one.mixed ? `tools mixed: ${spaced(one.mixed)}` : "", one.coerced ? `${number(one.coerced)} values coerced` : "",
    ].filter(Boolean).join(" · ");
  }

  const others = (one) => cases.filter((other) => other.id === one.id);

  function beside(one) {
    if (others(one).length < 2) return null;
    const link = (other) => el("a", {
      href: address({ case: other.id, at: String(other.run) }), "aria-current": other === one && "true",
    }, mark(other), ` ${book.runs[other.run]} `, el("span", { class: "unseen" }, OUTCOMES[other.outcome]));
    return el("nav", { class: "beside", "aria-label": "The same case in the other runs" }, others(one).map(link));
  }

  const heading = (text) => el("h4", { tabindex: "-1" }, text);
  const pre = (text) => el("pre", null, text);
  const more = (title, ...content) => el("details", null, el("summary", null, title), ...content);
  const pairs = (rows) => el("dl", null, rows.map(([name, ...value]) => [el("dt", null, name), el("dd", null, ...value)]));

  function taskOf(one) {
    const task = one.about, examples = task.examples || [], tools = (task.tools || []).map((index) => book.tools[index]);
    return el("section", null, heading("Task"),
      el("p", { class: "query" }, task.query || "The run has not kept the task's text."),
      task.inputs && task.inputs.length ? pairs([["inputs", ...task.inputs.map((line) => el("div", null, line))]]) : null,
      tools.length ? more(`Tools offered (${tools.length})`, el("ul", { class: "code" }, tools.map((line) => el("li", null, line)))) : null,
      examples.length ? more(`Examples (${examples.length})`,
        examples.map(([input, output]) => pairs([["input", pre(input)], ["answer", pre(output)]]))) : null);
  }

  function stageOf(stage) {
    const loose = stage.steps.filter((step) => step.turn === null);
    const count = Math.max(stage.turns.length, ...stage.steps.map((step) => (step.turn ?? -1) + 1));
    const phased = stage.steps.some((step) => step.phase > 0);
    const turns = Array.from({ length: count }, (_, index) =>
      turnOf(stage.turns[index], stage.steps.filter((step) => step.turn === index), phased));
    const ends = [["end", STOPS[stage.stop] || stage.stop]];
    if (stage.input) ends.unshift(["works on", pre(stage.input)]);
    if (stage.error) ends.push(["error", pre(stage.error)]);
    if (stage.answer) ends.push(["answer", pre(stage.answer)]);
    if (stage.origin) ends.push(["answer from", originOf(stage.origin)]);
    return el("section", null, heading(`${stage.name}: ${count} ${count === 1 ? "turn" : "turns"}`), pairs(ends),
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

  function originOf([from, hole]) {
    return el("div", null, from, hole ? [" ", el("span", { class: "tag failed", title: HOLE }, "⚠ in the head")] : null);
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
        [step.graph ? "graph tool" : "tool", el("code", null, `${step.tool} `), el("code", { class: "args" }, step.args)],
        ...(step.origins ? [["from", step.origins.map(([name, ...origin]) => originOf([`${name}: ${origin[0]}`, origin[1]]))]] : []),
        step.error ? ["error", pre(step.error)] : ["gives", pre(step.value)],
      ]));
  }

  function workflowOf(one) {
    const problems = one.problems || [];
    const made = el("section", { class: "workflow" }, heading("Workflow"));
    if (problems.length) {
      made.append(el("p", null, "Not sound:"), el("ul", { class: "code" }, problems.map((line) => el("li", null, line))));
    }
    if (one.derived) made.append(pairs(one.derived.map(([name, ...lines]) => [name, lines.map((line) => el("div", null, line))])));
    if (one.drawing === undefined) {
      made.append(el("p", null, "The case left no workflow."));
      return made;
    }
    const drawn = new DOMParser().parseFromString(book.drawings[one.drawing], "image/svg+xml").documentElement;
    made.append(
      el("div", { class: "scroll drawing", role: "region", tabindex: "0", "aria-label": "Drawing of the workflow" },
        document.importNode(drawn, true)),
      more("As text", pre(one.lines.join("\n"))));
    if (one.likeness) made.append(likenessOf(one.likeness));
    return made;
  }

  function likenessOf(like) {
    const scores = like.scores.map(([name, score]) => `${name} ${score}`).join(", ");
    const said = like.equivalent ? "Known to give the same answers as the gold workflow."
      : `F1 in percent: ${scores}; paths of gold: ${like.paths[0]}, paths of its own: ${like.paths[1]}.`;
    return more("Against the gold workflow", el("p", null, said), like.diff.length ? pre(like.diff.join("\n")) : null);
  }

  const marked = (parts) => el("pre", null, parts.map((part, index) => (index % 2 && part ? el("mark", null, part) : part)));

  function testsOf(one) {
    const items = one.tests.map((test, index) => {
      const [input, expected] = one.about.tests[index], rows = [["input", pre(input)]];
      rows.push(["expected", test.expected ? marked(test.expected) : pre(expected)]);
      if (test.actual) rows.push(["actual", marked(test.actual)]);
      else if (test.passed) rows.push(["actual", pre(expected)]);
      if (test.error) rows.push(["error", pre(test.error)]);
      const name = `${test.passed ? "✓" : "✗"} Test ${index + 1} ${test.passed ? "passed" : "failed"}`;
      return el("li", { class: test.passed ? "passed" : "failed" }, el("h5", null, name), pairs(rows));
    });
    const differs = one.tests.some((test) => test.actual && !test.passed);
    return el("section", null, heading(`Tests: ${one.passed} of ${one.tests.length} passed`),
      differs ? el("p", { class: "note" }, "What differs is underlined, in what was expected and in what came.") : null,
      el("ol", { class: "checks" }, items));
  }

  /* Moving about */

  function shut() {
    go({ case: "", at: "" });
  }

  function step(by) {
    if (!visible.length) return;
    const here = visible.findIndex((one) => (shown ? one === shown : one.row.contains(document.activeElement)));
    const next = visible[here < 0 ? 0 : Math.min(visible.length - 1, Math.max(0, here + by))];
    if (shown) go({ case: next.id, at: String(next.run) }, true);
    else next.row.firstChild.focus();
  }

  function sideways(by) {
    const all = others(shown), next = all[(all.indexOf(shown) + by + all.length) % all.length];
    go({ case: next.id, at: String(next.run) }, true);
  }

  function pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    const at = event.target, typing = at.matches("input, select, textarea"), key = event.key;
    if (key === "Escape" && typing) {
      at.blur();
      if (visible.length) visible[0].row.firstChild.focus({ preventScroll: true });
    } else if (key === "Escape" && shown) shut();
    else if (at.id === "q" && (key === "Enter" || key === "ArrowDown")) step(0);
    else if (typing) return;
    else if (key === "/") {
      $("q").focus();
      $("q").select();
    } else if (key === "?") help.showModal();
    else if (key === "j" || key === "k") step(key === "j" ? 1 : -1);
    else if ((key === "ArrowDown" || key === "ArrowUp") && list.contains(at)) step(key === "ArrowDown" ? 1 : -1);
    else if (shown && (key === "l" || key === "h")) sideways(key === "l" ? 1 : -1);
    else if (shown && (key === "ArrowRight" || key === "ArrowLeft") && !at.closest(".scroll")) {
      sideways(key === "ArrowRight" ? 1 : -1);
    } else return;
    event.preventDefault();
  }

  function choices(id, values, names) {
    $(id).append(...values.map((value, index) => el("option", { value }, names ? names[index] : spaced(value))));
  }

  choices("run", book.runs.map((_, index) => String(index)), book.runs);
  choices("category", [...new Set(cases.map((one) => one.about.category))].filter(Boolean));
  choices("difficulty", [...new Set([...cases].sort(ORDERS.difficulty).map((one) => one.about.difficulty))].filter(Boolean));
  $("cut").textContent = `Texts of more than ${number(book.cut)} characters are cut; the runs' folders have them whole.`;
  $("browser").hidden = false;
  for (const kind of ["input", "change"]) {
    form.addEventListener(kind, (event) => go({ [event.target.name]: event.target.value }, true));
  }
  form.addEventListener("reset", (event) => {
    event.preventDefault();
    go(Object.fromEntries(KEYS.map((key) => [key, ""])), true);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  $("keys").addEventListener("click", () => help.showModal());
  document.addEventListener("keydown", pressed);
  window.addEventListener("hashchange", () => follow(location.hash));
  follow(location.hash);
  if (/^#cases/.test(location.hash) && !shown) $("cases").scrollIntoView();
  document.documentElement.dataset.ready = "true";
})();
