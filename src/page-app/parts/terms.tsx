import type { JSX } from "preact";

/** A list of terms, each with its value. */
export function Terms({
  className,
  terms,
}: {
  readonly className: string;
  readonly terms: readonly (readonly [term: string, value: string])[];
}): JSX.Element {
  return (
    <dl class={className}>
      {terms.map(([term, value], at) => (
        <div key={at}>
          <dt>{term}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
