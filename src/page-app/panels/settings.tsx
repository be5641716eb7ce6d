/**
 * The connection settings of the page.
 *
 * @module
 */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { LoggingLevel, Root } from "../../client/index.ts";
import { JsonTree } from "../content/json-tree.tsx";
import { Check } from "../parts/check.tsx";
import { Fold } from "../parts/fold.tsx";
import { Icon } from "../parts/icon.tsx";
import { Mistake, PanelFrame } from "../parts/panel-frame.tsx";
import { connected, info, reconnect, status } from "../state/connection.ts";
import { type Capabilities, change, LEVELS, settings, VERSIONS } from "../state/settings.ts";

/** Changes settings, and reconnects with them. */
function apply(changed: Parameters<typeof change>[0]): void {
  change(changed);
  void reconnect();
}

const CAPABILITIES: readonly (readonly [name: keyof Capabilities, title: string, about: string])[] = [
  ["form", "Forms", "the server may ask you something"],
  ["url", "Pages", "the server may ask you to open one"],
  ["sampling", "Sampling", "the server may ask a model; you answer for it"],
  ["roots", "Roots", "the server may ask which folders are open"],
  ["tasks", "Tasks", "calls may run in the background"],
  ["views", "Views", "tools may have views (MCP Apps)"],
];

export function SettingsPanel(): JSX.Element {
  const { version, can, logLevel } = settings.value;
  return (
    <PanelFrame title="Connection" about="Each change reconnects.">
      <State />
      <div class="schema">
        <Select
          id="version"
          label="Protocol version"
          value={version}
          options={[
            ["", "Newest supported by the server"],
            ...VERSIONS.map((each) => [each.version, `${each.version} (${each.era})`] as const),
          ]}
          onChange={(changed) => apply({ version: changed })}
        />
        <fieldset class="field group">
          <legend>Client capabilities</legend>
          {CAPABILITIES.map(([name, title, about]) => (
            <Check key={name} isOn={can[name]} onChange={(isOn) => apply({ can: { ...can, [name]: isOn } })}>
              {title} <small>{about}</small>
            </Check>
          ))}
        </fieldset>
        <Roots />
        <Select
          id="level"
          label="Log messages"
          value={logLevel}
          options={[["", "None"], ...LEVELS.map((level) => [level, `${level} or above`] as const)]}
          onChange={(level) => apply({ logLevel: level as LoggingLevel })}
        />
        <HeaderField />
      </div>
    </PanelFrame>
  );
}

interface SelectProps {
  readonly id: string;
  readonly label: string;
  readonly value: string;
  readonly options: readonly (readonly [value: string, text: string])[];
  readonly onChange: (value: string) => void;
}

function Select({ id, label, value, options, onChange }: SelectProps): JSX.Element {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        {options.map(([each, text]) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}

function State(): JSX.Element {
  const { value } = status;
  const again = (
    <button type="button" onClick={() => void reconnect()}>
      Reconnect
    </button>
  );
  if (value.is === "connecting") return <p>Connecting…</p>;
  if (value.is === "failed") {
    return (
      <div class="note">
        <Mistake text={value.message} />
        {again}
      </div>
    );
  }
  const { protocolVersion, transport, capabilities, instructions } = value.client.server;
  return (
    <div class="note" data-state="good">
      <p data-state="good">
        <Icon name="good" /> Connected with {protocolVersion}, {transport}, at <code>{info.value?.endpoint.url}</code>
      </p>
      {instructions && (
        <Fold title="Instructions for models">
          <pre class="text">{instructions}</pre>
        </Fold>
      )}
      <Fold title="Server capabilities">
        <JsonTree value={capabilities} open={4} />
      </Fold>
      {again}
    </div>
  );
}

/** A text area with one root per line: a URI, and optionally a space and a name. */
function Roots(): JSX.Element {
  const { roots } = settings.value;
  const toText = (list: readonly Root[]) => list.map(({ uri, name }) => (name ? `${uri} ${name}` : uri)).join("\n");
  const text = useSignal(toText(roots));
  const save = () => {
    const lines = text.value
      .split("\n")
      .map((line) => line.trim())
      .filter(Boolean);
    const changed = lines.map((line): Root => {
      const [uri = "", ...name] = line.split(/\s+/);
      return name.length > 0 ? { uri, name: name.join(" ") } : { uri };
    });
    change({ roots: changed });
    if (settings.value.can.roots && status.value.is === "connected") void connected().setRoots(changed);
  };
  return (
    <div class="field">
      <label for="roots">Roots</label>
      <textarea
        id="roots"
        rows={2}
        class="code"
        spellcheck={false}
        aria-describedby="roots-about"
        value={text.value}
        onInput={({ currentTarget }) => {
          text.value = currentTarget.value;
        }}
        onBlur={save}
      />
      <p class="about" id="roots-about">
        One per line: a URI, and optionally a name.
      </p>
    </div>
  );
}

function HeaderField(): JSX.Element {
  const text = useSignal(settings.value.header);
  return (
    <form
      class="field"
      onSubmit={(event) => {
        event.preventDefault();
        apply({ header: text.value.trim() });
      }}
    >
      <label for="header">Header for all requests</label>
      <input
        id="header"
        type="text"
        class="code"
        autocomplete="off"
        spellcheck={false}
        placeholder="Authorization: Bearer …"
        aria-describedby="header-about"
        value={text.value}
        onInput={({ currentTarget }) => {
          text.value = currentTarget.value;
        }}
      />
      <p class="about" id="header-about">
        For endpoints that require a token. Not stored. Press Enter to reconnect.
      </p>
    </form>
  );
}
