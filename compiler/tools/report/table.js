// The matches as a table, a page at a time: all that the picture shows, without a pointer.
const ROWS = 20;

class MatchTable {
  constructor(view, element) {
    Object.assign(this, { view, element, panel: 0, page: 0 });
    element.addEventListener("click", ({ target }) => {
      const go = target.closest("[data-page]"), row = target.closest("[data-match]");
      if (go) { this.page += Number(go.dataset.page); this.draw(); }
      else if (row) this.view.select({ panel: this.panel, kind: "match", item: Number(row.dataset.match) }, true);
    });
  }

  draw() {
    const { view, panel, element } = this, { model } = view, of = model.panels[panel];
    const matches = view.matches(panel), last = Math.max(0, Math.ceil(matches.length / ROWS) - 1);
    this.page = Math.min(Math.max(0, this.page), last);
    const shown = matches.slice(this.page * ROWS, (this.page + 1) * ROWS);
    const head = ["", "start", "length", ...(model.byType ? [] : [model.data.group ? model.data.key.slice(0, -1).join(", ") || "partition" : model.data.key.join(", ")]), ...of.columns];
    const rows = shown.map((match) => {
      const lane = of.lane[match];
      const cells = [model.clock.text(of.start[match]), model.clock.span(of.end[match] - of.start[match]), ...(model.byType ? [] : [model.groups[model.group[lane]]]), ...of.matches[match][3]];
      const chosen = view.selected && view.selected.kind === "match" && view.selected.panel === panel && view.selected.item === match;
      return `<tr${chosen ? ' class="chosen"' : ""}><td><button type="button" data-match="${match}" aria-label="show match ${match + 1}">${match + 1}</button></td>${cells.map((cell) => `<td class="text">${escaped(cell)}</td>`).join("")}</tr>`;
    });
    const button = (by, text, off) => `<button type="button" data-page="${by}" ${off ? "disabled" : ""}>${text}</button>`;
    element.querySelector(".rows").innerHTML = rows.length
      ? `<table><thead><tr>${head.map((name) => `<th class="text">${escaped(name)}</th>`).join("")}</tr></thead><tbody>${rows.join("")}</tbody></table>`
      : `<p class="hint">none in the lanes that are shown</p>`;
    element.querySelector(".pages").innerHTML = `${button(-1, "Before", this.page === 0)} <span class="place">${this.page + 1} of ${last + 1}</span> ${button(1, "Next", this.page === last)}`;
    element.querySelector("summary").textContent = `${counted(matches.length, ...of.words)} as a table${model.panels.length > 1 ? `: ${of.title}` : ""}`;
  }
}
