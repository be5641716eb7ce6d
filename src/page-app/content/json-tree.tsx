/**
 * JSON as a tree that opens level by level.
 *
 * @module
 */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { isObject } from "../../core/protocol/jsonrpc.ts";

/** Members and items are shown in portions of this size. */
const PORTION = 100;
/** The number of characters of a text that are shown before it is opened. */
const TEXT_SHOWN = 300;

interface TreeProps {
  readonly value: unknown;
  readonly name?: string | undefined;
  /** How many levels are open at first. */
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
  const isOpen = useSignal(open > 0);
  const shown = useSignal(PORTION);
  const entries = Object.entries(value as object);
  const [begin, end] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  if (entries.length === 0)
    return (
      <div>
        {name !== undefined && <span class="key">{name}: </span>}
        {begin}
        {end}
      </div>
    );
  return (
    <details
      open={isOpen.value}
      onToggle={({ currentTarget }) => {
        isOpen.value = currentTarget.open;
      }}
    >
      <summary>
        {name !== undefined && <span class="key">{name}: </span>}
        {begin}
        {!isOpen.value && (
          <span class="literal">
            {" "}
            {entries.length} {end}
          </span>
        )}
      </summary>
      {isOpen.value &&
        entries.slice(0, shown.value).map(([key, item]) => <Node key={key} name={key} value={item} open={open - 1} />)}
      {isOpen.value && entries.length > shown.value && (
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
    </details>
  );
}
