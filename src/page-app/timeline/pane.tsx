/**
 * The pane of recorded calls: a filter, the list, and a menu with actions for all calls.
 *
 * @module
 */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { clear, importRecording, recordingUrl } from "../api/recorder-api.ts";
import { announce } from "../parts/announce.tsx";
import { CheckOf } from "../parts/check.tsx";
import { Icon } from "../parts/icon.tsx";
import { messageOf } from "../state/calls.ts";
import { clearEntries, entries, filter, isBrief, isLive, problem, shown } from "../state/timeline.ts";
import { Faults } from "./faults.tsx";
import { EntryList } from "./list.tsx";

export function TimelinePane(): JSX.Element {
  return (
    <section class="timeline" aria-labelledby="timeline-title">
      <header>
        <h2 id="timeline-title">
          Calls <small>{entries.value.length.toLocaleString("en")}</small>
        </h2>
        <span class={isLive.value ? "about" : "mistake"}>
          {isLive.value ? "live" : "not connected to the recorder"}
        </span>
        <Menu />
      </header>
      <div class="search">
        <Icon name="search" />
        <input
          id="filter"
          type="search"
          aria-label="Filter the calls"
          placeholder="Filter: tool, client, outcome, session…"
          value={filter.value}
          onInput={({ currentTarget }) => {
            filter.value = currentTarget.value;
          }}
        />
      </div>
      <CheckOf of={isBrief}>Hide successful lists, notifications and streams</CheckOf>
      {problem.value && <p class="mistake">{problem.value}</p>}
      {shown.value.length === 0 ? <Empty /> : <EntryList />}
    </section>
  );
}

function Empty(): JSX.Element {
  if (entries.value.length === 0) {
    return <p class="empty">No calls yet. The calls of all clients appear here.</p>;
  }
  return <p class="empty">No calls match the filters.</p>;
}

function Menu(): JSX.Element {
  const status = useSignal("");
  const say = (text: string) => {
    status.value = text;
    announce(text);
  };
  const remove = () => clear().then(clearEntries, (error: unknown) => say(messageOf(error)));
  const take = async (file: File | undefined) => {
    if (!file) return;
    try {
      const { entries } = await importRecording(JSON.parse(await file.text()));
      say(`${entries} entries were imported.`);
    } catch (error) {
      say(messageOf(error));
    }
  };
  return (
    <>
      <button type="button" class="quiet" popovertarget="menu" aria-label="More actions">
        •••
      </button>
      <div class="menu" id="menu" popover>
        <a href={recordingUrl} download="recording.json">
          Export a recording
        </a>
        <label>
          Import a recording
          <input
            type="file"
            accept="application/json,.json"
            onChange={({ currentTarget }) => void take(currentTarget.files?.[0])}
          />
        </label>
        <button type="button" class="quiet" onClick={() => void remove()}>
          Remove all calls
        </button>
        <Faults />
        {status.value && <p class="about">{status.value}</p>}
      </div>
    </>
  );
}
