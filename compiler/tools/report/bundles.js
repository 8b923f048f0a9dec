// Matches that lie too close to each other to be told apart are drawn as one, with their number. Which these are is
// decided in ticks of the clock, not in pixels: so nothing jumps while the picture moves, and each zoom is computed once.
const NEAR = 24, MOST_IN_LANE = 70;

class Bundles {
  constructor(model, panel) {
    Object.assign(this, { model, panel, known: new Map() });
  }

  // The bundles of a lane that overlap a time, where a pixel is `1 / per` ticks wide.
  of(lane, from, to, per) {
    const list = this.panel.byLane[lane];
    if (!list.items.length) return [];
    let level = Math.ceil(Math.log2(NEAR / per));
    for (; ; level += 1) {
      const found = this.at(lane, level), first = above(found.reach, from), last = above(found.start, to, first);
      const shown = found.bundles.slice(first, last).filter((one) => one.end >= from);
      if (shown.length <= MOST_IN_LANE || found.bundles.length <= 1 || 2 ** level > to - from) return shown;
    }
  }

  at(lane, level) {
    const key = `${lane}/${level}`;
    if (!this.known.has(key)) {
      if (this.known.size > 4000) this.known.clear();
      this.known.set(key, this.bundled(this.panel.byLane[lane].items, 2 ** level));
    }
    return this.known.get(key);
  }

  // Matches whose starts and whose ends are each in one cell; neighbours across the edge of a cell are one, too.
  bundled(items, cell) {
    const { start, end } = this.panel, cells = new Map(), low = start[items[0]];
    for (const match of items) {
      const row = Math.floor((start[match] - low) / cell), key = `${row}/${Math.floor((end[match] - low) / cell)}/${this.leadsTo(match)}`;
      if (!cells.has(key)) cells.set(key, []);
      cells.get(key).push(match);
    }
    const bundles = [];
    for (const found of cells.values()) {
      const one = { items: found, start: start[found[0]], end: found.reduce((most, match) => Math.max(most, end[match]), -Infinity), to: this.leadsTo(found[0]) };
      const last = bundles[bundles.length - 1], near = cell / 3;
      if (last && last.to === one.to && one.start - last.from < near && Math.abs(one.end - last.end) < near) {
        last.items.push(...found);
        last.end = Math.max(last.end, one.end);
      } else bundles.push(one);
      bundles[bundles.length - 1].from = start[found[found.length - 1]];
    }
    bundles.sort((a, b) => a.start - b.start);
    let reach = -Infinity;
    return { bundles, start: bundles.map((one) => one.start), reach: bundles.map((one) => (reach = Math.max(reach, one.end))) };
  }

  // Where matches lead from lane to lane, only those that lead to the same one are alike.
  leadsTo(match) {
    const [events] = this.panel.matches[match];
    return this.model.across && events.length ? this.model.lane[events[events.length - 1]] : 0;
  }
}
