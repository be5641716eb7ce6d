import type { ComponentChildren, JSX } from "preact";
import { Icon, type IconName } from "./icon.tsx";

interface Props {
  readonly title: ComponentChildren;
  readonly icon?: IconName;
  readonly state?: string;
  /** A line under the title. */
  readonly tags?: ComponentChildren;
  readonly about?: ComponentChildren;
  /** An error message. */
  readonly problem?: string;
  readonly children?: ComponentChildren;
}

/** The frame of a panel: its title, its description and its contents. */
export function PanelFrame({ title, icon, state, tags, about, problem, children }: Props): JSX.Element {
  return (
    <article class="panel">
      <header class="heading">
        <h1 data-state={state}>
          {icon && <Icon name={icon} />} {title}
        </h1>
        {tags && <p class="tags">{tags}</p>}
        {about && <p class="description">{about}</p>}
      </header>
      <Mistake text={problem} />
      {children}
    </article>
  );
}

/** An error message. */
export function Mistake({ text, id }: { readonly text: string | undefined; readonly id?: string }): JSX.Element | null {
  if (!text) return null;
  return (
    <p class="mistake" id={id}>
      <Icon name="bad" /> {text}
    </p>
  );
}
