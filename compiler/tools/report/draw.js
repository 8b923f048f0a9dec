// One canvas: lanes from top to bottom, time from left to right. Only what is in sight is drawn, and of what falls on
// the same pixel only one.
const AXIS = 28, SHADES = 300, CROWD = 14;

class Stage {
  constructor(view, panel, palette, canvas, scroller) {
    Object.assign(this, { view, panel, palette, canvas, scroller, model: view.model, of: view.model.panels[panel] });
    this.work = 0;
    this.fit(0);
  }

  // A few lanes are taller than many.
  fit(tall) {
    const together = this.model.scale !== null, flat = together || (this.model.byType && !this.model.lasts);
    const least = this.of.lasting ? (this.model.start.length ? 62 : 38) : together ? 34 : flat ? 46 : 58;
    const room = (tall - AXIS) / Math.max(1, this.view.lanes.length);
    this.height = Math.floor(Math.min(least * 1.35, Math.max(least, room - 1)));
    this.base = this.of.lasting ? (this.model.start.length ? this.height - 38 : 4) : flat ? this.height / 2 : this.height - 18;
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.scroller, scale = window.devicePixelRatio || 1;
    if (width === this.width && height === this.tall && scale === this.scale) return;
    Object.assign(this, { width, tall: height, scale });
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(height * scale);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    // Wide enough for the names of lanes, as far as there is room.
    const pen = this.canvas.getContext("2d");
    pen.font = `12.5px ${this.palette.font}`;
    const names = [...this.model.lanes.slice(0, 500), this.model.data.key.join(", ")].map((name) => pen.measureText(name).width);
    this.labels = Math.round(Math.min(190, width * 0.3, Math.max(64, ...names) + 22));
  }

  x(time) { return this.labels + (time - this.view.range[0]) * this.per; }

  time(x) { return this.view.range[0] + (x - this.labels) / this.per; }

  get per() { return (this.width - this.labels) / (this.view.range[1] - this.view.range[0]); }

  y(row) { return AXIS + row * this.height + this.base - this.scroller.scrollTop; }

  // Where the arcs of a row stand: on its line, or on its bars where single events are not drawn.
  foot(row) { return this.y(row) - (this.dense.has(row) ? CROWD + 2 : 0); }

  yOf(event) {
    const row = this.view.row[this.model.lane[event]];
    if (row < 0) return null;
    if (this.dense.has(row)) return this.foot(row);
    if (this.model.scale && this.model.scale[event] !== null) return this.y(row) + this.height * (0.36 - 0.72 * this.model.scale[event]);
    return this.y(row) - (this.model.lasts ? 9 : 5) * this.model.tie[event];
  }

  rows() {
    const top = this.scroller.scrollTop;
    const last = Math.ceil((top + this.tall - AXIS) / this.height);
    return [Math.max(0, Math.floor(top / this.height)), Math.min(this.view.lanes.length, last)];
  }

  draw() {
    this.resize();
    const pen = (this.pen = this.canvas.getContext("2d"));
    const { palette } = this;
    this.work = 0;
    this.coarse = false;
    pen.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    pen.fillStyle = palette.card;
    pen.fillRect(0, 0, this.width, this.tall);
    const marks = this.model.clock.marks(...this.view.range, (this.width - this.labels) / 110);
    const [first, last] = this.rows();
    this.ground(first, last, marks);
    this.dense = new Set();
    for (let row = first; row < last && !this.model.lasts; row += 1)
      if (this.isDense(this.model.events[this.view.lanes[row]], ...this.view.range)) this.dense.add(row);
    pen.save();
    pen.beginPath();
    pen.rect(this.labels, AXIS, this.width - this.labels, this.tall);
    pen.clip();
    this.bundles = this.bundlesInSight(first, last);
    const single = this.bundles.flatMap(({ items }) => (items.length === 1 ? items : []));
    this.shades(single);
    for (let row = first; row < last; row += 1) this.miss(row);
    if (this.of.lasting) this.bars();
    else this.arcs();
    for (let row = first; row < last; row += 1) this.events(row);
    this.names(single);
    this.badges();
    this.marked();
    pen.restore();
    this.texts(first, last, marks);
    this.canvas.dataset.work = this.work;
  }

