// What is under a pointer: an event, a note, a row that lasts, or the arc of a match.
Object.assign(Stage.prototype, {
  at(x, y) {
    const row = Math.floor((y - AXIS + this.scroller.scrollTop) / this.height);
    const lane = y < AXIS ? undefined : this.view.lanes[row];
    if (lane === undefined) return null;
    if (x < this.labels) return { panel: this.panel, kind: "lane", item: lane };
    return this.badgeAt(x, y) || this.eventAt(lane, row, x, y) || this.noteAt(lane, row, x, y) || this.matchAt(lane, row, x, y);
  },

  badgeAt(x, y) {
    const near = ([left, top]) => top !== null && Math.abs(x - left) < 12 && Math.abs(y - top) < 8;
    const found = this.bundles.find((bundle) => bundle.items.length > 1 && near(this.crest(bundle)));
    return found ? { panel: this.panel, kind: "bundle", item: found } : null;
  },

  eventAt(lane, row, x, y) {
    const { model, view } = this, foot = this.foot(row);
    let best = null, nearest = 10;
    if (this.dense.has(row)) { // at its place in the bars, whatever the height of its bar
      if (y < foot || y > this.y(row) + 4) return null;
      y = foot;
      nearest = 4;
    }
    for (const event of model.within(model.events[lane], this.time(x - 10), this.time(x + 10))) {
      if (!view.isShown(event)) continue;
      const from = this.x(model.start[event]), to = Math.max(from, this.x(model.end[event]));
      const far = Math.hypot(x < from ? from - x : x > to ? x - to : 0, y - this.yOf(event));
      if (far < nearest) [best, nearest] = [event, far];
    }
    return best === null ? null : { panel: this.panel, kind: "event", item: best };
  },

  noteAt(lane, row, x, y) {
    if (Math.abs(y - this.y(row) - 10) > 7) return null;
    for (const note of this.model.within(this.model.notes[lane], this.time(x - 6), this.time(x + 6)))
      return { panel: this.panel, kind: "note", item: note };
    return null;
  },

  matchAt(lane, row, x, y) {
    const { of, model } = this;
    let best = null, nearest = 7;
    for (const bundle of this.bundles) {
      if ((of.lasting || !model.across) && of.lane[bundle.items[0]] !== lane) continue;
      const far = this.farFromBundle(bundle, x, y);
      if (far < nearest) [best, nearest] = [bundle, far];
    }
    if (best === null) return null;
    return best.items.length > 1 ? { panel: this.panel, kind: "bundle", item: best } : { panel: this.panel, kind: "match", item: best.items[0] };
  },

  farFromBundle(bundle, x, y) {
    if (this.of.lasting) {
      const [from, to] = this.ends(bundle);
      return x < from - 2 || x > to + 2 ? Infinity : Math.abs(y - this.barTop(bundle) - 4);
    }
    const [x0, x1, at] = this.ends(bundle), isOne = !this.model.across && (bundle.items.length > 1 || x1 - x0 <= SLIM);
    return isOne ? this.farFromArcs([[x0, x0, at], [x1, x1, at]], x, y) : this.farFromArc(bundle.items[0], x, y);
  },

  farFromArc(match, x, y) {
    const points = this.points(match);
    return this.model.grouped ? this.farFromLine(points, x, y) : this.farFromArcs(points, x, y);
  },

  farFromArcs(points, x, y) {
    for (let i = 1; i < points.length; i += 1) {
      const [, x0, y0] = points[i - 1], [x1, , y1] = points[i];
      if (y0 === null || y1 === null || x < x0 || x > x1 || x1 === x0) continue;
      const part = (x - x0) / (x1 - x0);
      const smooth = part * part * (3 - 2 * part);
      const on = this.model.across ? y0 + (y1 - y0) * smooth : y0 + (y1 - y0) * part - 4 * this.rise(x1 - x0, this.room()) * part * (1 - part);
      return Math.abs(y - on);
    }
    return Infinity;
  },

  // From the line of a match that leads from lane to lane.
  farFromLine(points, x, y) {
    const shown = points.filter(([, , at]) => at !== null).sort((a, b) => a[2] - b[2]);
    for (let i = 1; i < shown.length; i += 1) {
      const [x0, , y0] = shown[i - 1], [x1, , y1] = shown[i];
      if (y < y0 || y > y1 || y1 === y0) continue;
      const part = (y - y0) / (y1 - y0);
      return Math.abs(x - x0 - (x1 - x0) * part * part * (3 - 2 * part));
    }
    return Infinity;
  },
});

