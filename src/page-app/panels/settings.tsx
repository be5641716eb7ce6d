/**
 * How the page connects.
 *
 * @module
 */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { LoggingLevel, Root } from "../../client/index.ts";
import { JsonTree } from "../content/json-tree.tsx";
import { Icon } from "../parts/icon.tsx";
import { connected, info, reconnect, status } from "../state/connection.ts";
import { type Capabilities, change, LEVELS, settings, VERSIONS } from "../state/settings.ts";

/** Changes settings, and connects with them. */
function apply(changed: Parameters<typeof change>[0]): void {
  change(changed);
  void reconnect();
}

const CAPABILITIES: readonly (readonly [name: keyof Capabilities, title: string, about: string])[] = [
  ["form", "Forms", "elicitation.form: the server may ask you something"],
  ["url", "Pages", "elicitation.url: the server may ask you to open a page"],
  ["sampling", "Sampling", "sampling: the server may ask a model, whose part you play"],
  ["samplingTools", "Sampling with tools", "sampling.tools: the server may give that model tools"],
  ["roots", "Roots", "roots: the server may ask which folders are open"],
  ["tasks", "Tasks", "calls may run in the background"],
  ["views", "Views", "io.modelcontextprotocol/ui: tools may have views (MCP Apps)"],
];

export function SettingsPanel(): JSX.Element {
  const { version, can, logLevel } = settings.value;
  return (
    <article class="panel">
      <header class="heading">
        <h1>
          <Icon name="settings" /> Connection
        </h1>
        <p class="description">The page is a client like any other. Each change connects again.</p>
      </header>
      <State />
      <div class="schema">
        <div class="field">
          <label for="version">Protocol version</label>
          <select
            id="version"
            value={version}
            onChange={({ currentTarget }) => apply({ version: currentTarget.value })}
          >
            <option value="">The newest that the server speaks</option>
            {VERSIONS.map((each) => (
              <option key={each.version} value={each.version}>
                {each.version} ({each.era === "modern" ? "modern, without sessions" : "legacy, with sessions"})
              </option>
            ))}
          </select>
        </div>
        <fieldset class="field group">
          <legend>What the client can do</legend>
          {CAPABILITIES.map(([name, title, about]) => (
            <label class="check" key={name}>
              <input
                type="checkbox"
                checked={can[name]}
                onChange={({ currentTarget }) => apply({ can: { ...can, [name]: currentTarget.checked } })}
              />
              <span>
                {title} <small>{about}</small>
              </span>
            </label>
          ))}
        </fieldset>
        <Roots />
        <div class="field">
          <label for="level">Log messages</label>
          <select
            id="level"
            value={logLevel}
            onChange={({ currentTarget }) => apply({ logLevel: currentTarget.value as LoggingLevel })}
          >
            <option value="">None</option>
            {LEVELS.map((level) => (
              <option key={level} value={level}>
                From {level} on
              </option>
            ))}
          </select>
        </div>
        <HeaderField />
      </div>
    </article>
  );
}

function State(): JSX.Element {
  const { value } = status;
  if (value.is === "connecting") return <p role="status">Connecting…</p>;
  if (value.is === "failed")
    return (
      <div class="note">
        <p>
          <Icon name="bad" /> {value.message}
        </p>
        <button type="button" onClick={() => void reconnect()}>
          Connect again
        </button>
      </div>
    );
  const { protocolVersion, transport, capabilities, instructions } = value.client.server;
  return (
    <div class="note" data-state="good">
      <p>
        <Icon name="good" /> Connected with {protocolVersion}, {transport}, at <code>{info.value?.endpoint.url}</code>
      </p>
      {instructions && (
        <details>
          <summary>Instructions for models</summary>
          <pre class="text">{instructions}</pre>
        </details>
      )}
      <details>
        <summary>Capabilities of the server</summary>
        <JsonTree value={capabilities} open={4} />
      </details>
      <button type="button" onClick={() => void reconnect()}>
        Connect again
      </button>
    </div>
  );
}

/** One root on each line: a URI, and a name after a space. */
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
        One on each line: a URI, and a name after a space. The server is told when you leave the field.
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
      <label for="header">Header of every request</label>
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
        For endpoints that need a token. It is kept in the memory of this page only. Enter connects with it.
      </p>
    </form>
  );
}
