// Keys: some work everywhere, and each place adds its own while it is shown.
import { useEffect, useRef } from "./vendor.js";

const layers = [];
let chord = "";
let chordGoes = 0;

addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.altKey || event.isComposing) return;
  const command = event.metaKey || event.ctrlKey;
  const on = (selector) => event.target.closest?.(selector);
  if (!command && event.key !== "Escape" && on("input, textarea, select, [contenteditable]")) return;
  // A focused button handles Enter and space itself.
  if ((event.key === "Enter" || event.key === " ") && on("button, a, summary")) return;
  const pressed = chord + (command ? `mod+${event.key.toLowerCase()}` : event.key);
  chord = "";
  // An open dialog handles its keys itself.
  if (document.querySelector("dialog[open]")) return;
  // A handler returns false if it has nothing to do here.
  if (layers.some(({ current }) => current[pressed] && current[pressed]() !== false)) return event.preventDefault();
  if (pressed === "g") {
    chord = "g ";
    // The timer of an earlier chord would end this one.
    clearTimeout(chordGoes);
    chordGoes = setTimeout(() => { chord = ""; }, 1500);
  }
});

/** Keys that hold while the component is there: `{ y: accept }`. Those of a part go before those of the whole. */
export function useKeys(keys) {
  const layer = useRef();
  // When it is first drawn: effects of a part run before those of the whole.
  if (!layer.current) layers.unshift(layer);
  layer.current = keys;
  useEffect(() => () => layers.splice(layers.indexOf(layer), 1), []);
}
