
/* The tests of a gallery page: the one that is open shows its way through the drawing. */

for (const gallery of document.querySelectorAll(".gallery")) {
  const drawing = gallery.querySelector(".drawing svg"), tests = [...gallery.querySelectorAll(".test")];
  const show = (chosen) => {
    for (const test of tests) test.open = test === chosen;
    lightWay(drawing, chosen ? JSON.parse(chosen.dataset.way) : null);
  };
  for (const test of tests) {
    test.querySelector("summary").addEventListener("click", (event) => {
      event.preventDefault();
      show(test.open ? null : test);
    });
  }
  window.addEventListener("resize", () => show(tests.find((test) => test.open) || null));
  show(tests[0]);
}
