// Before the first paint, so that a dark page never flashes light. A file, not inline, so that a strict CSP can hold.
(() => {
  var choice = null;
  try {
    choice = localStorage.getItem("cubeyard.theme");
  } catch (_) {
    // Storage can be forbidden; the system's preference then decides.
  }
  var dark = choice === "dark" || (choice !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();
