/** Converts pointer, wheel and key events to pans and zooms of a graph. */

export interface Gestures {
  /** Moves the region by fractions of its width and height. */
  pan(right: number, up: number): void;
  /** Zooms by a factor (< 1 zooms in) around a point, which is given in fractions from the left and from the bottom. */
  zoom(factor: number, atX?: number, atY?: number): void;
  reset(): void;
}

const KEY_STEP = 0.1;
export const ZOOM_STEP = 0.8;

export function listenForGestures(box: HTMLElement, { pan, zoom, reset }: Gestures): void {
  const pointers = new Map<number, { x: number; y: number }>();
  const place = ({ clientX, clientY }: { clientX: number; clientY: number }) => {
    const { left, bottom, width, height } = box.getBoundingClientRect();
    return { x: (clientX - left) / width, y: (bottom - clientY) / height };
  };
  /** Returns the center of the pointers, and the distance between them. */
  const hand = () => {
    const [one = { x: 0, y: 0 }, two = one] = [...pointers.values()];
    return { x: (one.x + two.x) / 2, y: (one.y + two.y) / 2, spread: Math.hypot(one.x - two.x, one.y - two.y) };
  };

  box.addEventListener("pointerdown", (event) => {
    // Capture moves outside of the box until the button is released.
    box.setPointerCapture(event.pointerId);
    box.classList.add("dragged");
    // Only two fingers are used.
    if (pointers.size < 2) pointers.set(event.pointerId, place(event));
  });
  box.addEventListener("pointermove", (event) => {
    if (!pointers.has(event.pointerId)) return;
    const before = hand();
    pointers.set(event.pointerId, place(event));
    const after = hand();
    pan(before.x - after.x, before.y - after.y);
    if (before.spread > 0 && after.spread > 0) zoom(before.spread / after.spread, after.x, after.y);
  });
  const release = ({ pointerId }: PointerEvent) => {
    pointers.delete(pointerId);
    if (pointers.size === 0) box.classList.remove("dragged");
  };
  box.addEventListener("pointerup", release);
  box.addEventListener("pointercancel", release);

  box.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const { x, y } = place(event);
      // A pinch gesture on a touchpad is a wheel event with ctrlKey and small steps.
      const pixels = event.deltaY * (event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1);
      zoom(Math.exp(Math.max(-200, Math.min(200, pixels)) * (event.ctrlKey ? 0.01 : 0.002)), x, y);
    },
    { passive: false },
  );

  const keys: Readonly<Record<string, () => void>> = {
    ArrowLeft: () => pan(-KEY_STEP, 0),
    ArrowRight: () => pan(KEY_STEP, 0),
    ArrowUp: () => pan(0, KEY_STEP),
    ArrowDown: () => pan(0, -KEY_STEP),
    "+": () => zoom(ZOOM_STEP),
    "=": () => zoom(ZOOM_STEP),
    "-": () => zoom(1 / ZOOM_STEP),
    "0": reset,
  };
  box.addEventListener("keydown", (event) => {
    // Key combinations with these modifiers belong to the browser or the host.
    if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    keys[event.key]?.();
  });
}
