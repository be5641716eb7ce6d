/**
 * A resource: its contents, and whether changes are reported. A template: its variables.
 *
 * @module
 */
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { Resource, ResourceTemplate } from "../../client/index.ts";
import { announce } from "../parts/announce.tsx";
import { Icon } from "../parts/icon.tsx";
import { call, toError } from "../state/calls.ts";
import { connected, status } from "../state/connection.ts";
import { goTo } from "../state/route.ts";
import { expandTemplate, variablesOf } from "../state/uri-template.ts";
import { CallList } from "./call-view.tsx";
import { Heading } from "./heading.tsx";
import { Parameter, TextForm, valuesOf } from "./prompt.tsx";

/** The URIs of which the server reports changes, with the number of changes. */
export const subscribed = signal<ReadonlyMap<string, number>>(new Map());
const problem = signal<string | undefined>(undefined);

/** Reads a resource, so that its contents are in the list of calls. */
export function read(uri: string): void {
  call(`resource:${uri}`, {}, ({ signal }) => connected().readResource(uri, { signal }));
}

/** Reads a resource again after a change. */
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
  return (
    <article class="panel">
      <Heading
        icon="resource"
        title={resource?.title ?? resource?.name}
        name={uri}
        description={resource?.description}
        tags={[
          resource?.mimeType,
          resource?.size !== undefined ? `${resource.size.toLocaleString("en")} bytes` : undefined,
        ].filter((tag) => tag !== undefined)}
      />
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
            <Icon name="bell" />{" "}
            {changes === undefined ? "Subscribe" : `Subscribed, ${changes} ${changes === 1 ? "change" : "changes"}`}
          </button>
        )}
      </div>
      {problem.value && <p class="mistake">{problem.value}</p>}
      <CallList of={`resource:${uri}`} show={(each) => each} />
    </article>
  );
}

function canSubscribe(): boolean {
  const { value } = status;
  return value.is === "connected" && value.client.server.capabilities.resources?.subscribe === true;
}

async function toggle(uri: string, isOn: boolean): Promise<void> {
  problem.value = undefined;
  try {
    await (isOn ? connected().subscribe(uri) : connected().unsubscribe(uri));
    const next = new Map(subscribed.value);
    if (isOn) next.set(uri, 0);
    else next.delete(uri);
    subscribed.value = next;
    announce(isOn ? "Subscribed" : "Not subscribed any more");
  } catch (error) {
    problem.value = toError(error).message;
  }
}

export function TemplatePanel({ template }: { readonly template: ResourceTemplate }): JSX.Element {
  const { uriTemplate, title, name, description } = template;
  const id = `template:${uriTemplate}`;
  const values = valuesOf(id);
  const uri = expandTemplate(uriTemplate, values.value);
  return (
    <article class="panel">
      <Heading
        icon="resource"
        title={title ?? name}
        name={uriTemplate}
        description={description}
        tags={template.mimeType ? [template.mimeType] : []}
      />
      <TextForm action="Read" onSend={() => goTo("resource", uri)} isEmpty={false}>
        {variablesOf(uriTemplate).map((variable) => (
          <Parameter
            key={variable}
            id={id}
            values={values}
            parameter={{ name: variable }}
            reference={{ type: "ref/resource", uri: uriTemplate }}
          />
        ))}
        <p class="about" key="uri">
          Reads <code>{uri}</code>
        </p>
      </TextForm>
    </article>
  );
}
