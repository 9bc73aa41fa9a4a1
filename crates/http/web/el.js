// Makes the elements of the page.
import { h } from "./vendor.js";

/** An element: `el("p.quiet", { title }, "words", others)`. Attributes may be left out; a component may be the tag. */
export function el(what, ...of) {
  const attributes = of[0]?.constructor === Object ? of.shift() : {};
  if (typeof what === "function") return h(what, attributes, ...of);
  const [tag, ...classes] = what.split(".");
  return h(tag, classes.length ? { class: classes.join(" "), ...attributes } : attributes, ...of);
}

export const byId = (id) => document.getElementById(id);
