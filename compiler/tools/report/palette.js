// The colours of the style sheet as a canvas takes them.
class Palette {
  constructor() {
    this.read();
    const again = () => { this.read(); this.changed(); };
    this.changed = () => {};
    document.querySelector(".theme").addEventListener("click", again);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  }

  read() {
    const probe = document.body.appendChild(document.createElement("i"));
    const colour = (name) => { probe.style.color = `var(--${name})`; return getComputedStyle(probe).color; };
    for (const name of ["ground", "card", "sunk", "ink", "soft", "line", "accent", "gone", "warn"]) this[name] = colour(name);
    this.types = Array.from({ length: 12 }, (_, place) => {
      probe.className = `c${place}`;
      return getComputedStyle(probe).backgroundColor;
    });
    probe.remove();
    this.font = getComputedStyle(document.body).fontFamily;
  }
}
