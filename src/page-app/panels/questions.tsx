/**
 * The questions of the server. They are shown above all other parts of the page.
 *
 * @module
 */
import { useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { SamplingMessage } from "../../client/index.ts";
import type { JsonObject } from "../../core/protocol/jsonrpc.ts";
import { Blocks } from "../content/blocks.tsx";
import { JsonTree } from "../content/json-tree.tsx";
import { FormState } from "../forms/form-state.ts";
import { SchemaForm } from "../forms/schema-form.tsx";
import { announce } from "../parts/announce.tsx";
import { Fold } from "../parts/fold.tsx";
import { Icon } from "../parts/icon.tsx";
import { type Question, questions } from "../state/questions.ts";
import { serverName } from "../state/server-name.ts";

type Of<K extends Question["kind"]> = { readonly question: Extract<Question, { kind: K }> };

export function Questions(): JSX.Element | null {
  const { value } = questions;
  if (value.length === 0) return null;
  return (
    <section class="questions" aria-label="Questions of the server">
      {value.map((question) => (
        <QuestionView key={question.id} question={question} />
      ))}
    </section>
  );
}

function QuestionView({ question }: { readonly question: Question }): JSX.Element {
  switch (question.kind) {
    case "form":
      return <FormQuestion question={question} />;
    case "url":
      return <UrlQuestion question={question} />;
    case "sampling":
      return <SamplingQuestion question={question} />;
  }
}

/** The frame of a question. It gets the focus when the question arrives, so that it can be answered with the keyboard. */
function Card({
  title,
  message,
  children,
}: {
  readonly title: string;
  readonly message: string;
  readonly children: ComponentChildren;
}): JSX.Element {
  const card = useRef<HTMLElement>(null);
  useEffect(() => {
    announce(`${title}: ${message}`);
    card.current?.focus();
    card.current?.scrollIntoView({ block: "nearest" });
  }, []);
  return (
    <article class="asked" ref={card} tabIndex={-1} aria-label={title}>
      <h2>
        <Icon name="ask" /> {title}
      </h2>
      <p class="description">{message}</p>
      {children}
    </article>
  );
}

function FormQuestion({ question }: Of<"form">): JSX.Element {
  const { message, requestedSchema } = question.params;
  const form = useMemo(() => new FormState(`question-${question.id}`, requestedSchema as unknown as JsonObject), []);
  return (
    <Card title={`${serverName()} asks`} message={message}>
      <SchemaForm
        form={form}
        action="Answer"
        onSend={() => question.answer({ action: "accept", content: form.args as never })}
      >
        <button type="button" onClick={() => question.answer({ action: "decline" })}>
          Decline
        </button>
        <button type="button" class="quiet" onClick={() => question.answer({ action: "cancel" })}>
          Dismiss
        </button>
      </SchemaForm>
    </Card>
  );
}

/** Shows the host of the page prominently, because the rest of a URL can be misleading. */
function UrlQuestion({ question }: Of<"url">): JSX.Element {
  const { url, message } = question.params;
  const { host, protocol } = URL.canParse(url) ? new URL(url) : { host: "", protocol: "" };
  const isWeb = protocol === "https:" || protocol === "http:";
  if (question.isVisiting) {
    return (
      <Card title={`Visiting ${host}`} message="The server waits until you have finished there.">
        <div class="actions">
          <button type="button" class="main" onClick={() => question.finish?.()}>
            I have finished
          </button>
        </div>
      </Card>
    );
  }
  return (
    <Card title={`${serverName()} asks you to open a page`} message={message}>
      <p>
        The page is on <strong class="host">{host || "no host"}</strong>
        {protocol === "http:" && ", without encryption"}
      </p>
      <p class="about">
        <code>{url}</code>
      </p>
      <div class="actions">
        {isWeb && (
          <a
            class="button main"
            href={url}
            target="_blank"
            rel="noopener noreferrer"
            onClick={() => question.answer({ action: "accept" })}
          >
            Open {host}
          </a>
        )}
        <button type="button" onClick={() => question.answer({ action: "decline" })}>
          Decline
        </button>
        <button type="button" class="quiet" onClick={() => question.answer({ action: "cancel" })}>
          Dismiss
        </button>
      </div>
    </Card>
  );
}

function SamplingQuestion({ question }: Of<"sampling">): JSX.Element {
  const { messages, systemPrompt, maxTokens, ...wishes } = question.params;
  const text = useSignal("");
  const id = `sampling-${question.id}`;
  const send = () => {
    const content = { type: "text", text: text.value } as const;
    question.answer({ role: "assistant", content, model: "human", stopReason: "endTurn" });
  };
  return (
    <Card title={`${serverName()} asks your model`} message={`Answer as the model, in at most ${maxTokens} tokens.`}>
      {systemPrompt && (
        <div class="message">
          <h3>System</h3>
          <pre class="text">{systemPrompt}</pre>
        </div>
      )}
      {messages.map((message, at) => (
        <Message key={at} message={message} />
      ))}
      {Object.keys(wishes).length > 0 && (
        <Fold title="Other parameters">
          <JsonTree value={wishes} />
        </Fold>
      )}
      <form
        class="schema"
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
      >
        <div class="field">
          <label for={id}>Model response</label>
          <textarea
            id={id}
            rows={3}
            value={text.value}
            onInput={({ currentTarget }) => {
              text.value = currentTarget.value;
            }}
          />
        </div>
        <div class="actions">
          <button type="submit" class="main">
            Send
          </button>
          <button type="button" onClick={() => question.refuse()}>
            Refuse
          </button>
        </div>
      </form>
    </Card>
  );
}

function Message({ message: { role, content } }: { readonly message: SamplingMessage }): JSX.Element {
  return (
    <div class={`message ${role}`}>
      <h3>{role === "user" ? "User" : "Assistant"}</h3>
      <Blocks content={[content].flat() as never} />
    </div>
  );
}
