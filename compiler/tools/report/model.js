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

// The values of events, column by column, as the page stores them: the texts that occur and which of them an event
// has, or all texts; `null` for a column that holds the time of each event.
class Values {
  constructor(model, stream, columns) {
    Object.assign(this, { model, columns });
    const next = columns.map(() => 0);
    this.place = Int32Array.from(stream, (one) => next[one]++);
  }

  of(event) { return this.columns[this.model.stream[event]].map((column) => this.text(column, event)); }

  text(column, event) {
    if (column === null) return this.model.clock.text(this.model.start[event]);
    const at = this.place[event];
    return column.texts[column.at ? column.at[at] : at];
  }

  // Which events have a value that contains a text; of a column with few values, each is read once.
  found(search) {
    const held = this.columns.map((columns) => columns.map((column) => (column ? Uint8Array.from(column.texts, (text) => text.toLowerCase().includes(search)) : null)));
    const isTime = /^[-0-9:. ]+$/.test(search);
    return (event) => this.columns[this.model.stream[event]].some((column, number) => {
      const has = held[this.model.stream[event]][number], at = this.place[event];
      return has ? has[column.at ? column.at[at] : at] === 1 : isTime && this.text(column, event).includes(search);
    });
  }
}

class Model {
  constructor(data) {
    this.data = data;
    this.clock = new Clock(data.clock);
    const { start, since, end, lane, type, stream, types } = data.events;
    let now = 0;
    const starts = start ? Float64Array.from(start) : Float64Array.from(since, (by) => (now += by));
    const lasts = end && Float64Array.from(end, (by, event) => starts[event] + by);
    Object.assign(this, { start: starts, end: lasts || starts, lane, type, stream, types, lanes: data.lanes });
    this.values = new Values(this, stream, data.events.columns);
    this.lasts = Boolean(end);
    this.byType = data.key.length === 0;
    // Where a key has several lanes, these stand together, and matches lead from one to the other.
    this.group = data.group || this.lanes.map((_, lane) => lane);
    this.groups = data.groups || this.lanes;
    this.scale = data.scale || null;
    this.grouped = Boolean(data.group);
    this.across = this.byType || this.grouped;
    this.events = inLanes(this.lanes.length, lane, this.start, this.end);
    this.tie = this.ties();
    this.variables = new Map(data.variables.map(([name], place) => [name, place % 11]));
    this.colour = colours(types, data.variables);
    this.panels = data.panels.map((panel) => this.panel(panel));
    this.counts = types.map(() => 0);
    type.forEach((one) => { this.counts[one] += 1; });
    const last = [this.end, ...this.panels.map((panel) => panel.end)].reduce((most, some) => some.reduce((a, b) => Math.max(a, b), most), 0);
    const pad = last * 0.02 || 1;
    this.range = [-pad, last + pad];
    this.notes = inLanes(this.lanes.length, data.notes.map((n) => n[0]), data.notes.map((n) => n[1]), data.notes.map((n) => n[1]));
    // What the furthest run of a lane without matches came to, by lane.
    this.misses = new Map((data.misses || []).map((miss) => [miss.lane, miss]));
  }

  // Events of a lane that are valid at the same time stand on top of each other.
  ties() { return levels(this.events, this.start, this.end, 4); }

  panel(data) {
    const start = [], end = [], lane = [], matches = data.matches;
    // What has no end lasts until the last thing that is known.
    const known = matches.reduce((most, [, , , , from, to]) => Math.max(most, from || 0, to || 0), 0);
    const last = this.end.reduce((a, b) => Math.max(a, b), known);
    matches.forEach(([events, , , , from, to, own]) => {
      start.push(events.length ? this.start[events[0]] : from);
      end.push(events.length ? Math.max(...events.map((e) => this.end[e])) : to === null ? last : to);
      lane.push(events.length ? this.lane[events[0]] : own);
    });
    const order = matches.map((_, i) => i).sort((a, b) => start[a] - start[b] || end[a] - end[b]);
    const sorted = (values) => order.map((i) => values[i]);
    const panel = { ...data, order, matches: sorted(matches), start: sorted(start), end: sorted(end), lane: sorted(lane) };
    panel.byLane = inLanes(this.lanes.length, panel.lane, panel.start, panel.end);
    panel.level = levels(panel.byLane, panel.start, panel.end, 3);
    panel.lasting = matches.some(([events]) => !events.length);
    panel.ofEvent = new Map();
    panel.tint = new Uint8Array(this.start.length).fill(FREE);
    panel.tints = panel.variables.map((name) => this.variables.get(name.replace(/\[\d+\]/g, "[]")));
    panel.matches.forEach(([events, variables], match) => events.forEach((event, place) => {
      if (!panel.ofEvent.has(event)) panel.ofEvent.set(event, []);
      panel.ofEvent.get(event).push(match);
      if (panel.tint[event] === FREE) panel.tint[event] = this.tint(panel, variables[place], event);
    }));
    panel.binds = Boolean(panel.words) && !panel.lasting;
    panel.bundles = new Bundles(this, panel);
    return panel;
  }

  // The colour of a variable, or of the event's type where the query does not name the variable.
  tint(panel, variable, event) {
    const found = panel.tints[variable];
    return found === undefined ? this.colour[this.type[event]] : found;
  }

  // The items of a list that overlap a time.
  *within(list, from, to) {
    for (let i = above(list.reach, from); i < list.items.length && list.start[i] <= to; i += 1) yield list.items[i];
  }
}

// An event that is in no match.
const FREE = 255;

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

// A type has the colour of its first variable, in the order of the pattern; types without one are grey.
function colours(types, variables) {
  const found = types.map(() => 11), names = types.map(([name]) => name.toLowerCase());
  if (!variables.length) return types.map((_, type) => type % 11);
  variables.forEach(([, of], place) => of.forEach((name) => {
    const type = names.indexOf(name);
    if (type >= 0 && found[type] === 11) found[type] = place % 11;
  }));
  return found;
}
