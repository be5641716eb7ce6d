/**
 * The Durable Objects as they are now.
 *
 * @module
 */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { FaultKind, ObjectState, StoredTable } from "../../recorder/api.ts";
import { cause, getObjects } from "../api/recorder-api.ts";
import { JsonTree } from "../content/json-tree.tsx";
import { announce } from "../parts/announce.tsx";
import { Icon } from "../parts/icon.tsx";
import { count, relative } from "../parts/text.ts";
import { toError } from "../state/calls.ts";
import { info } from "../state/connection.ts";
import { linkTo } from "../state/route.ts";
import { entries } from "../state/timeline.ts";

export function ObjectsPanel(): JSX.Element {
  const objects = useSignal<readonly ObjectState[] | undefined>(undefined);
  const problem = useSignal("");
  const read = () => {
    getObjects().then(
      (list) => {
        objects.value = list;
      },
      (error: unknown) => {
        problem.value = toError(error).message;
      },
    );
  };
  // Each call may change an object.
  useEffect(read, [entries.value]);
  return (
    <article class="panel">
      <header class="heading">
        <h1>
          <Icon name="object" /> Objects
        </h1>
        <p class="description">
          The Durable Objects of this run: what they store, and when they wake next. Looking does not wake them.
        </p>
      </header>
      {problem.value && <p class="mistake">{problem.value}</p>}
      {objects.value === undefined && !problem.value && <p class="about">Reading the state…</p>}
      {objects.value?.length === 0 && (
        <p class="empty">There is no object yet. Sessions, tasks and calls that run once create one each.</p>
      )}
      {objects.value?.map((object) => (
        <ObjectView key={object.id} object={object} onChange={read} />
      ))}
    </article>
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
        <h2>
          <Icon name="object" /> {role ?? className}
        </h2>
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
      {facts.length > 0 && (
        <dl class="facts">
          {facts.map(([term, value]) => (
            <div key={term}>
              <dt>{term}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      )}
      {tables.map((table) => (
        <Table key={table.name} table={table} />
      ))}
      {keys.length > 0 && (
        <details>
          <summary>{count(keys.length, "key")}</summary>
          <JsonTree value={Object.fromEntries(keys.map(({ key, value }) => [key, value]))} />
        </details>
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
    <details>
      <summary>
        <code>{name}</code> {count(rows, "row")}
      </summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table scrolls, also with a keyboard. */}
      <section class="scroll" tabIndex={0} aria-label={`Rows of ${name}`}>
        <table>
          <thead>
            <tr>
              {columns.map((column) => (
                <th key={column} scope="col">
                  {column}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {first.map((row, at) => (
              <tr key={at}>
                {row.map((value, column) => (
                  <td key={column}>{typeof value === "string" ? value : JSON.stringify(value)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </details>
  );
}

const FAULTS: readonly (readonly [FaultKind, string])[] = [
  ["evict", "Evict"],
  ["abort", "Reset"],
  ["alarm", "Run its alarm"],
];

function ObjectFaults({ id, onChange }: { readonly id: string; readonly onChange: () => void }): JSX.Element {
  const said = useSignal("");
  const isOn = info.value?.faults === true;
  const run = async (kind: FaultKind) => {
    said.value = await cause({ kind, object: id }).then(
      ({ text }) => text,
      (error: unknown) => toError(error).message,
    );
    announce(said.value);
    onChange();
  };
  return (
    <div class="actions">
      {FAULTS.map(([kind, text]) => (
        <button type="button" key={kind} disabled={!isOn} onClick={() => void run(kind)}>
          {text}
        </button>
      ))}
      {!isOn && (
        <span class="about">
          These need <code>mcp-edge dev --faults</code>
        </span>
      )}
      {said.value && <span class="about">{said.value}</span>}
    </div>
  );
}
