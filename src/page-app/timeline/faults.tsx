/**
 * The faults that affect the whole server. The faults of a call or an object are in its panel.
 *
 * @module
 */
import type { JSX } from "preact";
import type { FaultRequest } from "../../recorder/api.ts";
import { info } from "../state/connection.ts";
import { useFault } from "./fault.ts";

const MINUTE_MS = 60_000;

/** The faults, and whether they require `--faults`. */
const FAULTS: readonly (readonly [text: string, fault: FaultRequest, needsFlag: boolean])[] = [
  ["Kill workerd and restart it", { kind: "kill" }, false],
  ["Delay answers by 5 s", { kind: "delay", ms: 5_000 }, false],
  ["Stop delaying", { kind: "delay", ms: 0 }, false],
  ["Clock: 1 minute ahead", { kind: "clock", ms: MINUTE_MS }, true],
  ["Clock: 1 hour ahead", { kind: "clock", ms: 60 * MINUTE_MS }, true],
  ["Clock: 1 day ahead", { kind: "clock", ms: 1_440 * MINUTE_MS }, true],
];

export function Faults(): JSX.Element {
  const [run, result] = useFault();
  const isOn = info.value?.faults === true;
  return (
    <fieldset class="field group">
      <legend>Inject faults</legend>
      {FAULTS.map(([text, fault, needsFlag]) => (
        <button type="button" key={text} disabled={needsFlag && !isOn} onClick={() => void run(fault)}>
          {text}
        </button>
      ))}
      {!isOn && (
        <p class="about">
          Clock and object faults require <code>mcp-edge dev --faults</code>.
        </p>
      )}
      {result && <p class="about">{result}</p>}
    </fieldset>
  );
}
