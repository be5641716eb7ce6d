/**
 * The list of recorded calls. It only renders visible rows, so that 10,000 calls are as fast as 10.
 *
 * @module
 */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Summary } from "../../recorder/entry.ts";
import { Icon } from "../parts/icon.tsx";
import { clock, count, duration } from "../parts/text.ts";
import { CLIENT_NAME } from "../state/connection.ts";
import { goTo, route } from "../state/route.ts";
import { entries, shown } from "../state/timeline.ts";
import { MARKS, OUTCOMES, subtitleOf, titleOf } from "./outcomes.ts";
import { scrollTo, windowOf } from "./window.ts";

/** The height of a row, in CSS pixels. It must equal the height in the style sheet. */
const ROW = 52;

export function EntryList(): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const top = useSignal(0);
  const height = useSignal(600);
  const open = route.value.kind === "call" ? route.value.key : "";
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => {
      height.value = entry?.contentRect.height ?? 600;
    });
    if (box.current) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  const list = shown.value;
  const { first, last } = windowOf(top.value, height.value, ROW, list.length);
  const move = (event: KeyboardEvent) => {
    const at = list.findIndex(({ id }) => id === open);
    const next = {
      ArrowDown: at + 1,
      ArrowUp: Math.max(at - 1, 0),
      Home: 0,
      End: list.length - 1,
      PageDown: at + 10,
      PageUp: Math.max(at - 10, 0),
    }[event.key];
    if (next === undefined || list.length === 0) return;
    event.preventDefault();
    const row = Math.min(next, list.length - 1);
    goTo("call", list[row]?.id);
    const scroll = scrollTo(row, box.current?.scrollTop ?? 0, height.value, ROW);
    if (scroll !== undefined) box.current?.scrollTo({ top: scroll });
  };
  return (
    <div
      class="entries"
      ref={box}
      role="listbox"
      tabIndex={0}
      aria-label={`Recorded calls, ${list.length} of ${entries.value.length}`}
      aria-activedescendant={list.slice(first, last).some(({ id }) => id === open) ? `entry-${open}` : undefined}
      onScroll={({ currentTarget }) => {
        top.value = currentTarget.scrollTop;
      }}
      onKeyDown={move}
    >
      <div role="presentation" style={{ height: `${list.length * ROW}px` }}>
        <div role="presentation" style={{ transform: `translateY(${first * ROW}px)` }}>
          {list.slice(first, last).map((entry, at) => (
            <Row key={entry.id} entry={entry} isOpen={entry.id === open} at={first + at + 1} of={list.length} />
          ))}
        </div>
      </div>
    </div>
  );
}

function Row({
  entry,
  isOpen,
  at,
  of,
}: {
  readonly entry: Summary;
  readonly isOpen: boolean;
  readonly at: number;
  readonly of: number;
}): JSX.Element {
  const [icon, word] = OUTCOMES[entry.outcome];
  const { client, ms, counts, marks, startedAtMs, era } = entry;
  const rows = counts.rowsWritten > 0 ? count(counts.rowsWritten, "row") : "";
  const by = client?.name === CLIENT_NAME ? "this page" : client?.name;
  return (
    // The list has the focus and handles the keys.
    // biome-ignore lint/a11y/useKeyWithClickEvents: see above
    // biome-ignore lint/a11y/useFocusableInteractive: see above
    <div
      id={`entry-${entry.id}`}
      class="row"
      data-state={icon}
      role="option"
      aria-selected={isOpen}
      aria-setsize={of}
      aria-posinset={at}
      onClick={() => goTo("call", entry.id)}
    >
      <span class="state" title={entry.outcomeText ?? word}>
        <Icon name={icon} />
        <span class="heard">{word}: </span>
      </span>
      <span class="what">
        <b>{titleOf(entry)}</b> <span class="about">{subtitleOf(entry)}</span>
      </span>
      <span class="ms">{ms === undefined ? "…" : duration(ms)}</span>
      <span class="who about">
        {[clock(startedAtMs).slice(0, 8), by, era === "legacy" ? "legacy" : "", rows].filter(Boolean).join(" · ")}
        {marks
          .filter((mark) => mark !== "progress" && mark !== "log")
          .map((mark) => (
            <span class="mark" key={mark}>
              {" · "}
              {MARKS[mark]}
            </span>
          ))}
      </span>
    </div>
  );
}
