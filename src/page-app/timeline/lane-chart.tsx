/**
 * A chart of the lanes of an entry over time. The list below it has the same contents as text.
 *
 * @module
 */
import type { JSX } from "preact";
import { duration } from "../parts/text.ts";
import type { Lane, LaneEvent, Lanes } from "./lanes.ts";

/** The maximum number of events in the chart of a lane. More events would not be distinguishable. */
const DRAWN_MAX = 400;
const TICKS = [0, 0.25, 0.5, 0.75, 1];

export function LaneChart({
  lanes: { lanes, totalMs },
  onChoose,
}: {
  readonly lanes: Lanes;
  readonly onChoose: (id: string) => void;
}): JSX.Element {
  return (
    <div class="lanes" aria-hidden="true">
      <div class="lane axis">
        <span />
        <div>
          {TICKS.map((share) => (
            <span key={share} style={{ left: `${share * 100}%` }}>
              {duration(share * totalMs)}
            </span>
          ))}
        </div>
      </div>
      {lanes.map((lane) => (
        <LaneRow key={lane.id} lane={lane} totalMs={totalMs} onChoose={onChoose} />
      ))}
    </div>
  );
}

function LaneRow({
  lane,
  totalMs,
  onChoose,
}: {
  readonly lane: Lane;
  readonly totalMs: number;
  readonly onChoose: (id: string) => void;
}): JSX.Element {
  return (
    <div class={`lane ${lane.id.split(" ")[0]}`}>
      <span>
        <b>{lane.title}</b> <small>{lane.note}</small>
      </span>
      <div>
        {lane.events.slice(0, DRAWN_MAX).map((event) => (
          <EventBar key={event.id} event={event} totalMs={totalMs} onChoose={onChoose} />
        ))}
      </div>
    </div>
  );
}

function EventBar({
  event,
  totalMs,
  onChoose,
}: {
  readonly event: LaneEvent;
  readonly totalMs: number;
  readonly onChoose: (id: string) => void;
}): JSX.Element {
  const { id, kind, atMs, endMs, text, note, isBad } = event;
  const isPoint = endMs === undefined && kind !== "work";
  const left = Math.max(0, (atMs / totalMs) * 100);
  const width = isPoint ? 0 : (((endMs ?? totalMs) - atMs) / totalMs) * 100;
  const direction = note === "to the server" ? "up" : "down";
  return (
    <button
      type="button"
      // With the keyboard, the same events are reachable in the list.
      tabIndex={-1}
      class={`event is-${kind} ${kind === "message" ? direction : ""} ${isBad ? "is-bad" : ""} ${isPoint ? "point" : ""}`}
      style={{ left: `${left}%`, width: `${Math.min(width, 100 - left)}%` }}
      title={`${duration(atMs)}: ${text} ${note}`}
      onClick={() => onChoose(id)}
    />
  );
}
