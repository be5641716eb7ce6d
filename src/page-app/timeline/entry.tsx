/**
 * One recorded call, opened: what came of it, what it cost, and everything that happened, by lane and in order.
 *
 * @module
 */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { Entry, Finding } from "../../recorder/entry.ts";
import { cause, getCopied, getEntry } from "../api/recorder-api.ts";
import { announce } from "../parts/announce.tsx";
import { Copy } from "../parts/copy.tsx";
import { Icon } from "../parts/icon.tsx";
import { clock, count, dollars, duration } from "../parts/text.ts";
import { toError } from "../state/calls.ts";
import { linkTo } from "../state/route.ts";
import { entries } from "../state/timeline.ts";
import { compared } from "./compare.tsx";
import { EntryEvents } from "./events.tsx";
import { LaneChart } from "./lane-chart.tsx";
import { tablesOf, toLanes } from "./lanes.ts";
import { OUTCOMES, subtitleOf, titleOf } from "./outcomes.ts";

export function EntryPanel({ id }: { readonly id: string }): JSX.Element {
  const entry = useSignal<Entry | undefined>(undefined);
  const problem = useSignal("");
  // The entry is read again whenever its summary changes.
  const seq = entries.value.find((each) => each.id === id)?.seq;
  useEffect(() => {
    let isOld = false;
    getEntry(id).then(
      (read) => {
        if (!isOld) entry.value = read;
      },
      (error: unknown) => {
        problem.value = toError(error).message;
      },
    );
    return () => {
      isOld = true;
    };
  }, [id, seq]);
  const { value } = entry;
  if (problem.value)
    return (
      <article class="panel">
        <p class="mistake">
          <Icon name="bad" /> {problem.value}
        </p>
      </article>
    );
  if (value?.id !== id)
    return (
      <article class="panel">
        <p class="about">Reading the call…</p>
      </article>
    );
  return <EntryView entry={value} />;
}

function EntryView({ entry }: { readonly entry: Entry }): JSX.Element {
  const lanes = toLanes(entry);
  const chosen = useSignal<string | undefined>(undefined);
  return (
    <article class="panel entry">
      <EntryHead entry={entry} />
      {entry.findings.map((finding) => (
        <FindingView key={finding.what + finding.where} finding={finding} />
      ))}
      <LaneChart
        lanes={lanes}
        onChoose={(id) => {
          chosen.value = id;
          document.getElementById(`event-${id}`)?.focus();
        }}
      />
      <Tables entry={entry} />
      <EntryEvents lanes={lanes} chosen={chosen.value} omitted={entry.omitted} />
      <Headers entry={entry} />
    </article>
  );
}

function EntryHead({ entry }: { readonly entry: Entry }): JSX.Element {
  const [icon, word] = OUTCOMES[entry.outcome];
  const { client, version, era, ms, startedAtMs, session, principal, outcomeText } = entry;
  return (
    <header class="heading">
      <h1 data-state={icon}>
        <Icon name={icon} /> {titleOf(entry)} <small>{subtitleOf(entry)}</small>
      </h1>
      <p class="tags">
        <span class="tag">{word}</span>
        {client && (
          <span class="tag">
            {client.name} {client.version}
          </span>
        )}
        {version && (
          <span class="tag">
            {version}
            {era && `, ${era}`}
          </span>
        )}
        {session && <span class="tag">session {session}</span>}
        {principal && <span class="tag">caller {principal}</span>}
        <span class="about">
          #{entry.id} at {clock(startedAtMs)}
        </span>
      </p>
      {outcomeText && <p class="description">{outcomeText}</p>}
      <Figures entry={entry} took={ms === undefined ? "running" : duration(ms)} />
      <RelatedEntries entry={entry} />
      <EntryActions entry={entry} />
    </header>
  );
}

