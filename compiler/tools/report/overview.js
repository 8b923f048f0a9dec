// How many events and matches there are over the whole time, and which part of it is in sight.
class Overview {
  constructor(view, palette, canvas) {
    Object.assign(this, { view, palette, canvas, model: view.model });
    this.counts = null;
    let drag = null;
    const time = (event) => {
      const box = canvas.getBoundingClientRect(), [low, high] = this.model.range;
      return low + ((event.clientX - box.left) / box.width) * (high - low);
    };
    canvas.addEventListener("pointerdown", (event) => {
      const at = time(event), [from, to] = view.range, [low, high] = this.model.range;
      const inside = at >= from && at <= to && to - from < (high - low) * 0.98;
      drag = { at, range: [from, to], inside };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!drag) return;
      const at = time(event);
      if (drag.inside) view.show(drag.range[0] + at - drag.at, drag.range[1] + at - drag.at);
      else view.show(Math.min(at, drag.at), Math.max(at, drag.at));
    });
    const done = () => { drag = null; };
    canvas.addEventListener("pointerup", done);
    canvas.addEventListener("pointercancel", done);
  }

  // Counted anew when the filters change: events in sight by their start, matches by theirs.
  count(bins) {
    const { view, model } = this, [low, high] = model.range;
    const events = new Uint32Array(bins), matches = new Uint32Array(bins);
    const bin = (time) => Math.min(bins - 1, Math.max(0, Math.floor(((time - low) / (high - low)) * bins)));
    model.start.forEach((time, event) => { if (view.isShown(event) && view.isFound(event)) events[bin(time)] += 1; });
    model.panels.forEach((panel) => panel.start.forEach((time, match) => { if (view.row[panel.lane[match]] >= 0) matches[bin(time)] += 1; }));
    this.counts = { bins, events, matches };
  }

  draw() {
    const { canvas, palette, view } = this, pen = canvas.getContext("2d"), scale = window.devicePixelRatio || 1;
    const width = canvas.clientWidth, height = canvas.clientHeight, bins = Math.max(1, Math.floor(width / 4));
    if (canvas.width !== Math.round(width * scale)) [canvas.width, canvas.height] = [width * scale, height * scale].map(Math.round);
    if (!this.counts || this.counts.bins !== bins) this.count(bins);
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    const { events, matches } = this.counts, each = width / bins, upper = Math.round(height * 0.58);
    const bars = (counts, colour, y, tall, up) => {
      const most = counts.reduce((a, b) => Math.max(a, b), 1);
      pen.fillStyle = colour;
      counts.forEach((count, bin) => {
        const bar = count && Math.max(1.5, (count / most) * tall);
        pen.fillRect(bin * each, up ? y - bar : y, Math.max(1, each - 1), bar);
      });
    };
    bars(events, palette.soft, upper, upper - 4, true);
    bars(matches, palette.accent, upper + 1, height - upper - 3, false);
    const [low, high] = this.model.range, x = (time) => ((time - low) / (high - low)) * width;
    const [x0, x1] = view.range.map(x);
    pen.fillStyle = palette.ground;
    pen.globalAlpha = 0.72;
    pen.fillRect(0, 0, x0, height);
    pen.fillRect(x1, 0, width - x1, height);
    pen.globalAlpha = 1;
    pen.strokeStyle = palette.accent;
    pen.lineWidth = 1.5;
    pen.strokeRect(x0 + 0.75, 0.75, Math.max(2, x1 - x0 - 1.5), height - 1.5);
  }
}
