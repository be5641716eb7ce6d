/**
 * The panel of a recorded call: its outcome, its cost, its findings and its events.
 *
 * @module
 */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { Entry, Finding, Header } from "../../recorder/entry.ts";
import { getCopied, getEntry } from "../api/recorder-api.ts";
import { Copy } from "../parts/copy.tsx";
import { DataTable } from "../parts/data-table.tsx";
import { Fold } from "../parts/fold.tsx";
import { Icon } from "../parts/icon.tsx";
import { useLoaded } from "../parts/loaded.ts";
import { PanelFrame } from "../parts/panel-frame.tsx";
import { Terms } from "../parts/terms.tsx";
import { clock, count, dollars, duration } from "../parts/text.ts";
import { linkTo } from "../state/route.ts";
import { entries } from "../state/timeline.ts";
import { compared } from "./compare.tsx";
import { type Chosen, EntryEvents } from "./events.tsx";
import { useFault } from "./fault.ts";
import { LaneChart } from "./lane-chart.tsx";
import { tablesOf, toLanes } from "./lanes.ts";
import { OUTCOMES, subtitleOf, titleOf } from "./outcomes.ts";

export function EntryPanel({ id }: { readonly id: string }): JSX.Element {
  // The entry is reloaded whenever its summary changes.
  const seq = entries.value.find((each) => each.id === id)?.seq;
  const { value, problem } = useLoaded(() => getEntry(id), [id, seq]);
  if (value) return <EntryView entry={value} />;
  return <PanelFrame title={`#${id}`} about={problem ? "" : "Reading the call…"} problem={problem} />;
}

function EntryView({ entry }: { readonly entry: Entry }): JSX.Element {
  const lanes = toLanes(entry);
  const chosen = useSignal<Chosen | undefined>(undefined);
  const [icon] = OUTCOMES[entry.outcome];
  const title = (
    <>
      {titleOf(entry)} <small>{subtitleOf(entry)}</small>
    </>
  );
  return (
    <PanelFrame icon={icon} state={icon} title={title} tags={<Tags entry={entry} />} about={entry.outcomeText}>
      <Figures entry={entry} />
      <EntryActions entry={entry} />
      {entry.findings.map((finding) => (
        <FindingView key={finding.what + finding.where} finding={finding} />
      ))}
      <LaneChart
        lanes={lanes}
        onChoose={(id) => {
          chosen.value = { id };
        }}
      />
      <EntryEvents lanes={lanes} chosen={chosen.value} omitted={entry.omitted} />
      <Tables entry={entry} />
      <Headers entry={entry} />
    </PanelFrame>
  );
}

/** How an entry is related to an earlier one, and how to a later one. */
const WHY = {
  answer: ["answers", "answered by"],
  resumes: ["resumes", "resumed by"],
  task: ["same task as", "same task as"],
  round: ["continues", "continued by"],
  "same-call": ["same call as", "same call as"],
} as const;

function Tags({ entry }: { readonly entry: Entry }): JSX.Element {
  const { outcome, client, version, era, startedAtMs, session, principal, related, id } = entry;
  const tags = [
    OUTCOMES[outcome][1],
    client && `${client.name} ${client.version}`,
    version && `${version}, ${era}`,
    session && `session ${session}`,
    principal && `caller ${principal}`,
  ];
  return (
    <>
      {tags.map(
        (tag) =>
          tag && (
            <span class="tag" key={tag}>
              {tag}
            </span>
          ),
      )}
      <span class="about">
        #{id} at {clock(startedAtMs)}
      </span>
      {related.map((each) => (
        <a key={each.id + each.why} href={linkTo("call", each.id)}>
          {WHY[each.why][Number(each.id) < Number(id) ? 0 : 1]} #{each.id}
        </a>
      ))}
    </>
  );
}

function Figures({ entry: { counts, dollarsPerMillion, ms } }: { readonly entry: Entry }): JSX.Element {
  const figures: readonly (readonly [string, string])[] = [
    ["took", ms === undefined ? "running" : duration(ms)],
    ["object requests", String(counts.objectRequests)],
    ["rows read", String(counts.rowsRead)],
    ["rows written", String(counts.rowsWritten)],
    ["alarms", `${counts.alarmsSet} set, ${counts.alarmsRun} run`],
    ["woken", count(counts.wakeUps, "object")],
    ["1 million calls", dollars(dollarsPerMillion)],
  ];
  return <Terms className="figures" terms={figures} />;
}

function EntryActions({ entry }: { readonly entry: Entry }): JSX.Element {
  const [run, result] = useFault();
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
        <button type="button" onClick={() => void run({ kind: "cut", entry: entry.id })}>
          <Icon name="cut" /> Cut the stream
        </button>
      )}
      {result && <span class="about">{result}</span>}
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
      <DataTable
        isNamed
        head={["Table", "Statements", "Rows read", "Rows written"]}
        rows={tables.map((each) => [each.table, each.statements, each.rowsRead, each.rowsWritten])}
      />
    </section>
  );
}

function Headers({ entry: { request, response } }: { readonly entry: Entry }): JSX.Element {
  const list = (title: string, headers: readonly Header[] = []) =>
    headers.length > 0 && (
      <Fold title={`${title} (${headers.length})`}>
        <Terms className="headers" terms={headers} />
      </Fold>
    );
  return (
    <section>
      {list("Request headers", request?.headers)}
      {list("Response headers", response?.headers)}
    </section>
  );
}