  ground(first, last, marks) {
    const { pen, palette } = this;
    for (let row = first; row < last; row += 1) {
      const top = AXIS + row * this.height - this.scroller.scrollTop;
      pen.fillStyle = row % 2 ? palette.card : palette.sunk;
      pen.fillRect(0, top, this.width, this.height);
      pen.fillStyle = palette.line;
      if (this.model.start.length) pen.fillRect(this.labels, this.y(row) - 0.5, this.width - this.labels, 1);
      // Between the lanes of one key and those of the next.
      const { group } = this.model, { lanes } = this.view;
      if (this.model.grouped && row && group[lanes[row]] !== group[lanes[row - 1]]) { pen.fillStyle = palette.soft; pen.fillRect(0, top - 0.5, this.width, 1); }
    }
    pen.fillStyle = palette.line;
    pen.globalAlpha = 0.6;
    for (const [at] of marks) pen.fillRect(Math.round(this.x(at)), AXIS, 1, this.tall);
    pen.globalAlpha = 1;
  }

  // Those of the rows in sight; where matches lead from lane to lane, of all rows.
  bundlesInSight(first, last) {
    const { view, of, per } = this, lanes = this.model.across ? of.byLane.map((_, lane) => lane) : view.lanes.slice(first, last);
    return lanes.flatMap((lane) => of.bundles.of(lane, ...view.range, per));
  }

  events(row) {
    const { view, model, pen, palette } = this, list = model.events[view.lanes[row]];
    const [from, to] = view.range, { labels, per } = this;
    if (this.dense.has(row)) { this.crowd(list, row); this.notes(view.lanes[row], row); return; }
    const seen = new Int32Array(model.types.length * 2).fill(-1), { binds, tint } = this.of;
    if (model.scale && list.items.length && model.scale[list.items[0]] !== null) { this.curve(list, row); return; }
    for (let i = above(list.reach, from); i < list.items.length && list.start[i] <= to; i += 1) {
      const event = list.items[i], type = model.type[event], found = view.isFound(event);
      if (view.hidden.has(type) || model.end[event] < from) continue;
      const x = labels + (list.start[i] - from) * per, wide = (model.end[event] - list.start[i]) * per;
      const isFree = binds && tint[event] === FREE, kind = type * 2 + (isFree ? 1 : 0);
      const place = (Math.round(x) * 4 + model.tie[event]) * 2 + (found ? 1 : 0);
      if (wide < 2 && seen[kind] === place) continue;
      seen[kind] = place;
      this.work += 1;
      const y = this.yOf(event), colour = this.colour(event);
      pen.globalAlpha = (found ? 1 : 0.18) * (wide >= 2 && isFree ? 0.5 : 1);
      pen.fillStyle = isFree && wide < 2 ? palette.card : colour;
      if (wide >= 2) round(pen, x, y - 4, wide, 8, 3);
      else if (isFree) dot(pen, x, y, 3.6, colour, 2);
      else dot(pen, x, y, 4.8, palette.card);
    }
    pen.globalAlpha = 1;
    this.notes(view.lanes[row], row);
  }

  // The colour of the variable that an event is bound to; of an event in no match, of its type.
  colour(event) {
    const tint = this.of.tint[event];
    return this.palette.types[tint === FREE ? this.model.colour[this.model.type[event]] : tint];
  }

  // Events at the heights of their values, joined by a line; each has a dot where there is room for it.
  curve(list, row) {
    const { view, model, pen, palette } = this, [from, to] = view.range;
    const first = Math.max(0, above(list.start, from) - 1), last = Math.min(list.items.length, above(list.start, to) + 1);
    const roomy = (last - first) * 7 < this.width, step = Math.max(1, Math.floor((last - first) / (this.width * 2)));
    if (view.hidden.has(model.type[list.items[0]])) return;
    pen.strokeStyle = pen.fillStyle = palette.soft;
    pen.lineWidth = 1.2;
    pen.beginPath();
    for (let i = first; i < last; i += step) pen.lineTo(this.x(list.start[i]), this.yOf(list.items[i]));
    pen.stroke();
    if (roomy) for (let i = first; i < last; i += 1) dot(pen, this.x(list.start[i]), this.yOf(list.items[i]), 2.6, palette.card);
    this.work += last - first;
    this.notes(view.lanes[row], row);
  }

