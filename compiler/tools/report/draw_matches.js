// Matches on a canvas: arcs from event to event, shaded scopes of negations, bars for rows that last.
const SLIM = 14; // pixels: a narrower match is one arc, whatever events it has

Object.assign(Stage.prototype, {
  // The points of a match; null where a lane is not shown.
  points(match) {
    const { model } = this, row = this.view.row;
    return this.of.matches[match][0].map((event) => {
      const at = row[model.lane[event]] < 0 ? null : this.yOf(event);
      return [this.x(model.start[event]), this.x(model.end[event]), at];
    });
  },

  rise(width, room = this.base - 10) { return Math.min(room, 7 + Math.abs(width) * 0.12); },

  // A row of bars leaves less room above it.
  room() { return this.base - 10 - (this.dense.size ? CROWD + 2 : 0); },

  path(match) {
    const { pen } = this, points = this.points(match);
    if (this.model.grouped) { this.down(points); return; }
    for (let i = 1; i < points.length; i += 1) {
      const [, x0, y0] = points[i - 1], [x1, , y1] = points[i];
      if (y0 === null || y1 === null) continue;
      pen.moveTo(x0, y0);
      if (this.model.across) {
        const bend = Math.max(4, Math.abs(x1 - x0) / 2);
        pen.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
      } else pen.quadraticCurveTo((x0 + x1) / 2, Math.min(y0, y1) - 2 * this.rise(x1 - x0, this.room()), x1, y1);
    }
  },

  // From lane to lane of a key, through the starts of the events.
  down(points) {
    const { pen } = this, shown = points.filter(([, , y]) => y !== null).sort((a, b) => a[2] - b[2]);
    shown.forEach(([x, , y], place) => {
      if (place === 0) { pen.moveTo(x, y); return; }
      const [x0, , y0] = shown[place - 1], middle = (y0 + y) / 2;
      pen.bezierCurveTo(x0, middle, x, middle, x, y);
    });
  },

  // Each match as arcs from event to event; matches that lie too close together as one, the thicker the more.
  arcs() {
    const { pen, palette, view } = this, faded = view.selected && view.selected.kind === "match" && view.selected.panel === this.panel;
    pen.strokeStyle = palette.accent;
    pen.globalAlpha = faded ? 0.35 : this.bundles.length > 300 ? 0.65 : 0.85;
    pen.lineJoin = "round";
    const widths = new Map();
    for (const bundle of this.bundles) {
      const thick = 1.5 + Math.min(4, Math.log2(bundle.items.length) * 0.8);
      if (!widths.has(thick)) widths.set(thick, []);
      widths.get(thick).push(bundle);
    }
    for (const [thick, bundles] of widths) {
      pen.lineWidth = thick;
      pen.beginPath();
      bundles.forEach((bundle) => this.arc(bundle));
      pen.stroke();
    }
    // A narrow one is filled, so that it is seen.
    pen.fillStyle = palette.accent;
    pen.beginPath();
    if (!this.model.across) this.bundles.filter((one) => this.x(one.end) - this.x(one.start) <= SLIM).forEach((one) => this.arc(one));
    pen.fill();
    this.work += this.bundles.length;
    pen.globalAlpha = 1;
  },

  arc(bundle) {
    const [x0, x1, y] = this.ends(bundle), { pen } = this;
    if (this.model.across || (bundle.items.length === 1 && x1 - x0 > SLIM)) { this.path(bundle.items[0]); return; }
    if (y === null) return;
    pen.moveTo(x0, y);
    pen.quadraticCurveTo((x0 + x1) / 2, y - 2 * this.rise(x1 - x0, this.room()), x1, y);
  },

  // Where a bundle begins and ends; one that is narrower than an arc can be seen is drawn wider.
  ends(bundle) {
    const row = this.view.row[this.of.lane[bundle.items[0]]], x0 = this.x(bundle.start), x1 = this.x(bundle.end);
    const more = Math.max(0, SLIM - 4 - (x1 - x0)) / 2;
    return [x0 - more, x1 + more, row < 0 ? null : this.foot(row)];
  },

  // Where the number of a bundle stands.
  crest(bundle) {
    if (this.of.lasting) {
      const [x0, x1, y] = this.ends(bundle);
      return [(Math.max(x0, this.labels) + Math.min(x1, this.width)) / 2, y === null ? null : this.barTop(bundle) + 6];
    }
    if (!this.model.across) {
      const [x0, x1, y] = this.ends(bundle), left = Math.max(x0, this.labels), right = Math.min(x1, this.width);
      return [(left + right) / 2, y === null ? null : y - this.rise(x1 - x0, this.room())];
    }
    const shown = this.points(bundle.items[0]).filter(([, , y]) => y !== null);
    if (!shown.length) return [0, null];
    const [[, x0, y0]] = shown, [x1, , y1] = shown[1] || shown[0];
    return [(x0 + x1) / 2, (y0 + y1) / 2];
  },

  // How many matches there are in each bundle, as far as there is room.
  badges() {
    const { pen, palette } = this, taken = new Map();
    pen.font = `600 11px ${palette.font}`;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    for (const bundle of this.bundles) {
      if (bundle.items.length === 1) continue;
      const [x, y] = this.crest(bundle), text = bundle.items.length.toLocaleString("en"), half = pen.measureText(text).width / 2 + 5;
      const line = this.model.across ? Math.round((y || 0) / 8) : this.of.lane[bundle.items[0]];
      if (y === null || x + half < this.labels || x - half < (taken.get(line) ?? -Infinity)) continue;
      taken.set(line, x + half + 1);
      pen.fillStyle = palette.accent;
      round(pen, x - half, y - 7.5, half * 2, 15, 7.5);
      pen.fillStyle = palette.card;
      pen.fillText(text, x, y + 0.5);
    }
  },

  // The variables of matches that stand alone, below their events, as far as there is room.
  names(single) {
    const { pen, palette, of, model } = this;
    if (model.grouped || this.of.lasting) return;
    const texts = [];
    for (const match of single) {
      const [events, variables] = of.matches[match];
      if (events.length > 40) continue;
      events.forEach((event, place) => {
        const row = this.view.row[model.lane[event]], x = this.x(model.start[event]);
        if (row >= 0 && !this.dense.has(row) && x > this.labels && x < this.width && !this.view.hidden.has(model.type[event])) texts.push([row, x, of.variables[variables[place]], match]);
      });
    }
    texts.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    pen.font = `11px ${palette.font}`;
    pen.textAlign = "center";
    pen.textBaseline = "alphabetic";
    let line = -1, until = 0;
    const told = new Map(); // of rows of one variable that follow each other, the first one says it
    for (const [row, x, text, match] of texts) {
      const half = pen.measureText(text).width / 2 + 2;
      if (row !== line) [line, until] = [row, -Infinity];
      if (x - half < until || told.get(match) === text) continue;
      until = x + half;
      told.set(match, text);
      this.name(text, x, this.y(row) + 15, palette.soft);
    }
  },

  // How far the furthest run of a lane without matches came: a broken line that ends with a cross.
  miss(row) {
    const { pen, palette, model } = this, miss = model.misses.get(this.view.lanes[row]);
    if (!miss) return;
    const times = miss.events.map((event) => model.start[event]), [from, to] = this.view.range;
    const last = times[times.length - 1], y = this.foot(row);
    if (times.length && last >= from && times[0] <= to) {
      pen.save();
      pen.strokeStyle = palette.warn;
      pen.lineWidth = 1.4;
      pen.setLineDash([4, 3]);
      pen.beginPath();
      const xs = times.map((time) => this.x(time));
      xs.slice(1).forEach((x, place) => {
        pen.moveTo(xs[place], y);
        pen.quadraticCurveTo((xs[place] + x) / 2, y - 2 * this.rise(x - xs[place], this.room()), x, y);
      });
      // A run that has all its steps ends with a cross on its last arc, all others with one where the next step is missing.
      const [before, at] = [xs[xs.length - 2], xs[xs.length - 1]], isWhole = miss.whole && xs.length > 1;
      const end = isWhole ? (before + at) / 2 : at + 22, top = isWhole ? y - this.rise(at - before, this.room()) : y - 12;
      if (!isWhole) {
        pen.moveTo(at, y);
        pen.quadraticCurveTo(at + 8, top, end - 5, top);
      }
      pen.stroke();
      pen.lineWidth = 2;
      pen.setLineDash([]);
      pen.beginPath();
      for (const by of [-1, 1]) { pen.moveTo(end - 4, top - 4 * by); pen.lineTo(end + 4, top + 4 * by); }
      pen.stroke();
      pen.restore();
      this.work += 1;
    }
    const room = this.width - this.labels - 20;
    if (room < 120) return;
    pen.font = `11.5px ${palette.font}`;
    pen.textAlign = "left";
    pen.textBaseline = "alphabetic";
    const x = Math.max(this.labels + 10, Math.min(times.length ? this.x(times[0]) : 0, this.width - 10 - Math.min(room, pen.measureText(miss.text).width)));
    pen.save();
    this.name(fitted(pen, miss.text, this.width - x - 8), x, AXIS + row * this.height - this.scroller.scrollTop + 13, palette.warn);
    pen.restore();
  },

  // Rows that last: bars, each on one of three levels; those that lie too close together as one, with their number.
  bars() {
    const { pen, palette, of } = this, texts = [];
    pen.fillStyle = palette.accent;
    for (const bundle of this.bundles) {
      const [x0, x1, y] = this.ends(bundle), [match] = bundle.items, isOne = bundle.items.length === 1;
      if (y === null) continue;
      const top = this.barTop(bundle), from = this.x(of.start[match]);
      // Without events, colours tell the lanes apart.
      if (of.label !== null) pen.fillStyle = palette.types[of.lane[match] % 11];
      pen.globalAlpha = isOne ? 0.8 : 0.6;
      if (isOne) round(pen, from, top, Math.max(3, this.x(of.end[match]) - from), 7, 3);
      else round(pen, x0, top, x1 - x0, 12, 4);
      this.work += 1;
      if (isOne && of.label !== null) texts.push([Math.max(x1, from + 3), top + 7.5, of.matches[match][3][of.label], from]);
    }
    pen.globalAlpha = 1;
    this.barTexts(texts);
  },

  barTop(bundle) {
    const [match] = bundle.items, level = bundle.items.length === 1 ? this.of.level[match] : 0;
    return this.y(this.view.row[this.of.lane[match]]) + 9 + 9 * level;
  },

  // What a bar is about stands behind it, or before it, where nothing else is.
  barTexts(texts) {
    const { pen, palette } = this, taken = texts.map(([end, y, , from]) => [from, end, y]);
    pen.font = `11px ${palette.font}`;
    pen.textAlign = "left";
    pen.textBaseline = "alphabetic";
    for (const [end, y, text, from] of texts) {
      const wide = pen.measureText(text).width;
      const isFree = (x) => x >= this.labels && x + wide <= this.width
        && !taken.some(([left, right, other]) => Math.abs(other - y) < 6 && left < x + wide + 3 && right > x - 3);
      const x = [end + 5, from - wide - 5].find(isFree);
      if (x === undefined) continue;
      taken.push([x, x + wide, y]);
      this.name(text, x, y, palette.soft);
    }
  },

  // All scopes that are wide enough where there are few; of many, those of what is pointed at or selected.
  shades(matches) {
    const { view } = this, is = (one) => one && one.kind === "match" && one.panel === this.panel;
    const marked = [view.hover, view.selected].filter(is).map((one) => one.item);
    if (matches.length <= SHADES) matches.forEach((match) => this.shade(match, marked.includes(match) ? 1 : 0.4));
    else marked.forEach((match) => this.shade(match, 1));
  },

  shade(match, strength) {
    const { pen, palette, of, view } = this, [events, , scopes] = of.matches[match];
    const rows = this.model.byType ? [...new Set(events.map((event) => view.row[this.model.lane[event]]))] : [view.row[of.lane[match]]];
    for (const [, low, high] of scopes) {
      const x0 = this.x(low === null ? view.range[0] : Math.max(low, view.range[0])), x1 = this.x(high === null ? view.range[1] : Math.min(high, view.range[1]));
      if (x1 < x0 || (strength < 1 && x1 - x0 < 6)) continue;
      const top = Math.min(...rows.filter((row) => row >= 0)), bottom = Math.max(...rows);
      if (bottom < 0) continue;
      const y = this.model.byType ? this.y(top) - 12 : this.y(top) - this.base + 4;
      const tall = this.model.byType ? this.y(bottom) - this.y(top) + 24 : this.height - 8;
      pen.globalAlpha = 0.55 * strength;
      pen.fillStyle = palette.gone;
      pen.fillRect(x0, y, Math.max(1, x1 - x0), tall);
      pen.globalAlpha = 0.6 * strength;
      hatch(pen, x0, y, x1 - x0, tall, palette.warn);
      this.work += 1;
    }
    pen.globalAlpha = 1;
  },

  // What is pointed at or selected, drawn once more on top, with the names of its variables.
  marked() {
    for (const one of [this.view.selected, this.view.hover]) {
      if (!one) continue;
      if (one.kind === "event") this.ring(one.item);
      else if (one.kind === "bundle" && one.panel === this.panel) this.lit(one.item);
      else if (one.kind === "match" && one.panel === this.panel) this.whole(one.item);
    }
  },

  lit(bundle) {
    this.pen.strokeStyle = this.palette.ink;
    this.pen.lineWidth = 3;
    this.pen.beginPath();
    this.arc(bundle);
    this.pen.stroke();
  },

  ring(event) {
    const y = this.yOf(event), { pen, palette, model } = this;
    if (y === null) return;
    pen.strokeStyle = palette.ink;
    pen.lineWidth = 2;
    pen.beginPath();
    const x = this.x(model.start[event]), wide = Math.max(0, this.x(model.end[event]) - x);
    pen.roundRect(x - 7, y - 7, wide + 14, 14, 7);
    pen.stroke();
  },

  // The frame of what lasts, in a match that is pointed at.
  framed(event, y) {
    const { pen, palette, model } = this, x = this.x(model.start[event]), wide = this.x(model.end[event]) - x;
    if (wide < 2) return;
    pen.strokeStyle = palette.ink;
    pen.lineWidth = 1.6;
    pen.beginPath();
    pen.roundRect(x - 1, y - 5, wide + 2, 10, 4);
    pen.stroke();
  },

  whole(match) {
    const { pen, palette, of, model } = this, [events, variables] = of.matches[match];
    pen.strokeStyle = pen.fillStyle = palette.accent;
    pen.lineWidth = 2.6;
    pen.beginPath();
    this.path(match);
    pen.stroke();
    pen.font = `600 11.5px ${palette.font}`;
    pen.textAlign = "center";
    pen.textBaseline = "alphabetic";
    this.points(match).forEach(([x, , y], place) => {
      if (y === null) return;
      this.framed(events[place], y);
      pen.fillStyle = palette.types[model.tint(of, variables[place], events[place])];
      dot(pen, x, y, 6, palette.card);
      if (!model.grouped) this.name(of.variables[variables[place]], x, y + 15, palette.ink);
    });
  },

  name(text, x, y, colour) {
    const { pen, palette } = this;
    pen.lineWidth = 3;
    pen.strokeStyle = palette.card;
    pen.strokeText(text, x, y);
    pen.fillStyle = colour;
    pen.fillText(text, x, y);
  },
});

function hatch(pen, x, y, width, height, colour) {
  pen.save();
  pen.beginPath();
  pen.rect(x, y, width, height);
  pen.clip();
  pen.strokeStyle = colour;
  pen.lineWidth = 0.6;
  pen.beginPath();
  const step = Math.max(7, width / 120);
  for (let at = x - height; at < x + width; at += step) {
    pen.moveTo(at, y + height);
    pen.lineTo(at + height, y);
  }
  pen.stroke();
  pen.restore();
}
