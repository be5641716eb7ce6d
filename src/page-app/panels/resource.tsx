/**
 * The panels of a resource, with its contents and its subscription, and of a resource template, with its variables.
 *
 * @module
 */
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { Resource, ResourceTemplate } from "../../client/index.ts";
import { formOf } from "../forms/form-state.ts";
import { SchemaForm } from "../forms/schema-form.tsx";
import { announce } from "../parts/announce.tsx";
import { Icon } from "../parts/icon.tsx";
import { PanelFrame } from "../parts/panel-frame.tsx";
import { count } from "../parts/text.ts";
import { call, messageOf } from "../state/calls.ts";
import { connected, status } from "../state/connection.ts";
import { goTo } from "../state/route.ts";
import { expandTemplate, variablesOf } from "../state/uri-template.ts";
import { CallList } from "./call-view.tsx";
import { textSchema } from "./prompt.tsx";

/** The subscribed URIs, with the number of reported changes. */
export const subscribed = signal<ReadonlyMap<string, number>>(new Map());
const problem = signal("");

/** Reads a resource. Its contents appear in the list of calls. */
export function read(uri: string): void {
  call(`resource:${uri}`, {}, ({ signal }) => connected().readResource(uri, { signal }));
}

/** Reads a resource again after the server has reported a change. */
export function noteUpdate(uri: string): void {
  const { value } = subscribed;
  subscribed.value = new Map(value).set(uri, (value.get(uri) ?? 0) + 1);
  announce(`${uri} has changed.`);
  read(uri);
}

export function ResourcePanel({
  uri,
  resource,
}: {
  readonly uri: string;
  readonly resource: Resource | undefined;
}): JSX.Element {
  useEffect(() => {
    if (status.value.is === "connected") read(uri);
  }, [uri, status.value.is]);
  const changes = subscribed.value.get(uri);
  const tags = (
    <>
      <code>{uri}</code>
      {resource?.mimeType && <span class="tag">{resource.mimeType}</span>}
      {resource?.size !== undefined && <span class="tag">{count(resource.size, "byte")}</span>}
    </>
  );
  return (
    <PanelFrame
      title={resource?.title ?? resource?.name ?? uri}
      tags={tags}
      about={resource?.description}
      problem={problem.value}
    >
      <div class="actions">
        <button type="button" class="main" onClick={() => read(uri)}>
          <Icon name="run" /> Read
        </button>
        {canSubscribe() && (
          <button
            type="button"
            aria-pressed={changes !== undefined}
            onClick={() => void toggle(uri, changes === undefined)}
          >
            {changes === undefined ? "Subscribe" : `Subscribed, ${count(changes, "change")}`}
          </button>
        )}
      </div>
      <CallList of={`resource:${uri}`} />
    </PanelFrame>
  );
}

function canSubscribe(): boolean {
  const { value } = status;
  return value.is === "connected" && value.client.server.capabilities.resources?.subscribe === true;
}

async function toggle(uri: string, isOn: boolean): Promise<void> {
  problem.value = "";
  try {
    await (isOn ? connected().subscribe(uri) : connected().unsubscribe(uri));
    const next = new Map(subscribed.value);
    if (isOn) next.set(uri, 0);
    else next.delete(uri);
    subscribed.value = next;
    announce(isOn ? "Subscribed" : "Unsubscribed");
  } catch (error) {
    problem.value = messageOf(error);
  }
}

export function TemplatePanel({ template }: { readonly template: ResourceTemplate }): JSX.Element {
  const { uriTemplate, title, name, description } = template;
  const schema = textSchema(variablesOf(uriTemplate).map((variable) => ({ name: variable })));
  const form = formOf(`template:${uriTemplate}`, schema, { type: "ref/resource", uri: uriTemplate });
  const uri = expandTemplate(uriTemplate, form.args as Readonly<Record<string, string>>);
  return (
    <PanelFrame title={title ?? name} tags={<code>{uriTemplate}</code>} about={description}>
      <SchemaForm form={form} action="Read" onSend={() => goTo("resource", uri)}>
        <code>{uri}</code>
      </SchemaForm>
    </PanelFrame>
  );
}
