"use strict";
document.documentElement.classList.add("js");

const all = (selector, root = document) => [...root.querySelectorAll(selector)];

document.querySelector(".theme").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});
