/* The page of sessions: a list, the lanes of one session, and its procedure at the step in view. */

const $ = (id) => document.getElementById(id);
const LANES = { user: "User", agent: "Agent", world: "World", refused: "Refused" };
const MOST = 320;
const runs = JSON.parse($("session").dataset.runs);
let book, rows = [], shown = null, current = 0;

async function unpack(text) {
  const bytes = Uint8Array.from(atob(text.trim()), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

function element(name, kind = "", text = "", ...inside) {
  const made = document.createElement(name);
  if (kind) made.className = kind;
  if (text !== "") made.textContent = text;
  made.append(...inside.filter(Boolean));
  return made;
}

const json = (value) => JSON.stringify(value);
const spaced = (value) => JSON.stringify(value, null, 1).replace(/([{[])\n\s*|\n\s*(?=[}\]])/g, "$1").replace(/\n\s*/g, " ");
const plain = (value) => (typeof value === "string" ? value : spaced(value ?? null));
const words = (name) => name.replaceAll("_", " ");
const cut = (text) => (text.length > MOST ? `${text.slice(0, MOST)} …` : text);
const count = (number, name) => `${number} ${name}${number === 1 ? "" : "s"}`;
const call = (step) => `${step.tool}(${Object.entries(step.args).map(([name, value]) => `${name}: ${spaced(value)}`).join(", ")})`;
const what = (step) => (step.tool === undefined ? step.text : step.tool === "respond" ? step.args.text ?? call(step) : call(step));
const flagged = (step) => step.intervention !== null && step.intervention !== undefined;

/* The list */

function fits(session) {
  const kind = $("show").value, run = $("run")?.value ?? "", text = $("find").value.trim().toLowerCase();
  if (run !== "" && session.run !== Number(run)) return false;
  if (kind === "failed" && session.success) return false;
  if ((kind === "refused" || kind === "violations") && !session[kind]) return false;
  if (kind === "interventions" && !session.steps.some(flagged)) return false;
  if (!text) return true;
  const all = [session.id, ...session.scenarios, ...session.steps.flatMap((step) => [step.text, step.tool])];
  return all.some((part) => part?.toLowerCase().includes(text));
}

function list() {
  rows = book.sessions.filter(fits);
  const right = rows.filter((session) => session.success).length;
  $("count").textContent = `${rows.length} of ${count(book.sessions.length, "session")}, ${right} with success`;
  $("list").replaceChildren(...rows.map((session) => {
    const marks = [session.refused && `${session.refused} refused`, session.violations && count(session.violations, "violation")];
    const button = element("button", "", "",
      element("span", session.success ? "good" : "bad", session.success ? "✓ " : "✗ "), element("span", "unseen", session.success ? "success " : "no success "),
      element("span", "id", session.id), element("br"),
      element("small", "", [session.scenarios.map(words).join(", "), ...marks].filter(Boolean).join(" · ")));
    button.type = "button";
    button.addEventListener("click", () => open(session));
    return element("li", "", "", button);
  }));
  if (rows.includes(shown)) mark();
  else open(rows[0] ?? null);
}

function mark() {
  for (const [place, button] of document.querySelectorAll("#list button").entries()) {
    const chosen = rows[place] === shown;
    button.setAttribute("aria-current", String(chosen));
    button.tabIndex = chosen ? 0 : -1;
  }
}

function turn(by) {
  const next = rows[rows.indexOf(shown) + by], focused = document.activeElement.closest("#list");
  if (!next) return;
  open(next);
  const button = document.querySelector('#list [aria-current="true"]');
  if (focused) button.focus();
  else {
    const box = button.closest("#list");
    if (box.scrollHeight > box.clientHeight) box.scrollTop = button.offsetTop - box.offsetTop;
    document.querySelector("#session h2").focus();
  }
}

/* A session */

function open(session, step = 0) {
  shown = session;
  mark();
  const place = $("session");
  if (!session) {
    $("detail").replaceChildren();
    $("procedure").replaceChildren();
    return place.replaceChildren(element("p", "note", "No session fits."));
  }
  const heads = element("div", "lanes heads", "", ...["User", "Agent", "World"].map((name) => element("h3", "", name)));
  const lanes = element("ol", "lanes");
  let advice = "";
  for (const [number, step] of session.steps.entries()) {
    if (step.advice) lanes.append(note(step.advice, step.advice === advice));
    advice = step.advice || advice;
    lanes.append(card(session, step, number));
  }
  const title = element("h2", "", session.id);
  title.tabIndex = -1;
  place.replaceChildren(title, ...about(session), heads, lanes, changes(session));
  view(Math.min(step, session.steps.length - 1));
}

function about(session) {
  const failure = session.failure ? `: ${words(session.failure)}` : "";
  const facts = [runs.length > 1 && runs[session.run], `ended by ${session.stop}`, session.refused && `${session.refused} refused`,
    session.violations && count(session.violations, "violation")];
  return [
    element("p", `outcome ${session.success ? "good" : "bad"}`, session.success ? "✓ Success" : `✗ No success${failure}`),
    element("p", "note", facts.filter(Boolean).join(" · ")),
    element("p", "note", session.persona),
    ...session.goals.map((goal, number) => element("p", "goal", "", element("b", "", `Goal ${number + 1}: ${words(goal.scenario)} `),
      element("span", "", Object.entries(goal.slots).map(([name, value]) => `${words(name)}: ${value === null ? "none" : plain(value)}`).join(" · ")))),
    session.untold.length ? element("p", "trouble", `Not told: ${session.untold.map(words).join(", ")}`) : null,
  ].filter(Boolean);
}

function note(advice, repeated) {
  const last = repeated ? "as before" : advice.trim().split("\n").at(-1);
  const summary = element("summary", "", "", element("span", "", "", element("b", "", "Advice "), last));
  return element("li", "advice", "", element("details", "", "", summary, element("p", "", advice)));
}

function card(session, step, number) {
  const made = element("li", `step ${step.lane}`, "", element("span", "lane", LANES[step.lane]));
  made.dataset.step = number;
  if (flagged(step)) {
    const kind = session.interventions[step.intervention];
    made.classList.add("intervention");
    made.append(element("span", "flag", `out of workflow${kind ? `: ${words(kind.type)}, ${words(kind.subtype)}` : ""}`));
  }
  if (step.licensed === false && step.lane === "world") {
    made.classList.add("violation");
    made.append(element("span", "flag bad", "violation: the procedure does not allow this call here"));
  }
  if (step.lane === "refused") {
    const next = session.steps.slice(number + 1).find((later) => later.lane !== "user");
    made.append(element("span", "flag bad", `refused by ${step.by}${step.licensed === true ? " (the procedure allows this call)" : ""}`),
      element(step.tool === "respond" ? "span" : "code", "what", cut(what(step))), element("span", "reason", step.reason),
      element("small", "then", next ? `Then: ${next.lane === "refused" ? "refused again: " : ""}${cut(what(next))}` : "Then: the session ended."));
  } else if (step.lane === "world") {
    made.append(element("code", "what", cut(call(step))), element("code", step.failed ? "bad" : "", `→ ${cut(plain(step.value))}`));
  } else {
    made.append(element("span", "said", step.text), step.answer ? element("small", "", `answer: ${words(step.answer)}`) : "");
  }
  made.addEventListener("click", () => made.focus());
  made.addEventListener("focus", () => view(number));
  return made;
}

/* The state */

function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.keys(value).sort().map((name) => [name, sorted(value[name])]));
}

