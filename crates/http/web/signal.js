// What the page knows outside of its components. When one of these changes, the page is drawn again, once.
let draw = null;
let due = false;

/** What draws the page. */
export const drawnBy = (f) => { draw = f; };

export function signal(value) {
  return {
    get value() { return value; },
    set value(next) {
      if (next === value) return;
      value = next;
      if (due || !draw) return;
      due = true;
      queueMicrotask(() => {
        due = false;
        draw();
      });
    },
  };
}
