/**
 * Faults on purpose that concern the whole server. Those of one call or one object are with them.
 *
 * @module
 */
import type { JSX } from "preact";
import type { FaultRequest } from "../../recorder/api.ts";
import { info } from "../state/connection.ts";
import { useFault } from "./fault.ts";

const MINUTE_MS = 60_000;

/** The faults, and whether they need `--faults`. */
const FAULTS: readonly (readonly [text: string, fault: FaultRequest, needsFlag: boolean])[] = [
  ["Kill workerd, and start it again", { kind: "kill" }, false],
  ["Hold answers for 5 s", { kind: "delay", ms: 5_000 }, false],
  ["Hold no answers", { kind: "delay", ms: 0 }, false],
  ["Clock: 1 minute ahead", { kind: "clock", ms: MINUTE_MS }, true],
  ["Clock: 1 hour ahead", { kind: "clock", ms: 60 * MINUTE_MS }, true],
  ["Clock: 1 day ahead", { kind: "clock", ms: 1_440 * MINUTE_MS }, true],
];

export function Faults(): JSX.Element {
  const [run, said] = useFault();
  const isOn = info.value?.faults === true;
  return (
    <fieldset class="field group">
      <legend>Faults on purpose</legend>
      {FAULTS.map(([text, fault, needsFlag]) => (
        <button type="button" key={text} disabled={needsFlag && !isOn} onClick={() => void run(fault)}>
          {text}
        </button>
      ))}
      {!isOn && (
        <p class="about">
          The clock, and faults of objects, need <code>mcp-edge dev --faults</code>.
        </p>
      )}
      {said && <p class="about">{said}</p>}
    </fieldset>
  );
}
