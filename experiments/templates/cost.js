/* Cost and break-even: what a passing workflow costs, and after how many calls it is cheaper than the agent. */

const money = (value) => (value >= 100 ? `$${number(Math.round(value))}` : value >= 0.1 ? `$${value.toFixed(2)}` : `$${value.toPrecision(2)}`);

function prepareCost() {
  const form = $("prices");
  if (!form) return;
  form.hidden = false;
  form.addEventListener("input", computeCost);
  computeCost();
}

function computeCost() {
  const [input, output] = ["price-in", "price-out"].map((id) => Number($(id).value));
  const calls = rounded(10 ** Number($("calls").value));
  const outputs = [["price-in", `$${input.toFixed(2)}`], ["price-out", `$${output.toFixed(2)}`], ["calls", number(calls)]];
  for (const [id, text] of outputs) document.querySelector(`output[for="${id}"]`).textContent = text;
  for (const row of document.querySelectorAll("#costs tr[data-build]")) {
    const [build, call] = ["build", "call"].map((name) => {
      const [sent, written] = row.dataset[name].split(" ").map(Number);
      return (sent * input + written * output) / 1e6;
    });
    const passed = Number(row.dataset.passed), workflow = passed ? build / passed : null;
    const shows = { workflow: "none passed", agent: money(call), after: "–", saved: "–" };
    if (workflow !== null) {
      shows.workflow = money(workflow);
      const after = call > 0 ? Math.ceil(workflow / call - 1e-9) : null;
      if (after !== null) {
        shows.after = `${number(after)} ${after === 1 ? "call" : "calls"}, ${lasting(after / calls)}`;
        shows.saved = money(Math.max(0, 30 * calls * call - workflow));
      }
    }
    for (const [name, text] of Object.entries(shows)) row.querySelector(`[data-shows=${name}]`).textContent = text;
  }
}

const rounded = (value) => Number(value.toPrecision(2)) < 10 ? Math.round(value) : Number(value.toPrecision(2));

function lasting(days) {
  if (days >= 365) return `${number(Math.round(days / 365))} years`;
  if (days >= 2) return `${number(Math.round(days))} days`;
  if (days * 24 >= 2) return `${Math.round(days * 24)} hours`;
  return `${Math.max(1, Math.round(days * 24 * 60))} min`;
}