function Figures({
  entry: { counts, dollarsPerMillion },
  took,
}: {
  readonly entry: Entry;
  readonly took: string;
}): JSX.Element {
  const figures: readonly (readonly [string, string])[] = [
    ["took", took],
    ["object requests", String(counts.objectRequests)],
    ["rows read", counts.rowsRead.toLocaleString("en")],
    ["rows written", counts.rowsWritten.toLocaleString("en")],
    ["alarms", `${counts.alarmsSet} set, ${counts.alarmsRun} run`],
    ["woken", count(counts.wakeUps, "object")],
    ["a million of them", dollars(dollarsPerMillion)],
  ];
  return (
    <dl class="figures">
      {figures.map(([term, value]) => (
        <div key={term}>
          <dt>{term}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

const WHY = {
  answer: "answers",
  resumes: "resumes",
  task: "of the same task",
  round: "round",
  "same-call": "the same call",
} as const;

function RelatedEntries({ entry: { related } }: { readonly entry: Entry }): JSX.Element | null {
  if (related.length === 0) return null;
  return (
    <p class="tags">
      Belongs to{" "}
      {related.map(({ id, why }) => (
        <a key={id + why} href={linkTo("call", id)}>
          #{id} <small>({WHY[why]})</small>
        </a>
      ))}
    </p>
  );
}

function EntryActions({ entry }: { readonly entry: Entry }): JSX.Element {
  const said = useSignal("");
  const cut = async () => {
    said.value = await cause({ kind: "cut", entry: entry.id }).then(
      ({ text }) => text,
      (error: unknown) => toError(error).message,
    );
    announce(said.value);
  };
  return (
    <div class="actions">
      <Copy label="Copy as curl" text={() => getCopied(entry.id, "curl")} />
      <Copy label="Copy as test" text={() => getCopied(entry.id, "test")} />
      <button
        type="button"
        class="quiet"
        aria-pressed={compared.value === entry.id}
        onClick={() => {
          compared.value = compared.value === entry.id ? undefined : entry.id;
        }}
      >
        {compared.value === entry.id ? "Now open another call" : "Compare with…"}
      </button>
      {compared.value !== undefined && compared.value !== entry.id && (
        <a class="button" href={linkTo("compare", `${compared.value},${entry.id}`)}>
          Compare with #{compared.value}
        </a>
      )}
      {entry.outcome === "running" && (
        <button type="button" onClick={() => void cut()}>
          <Icon name="cut" /> Cut this stream
        </button>
      )}
      {said.value && <span class="about">{said.value}</span>}
    </div>
  );
}

function FindingView({ finding: { what, where, why } }: { readonly finding: Finding }): JSX.Element {
  return (
    <div class="note finding">
      <p>
        <Icon name="bad" /> <b>{what}</b>
      </p>
      <p>
        <code>{where}</code>
      </p>
      <p class="about">{why}</p>
    </div>
  );
}

function Tables({ entry }: { readonly entry: Entry }): JSX.Element | null {
  const tables = tablesOf(entry);
  if (tables.length === 0) return null;
  return (
    <section>
      <h2>Rows by table</h2>
      <table>
        <thead>
          <tr>
            <th scope="col">Table</th>
            <th scope="col">Statements</th>
            <th scope="col">Rows read</th>
            <th scope="col">Rows written</th>
          </tr>
        </thead>
        <tbody>
          {tables.map(({ table, statements, rowsRead, rowsWritten }) => (
            <tr key={table}>
              <th scope="row">
                <code>{table}</code>
              </th>
              <td>{statements}</td>
              <td>{rowsRead}</td>
              <td>{rowsWritten}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Headers({ entry: { request, response } }: { readonly entry: Entry }): JSX.Element {
  const list = (title: string, headers: readonly (readonly [string, string])[] = []) =>
    headers.length > 0 && (
      <details>
        <summary>
          {title} ({headers.length})
        </summary>
        <dl class="headers">
          {headers.map(([name, value], at) => (
            <div key={at}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      </details>
    );
  return (
    <section>
      {list("Headers of the request", request?.headers)}
      {list("Headers of the response", response?.headers)}
    </section>
  );
}
