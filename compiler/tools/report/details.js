// What is known of an event, a match or a note, as HTML; all texts are escaped.
const escaped = (text) => String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
const pairs = (rows) => `<dl>${rows.map(([name, value]) => `<dt>${escaped(name)}</dt><dd>${escaped(value)}</dd>`).join("")}</dl>`;
const counted = (number, one, many) => `${number.toLocaleString("en")} ${number === 1 ? one : many}`;

class Details {
  constructor(model) { this.model = model; }

  html(one) {
    if (!one) return "";
    return { event: () => this.event(one), match: () => this.match(one), bundle: () => this.bundle(one), note: () => this.note(one.item), lane: () => this.lane(one.item) }[one.kind]();
  }

  // In the colour of the variable, where the event is shown as one of a match.
  swatch(event, colour) {
    const { model } = this, type = model.type[event];
    return `<i class="swatch c${colour ?? model.colour[type]}"></i><b>${escaped(model.types[type][0])}</b>`;
  }

  when(event) {
    const { model } = this, { clock } = model, from = clock.text(model.start[event]);
    return model.end[event] > model.start[event] ? `${from} – ${clock.text(model.end[event])}, ${clock.span(model.end[event] - model.start[event])}` : from;
  }

  event({ panel, item }) {
    const { model } = this, columns = model.data.streams[model.stream[item]], values = model.values.of(item);
    const rows = columns[1].map((name, place) => [name, values[place]]);
    const { ofEvent, words } = model.panels[panel], matches = ofEvent.get(item) || [];
    const links = matches.slice(0, 6).map((match) => `<button type="button" data-match="${match}">match ${match + 1}</button>`).join(" ");
    const more = matches.length > 6 ? ` and ${counted(matches.length - 6, "more", "more")}` : "";
    const notes = model.notes[model.lane[item]].items.filter((note) => model.data.notes[note][1] === model.start[item]);
    const explanations = notes.map((note) => `<pre>${escaped(model.data.notes[note][2])}</pre>`).join("");
    const { tint } = model.panels[panel];
    return `<h3>${this.swatch(item, tint[item] === FREE ? undefined : tint[item])} <span class="soft">${escaped(this.when(item))}</span></h3>${pairs(rows)}${explanations}
      ${words && words[0] === "match" ? `<p class="hint">${matches.length ? `in ${counted(matches.length, ...words)}: ${links}${more}` : "in no match"}</p>` : ""}`;
  }

  match({ panel, item }) {
    const { model } = this, { clock } = model, of = model.panels[panel], [events, variables, scopes, values, , , , relations] = of.matches[item];
    const list = events.map((event, place) => `<li><code>${escaped(of.variables[variables[place]])}</code> ${this.swatch(event, model.tint(of, variables[place], event))} <span class="soft">${escaped(this.when(event))}</span></li>`);
    const bound = scopes.map(([part, low, high]) => {
      const ends = [low, high].map((time) => (time === null ? "…" : clock.text(time)));
      return `<li class="absent"><code>${escaped(of.parts[part])}</code> <span class="soft">none between ${escaped(ends[0])} and ${escaped(ends[1])}</span></li>`;
    });
    const related = (relations || []).map((text) => `<li class="related">${escaped(text)}</li>`);
    const own = of.columns.map((name, place) => [name, values[place]]);
    return `<h3>${events.length ? "Match" : "Row"} ${(item + 1).toLocaleString("en")} <span class="soft">${escaped(clock.text(of.start[item]))}, ${escaped(clock.span(of.end[item] - of.start[item]))}</span></h3>
      ${own.length ? pairs(own) : ""}<ul class="events">${list.join("")}${related.join("")}${bound.join("")}</ul>`;
  }

  bundle({ panel, item }) {
    const { model } = this, { clock } = model, of = model.panels[panel], spans = item.items.map((match) => of.end[match] - of.start[match]).sort((a, b) => a - b);
    const ends = spans[0] === spans[spans.length - 1] ? clock.span(spans[0]) : `${clock.span(spans[0])} to ${clock.span(spans[spans.length - 1])}`;
    const rows = [["first", clock.text(item.start)], ["last", clock.text(item.from)], ["length", ends]];
    return `<h3><b>${counted(item.items.length, ...of.words)}</b></h3>${pairs(rows)}<p class="hint">click to zoom in</p>`;
  }

  note(item) {
    const [lane, time, text] = this.model.data.notes[item];
    return `<h3><i class="swatch why"></i><b>${escaped(this.model.lanes[lane])}</b> <span class="soft">${escaped(this.model.clock.text(time))}</span></h3><pre>${escaped(text)}</pre>`;
  }

  lane(item) {
    const { model } = this, matches = model.panels.map((panel) => panel.byLane[item].items.length);
    const rows = [["events", model.events[item].items.length.toLocaleString("en")],
      ...model.panels.filter((panel) => panel.words).map((panel, place) => [model.panels.length > 1 ? panel.title.toLowerCase() : panel.words[1], matches[place].toLocaleString("en")])];
    const miss = model.misses.get(item), why = miss ? `<p class="miss">${escaped(miss.steps)}: ${escaped(miss.text)}</p>${miss.more ? `<pre>${escaped(miss.more)}</pre>` : ""}` : "";
    return `<h3><b>${escaped(model.lanes[item])}</b></h3>${pairs(rows)}${why}<p class="hint">click to see only this one, or all again</p>`;
  }
}
