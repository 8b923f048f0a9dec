// What a picture holds, in arrays that are searched by time.
const above = (array, value, low = 0, high = array.length) => {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (array[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
};

// The events of a lane, and the matches of a panel in a lane, in order of their start. `reach` is how far any of
// those before has come: who looks for all that overlap a time begins at the first that reached it.
function inLanes(count, lanes, starts, ends) {
  const found = Array.from({ length: count }, () => ({ items: [], start: [], reach: [] }));
  lanes.forEach((lane, item) => {
    if (lane < 0) return;
    const list = found[lane];
    list.items.push(item);
    list.start.push(starts[item]);
    list.reach.push(Math.max(ends[item], list.reach.length ? list.reach[list.reach.length - 1] : -Infinity));
  });
  return found;
}

class Model {
  constructor(data) {
    this.data = data;
    this.clock = new Clock(data.clock);
    const { start, end, lane, type, values, stream, types } = data.events;
    Object.assign(this, { start, end: end || start, lane, type, values, stream, types, lanes: data.lanes });
    this.lasts = Boolean(end);
    this.byType = data.key.length === 0;
    this.events = inLanes(this.lanes.length, lane, start, this.end);
    this.tie = this.ties();
    this.panels = data.panels.map((panel) => this.panel(panel));
    this.counts = types.map(() => 0);
    type.forEach((one) => { this.counts[one] += 1; });
    this.colour = colours(types);
    const last = [this.end, ...this.panels.map((panel) => panel.end)].reduce((most, some) => some.reduce((a, b) => Math.max(a, b), most), 0);
    const pad = last * 0.02 || 1;
    this.range = [-pad, last + pad];
    this.notes = inLanes(this.lanes.length, data.notes.map((n) => n[0]), data.notes.map((n) => n[1]), data.notes.map((n) => n[1]));
  }

  // Events of a lane that are valid at the same time stand on top of each other.
  ties() { return levels(this.events, this.start, this.end, 4); }

  panel(data) {
    const start = [], end = [], lane = [], matches = data.matches;
    // What has no end lasts until the last thing that is known.
    const last = [...this.end, ...matches.flatMap(([, , , , from, to]) => [from || 0, to || 0])].reduce((a, b) => Math.max(a, b), 0);
    matches.forEach(([events, , , , from, to, own]) => {
      start.push(events.length ? this.start[events[0]] : from);
      end.push(events.length ? Math.max(...events.map((e) => this.end[e])) : to === null ? last : to);
      lane.push(events.length ? this.lane[events[0]] : own);
    });
    const order = matches.map((_, i) => i).sort((a, b) => start[a] - start[b] || end[a] - end[b]);
    const sorted = (values) => order.map((i) => values[i]);
    const panel = { ...data, matches: sorted(matches), start: sorted(start), end: sorted(end), lane: sorted(lane) };
    panel.byLane = inLanes(this.lanes.length, panel.lane, panel.start, panel.end);
    panel.level = levels(panel.byLane, panel.start, panel.end, 3);
    panel.lasting = matches.some(([events]) => !events.length);
    panel.ofEvent = new Map();
    panel.matches.forEach(([events], match) => events.forEach((event) => {
      if (!panel.ofEvent.has(event)) panel.ofEvent.set(event, []);
      panel.ofEvent.get(event).push(match);
    }));
    return panel;
  }

  // The items of a list that overlap a time.
  *within(list, from, to) {
    for (let i = above(list.reach, from); i < list.items.length && list.start[i] <= to; i += 1) yield list.items[i];
  }
}

// A level for each item, so that none overlaps another one of its level, as far as there are levels.
function levels(lanes, start, end, count) {
  const found = new Uint8Array(start.length);
  for (const { items } of lanes) {
    const free = Array(count).fill(-Infinity);
    for (const item of items) {
      const level = free.findIndex((last) => last < start[item] || (last === start[item] && end[item] > start[item]));
      found[item] = level < 0 ? count - 1 : level;
      free[found[item]] = end[item];
    }
  }
  return found;
}

// The types of the pattern have the first colours, in its order; all others are grey.
function colours(types) {
  const named = types.map(([, place], type) => [place, type]).filter(([place]) => place >= 0).sort((a, b) => a[0] - b[0]);
  const shown = named.length ? named.map(([, type]) => type) : types.map((_, type) => type);
  const found = types.map(() => 11);
  shown.forEach((type, place) => { found[type] = place % 11; });
  return found;
}
