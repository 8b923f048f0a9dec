// Puts a picture together: canvases, filters, details and the table of matches share one view.
class Timeline {
  constructor(article, data, palette) {
    this.article = article;
    this.model = new Model(data);
    this.details = new Details(this.model);
    this.due = new Set();
    this.frames = this.panel = 0;
    this.tip = article.querySelector(".tip");
    this.view = new View(this.model, (what, from) => this.changed(what, from));
    this.stages = all(".scroller", article).map((scroller, panel) => new Stage(this.view, panel, palette, scroller.querySelector("canvas"), scroller));
    this.overview = new Overview(this.view, palette, article.querySelector(".overview"));
    this.table = article.querySelector(".matches") && new MatchTable(this.view, article.querySelector(".matches"));
    this.map = article.querySelector(".places") && new PlaceMap(this.view, article.querySelector(".places"));
    this.stages.forEach((stage) => follow(stage, this.view, {
      pointed: (event) => this.pointed(event), clicked: (one) => this.clicked(one), mark: (...at) => this.mark(...at),
    }));
    this.controls();
    this.side = article.querySelector(".details");
    this.side.addEventListener("click", ({ target }) => {
      const link = target.closest("[data-match]");
      if (link) this.view.select({ panel: this.view.selected.panel, kind: "match", item: Number(link.dataset.match) }, true);
    });
    new ResizeObserver(() => { this.sizes(); this.later("draw"); }).observe(article);
    this.sizes();
    this.changed("filter");
  }

  controls() {
    const { view, article } = this, on = (selector, event, does) => all(selector, article).forEach((element) => element.addEventListener(event, () => does(element)));
    on("[data-type]", "click", (chip) => {
      const type = Number(chip.dataset.type), hide = !view.hidden.has(type);
      view.hidden[hide ? "add" : "delete"](type);
      chip.setAttribute("aria-pressed", !hide);
      view.filter();
    });
    on("[data-search]", "input", (field) => view.set({ search: field.value }));
    on("[data-matched]", "change", (box) => view.set({ onlyMatched: box.checked }));
    on("[data-order]", "change", (list) => view.set({ order: list.value }));
    all("[data-order]", article).forEach((list) => { list.value = view.order; });
    on("[data-key]", "change", (list) => view.set({ onlyLane: list.value === "" ? null : Number(list.value) }));
    const does = { in: () => view.zoom(0.6), out: () => view.zoom(1 / 0.6), fit: () => view.fit(), left: () => view.pan(-0.3), right: () => view.pan(0.3), next: () => view.walk(this.panel, 1), before: () => view.walk(this.panel, -1) };
    on("[data-do]", "click", (button) => does[button.dataset.do]());
    const list = article.querySelector("[data-key]"), { groups } = this.model;
    if (list && groups.length > 500) list.remove(); // too many for a list: the search finds them
    else if (list) groups.forEach((name, group) => list.add(new Option(name, group)));
  }

  // The heights of the scrollers: as many lanes as there are, as far as the window goes.
  sizes() {
    const most = Math.max(200, framed() ? innerHeight - 170 : innerHeight * (this.stages.length > 1 ? 0.38 : 0.66));
    for (const stage of this.stages) {
      stage.fit(most);
      const all = AXIS + this.view.lanes.length * stage.height + 2, tall = Math.min(all, most);
      stage.scroller.style.height = `${tall}px`;
      stage.scroller.querySelector(".spacer").style.height = `${Math.max(0, all - tall)}px`;
    }
  }

  changed(what, from) {
    if (!this.stages) return;
    if (what === "filter") { this.overview.counts = null; this.sizes(); this.later("table"); this.showCounts(); }
    if (what === "scroll") for (const { scroller } of this.stages) if (scroller !== from && scroller.scrollTop !== from.scrollTop) scroller.scrollTop = from.scrollTop;
    if (what === "selected" && this.map) this.map.select(this.view.selected);
    if (what === "selected") { this.panelOf(this.view.selected); this.later("table"); this.later("side"); }
    if (what === "reveal") this.scroll(this.view.targetRow);
    if (what === "hover") this.later("tip");
    this.later("draw");
  }

