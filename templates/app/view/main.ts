/** The view: a formula, its graph, and the user's interactions. */
import { type Curve, parseFormula } from "../src/formula.ts";
import { fitRegion, pan, type Region, show, zoom } from "../src/region.ts";
import { applyTheme, connectHost, type Host, type ToolResult } from "./bridge.ts";
import { listenForGestures, ZOOM_STEP } from "./gestures.ts";
import { draw } from "./graph.ts";

const find = <E extends HTMLElement>(id: string) => document.getElementById(id) as E;
const form = find<HTMLFormElement>("form");
const input = find<HTMLInputElement>("formula");
const graph = find("graph");
const canvas = find<HTMLCanvasElement>("canvas");
const status = find("status");
const zerosButton = find<HTMLButtonElement>("zeros");

/** How long to wait after the last interaction before the model is informed, in milliseconds. */
const IDLE_MS = 400;

let host: Host | undefined;
let formula = "";
let curve: Curve | undefined;
let region: Region = { xMin: -10, xMax: 10, yMin: -5, yMax: 5 };
/** The region that Reset returns to. */
let home = region;
let marks: readonly number[] = [];
let timer = 0;

function redraw(): void {
  const { xMin, xMax, yMin, yMax } = region;
  const where = `x from ${show(xMin)} to ${show(xMax)}, y from ${show(yMin)} to ${show(yMax)}`;
  graph.setAttribute("aria-label", curve ? `Graph of y = ${formula}: ${where}` : "Empty graph");
  draw(graph, canvas, { curve, region, marks });
}

/** Shows a region after an interaction of the user. */
function move(next: Region): void {
  region = next;
  redraw();
  informModel();
}

function informModel(): void {
  clearTimeout(timer);
  if (!host?.capabilities.updateModelContext) return;
  timer = window.setTimeout(() => {
    const text = `The user now sees this in the plotter: ${graph.getAttribute("aria-label")}`;
    host?.updateModelContext(text).catch(() => {
      // The model then only knows an earlier graph, but the user still sees this one.
    });
  }, IDLE_MS);
}

/** Shows a formula. Returns whether the formula is valid. */
function plot(text: string, given?: Region): boolean {
  try {
    curve = parseFormula(text);
  } catch (error) {
    input.setAttribute("aria-invalid", "true");
    status.textContent = (error as Error).message;
    return false;
  }
  input.removeAttribute("aria-invalid");
  status.textContent = "";
  formula = text.trim();
  marks = [];
  region = given ?? fitRegion(curve, region.xMin, region.xMax);
  home = region;
  redraw();
  return true;
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (plot(input.value)) informModel();
});
// While the user types, the graph is updated whenever the formula is valid.
input.addEventListener("input", () => {
  if (plot(input.value)) informModel();
});

graph.tabIndex = 0;
listenForGestures(graph, {
  pan: (right, up) => move(pan(region, right, up)),
  zoom: (factor, x, y) => move(zoom(region, factor, x, y)),
  reset: () => move(home),
});
find("in").addEventListener("click", () => move(zoom(region, ZOOM_STEP)));
find("out").addEventListener("click", () => move(zoom(region, 1 / ZOOM_STEP)));
find("reset").addEventListener("click", () => move(home));
new ResizeObserver(redraw).observe(graph);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

zerosButton.addEventListener("click", async () => {
  const asked = formula;
  try {
    const result = await host?.callTool("find_zeros", { formula, xMin: region.xMin, xMax: region.xMax });
    // The user may have entered another formula meanwhile.
    if (!result || asked !== formula) return;
    if (result.isError) throw new Error(joinText(result));
    const { zeros = [] } = result.structuredContent as { zeros?: number[] };
    marks = zeros;
    status.textContent = zeros.length === 0 ? "No zeros here." : `Zeros: ${zeros.map(show).join(", ")}`;
    redraw();
  } catch (error) {
    status.textContent = (error as Error).message;
  }
});

const joinText = ({ content = [] }: ToolResult) => content.map(({ text = "" }) => text).join("\n");

connectHost(
  { name: "function-plotter", version: "1.0.0" },
  {
    onToolInput: ({ formula: given }, isPartial) => {
      // A formula that is still being written is often invalid, so do not show an error.
      if (typeof given !== "string" || isPartial) return;
      input.value = given;
      plot(given);
    },
    onToolResult: (result) => {
      const { formula: given, region: shown } = (result.structuredContent ?? {}) as {
        formula?: string;
        region?: Region;
      };
      if (given === undefined) status.textContent = joinText(result);
      else {
        input.value = given;
        plot(given, shown);
      }
    },
    onToolCancelled: (reason) => {
      status.textContent = `The call was cancelled${reason ? `: ${reason}` : "."}`;
    },
    onContext: (context) => {
      applyTheme(context);
      redraw();
    },
    onTeardown: () => clearTimeout(timer),
  },
).then(
  (connected) => {
    host = connected;
    zerosButton.disabled = !connected.capabilities.serverTools;
  },
  // Without a host, or if the host refuses, everything except the tools works.
  () => {
    input.value = "sin(x)";
    plot(input.value);
  },
);
