import type { JSX } from "preact";
import { Icon, type IconName } from "../parts/icon.tsx";

/** The head of a panel: what something is called, and what it says about itself. */
export function Heading({
  icon,
  title,
  name,
  description,
  tags = [],
}: {
  readonly icon: IconName;
  readonly title: string | undefined;
  readonly name: string;
  readonly description: string | undefined;
  readonly tags?: readonly string[];
}): JSX.Element {
  return (
    <header class="heading">
      <h1>
        <Icon name={icon} /> {title ?? name}
      </h1>
      <p class="tags">
        {title !== undefined && title !== name && <code>{name}</code>}
        {tags.map((tag) => (
          <span class="tag" key={tag}>
            {tag}
          </span>
        ))}
      </p>
      {description && <p class="description">{description}</p>}
    </header>
  );
}