  // Where there are too many events to tell them apart: how many there are of each type, on top of each other.
  crowd(list, row) {
    const { view, model, pen, palette, labels, per } = this, [from, to] = view.range, step = 3;
    const count = Math.ceil((this.width - labels) / step), bins = new Uint32Array(count * 12);
    const sums = new Uint32Array(count), { tint } = this.of, { type, colour } = model, hides = view.hidden.size > 0;
    for (let i = above(list.start, from); i < list.items.length && list.start[i] <= to; i += 1) {
      const event = list.items[i], bin = Math.min(count - 1, Math.floor(((list.start[i] - from) * per) / step));
      if ((hides && view.hidden.has(type[event])) || !view.isFound(event)) continue;
      bins[bin * 12 + (tint[event] === FREE ? colour[type[event]] : tint[event])] += 1;
      sums[bin] += 1;
    }
    const each = CROWD / sums.reduce((a, b) => Math.max(a, b), 1), top = new Float32Array(count).fill(this.y(row));
    for (let shade = 0; shade < 12; shade += 1) {
      pen.fillStyle = palette.types[shade];
      for (let bin = 0; bin < count; bin += 1) {
        const tall = bins[bin * 12 + shade] * each;
        if (!tall) continue;
        pen.fillRect(labels + bin * step, (top[bin] -= tall), step - 0.5, tall);
        this.work += 1;
      }
    }
    this.coarse = true;
  }

  isDense(list, from, to) {
    const count = above(list.start, to) - above(list.start, from);
    return count > (this.width - this.labels) / 5;
  }

  notes(lane, row) {
    const list = this.model.notes[lane], { pen, palette } = this, y = this.y(row) + 6;
    if (!list.items.length) return;
    for (const note of this.model.within(list, ...this.view.range)) {
      const x = this.x(this.model.data.notes[note][1]);
      pen.fillStyle = palette.warn;
      pen.beginPath();
      pen.moveTo(x, y);
      pen.lineTo(x - 5, y + 8);
      pen.lineTo(x + 5, y + 8);
      pen.fill();
      this.work += 1;
    }
  }

  texts(first, last, marks) {
    const { pen, palette, view, model } = this;
    pen.fillStyle = palette.card;
    pen.fillRect(0, 0, this.width, AXIS);
    pen.fillStyle = palette.line;
    pen.fillRect(0, AXIS - 0.5, this.width, 1);
    pen.fillRect(this.labels - 0.5, 0, 1, this.tall);
    pen.font = `11.5px ${palette.font}`;
    pen.textBaseline = "middle";
    pen.textAlign = "center";
    pen.fillStyle = palette.soft;
    let until = this.labels, isDayTold = false;
    for (const [at, text] of marks) {
      // The first one that has room also shows the day.
      const day = isDayTold ? "" : model.clock.day(at, text), wide = pen.measureText(day + text).width / 2 + 4;
      const half = this.x(at) - wide >= until ? wide : pen.measureText(text).width / 2 + 4, x = this.x(at);
      if (x - half < until || x + half > this.width) continue;
      pen.fillText(half === wide ? day + text : text, x, AXIS / 2);
      isDayTold = isDayTold || half === wide;
      until = x + half;
    }
    pen.textAlign = "left";
    pen.fillText(model.byType ? (model.data.word === "row" ? "variable" : "type") : model.data.key.join(", "), 10, AXIS / 2, this.labels - 16);
    pen.save();
    pen.beginPath();
    pen.rect(0, AXIS, this.labels - 4, this.tall);
    pen.clip();
    pen.font = `12.5px ${palette.font}`;
    for (let row = first; row < last; row += 1) {
      const lane = view.lanes[row];
      pen.fillStyle = view.matched.has(model.group[lane]) || model.byType ? palette.ink : palette.soft;
      const y = AXIS + (row + 0.5) * this.height - this.scroller.scrollTop, miss = model.misses.get(lane);
      pen.fillText(fitted(pen, model.lanes[lane], this.labels - 18), 10, miss ? y - 8 : y);
      if (!miss) continue;
      pen.font = `11px ${palette.font}`;
      pen.fillStyle = palette.warn;
      pen.fillText(fitted(pen, miss.steps, this.labels - 18), 10, y + 9);
      pen.font = `12.5px ${palette.font}`;
    }
    pen.restore();
  }
}

function dot(pen, x, y, radius, edge, thick = 1.2) {
  pen.beginPath();
  pen.arc(x, y, radius, 0, 7);
  pen.fill();
  pen.lineWidth = thick;
  pen.strokeStyle = edge;
  pen.stroke();
}

function round(pen, x, y, width, height, radius) {
  pen.beginPath();
  pen.roundRect(x, y, width, height, radius);
  pen.fill();
}

function fitted(pen, text, width) {
  if (pen.measureText(text).width <= width) return text;
  let length = Math.floor((text.length * width) / pen.measureText(text).width);
  while (length > 1 && pen.measureText(`${text.slice(0, length)}…`).width > width) length -= 1;
  return `${text.slice(0, length)}…`;
}