const same = (left, right) => json(sorted(left ?? null)) === json(sorted(right ?? null));
const isRow = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

function difference(change) {
  if (!change) return "unchanged";
  const { before = null, after = null } = change;
  if (after === null) return "removed";
  if (before === null) return `new: ${isRow(after) ? Object.entries(after).map(([name, value]) => `${name}: ${plain(value)}`).join("\n") : plain(after)}`;
  if (!isRow(before) || !isRow(after)) return `${plain(before)} → ${plain(after)}`;
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((name) => !same(before[name], after[name]));
  return names.map((name) => `${name}: ${plain(before[name] ?? null)} → ${plain(after[name] ?? null)}`).join("\n");
}

function changes(session) {
  const keys = new Map();
  for (const [name, all] of [["made", session.changes], ["wanted", session.wanted]]) {
    for (const change of all) {
      const key = `${change.table} ${change.key}`.trim();
      keys.set(key, { ...keys.get(key), [name]: change });
    }
  }
  if (!keys.size) return element("p", "note state", "State: nothing changed, and nothing should.");
  const table = element("table", "changes", "", element("thead", "", "", element("tr", "", "", ...["Row", "Changed", "Should change"].map((name) => element("th", "", name)))));
  const body = element("tbody");
  let wrong = 0;
  for (const [key, { made, wanted }] of keys) {
    const right = Boolean(made && wanted) && same(made.after, wanted.after);
    wrong += !right;
    body.append(element("tr", right ? "" : "trouble", "", element("th", "", `${right ? "✓" : "✗"} ${key}`), ...[made, wanted].map((change) => element("td", "", cut(difference(change))))));
  }
  table.append(body);
  const box = element("details", "state", "", element("summary", "", `State: ${count(keys.size, "row")}${wrong ? `, ${wrong} not as it should be` : ", as it should be"}`), table);
  box.open = wrong > 0;
  return box;
}

/* The step in view */

