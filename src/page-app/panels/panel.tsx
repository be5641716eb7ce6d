/**
 * The main panel, which the URL selects.
 *
 * @module
 */
import type { JSX } from "preact";
import { PanelFrame } from "../parts/panel-frame.tsx";
import { type List, prompts, resources, templates, tools } from "../state/catalog.ts";
import { info, status } from "../state/connection.ts";
import { groupOf } from "../state/groups.ts";
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

/** Shows an item of a list, or the reason why it does not exist. */
function find<T>(list: List<T>, isIt: (item: T) => boolean, show: (item: T) => JSX.Element, key: string): JSX.Element {
  const item = list.items?.find(isIt);
  if (item) return show(item);
  if (status.value.is === "failed") return <Start />;
  const why = list.items ? "The server does not list this with these settings." : "Reading the list…";
  return <PanelFrame title={key} about={why} />;
}

function Start(): JSX.Element {
  const { value } = status;
  if (value.is === "failed") return <SettingsPanel />;
  const first = tools.value.items?.filter((tool) => groupOf(tool) === "").slice(0, 12) ?? [];
  const { description } = (value.is === "connected" && value.client.server.info) || {};
  return (
    <PanelFrame title={serverName()} about={description}>
      <p>
        Call a tool, or connect any client to <code>{info.value?.endpoint.url}</code>. Each call appears immediately,
        with its trace and cost.
      </p>
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
    </PanelFrame>
  );
}
