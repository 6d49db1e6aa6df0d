/* The grid of tasks and runs: filters, order, keys. The address holds the filters and the open case. */

const KEYS = ["q", "category", "difficulty", "outcome", "sort", "view", "case", "at", "test"];
const FIELDS = ["q", "category", "difficulty", "outcome", "sort"];
const LEVELS = ["easy", "medium", "hard"];
const $ = (id) => document.getElementById(id);
const RUNS = [...document.querySelectorAll(".headline tbody th")].map((head) => ({
  key: head.querySelector(".badge").textContent, name: head.dataset.name,
}));
const blocks = [...document.querySelectorAll(".block")].map((element) => ({
  element, category: element.dataset.category, rows: [...element.querySelectorAll("tbody tr")].map(rowOf),
}));
const rows = blocks.flatMap((block) => block.rows);
let state = {}, visible = rows, sorted = "";

function rowOf(element, index) {
  return {
    element, index, id: element.dataset.id, difficulty: element.dataset.difficulty,
    outcomes: element.dataset.outcomes.split(" "), passes: Number(element.dataset.passes),
    words: `${element.dataset.id} ${element.querySelector(".query").textContent}`.toLowerCase(),
    cells: [...element.querySelectorAll("td")].map((cell) => cell.firstElementChild),
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

/* An identifier: a line may break after its signs, never inside a word. */
const named = (text) => text.split(/(?<=[_./-])/).flatMap((part, index) => (index ? [el("wbr"), part] : [part]));
const badge = (run) => el("b", { class: "badge", "aria-hidden": "true" }, RUNS[run].key);

/* The address */

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
    /* A browser refuses many changes in a short time; the page follows nevertheless. */
  }
  follow(next);
}

function follow(next) {
  const hash = next.slice(1);
  if (hash && !/^cases(&|$)/.test(hash)) return;
  const given = new URLSearchParams(hash.replace(/^cases&?/, ""));
  state = Object.fromEntries(KEYS.map((key) => [key, given.get(key) || ""]));
  for (const key of FIELDS) if ($(key).value !== state[key]) $(key).value = state[key];
  filter();
  const row = rows.find((row) => row.id === state.case), run = Number(state.at || 0);
  showCase(row && row.cells[run] ? row : null, run);
}

/* Filter and order */

function wanted(row, block) {
  const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
  return words.every((word) => row.words.includes(word)) && (!state.category || block.category === state.category)
    && (!state.difficulty || row.difficulty === state.difficulty) && (!state.outcome || row.outcomes.includes(state.outcome));
}

const level = (row) => (LEVELS.indexOf(row.difficulty) + 1) || 9;
const ORDERS = {
  id: (a, b) => (a.id < b.id ? -1 : 1),
  difficulty: (a, b) => level(a) - level(b) || a.index - b.index,
  passes: (a, b) => a.passes - b.passes || a.index - b.index,
};

function filter() {
  visible = [];
  $("blocks").classList.toggle("roomy", state.view === "list");
  $("view").setAttribute("aria-pressed", String(state.view === "list"));
  for (const block of blocks) {
    const order = [...block.rows].sort(ORDERS[state.sort] || ((a, b) => a.index - b.index));
    const shown = order.filter((row) => wanted(row, block));
    for (const row of order) row.element.hidden = !shown.includes(row);
    if (state.sort !== sorted) block.element.querySelector("tbody").append(...order.map((row) => row.element));
    block.element.hidden = !shown.length;
    block.element.querySelector("h3 small").textContent = number(shown.length);
    visible.push(...shown);
  }
  sorted = state.sort;
  for (const row of visible) {
    row.cells.forEach((cell, run) => cell && (cell.href = address({ case: row.id, at: String(run), test: "" })));
  }
  const passed = RUNS.map((run, index) => visible.filter((row) => row.cells[index]?.classList.contains("passed")).length);
  $("count").textContent = `${number(visible.length)} of ${number(rows.length)} tasks; passed: `
    + RUNS.map((run, index) => `${run.key} ${passed[index]}`).join(", ");
  reach(document.activeElement.classList.contains("cell") ? document.activeElement : null);
}

/* Keys of the grid: one cell is in the order of the Tab key, arrows move from cell to cell */

function reach(cell) {
  for (const old of document.querySelectorAll('.grid .cell[tabindex="0"]')) old.tabIndex = -1;
  const first = cell || visible.flatMap((row) => row.cells).find(Boolean);
  if (first) first.tabIndex = 0;
}

function move(cell, down, across) {
  const row = visible.findIndex((row) => row.cells.includes(cell)), run = visible[row].cells.indexOf(cell);
  const places = down ? visible.map((row) => row.cells[run]) : visible[row].cells;
  let place = (down ? row : run) + down + across;
  while (places[place] === null) place += down + across;
  if (!places[place]) return;
  reach(places[place]);
  places[place].focus();
}

function prepareGrid() {
  for (const row of rows) for (const cell of row.cells) if (cell) cell.tabIndex = -1;
  const choices = (id, values) => $(id).append(...values.map((value) => el("option", { value }, value)));
  choices("category", blocks.map((block) => block.category));
  choices("difficulty", [...new Set([...rows].sort((a, b) => level(a) - level(b)).map((row) => row.difficulty))].filter(Boolean));
  for (const kind of ["input", "change"]) {
    $("filter").addEventListener(kind, (event) => go({ [event.target.name]: event.target.value }, true));
  }
  $("filter").addEventListener("reset", (event) => {
    event.preventDefault();
    go(Object.fromEntries(KEYS.map((key) => [key, ""])), true);
  });
  $("filter").addEventListener("submit", (event) => event.preventDefault());
  $("view").addEventListener("click", () => go({ view: state.view ? "" : "list" }, true));
  $("blocks").addEventListener("focusin", (event) => event.target.classList.contains("cell") && reach(event.target));
  $("blocks").addEventListener("mouseover", (event) => {
    if (event.target.classList.contains("cell")) event.target.title = event.target.getAttribute("aria-label");
  });
}
