/**
 * The current state of the Durable Objects.
 *
 * @module
 */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { FAULTS_WITH_FLAG, type FaultKind, type ObjectState, type StoredTable } from "../../recorder/api.ts";
import { getObjects } from "../api/recorder-api.ts";
import { JsonTree } from "../content/json-tree.tsx";
import { DataTable } from "../parts/data-table.tsx";
import { Fold } from "../parts/fold.tsx";
import { useLoaded } from "../parts/loaded.ts";
import { PanelFrame } from "../parts/panel-frame.tsx";
import { Terms } from "../parts/terms.tsx";
import { count, relative } from "../parts/text.ts";
import { info } from "../state/connection.ts";
import { linkTo } from "../state/route.ts";
import { entries } from "../state/timeline.ts";
import { useFault } from "../timeline/fault.ts";

export function ObjectsPanel(): JSX.Element {
  const changes = useSignal(0);
  // Each call may change an object.
  const { value, problem } = useLoaded(getObjects, [entries.value, changes.value]);
  const read = () => {
    changes.value += 1;
  };
  return (
    <PanelFrame title="Objects" about="Looking at Durable Objects does not wake them." problem={problem}>
      {value === undefined && !problem && <p class="about">Reading the state…</p>}
      {value?.length === 0 && <p class="empty">No objects yet.</p>}
      {value?.map((object) => (
        <ObjectView key={object.id} object={object} onChange={read} />
      ))}
    </PanelFrame>
  );
}

function ObjectView({
  object,
  onChange,
}: {
  readonly object: ObjectState;
  readonly onChange: () => void;
}): JSX.Element {
  const { id, role, className, name, awake, alarmAtMs, lastInvokedAtMs, bytes, facts, tables, keys } = object;
  const now = Date.now();
  return (
    <section class="call" aria-label={`Object ${id.slice(0, 8)}`}>
      <header>
        <h2>{role ?? className}</h2>
        <code class="about">{id.slice(0, 8)}</code>
        {name && <code class="about">{name}</code>}
        <span class="tag">{awake ? "awake" : "asleep"}</span>
      </header>
      <p class="about">
        {[
          lastInvokedAtMs !== undefined && `used ${relative(lastInvokedAtMs, now)}`,
          alarmAtMs !== undefined ? `next alarm ${relative(alarmAtMs, now)}` : "no alarm",
          `${bytes.toLocaleString("en")} bytes`,
        ]
          .filter(Boolean)
          .join(" · ")}
      </p>
      {facts.length > 0 && <Terms className="figures" terms={facts} />}
      {tables.map((table) => (
        <Table key={table.name} table={table} />
      ))}
      {keys.length > 0 && (
        <Fold title={count(keys.length, "key")}>
          <JsonTree value={Object.fromEntries(keys.map(({ key, value }) => [key, value]))} />
        </Fold>
      )}
      {object.entries.length > 0 && (
        <p class="about">
          Used by{" "}
          {object.entries.slice(0, 8).map((entry) => (
            <a key={entry} href={linkTo("call", entry)}>
              #{entry}{" "}
            </a>
          ))}
        </p>
      )}
      <ObjectFaults id={id} onChange={onChange} />
    </section>
  );
}

function Table({ table: { name, rows, columns, first } }: { readonly table: StoredTable }): JSX.Element {
  return (
    <Fold title={`${name}: ${count(rows, "row")}`}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table must be scrollable with the keyboard. */}
      <section class="scroll" tabIndex={0} aria-label={`Rows of ${name}`}>
        <DataTable head={columns} rows={first} />
      </section>
    </Fold>
  );
}

const FAULTS: readonly (readonly [FaultKind, string])[] = [
  ["evict", "Evict"],
  ["abort", "Reset"],
  ["alarm", "Run its alarm"],
];

function ObjectFaults({ id, onChange }: { readonly id: string; readonly onChange: () => void }): JSX.Element {
  const [run, result] = useFault();
  const isOn = info.value?.faults === true;
  return (
    <div class="actions">
      {FAULTS.map(([kind, text]) => (
        <button
          type="button"
          key={kind}
          disabled={!isOn && FAULTS_WITH_FLAG.includes(kind)}
          onClick={() => void run({ kind, object: id }).then(onChange)}
        >
          {text}
        </button>
      ))}
      {!isOn && (
        <span class="about">
          Reset and alarms need <code>mcp-edge dev --faults</code>
        </span>
      )}
      {result && <span class="about">{result}</span>}
    </div>
  );
}
