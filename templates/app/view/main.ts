/** The view: a formula, its graph, and what the user does with it. */
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

/** How long the user must be still before the model is told what is shown. */
const STILL_MS = 400;

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

/** Shows a region because of something that the user did. */
function move(next: Region): void {
  region = next;
  redraw();
  tellModel();
}

function tellModel(): void {
  clearTimeout(timer);
  if (!host?.capabilities.updateModelContext) return;
  timer = window.setTimeout(() => {
    const text = `The user now sees this in the plotter: ${graph.getAttribute("aria-label")}`;
    host?.updateModelContext(text).catch(() => {
      // The model then knows only the first graph, and the user still sees this one.
    });
  }, STILL_MS);
}

/** Shows a formula, and returns whether it has no mistake. */
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
  if (plot(input.value)) tellModel();
});
// While the user types, the graph follows as soon as the formula is right.
input.addEventListener("input", () => {
  if (plot(input.value)) tellModel();
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
    // The user may have typed another formula meanwhile.
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
      // A formula that is still being written often has a mistake, of which nobody needs to know.
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
  // A page of its own, or a host that refuses: everything but the tools works.
  () => {
    input.value = "sin(x)";
    plot(input.value);
  },
);
