function select(article, name) {
  for (const tab of all("[role=tab]", article)) {
    const open = tab.dataset.tab === name;
    tab.setAttribute("aria-selected", open);
    tab.tabIndex = open ? 0 : -1;
  }
  for (const panel of all("[role=tabpanel]", article)) panel.hidden = panel.dataset.tab !== name;
}

function openStep(stepper, at) {
  const steps = all(".step", stepper);
  if (at < 0 || at >= steps.length) return;
  steps.forEach((step, place) => step.classList.toggle("open", place === at));
  all("ol button", stepper).forEach((button, place) => {
    if (place === at) button.setAttribute("aria-current", "step");
    else button.removeAttribute("aria-current");
  });
  stepper.dataset.at = at;
  const button = all("ol button", stepper)[at];
  const list = button.closest("ol");
  if (button.offsetTop < list.scrollTop || button.offsetTop > list.scrollTop + list.clientHeight - 30)
    list.scrollTop = button.offsetTop - list.clientHeight / 2;
  stepper.querySelector(".place").textContent = `step ${at + 1} of ${steps.length}`;
  stepper.querySelector("[data-go='-1']").disabled = at === 0;
  stepper.querySelector("[data-go='1']").disabled = at === steps.length - 1;
}

const openIn = (stepper, by) => openStep(stepper, Number(stepper.dataset.at) + by);

function showQuery(number) {
  all("article").forEach((article, place) => { article.hidden = place !== number; });
  all("header nav a").forEach((link, place) => {
    if (place === number) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  });
}

for (const article of all("article")) {
  const tabs = all("[role=tab]", article);
  tabs.forEach((tab, place) => {
    tab.addEventListener("click", () => select(article, tab.dataset.tab));
    tab.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!by) return;
      const next = tabs[(place + by + tabs.length) % tabs.length];
      event.stopPropagation();
      select(article, next.dataset.tab);
      next.focus();
    });
  });
  if (tabs.length) select(article, article.dataset.first);
}

for (const stepper of all(".stepper")) {
  all("ol button", stepper).forEach((button, place) => {
    button.addEventListener("click", () => openStep(stepper, place));
  });
  all("[data-go]", stepper).forEach((button) => {
    button.addEventListener("click", () => openIn(stepper, Number(button.dataset.go)));
  });
  stepper.querySelector("input").addEventListener("change", (event) => {
    all(".sides", stepper).forEach((sides) => sides.classList.toggle("whole", event.target.checked));
  });
  openStep(stepper, 0);
}

document.addEventListener("keydown", (event) => {
  const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!by || event.altKey || event.ctrlKey || event.metaKey || event.target.closest("input, [role=tab]")) return;
  const stepper = all(".stepper").find((found) => found.offsetParent !== null);
  if (stepper) openIn(stepper, by);
});

all("header nav a").forEach((link, place) => {
  link.addEventListener("click", (event) => { event.preventDefault(); showQuery(place); });
});
if (all("header nav a").length) showQuery(0);

all(".fit-picture").forEach((button) => {
  button.addEventListener("click", () => {
    const fits = button.closest("[role=tabpanel]").querySelector(".picture").classList.toggle("fit");
    button.textContent = fits ? "Full size" : "Fit to width";
  });
});
