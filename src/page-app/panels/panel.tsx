/**
 * What is open: chosen by the address.
 *
 * @module
 */
import type { JSX } from "preact";
import { Icon } from "../parts/icon.tsx";
import { type List, prompts, resources, templates, tools } from "../state/catalog.ts";
import { info, reconnect, status } from "../state/connection.ts";
import { linkTo, route } from "../state/route.ts";
import { serverName } from "../state/server-name.ts";
import { ComparePanel } from "../timeline/compare.tsx";
import { EntryPanel } from "../timeline/entry.tsx";
import { ObjectsPanel } from "./objects.tsx";
import { PromptPanel } from "./prompt.tsx";
import { ResourcePanel, TemplatePanel } from "./resource.tsx";
import { SettingsPanel } from "./settings.tsx";
import { TasksPanel } from "./tasks.tsx";
import { ToolPanel } from "./tool.tsx";

export function Panel(): JSX.Element {
  const { kind, key } = route.value;
  switch (kind) {
    case "tool":
      return find(
        tools.value,
        (tool) => tool.name === key,
        (tool) => <ToolPanel key={key} tool={tool} />,
        key,
      );
    case "prompt":
      return find(
        prompts.value,
        (prompt) => prompt.name === key,
        (prompt) => <PromptPanel key={key} prompt={prompt} />,
        key,
      );
    case "resource":
      return <ResourcePanel key={key} uri={key} resource={resources.value.items?.find(({ uri }) => uri === key)} />;
    case "template":
      return find(
        templates.value,
        ({ uriTemplate }) => uriTemplate === key,
        (template) => <TemplatePanel key={key} template={template} />,
        key,
      );
    case "tasks":
      return <TasksPanel />;
    case "objects":
      return <ObjectsPanel />;
    case "settings":
      return <SettingsPanel />;
    case "call":
      return <EntryPanel key={key} id={key} />;
    case "compare":
      return <ComparePanel key={key} pair={key} />;
    default:
      return <Start />;
  }
}

/** Shows an item of a list, or why there is none. */
function find<T>(list: List<T>, isIt: (item: T) => boolean, show: (item: T) => JSX.Element, key: string): JSX.Element {
  const item = list.items?.find(isIt);
  if (item) return show(item);
  if (list.items === undefined)
    return status.value.is === "failed" ? (
      <Start />
    ) : (
      <article class="panel">
        <p class="about">Reading the list…</p>
      </article>
    );
  return (
    <article class="panel">
      <p class="empty">
        The server has no <code>{key}</code>. Its lists may have changed, or the version or the capabilities of this
        client.
      </p>
    </article>
  );
}

function Start(): JSX.Element {
  const { value } = status;
  if (value.is === "failed") {
    return (
      <article class="panel">
        <header class="heading">
          <h1 data-state="bad">
            <Icon name="bad" /> Not connected
          </h1>
        </header>
        <p class="description">{value.message}</p>
        <div class="actions">
          <button type="button" class="main" onClick={() => void reconnect()}>
            Connect again
          </button>
          <a class="button" href={linkTo("settings")}>
            Connection
          </a>
        </div>
      </article>
    );
  }
  const first = tools.value.items?.slice(0, 8) ?? [];
  return (
    <article class="panel start">
      <header class="heading">
        <h1>{serverName()}</h1>
        {value.is === "connected" && value.client.server.info?.description && (
          <p class="description">{value.client.server.info.description}</p>
        )}
        <p class="description">
          Call something here, or connect any other client to <code>{info.value?.endpoint.url}</code>: every call
          appears at once, with what it did inside and what it cost.
        </p>
      </header>
      {first.length > 0 && (
        <ul class="cards">
          {first.map((tool) => (
            <li key={tool.name}>
              <a href={linkTo("tool", tool.name)}>
                <b>{tool.title ?? tool.name}</b>
                <span class="about">{tool.description}</span>
              </a>
            </li>
          ))}
        </ul>
      )}
    </article>
  );
}
