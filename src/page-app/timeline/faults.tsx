/**
 * Faults on purpose that concern the whole server. Those of one call or one object are with them.
 *
 * @module
 */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { FaultRequest } from "../../recorder/api.ts";
import { cause } from "../api/recorder-api.ts";
import { announce } from "../parts/announce.tsx";
import { toError } from "../state/calls.ts";
import { info } from "../state/connection.ts";

const MINUTE_MS = 60_000;

export function Faults(): JSX.Element {
  const said = useSignal("");
  const minutes = useSignal("5");
  const seconds = useSignal("3");
  const isOn = info.value?.faults === true;
  const run = async (fault: FaultRequest) => {
    said.value = await cause(fault).then(
      ({ text }) => text,
      (error: unknown) => toError(error).message,
    );
    announce(said.value);
  };
  return (
    <fieldset class="faults">
      <legend>Faults on purpose</legend>
      <button type="button" onClick={() => void run({ kind: "kill" })}>
        Kill workerd, and start it again
      </button>
      <div>
        <button type="button" onClick={() => void run({ kind: "delay", ms: Number(seconds.value) * 1_000 })}>
          Hold answers
        </button>
        <label>
          for{" "}
          <input
            type="text"
            inputMode="numeric"
            size={3}
            value={seconds.value}
            onInput={({ currentTarget }) => {
              seconds.value = currentTarget.value;
            }}
          />{" "}
          seconds
        </label>
      </div>
      <div>
        <button
          type="button"
          disabled={!isOn}
          onClick={() => void run({ kind: "clock", ms: Number(minutes.value) * MINUTE_MS })}
        >
          Move the clock
        </button>
        <label>
          by{" "}
          <input
            type="text"
            inputMode="numeric"
            size={3}
            disabled={!isOn}
            value={minutes.value}
            onInput={({ currentTarget }) => {
              minutes.value = currentTarget.value;
            }}
          />{" "}
          minutes
        </label>
      </div>
      {!isOn && (
        <p class="about">
          Moving the clock, and faults of objects, need <code>mcp-edge dev --faults</code>.
        </p>
      )}
      {said.value && <p class="about">{said.value}</p>}
    </fieldset>
  );
}
