// Keys: one list, which the help shows. A place adds its own while it is there.
import { useEffect, useRef } from "./vendor.js";

const layers = [];
let chord = null;
let chordGoes = 0;

const types = (element) => element?.closest?.("input, textarea, select, [contenteditable]");

addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.altKey || event.isComposing) return;
  const command = event.metaKey || event.ctrlKey;
  const key = command ? `mod+${event.key.toLowerCase()}` : event.key;
  if (!command && key !== "Escape" && types(event.target)) return;
  // A button takes its own Enter and space.
  if ((key === "Enter" || key === " ") && event.target.closest?.("button, a, summary")) return;
  const pressed = chord ? `${chord} ${key}` : key;
  const modal = document.querySelector("dialog[open]");
  chord = null;
  for (const layer of [...layers].reverse()) {
    if (modal && !layer.current.inDialog) continue;
    const found = layer.current.keys[pressed];
    if (found) {
      event.preventDefault();
      found();
      return;
    }
  }
  if (!command && !modal && key === "g") {
    chord = "g";
    // The one of an earlier chord would end this one.
    clearTimeout(chordGoes);
    chordGoes = setTimeout(() => { chord = null; }, 1500);
  }
});

/** Keys that hold while the component is there: `{ y: accept }`. */
export function useKeys(keys, inDialog = false) {
  const layer = useRef({});
  layer.current = { keys, inDialog };
  useEffect(() => {
    layers.push(layer);
    return () => layers.splice(layers.indexOf(layer), 1);
  }, []);
}
