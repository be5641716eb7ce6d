/**
 * The list of all events of an entry, in chronological order.
 *
 * @module
 */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Entry } from "../../recorder/entry.ts";
import { JsonTree } from "../content/json-tree.tsx";
import { duration } from "../parts/text.ts";
import type { EventKind, Lane, LaneEvent, Lanes } from "./lanes.ts";

/** The number of events that are shown at a time. */
const PORTION = 200;

/** What can be hidden in the list: a kind, or the work of mcp-edge itself. */
type Hidden = EventKind | "own";

const KINDS: readonly (readonly [Hidden, string])[] = [
  ["message", "Messages"],
  ["work", "Calls"],
  ["storage", "Storage"],
  ["log", "Logs"],
  ["exception", "Exceptions"],
  ["own", "mcp-edge"],
];

/** An event that was selected in the chart. Each selection is a new object, so that the same event can be selected again. */
export interface Chosen {
  readonly id: string;
}

interface Props {
  readonly lanes: Lanes;
  readonly chosen: Chosen | undefined;
  readonly omitted: Entry["omitted"];
}

export function EntryEvents({ lanes: { events, lanes }, chosen, omitted }: Props): JSX.Element {
  const hidden = useSignal<ReadonlySet<Hidden>>(new Set());
  const shown = useSignal(PORTION);
  // The selected event is shown even if its kind is hidden, or if it is further down in the list.
  const isHidden = ({ kind, isOwn }: LaneEvent) =>
    hidden.value.has(kind) || (isOwn === true && hidden.value.has("own"));
  const kept = events.filter((event) => !isHidden(event) || event.id === chosen?.id);
  const length = Math.max(shown.value, kept.findIndex(({ id }) => id === chosen?.id) + 1);
  const left = omitted && omitted.messages + omitted.spans + omitted.logs;
  const toggle = (kind: Hidden) => {
    const next = new Set(hidden.value);
    if (!next.delete(kind)) next.add(kind);
    hidden.value = next;
  };
  return (
    <section class="events">
      <header class="bar">
        <h2>In order</h2>
        {/* biome-ignore lint/a11y/useSemanticElements: a fieldset would need a legend in sight. */}
        <div class="switch" role="group" aria-label="Kinds in the list">
          {KINDS.filter(([kind]) => events.some((each) => (kind === "own" ? each.isOwn : each.kind === kind))).map(
            ([kind, text]) => (
              <button type="button" key={kind} aria-pressed={!hidden.value.has(kind)} onClick={() => toggle(kind)}>
                {text}
              </button>
            ),
          )}
        </div>
      </header>
      {events.length === 0 && <p class="empty">No events were recorded.</p>}
      <ol>
        {kept.slice(0, length).map((event) => (
          <EventRow
            key={event.id}
            event={event}
            lane={lanes.find(({ id }) => id === (event.owner ?? event.lane))}
            chosen={event.id === chosen?.id ? chosen : undefined}
          />
        ))}
      </ol>
      {kept.length > length && (
        <button
          type="button"
          onClick={() => {
            shown.value = length + PORTION;
          }}
        >
          {PORTION} more of {kept.length}
        </button>
      )}
      {left !== undefined && left > 0 && <p class="about">{left} more were not recorded.</p>}
    </section>
  );
}

function EventRow({
  event,
  lane,
  chosen,
}: {
  readonly event: LaneEvent;
  readonly lane: Lane | undefined;
  readonly chosen: Chosen | undefined;
}): JSX.Element {
  const { atMs, endMs, text, note, kind, isBad, detail } = event;
  const row = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (chosen) row.current?.querySelector<HTMLElement>(".line")?.focus();
  }, [chosen]);
  const line = (
    <>
      <span class="at">{duration(Math.max(0, atMs))}</span>
      <span class="place">
        {kind === "message" ? (note === "to the server" ? "Client →" : "Client ←") : (lane?.title ?? "")}
      </span>
      <span class="text">
        {isBad && kind !== "work" && <b class="bad">Problem: </b>}
        {text}
      </span>
      <span class="about">
        {[kind !== "message" && note, endMs !== undefined && duration(endMs - atMs)].filter(Boolean).join(", ")}
      </span>
    </>
  );
  const className = `is-${kind} ${isBad ? "is-bad" : ""}`;
  if (detail === undefined)
    return (
      <li class={className} ref={row}>
        <div class="line" tabIndex={-1}>
          {line}
        </div>
      </li>
    );
  return (
    <li class={className} ref={row}>
      <details open={chosen !== undefined}>
        <summary class="line">{line}</summary>
        <JsonTree value={detail} open={3} />
      </details>
    </li>
  );
}