// Moving about with a pointer: drag, with Shift to mark a time, wheel with Ctrl, two fingers; and with keys.
function follow(stage, view, actions) {
  const { scroller, canvas } = stage, pointers = new Map();
  let drag = null;
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  scroller.addEventListener("pointerdown", (event) => {
    const [x, y] = place(event);
    if (event.button || x > stage.width) return;
    pointers.set(event.pointerId, x);
    drag = { x, y, range: [...view.range], top: scroller.scrollTop, marks: event.shiftKey, moved: false, spread: spread(pointers) };
  });
  scroller.addEventListener("pointermove", (event) => {
    const [x, y] = place(event);
    if (pointers.has(event.pointerId)) pointers.set(event.pointerId, x);
    if (!drag) { view.point(stage.at(x, y)); actions.pointed(event); return; }
    if (!drag.moved && Math.hypot(x - drag.x, y - drag.y) < 4) return;
    if (!drag.moved) scroller.setPointerCapture(event.pointerId);
    drag.moved = true;
    view.point(null);
    const per = (drag.range[1] - drag.range[0]) / (stage.width - stage.labels);
    if (pointers.size > 1) { const now = spread(pointers); if (now && drag.spread) { view.zoom(drag.spread / now, stage.time(x)); drag.spread = now; } }
    else if (drag.marks) actions.mark(stage, drag.x, x);
    else {
      view.show(drag.range[0] - (x - drag.x) * per, drag.range[1] - (x - drag.x) * per);
      if (event.pointerType === "mouse") scroller.scrollTop = drag.top - (y - drag.y);
    }
  });
  const done = (event) => {
    const [x, y] = place(event), was = drag;
    pointers.delete(event.pointerId);
    drag = null;
    if (!was) return;
    actions.mark(stage);
    if (was.moved && was.marks) view.show(...[stage.time(was.x), stage.time(x)].sort((a, b) => a - b));
    else if (!was.moved && event.type === "pointerup") actions.clicked(stage.at(x, y));
  };
  scroller.addEventListener("pointerup", done);
  scroller.addEventListener("pointercancel", done);
  scroller.addEventListener("pointerleave", () => { if (!drag) view.point(null); });
  scroller.addEventListener("dblclick", (event) => view.zoom(event.shiftKey ? 2 : 0.5, stage.time(place(event)[0])));
  scroller.addEventListener("wheel", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) {
      event.preventDefault();
      view.zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * 0.008), stage.time(place(event)[0]));
    } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey) {
      event.preventDefault();
      view.pan((event.deltaX || event.deltaY) / stage.width);
    }
  }, { passive: false });
  scroller.addEventListener("scroll", () => view.changed("scroll", scroller));
  scroller.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const does = keys(view, stage.panel)[event.key];
    if (!does) return;
    event.preventDefault();
    does();
  });
}

const spread = (pointers) => { const [a, b] = [...pointers.values()]; return b === undefined ? 0 : Math.abs(a - b) + 1; };

const keys = (view, panel) => ({
  ArrowLeft: () => view.pan(-0.15), ArrowRight: () => view.pan(0.15),
  "+": () => view.zoom(0.6), "=": () => view.zoom(0.6), "-": () => view.zoom(1 / 0.6), "0": () => view.fit(), Home: () => view.fit(),
  n: () => view.walk(panel, 1), p: () => view.walk(panel, -1), ".": () => view.step(panel, 1), ",": () => view.step(panel, -1),
  Escape: () => view.select(null),
});
