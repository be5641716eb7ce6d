/**
 * The recorded calls in the list.
 *
 * @module
 */
import { computed, signal } from "@preact/signals";
import type { Summary } from "../../recorder/entry.ts";
import { getEntries, watch } from "../api/recorder-api.ts";
import { matches } from "../timeline/filter.ts";
import { type Call, messageOf } from "./calls.ts";
import { CLIENT_NAME } from "./connection.ts";

/** The entries by id, in increasing order. */
const byId = new Map<string, Summary>();
/** The entries, oldest first. */
export const entries = signal<readonly Summary[]>([]);
export const isLive = signal(false);
export const problem = signal<string | undefined>(undefined);
/** The words of the filter. */
export const filter = signal("");
/** Whether lists, pings and other requests that clients make automatically are hidden. */
export const isBrief = signal(true);

/** The entries that match the filter, newest first. */
export const shown = computed<readonly Summary[]>(() => {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  const brief = isBrief.value;
  const list = entries.value;
  const found: Summary[] = [];
  for (let at = list.length - 1; at >= 0; at -= 1) {
    const entry = list[at] as Summary;
    if (matches(entry, words, brief)) found.push(entry);
  }
  return found;
});

/** The tolerance of timestamps, in milliseconds. The page and the recorder use the same clock, but browsers round it. */
const CLOCK_MS = 50;

/** Returns the entry of a call of this page: of its last round, which has its result. */
export function findEntry({
  key,
  startedAtMs,
  endedAtMs,
}: Pick<Call, "key" | "startedAtMs" | "endedAtMs">): Summary | undefined {
  const [kind = "", ...rest] = key.split(":");
  const [method, target] = [METHODS[kind], rest.join(":")];
  const list = entries.value;
  const untilMs = endedAtMs.value ?? Number.POSITIVE_INFINITY;
  for (let at = list.length - 1; at >= 0; at -= 1) {
    const entry = list[at] as Summary;
    if (entry.startedAtMs < startedAtMs - CLOCK_MS) break;
    const { method: own, target: name, client } = entry;
    if (entry.startedAtMs < untilMs && own === method && name === target && client?.name === CLIENT_NAME) return entry;
  }
  return undefined;
}

const METHODS: Readonly<Record<string, string>> = {
  tool: "tools/call",
  prompt: "prompts/get",
  resource: "resources/read",
};

let isScheduled = false;

/** Updates the list, at most once per animation frame. */
function schedule(): void {
  if (isScheduled) return;
  isScheduled = true;
  requestAnimationFrame(() => {
    isScheduled = false;
    entries.value = [...byId.values()];
  });
}

function take(summary: Summary): void {
  const before = byId.get(summary.id);
  if (before && before.seq > summary.seq) return;
  byId.set(summary.id, summary);
  schedule();
}

/** Reads all entries, including those that were missed while the connection was lost. */
async function readAll(): Promise<void> {
  try {
    const known = new Set(byId.values());
    const list = await getEntries(0);
    // Entries that were reported during the request may be newer than its response.
    const reported = [...byId.values()].filter((summary) => !known.has(summary));
    byId.clear();
    for (const summary of [...list, ...reported]) take(summary);
    problem.value = undefined;
    schedule();
  } catch (error) {
    problem.value = messageOf(error);
  }
}

/**
 * Reads all entries, and follows changes while the page is visible. Browsers share six connections to a host between all tabs,
 * and each open stream takes one.
 */
export function follow(): void {
  let stop: (() => void) | undefined;
  const onState = (isOpen: boolean) => {
    isLive.value = isOpen;
    if (isOpen) void readAll();
  };
  const change = () => {
    stop?.();
    stop = document.hidden ? undefined : watch({ onSummary: take, onClear: clearEntries, onState });
  };
  document.addEventListener("visibilitychange", change);
  change();
}

/** Removes all entries, after the recorder has removed them. */
export function clearEntries(): void {
  byId.clear();
  schedule();
}