function view(number) {
  current = number;
  const step = shown.steps[number];
  for (const card of document.querySelectorAll(".step")) {
    const chosen = Number(card.dataset.step) === number;
    card.tabIndex = chosen ? 0 : -1;
    if (chosen) card.setAttribute("aria-current", "step");
    else card.removeAttribute("aria-current");
  }
  history.replaceState(null, "", `#${[shown.run, encodeURIComponent(shown.id), number].join("/")}`);
  $("detail").replaceChildren(...(step ? detail(step, number) : []));
  draw(step);
}

function detail(step, number) {
  const verdicts = Object.entries(step.verdicts ?? {}).flatMap(([name, reason]) => [element("dt", "", name), element("dd", reason ? "bad" : "good", reason || "allowed")]);
  const nodes = [["passed", "Passed"], ["due", "Due"], ["wrong", "Not allowed"]].filter(([kind]) => step[kind]?.length);
  return [
    element("p", "note", `Step ${number + 1} of ${shown.steps.length}: ${LANES[step.lane].toLowerCase()}${step.lane === "refused" ? ` by ${step.by}` : ""}`),
    step.reasoning ? element("p", "", "", element("b", "", "Thought "), step.reasoning) : null,
    step.tool ? element("pre", "", `${call(step)}${step.value === undefined ? "" : `\n→ ${typeof step.value === "string" ? step.value : JSON.stringify(step.value, null, 1)}`}`) : null,
    verdicts.length ? element("dl", "", "", ...verdicts) : null,
    nodes.length ? element("p", "nodes note", nodes.map(([kind, name]) => `${name}: ${step[kind].join(", ")}`).join(" · ")) : null,
  ].filter(Boolean);
}

function draw(step) {
  const drawing = step ? book.drawings[step.at] : undefined, place = $("procedure");
  if (!drawing) {
    delete place.dataset.at;
    return place.replaceChildren();
  }
  if (place.dataset.at !== String(step.at)) {
    const parsed = new DOMParser().parseFromString(drawing.svg, "image/svg+xml").documentElement;
    const marks = element("p", "marks note", "", ...["passed", "due", "refused or not allowed"].map((name) => element("span", "", name)));
    const zoom = element("button", "zoom", "Full size");
    zoom.type = "button";
    zoom.setAttribute("aria-pressed", String(place.classList.contains("full")));
    zoom.addEventListener("click", () => {
      zoom.setAttribute("aria-pressed", String(place.classList.toggle("full")));
      reveal();
    });
    place.replaceChildren(zoom, element("h3", "", drawing.title), marks, element("div", "", "", document.importNode(parsed, true)));
    place.dataset.at = step.at;
  }
  for (const node of place.querySelectorAll("[data-node]")) {
    for (const kind of ["passed", "due", "wrong"]) node.classList.toggle(kind, (step[kind] ?? []).includes(node.dataset.node));
  }
  reveal();
}

function reveal() {
  const place = $("procedure"), box = place.closest("aside");
  const first = place.querySelector(".wrong") ?? place.querySelector(".due") ?? [...place.querySelectorAll(".passed")].at(-1);
  if (!first) return;
  const inside = first.getBoundingClientRect(), high = box.getBoundingClientRect(), strip = place.querySelector(":scope > div"), wide = strip.getBoundingClientRect();
  if (inside.left < wide.left || inside.right > wide.right) strip.scrollLeft += inside.left - wide.left - wide.width / 3;
  const hidden = inside.top < high.top || inside.bottom > high.bottom;
  if (hidden && box.scrollHeight > box.clientHeight) box.scrollTop += inside.top - high.top - high.height / 3;
}

/* Keys, start */

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !shown) return;
  const at = event.target, key = event.key;
  if (at.matches("input, select")) {
    if (key !== "Escape") return;
    at.blur();
  } else if (key === "/") $("find").focus();
  else if (key === "n" || key === "p") turn(key === "n" ? 1 : -1);
  else if (at.closest("#list") && (key === "ArrowDown" || key === "ArrowUp")) turn(key === "ArrowDown" ? 1 : -1);
  else if (key === "j" || key === "k" || (at.closest(".step") && (key === "ArrowDown" || key === "ArrowUp"))) {
    const by = key === "j" || key === "ArrowDown" ? 1 : -1, inside = at.closest(".step") !== null;
    const next = Math.min(Math.max(inside ? current + by : current, 0), shown.steps.length - 1);
    document.querySelector(`.step[data-step="${next}"]`)?.focus();
  } else return;
  event.preventDefault();
});

unpack($("data").textContent).then((value) => {
  const [run, id, step] = location.hash.slice(1).split("/");
  book = value;
  $("side").open = !matchMedia("(max-width: 75rem)").matches;
  for (const name of ["run", "show", "find"]) for (const kind of ["input", "change"]) $(name)?.addEventListener(kind, list);
  shown = book.sessions.find((session) => id && session.run === Number(run) && encodeURIComponent(session.id) === id) ?? null;
  list();
  if (shown && id) open(shown, Number(step) || 0);
  document.documentElement.dataset.ready = "";
});
