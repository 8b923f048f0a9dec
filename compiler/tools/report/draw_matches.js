// Matches on a canvas: arcs from event to event, shaded scopes of negations, bars for rows that last.
Object.assign(Stage.prototype, {
  // The points of a match; null where a lane is not shown.
  points(match) {
    const { model } = this, row = this.view.row;
    return this.of.matches[match][0].map((event) => {
      const at = row[model.lane[event]] < 0 ? null : this.yOf(event);
      return [this.x(model.start[event]), this.x(model.end[event]), at];
    });
  },

  rise(width) { return Math.min(this.base - 10, 5 + Math.abs(width) * 0.12); },

  path(match) {
    const { pen } = this, points = this.points(match);
    for (let i = 1; i < points.length; i += 1) {
      const [, x0, y0] = points[i - 1], [x1, , y1] = points[i];
      if (y0 === null || y1 === null) continue;
      pen.moveTo(x0, y0);
      if (this.model.byType) {
        const bend = Math.max(12, Math.abs(x1 - x0) / 2);
        pen.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
      } else pen.quadraticCurveTo((x0 + x1) / 2, Math.min(y0, y1) - 2 * this.rise(x1 - x0), x1, y1);
    }
  },

  arcs(matches) {
    const { pen, palette, of, view } = this;
    const faded = view.selected && view.selected.kind === "match" && view.selected.panel === this.panel;
    pen.strokeStyle = palette.accent;
    pen.lineWidth = 1.4;
    pen.globalAlpha = (matches.length > 300 ? 0.5 : 0.75) * (faded ? 0.4 : 1);
    if (of.lasting) matches.forEach((match) => this.bar(match));
    else if (matches.length > ARCS) { this.coarse = true; if (!this.model.byType) this.density(matches); }
    else {
      pen.beginPath();
      matches.forEach((match) => this.path(match));
      pen.stroke();
      this.work += matches.length;
    }
    pen.globalAlpha = 1;
  },

  // Where there are too many arcs to tell them apart: how many matches there are at each time, in each lane.
  density(matches) {
    const { pen, palette, of, view } = this, step = 3, count = Math.ceil((this.width - this.labels) / step), rows = new Map();
    for (const match of matches) {
      const lane = of.lane[match];
      if (!rows.has(lane)) rows.set(lane, new Int32Array(count + 1));
      const bins = rows.get(lane), bin = (time) => Math.min(count, Math.max(0, Math.floor((this.x(time) - this.labels) / step)));
      bins[bin(of.start[match])] += 1;
      bins[Math.min(count, bin(of.end[match]) + 1)] -= 1;
    }
    pen.fillStyle = palette.accent;
    for (const [lane, bins] of rows) {
      const y = this.y(view.row[lane]) + 2, tall = this.height - this.base - 6;
      let now = 0, most = 1;
      bins.forEach((change) => { now += change; most = Math.max(most, now); });
      now = 0;
      bins.forEach((change, place) => {
        now += change;
        if (now) pen.fillRect(this.labels + place * step, y, step - 0.5, Math.max(1.5, (now / most) * tall));
      });
      this.work += count;
    }
  },

  bar(match) {
    const { pen, palette, of } = this, row = this.view.row[of.lane[match]];
    if (row < 0) return;
    const x = this.x(of.start[match]), wide = Math.max(2, this.x(of.end[match]) - x), y = this.y(row) + 9 + 9 * of.level[match];
    pen.fillStyle = palette.accent;
    round(pen, x, y, wide, 7, 3);
    this.work += 1;
  },

  // All scopes where there are few; of many, those of what is pointed at or selected.
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
      if (x1 < x0) continue;
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
      else if (one.kind === "match" && one.panel === this.panel) this.whole(one.item);
    }
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
      pen.fillStyle = palette.types[model.colour[model.type[events[place]]]];
      dot(pen, x, y, 6, palette.card);
      this.name(of.variables[variables[place]], x, y - 9);
    });
  },

  name(text, x, y) {
    const { pen, palette } = this;
    pen.lineWidth = 3;
    pen.strokeStyle = palette.card;
    pen.strokeText(text, x, y);
    pen.fillStyle = palette.ink;
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
