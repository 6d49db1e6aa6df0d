/* Theme, keys of the page, start */

const THEMES = ["auto", "light", "dark"];

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  $("theme").textContent = `◐ ${theme}`;
  $("theme").setAttribute("aria-label", `Theme: ${theme}`);
  try {
    localStorage.setItem("flowmind-theme", theme);
  } catch {
    /* Not allowed here: the choice holds until the page is closed. */
  }
}

function storedTheme() {
  try {
    return localStorage.getItem("flowmind-theme");
  } catch {
    return null;
  }
}

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || $("help").open) return;
  const at = event.target, typing = at.matches("input, select, textarea"), key = event.key;
  if (key === "Escape" && typing) {
    at.blur();
    visible.flatMap((row) => row.cells).find(Boolean)?.focus();
  } else if (key === "Escape" && shown) closeCase();
  else if (at.id === "q" && (key === "Enter" || key === "ArrowDown")) visible.flatMap((row) => row.cells).find(Boolean)?.focus();
  else if (typing) return;
  else if (key === "?") $("help").showModal();
  else if (shown) {
    if (!pressedInCase(key, at)) return;
  } else if (key === "/") {
    $("q").focus();
    $("q").select();
  } else if (at.classList.contains("cell") && ARROWS[key]) move(at, ...ARROWS[key]);
  else if (key === "j" || key === "k") {
    const cell = document.querySelector('.grid .cell[tabindex="0"]');
    if (at.classList.contains("cell")) move(at, key === "j" ? 1 : -1, 0);
    else cell?.focus();
  } else return;
  event.preventDefault();
}

const ARROWS = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] };

function choosePaper() {
  const model = $("paper").value;
  for (const row of document.querySelectorAll("tr.paper")) row.hidden = !model || ![model, "any"].includes(row.dataset.model);
  for (const plot of document.querySelectorAll("[data-paper-model]")) {
    plot.classList.toggle("with-paper", Boolean(model) && plot.dataset.paperModel === model);
  }
}

setTheme(THEMES.includes(storedTheme()) ? storedTheme() : "auto");
$("theme").hidden = $("keys").hidden = false;
$("theme").addEventListener("click", () => setTheme(THEMES[(THEMES.indexOf(document.documentElement.dataset.theme) + 1) % 3]));
$("keys").addEventListener("click", () => $("help").showModal());
if ($("paper")) {
  $("paper-choice").hidden = false;
  $("paper").addEventListener("change", choosePaper);
}
prepareGrid();
prepareCost();
document.addEventListener("keydown", pressed);
window.addEventListener("hashchange", () => follow(location.hash));
window.addEventListener("resize", drawLines);
follow(location.hash);
if (!shown) document.documentElement.dataset.ready = "true";
