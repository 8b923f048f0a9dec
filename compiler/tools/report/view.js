// Which part of a picture is looked at: a range of time, some of the lanes, what is pointed at and what is selected.
class View {
  constructor(model, changed) {
    this.model = model;
    this.changed = changed;
    this.range = [...model.range];
    this.hidden = new Set();
    this.search = "";
    this.onlyMatched = false;
    this.onlyLane = null;
    this.order = "name";
    this.hover = null;
    this.selected = null;
    this.scroll = 0;
    this.filter();
    this.open();
  }

  // The first match with what is around it, unless all of the time is little more than that: wide enough for matches
  // of the usual length, and for some of the events of its lane, as long as one can still see where a match begins and ends.
  open() {
    const { model } = this, [of] = model.panels.filter(({ start }) => start.length).sort((a, b) => a.start[0] - b.start[0]);
    if (!of || !model.start.length) return;
    const lengths = of.start.map((from, match) => of.end[match] - from).sort((a, b) => a - b), [first] = of.start;
    const { start } = model.events[of.lane[0]] || { start: [] }, at = above(start, first);
    const around = start.length > at + 1 ? start[Math.min(start.length - 1, at + 18)] - first : 0;
    const usual = lengths[lengths.length >> 1], most = usual ? usual * 30 : Infinity;
    const width = Math.max(usual * 6, (of.end[0] - first) * 3, Math.min(around, most));
    const [low, high] = model.range;
    if (!width || width * 2.5 > high - low) return;
    if (!model.byType) this.order = "first";
    this.filter();
    this.show(first - width * 0.06, first + width * 0.94);
  }

  // The lanes that are shown, those with matches on top, and the events that the search is about.
  filter() {
    const { model } = this;
    const search = this.search.trim().toLowerCase();
    const matched = new Set();
    model.panels.forEach((panel) => panel.byLane.forEach(({ items }, lane) => { if (items.length) matched.add(model.group[lane]); }));
    this.matched = matched;
    const has = (lane) => matched.has(model.group[lane]);
    const holds = search && model.values.found(search);
    const named = model.lanes.map((name) => !search || name.toLowerCase().includes(search));
    // Of a lane that is found by its name, all events are found.
    this.found = search ? Uint8Array.from(model.start, (_, event) => named[model.lane[event]] || holds(event)) : null;
    const is = (lane) =>
      (this.onlyLane === null || model.group[lane] === this.onlyLane) && (!this.onlyMatched || has(lane)) &&
      (named[lane] || model.events[lane].items.some((event) => this.found[event]));
    const lanes = model.lanes.map((_, lane) => lane).filter(is);
    this.lanes = model.byType ? lanes : [...this.ordered(lanes.filter(has)), ...lanes.filter((lane) => !has(lane))];
    this.row = new Int32Array(model.lanes.length).fill(-1);
    this.lanes.forEach((lane, row) => { this.row[lane] = row; });
    this.changed("filter");
  }

  // Lanes with matches by their names, by their first match, or by how many they have.
  ordered(lanes) {
    if (this.order === "name") return lanes;
    const { group } = this.model, alike = (lane) => group.flatMap((one, other) => (one === group[lane] ? [other] : []));
    const of = (lane) => this.model.panels.flatMap((panel) => (this.model.across ? alike(lane) : [lane]).map((one) => panel.byLane[one]));
    const worth = lanes.map((lane) => (this.order === "first"
      ? Math.min(...of(lane).map(({ start }) => (start.length ? start[0] : Infinity)))
      : -of(lane).reduce((sum, { items }) => sum + items.length, 0)));
    return lanes.map((_, place) => place).sort((a, b) => worth[a] - worth[b] || a - b).map((place) => lanes[place]);
  }

  set(values) {
    Object.assign(this, values);
    this.filter();
  }

  isShown(event) {
    return this.row[this.model.lane[event]] >= 0 && !this.hidden.has(this.model.type[event]);
  }

  isFound(event) { return !this.found || this.found[event] === 1; }

  // Never so narrow that pixels could not be distinguished: numbers that are far from 0 are far from each other.
  show(from, to) {
    const [low, high] = this.model.range, far = Math.max(1, Math.abs(from), Math.abs(to));
    const least = Math.max(this.model.clock.kind === "time" ? 20 : 2, far * Number.EPSILON * 64);
    const width = Math.min(high - low, Math.max(least, to - from));
    const begin = Math.min(Math.max(low, width > to - from ? (from + to - width) / 2 : from), high - width);
    this.range = [begin, begin + width];
    this.changed("range");
  }

  zoom(factor, at = (this.range[0] + this.range[1]) / 2) {
    const [from, to] = this.range;
    this.show(at - (at - from) * factor, at + (to - at) * factor);
  }

  pan(part) {
    const by = (this.range[1] - this.range[0]) * part;
    this.show(this.range[0] + by, this.range[1] + by);
  }

  fit() { this.show(...this.model.range); }

  point(hover) {
    const same = (a, b) => a === b || (a && b && a.panel === b.panel && a.kind === b.kind && a.item === b.item);
    if (same(hover, this.hover)) return;
    this.hover = hover;
    this.changed("hover");
  }

  select(selected, seen = false) {
    this.selected = selected;
    if (selected && seen) this.reveal(selected);
    this.changed("selected");
  }

  // Bring what is selected into sight: its time, and its lane.
  reveal({ panel, kind, item }) {
    const { model } = this, of = model.panels[panel];
    const [from, to, lane] = kind === "match" ? [of.start[item], of.end[item], of.lane[item]] : [model.start[item], model.end[item], model.lane[item]];
    const width = this.range[1] - this.range[0];
    const least = Math.max((to - from) * 1.6, kind === "match" ? (to - from) * 3 : width);
    if (kind === "match" && (width > least * 4 || width < to - from)) this.show(from - least / 3, to + least / 3);
    else if (from < this.range[0] || to > this.range[1]) this.show((from + to - width) / 2, (from + to + width) / 2);
    this.targetRow = this.row[lane];
    this.changed("reveal");
  }

  // The matches in lanes that are shown, in order of time.
  matches(panel) {
    const of = this.model.panels[panel];
    return of.matches.map((_, match) => match).filter((match) => of.lane[match] < 0 || this.row[of.lane[match]] >= 0);
  }

  // The next match, or the one before.
  walk(panel, by) {
    const matches = this.matches(panel);
    if (!matches.length) return;
    const at = this.selected && this.selected.kind === "match" && this.selected.panel === panel ? matches.indexOf(this.selected.item) : by > 0 ? -1 : 0;
    this.select({ panel, kind: "match", item: matches[(at + by + matches.length) % matches.length] }, true);
  }

  // The next event of a lane, or the one before: of the event selected, else the first one in sight.
  step(panel, by) {
    const now = this.selected && this.selected.kind === "event" ? this.selected.item : null;
    const lane = now !== null && this.row[this.model.lane[now]] >= 0 ? this.model.lane[now] : this.lanes[0];
    if (lane === undefined) return;
    const items = this.model.events[lane].items.filter((event) => this.isShown(event));
    const first = items.findIndex((event) => this.model.start[event] >= this.range[0]);
    const at = items.includes(now) ? items.indexOf(now) + by : Math.max(0, first);
    if (items[at] !== undefined) this.select({ panel, kind: "event", item: items[at] }, true);
  }
}
