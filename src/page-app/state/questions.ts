/**
 * The questions of the server that the user has not answered yet.
 *
 * @module
 */
import { signal } from "@preact/signals";
import {
  type CreateMessageRequestParams,
  type CreateMessageResult,
  type ElicitAnswer,
  type ElicitRequestFormParams,
  type ElicitRequestURLParams,
  McpError,
  type QuestionContext,
} from "../../client/index.ts";

/** The error code of a refusal by the user. */
const REFUSED = -1;

/** A question, with the functions that answer it. */
export type Question = {
  readonly id: number;
  /** Refuses a request for sampling. */
  refuse(): void;
} & (
  | { readonly kind: "form"; readonly params: ElicitRequestFormParams; answer(result: ElicitAnswer): void }
  | {
      readonly kind: "url";
      readonly params: ElicitRequestURLParams;
      /** Whether the user has agreed, and the server waits for the end of the visit. */
      readonly isVisiting: boolean;
      answer(result: Pick<ElicitAnswer, "action">): void;
      /** Ends the visit. Absent if only the server can report its end. */
      readonly finish?: (() => void) | undefined;
    }
  | {
      readonly kind: "sampling";
      readonly params: CreateMessageRequestParams;
      answer(result: CreateMessageResult): void;
    }
);

type QuestionDetails = {
  [K in Question["kind"]]: Omit<Extract<Question, { kind: K }>, "id" | "answer" | "refuse">;
}[Question["kind"]];

/** The open questions, in the order in which they arrived. */
export const questions = signal<readonly Question[]>([]);

let lastId = 0;

function remove(id: number): void {
  questions.value = questions.value.filter((question) => question.id !== id);
}

/** Shows a question, and resolves with the answer. The question disappears when the server cancels it. */
function ask<T>(question: QuestionDetails, { signal: withdrawn }: QuestionContext): Promise<T> {
  return new Promise((resolve, reject) => {
    lastId += 1;
    const id = lastId;
    const settle = (end: () => void) => {
      remove(id);
      end();
    };
    const asked = {
      ...question,
      id,
      answer: (result: T) => settle(() => resolve(result)),
      refuse: () => settle(() => reject(new McpError(REFUSED, "The user refused."))),
    };
    withdrawn.addEventListener("abort", () => settle(() => reject(withdrawn.reason as Error)), { once: true });
    questions.value = [...questions.value, asked as unknown as Question];
  });
}

export const askForm = (params: ElicitRequestFormParams, context: QuestionContext): Promise<ElicitAnswer> =>
  ask({ kind: "form", params }, context);

export const askSampling = (
  params: CreateMessageRequestParams,
  context: QuestionContext,
): Promise<CreateMessageResult> => ask({ kind: "sampling", params }, context);

/** Asks whether to visit a page. If the server may not report the end of the visit, the user reports it. */
export async function askUrl(
  params: ElicitRequestURLParams,
  context: QuestionContext,
): Promise<Pick<ElicitAnswer, "action">> {
  const { finish } = context;
  const result = await ask<Pick<ElicitAnswer, "action">>({ kind: "url", params, isVisiting: false }, context);
  if (result.action === "accept" && finish) {
    const visit = ask<unknown>({ kind: "url", params, isVisiting: true, finish }, context);
    visit.then(finish, () => undefined);
  }
  return result;
}
