// The map of a picture: what is shown of it up to a time, and the match that is selected.
class PlaceMap {
  constructor(view, element) {
    Object.assign(this, { view, element });
    this.shapes = all("[data-at]", element);
    const field = element.querySelector("[data-time]"), output = element.querySelector("[data-times]");
    if (field) {
      const times = output.dataset.times.split("\n");
      field.addEventListener("input", () => { output.textContent = times[field.value]; this.until(Number(field.value)); });
    }
    element.addEventListener("click", ({ target }) => {
      const shape = target.closest("[data-matches]");
      if (!shape) return;
      const number = Number(shape.dataset.matches.split(" ")[0]), item = view.model.panels[0].order.indexOf(number);
      if (item >= 0) view.select({ panel: 0, kind: "match", item }, true);
    });
  }

  until(last) { this.shapes.forEach((shape) => shape.classList.toggle("later", Number(shape.dataset.at) > last)); }

  select(selected) {
    const number = selected && selected.kind === "match" && selected.panel === 0 ? String(this.view.model.panels[0].order[selected.item]) : null;
    const chosen = number === null ? [] : this.shapes.filter((shape) => (shape.dataset.matches || "").split(" ").includes(number));
    this.shapes.forEach((shape) => shape.classList.toggle("chosen", chosen.includes(shape)));
    this.element.classList.toggle("chosen", chosen.length > 0);
  }
}
