
/* The tests of a gallery page: the chosen one shows its way through the drawing. */

for (const gallery of document.querySelectorAll(".gallery")) {
  const drawing = gallery.querySelector(".drawing svg"), tests = [...gallery.querySelectorAll(".test")];
  const buttons = tests.map((test, index) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = `✓ Test ${index + 1}`;
    button.addEventListener("click", () => show(test));
    return button;
  });
  const show = (chosen) => {
    tests.forEach((test, index) => {
      test.hidden = test !== chosen;
      buttons[index].setAttribute("aria-pressed", String(test === chosen));
    });
    lightWay(drawing, JSON.parse(chosen.dataset.way));
  };
  const whole = document.createElement("button");
  whole.type = "button";
  whole.className = "whole";
  whole.textContent = "Full size";
  whole.addEventListener("click", () => {
    whole.setAttribute("aria-pressed", String(drawing.parentElement.classList.toggle("full")));
    show(tests.find((test) => !test.hidden));
  });
  gallery.querySelector(".tests").append(...buttons, whole);
  window.addEventListener("resize", () => show(tests.find((test) => !test.hidden)));
  show(tests[0]);
}