  scroll(row) {
    for (const { scroller, height } of this.stages) {
      const y = row * height;
      if (y < scroller.scrollTop || y + height > scroller.scrollTop + scroller.clientHeight - AXIS) scroller.scrollTop = y - scroller.clientHeight / 3;
    }
  }

  panelOf(selected) {
    if (!this.table) return;
    if (selected) this.panel = this.table.panel = selected.panel;
    const matches = this.view.matches(this.panel);
    const at = selected && selected.kind === "match" ? matches.indexOf(selected.item) + 1 : 0;
    this.article.querySelector(".walk .place").textContent = `${at || "–"} of ${matches.length.toLocaleString("en")}`;
    if (selected && selected.kind === "match") this.table.page = Math.floor((at - 1) / ROWS);
  }

  // One frame for all that has changed since the last one.
  later(what) {
    if (!this.due.size) requestAnimationFrame(() => this.frame());
    this.due.add(what);
  }

  frame() {
    const due = this.due;
    this.due = new Set();
    this.frames += 1;
    this.stages.forEach((stage) => stage.draw());
    this.overview.draw();
    this.article.querySelector(".coarse").hidden = !this.stages.some((stage) => stage.coarse);
    if (this.table && due.has("table")) this.table.draw();
    if (due.has("side")) this.side.innerHTML = this.details.html(this.view.selected) || this.side.dataset.empty;
    if (due.has("tip")) this.hint();
  }

  showCounts() {
    const { view, model } = this, events = model.start.reduce((sum, _, event) => sum + (view.isShown(event) && (!model.data.values || model.types[model.type[event]][1] >= 0) ? 1 : 0), 0);
    const lanes = view.lanes.length === model.lanes.length ? "" : `${view.lanes.length.toLocaleString("en")} of `;
    const shown = model.start.length ? `, ${counted(events, model.data.word, `${model.data.word}s`)}` : "";
    this.article.querySelector(".seen").textContent = `${lanes}${counted(model.lanes.length, "lane", "lanes")}${shown}`;
    this.panelOf(view.selected);
  }

  pointed(event) { this.pointer = [event.clientX, event.clientY]; }

  hint() {
    const { hover } = this.view, { tip } = this;
    tip.hidden = !hover;
    for (const { scroller } of this.stages) scroller.classList.toggle("over", Boolean(hover));
    if (!hover) return;
    tip.innerHTML = this.details.html(hover);
    const [x, y] = this.pointer || [0, 0], { width, height } = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(8, Math.min(x + 16, innerWidth - width - 8))}px`;
    tip.style.top = `${y + 18 + height > innerHeight ? Math.max(8, y - height - 14) : y + 18}px`;
  }

  clicked(one) {
    if (one && one.kind === "lane") {
      this.view.set({ onlyLane: this.view.onlyLane === null ? this.model.group[one.item] : null });
      const list = this.article.querySelector("[data-key]");
      if (list) list.value = this.view.onlyLane === null ? "" : this.view.onlyLane;
    } else if (one && one.kind === "bundle") {
      const { start, end } = one.item, room = (end - start) * 0.15 || 1;
      this.view.point(null);
      this.view.show(start - room, end + room);
    } else this.view.select(one);
  }

  mark(stage, from, to) {
    const box = this.article.querySelector(".marked");
    box.hidden = to === undefined;
    if (box.hidden) return;
    const place = stage.canvas.getBoundingClientRect();
    Object.assign(box.style, { left: `${place.left + Math.min(from, to)}px`, width: `${Math.abs(to - from)}px`, top: `${place.top + AXIS}px`, height: `${place.height - AXIS}px` });
  }
}

// Whether the page stands in another one, such as a notebook: there the picture comes first.
const framed = () => window.parent !== window;
document.documentElement.classList.toggle("framed", framed());

const palette = new Palette();
const pictures = JSON.parse(document.getElementById("pictures").textContent);
const timelines = all("article").map((article, place) => new Timeline(article, pictures[place], palette));
palette.changed = () => timelines.forEach((timeline) => timeline.later("draw"));
