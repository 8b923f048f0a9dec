// Times are numbers of ticks since the first one of the picture: microseconds, days, or units of the stream's own.
const SECOND = 1e6, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR;
const STEPS = [
  ...[1, 10, 100, 1e3, 1e4, 1e5].flatMap((power) => [power, 2 * power, 5 * power]),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * SECOND), ...[1, 2, 5, 10, 15, 30].map((n) => n * MINUTE),
  ...[1, 2, 3, 6, 12].map((n) => n * HOUR), ...[1, 2, 7, 14, 30, 90, 365, 1825, 3650, 36500].map((n) => n * DAY),
];

class Clock {
  // `offsets`: how far the clock of the session is ahead of UTC, and from when on, in microseconds.
  constructor({ kind, unit, first, offsets = [] }) {
    this.kind = kind;
    this.unit = unit;
    this.first = BigInt(first);
    this.offsets = offsets.map(([since, ahead]) => [BigInt(since), BigInt(ahead)]);
    this.length = kind === "date" ? DAY : 1; // of a tick, in microseconds, where it is not a unit of the stream's own
  }

  text(tick) {
    const at = this.first + BigInt(Math.round(tick));
    if (this.kind === "number") return at.toString();
    const micros = at * BigInt(this.length) + this.ahead(at), part = ((micros % 1000000n) + 1000000n) % 1000000n;
    const date = new Date(Number((micros - part) / 1000n));
    if (Number.isNaN(date.getTime())) return at.toString(); // further away than a browser counts
    const [day, time] = date.toISOString().replace(/^\+0*/, "").split("T");
    if (this.kind === "date") return day;
    const rest = String(part).padStart(6, "0").replace(/0+$/, "");
    return `${day} ${time.slice(0, 8)}${rest ? "." + rest : ""}`;
  }

  ahead(at) {
    let found = this.offsets.length ? this.offsets[0][1] : 0n;
    for (const [since, ahead] of this.offsets) if (since <= at) found = ahead;
    return found;
  }

  // "41 min 20 s": the two largest units.
  span(ticks) {
    if (this.kind === "number") {
      const units = this.unit ? ` ${this.unit.toLowerCase()}${ticks === 1 ? "" : "s"}` : "";
      return Math.round(ticks).toLocaleString("en") + units;
    }
    let left = Math.round(ticks * this.length);
    const parts = [];
    for (const [length, name] of [[DAY, "d"], [HOUR, "h"], [MINUTE, "min"], [SECOND, "s"], [1e3, "ms"], [1, "µs"]]) {
      const count = Math.floor(left / length);
      if (count && parts.length < 2) parts.push(`${count.toLocaleString("en")} ${name}`);
      if (parts.length < 2) left -= count * length;
    }
    return parts.join(" ") || "0 s";
  }

  step(least) {
    if (this.kind === "number") {
      const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
      return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= least) || 10 * power;
    }
    const longest = STEPS[STEPS.length - 1], shortest = least * this.length;
    const found = STEPS.find((n) => n >= shortest) || longest * Math.ceil(shortest / longest);
    return Math.max(1, found / this.length);
  }

  // Where the axis has marks between two times, at most `count` of them, and what stands there.
  marks(from, to, count) {
    const step = this.step((to - from) / Math.max(1, count));
    const shown = this.first + this.ahead(this.first + BigInt(Math.round(from)));
    const shift = Number(((shown % BigInt(step)) + BigInt(step)) % BigInt(step));
    const first = Math.ceil((from + shift) / step), marks = [];
    // Counted: far from the first tick a step may be too small to change a number.
    for (let place = 0; place <= Math.max(1, count); place += 1) {
      const at = (first + place) * step - shift;
      if (at > to) break;
      if (!place || at > marks[marks.length - 1][0]) marks.push([at, this.label(at, step)]);
    }
    return marks;
  }

  // What stands before the label of a mark that shows only the time of day.
  day(at, label) { return this.kind === "time" && label.includes(":") ? `${this.text(at).split(" ")[0]} ` : ""; }

  label(at, step) {
    const text = this.text(at);
    if (this.kind !== "time") return text;
    const [date, time] = text.split(" ");
    if (step >= DAY || time === "00:00:00") return date;
    return step >= MINUTE ? time.slice(0, 5) : time;
  }
}
