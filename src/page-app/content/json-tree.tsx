/**
 * Shows JSON as a tree with collapsible levels.
 *
 * @module
 */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { isObject } from "../../core/protocol/jsonrpc.ts";
import { Fold } from "../parts/fold.tsx";

/** The number of members or items that are shown at a time. */
const PORTION = 100;
/** The number of characters of a long string that are shown at first. */
const TEXT_SHOWN = 300;

interface TreeProps {
  readonly value: unknown;
  readonly name?: string | undefined;
  /** The number of levels that are open at first. */
  readonly open?: number;
}

export function JsonTree({ value, name, open = 2 }: TreeProps): JSX.Element {
  return (
    <div class="json">
      <Node value={value} name={name} open={open} />
    </div>
  );
}

function Node({ value, name, open = 0 }: TreeProps): JSX.Element {
  const key = name === undefined ? undefined : <span class="key">{name}: </span>;
  if (isObject(value) || Array.isArray(value)) return <Branch value={value} name={name} open={open} />;
  if (typeof value === "string")
    return (
      <div>
        {key}
        <Text text={value} />
      </div>
    );
  return (
    <div>
      {key}
      <span class="literal">{String(value)}</span>
    </div>
  );
}

function Text({ text }: { readonly text: string }): JSX.Element {
  const isOpen = useSignal(false);
  const isLong = text.length > TEXT_SHOWN;
  return (
    <span class="string">
      {JSON.stringify(isLong && !isOpen.value ? text.slice(0, TEXT_SHOWN) : text)}
      {isLong && !isOpen.value && (
        <button
          type="button"
          class="quiet"
          onClick={() => {
            isOpen.value = true;
          }}
        >
          all {text.length.toLocaleString("en")} characters
        </button>
      )}
    </span>
  );
}

function Branch({ value, name, open = 0 }: TreeProps): JSX.Element {
  const shown = useSignal(PORTION);
  const entries = Object.entries(value as object);
  const size = Array.isArray(value) ? `[${entries.length}]` : `{${entries.length}}`;
  const title = (
    <>
      {name !== undefined && <span class="key">{name}: </span>}
      <span class="literal">{size}</span>
    </>
  );
  if (entries.length === 0) return <div>{title}</div>;
  return (
    <Fold title={title} isOpen={open > 0}>
      {entries.slice(0, shown.value).map(([key, item]) => (
        <Node key={key} name={key} value={item} open={open - 1} />
      ))}
      {entries.length > shown.value && (
        <button
          type="button"
          class="quiet"
          onClick={() => {
            shown.value += PORTION;
          }}
        >
          {PORTION} more of {entries.length}
        </button>
      )}
    </Fold>
  );
}
