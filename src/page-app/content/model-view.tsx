import type { JSX } from "preact";
import type { CallToolResult } from "../../client/index.ts";
import { tokensOf, toModelPieces } from "./content-facts.ts";

/** Shows the part of a result that a model receives. */
export function ModelView({ result }: { readonly result: CallToolResult }): JSX.Element {
  const pieces = toModelPieces(result);
  return (
    <section class="model">
      <h3>
        Models see <small>about {tokensOf(pieces).toLocaleString("en")} tokens</small>
      </h3>
      {pieces.length === 0 && <p class="empty">Nothing.</p>}
      {pieces.map(({ kind, text }, at) =>
        kind === "text" ? (
          <pre class="text" key={at}>
            {text}
          </pre>
        ) : (
          <p class="about" key={at}>
            {text}
          </p>
        ),
      )}
    </section>
  );
}
