/**
 * Content blocks as the user sees them. Text from the server is shown as plain text, even if it looks like HTML or Markdown.
 *
 * @module
 */
import type { JSX } from "preact";
import type { ReceivedContentBlock, ResourceContents } from "../../client/index.ts";
import { linkTo } from "../state/route.ts";
import { parseStructured, sizeOf, sourceOf } from "./content-facts.ts";
import { JsonTree } from "./json-tree.tsx";

export function Blocks({ content }: { readonly content: readonly ReceivedContentBlock[] }): JSX.Element {
  // Blocks have no identity other than their position.
  return (
    <>
      {content.map((block, at) => (
        <Block key={at} block={block} />
      ))}
    </>
  );
}

function Block({ block }: { readonly block: ReceivedContentBlock }): JSX.Element {
  const { annotations } = block as { annotations?: { audience?: readonly string[]; priority?: number } };
  const note = annotations?.audience && `for ${annotations.audience.join(" and ")}`;
  return (
    <div class="block">
      {note && <small>{note}</small>}
      <BlockBody block={block} />
    </div>
  );
}

function BlockBody({ block }: { readonly block: ReceivedContentBlock }): JSX.Element {
  switch (block.type) {
    case "text":
      return <TextView text={block.text} />;
    case "image":
    case "audio":
      return <Media type={block.mimeType} data={block.data} />;
    case "resource_link":
      return (
        <a class="resource-link" href={linkTo("resource", block.uri)}>
          {block.title ?? block.name} <code>{block.uri}</code>
        </a>
      );
    case "resource":
      return <Contents contents={block.resource} />;
    default:
      return <JsonTree value={block} />;
  }
}

/** Shows text, or a tree if the text is JSON. */
export function TextView({ text }: { readonly text: string }): JSX.Element {
  const json = parseStructured(text);
  return json === undefined ? <pre class="text">{text}</pre> : <JsonTree value={json} />;
}

/** Shows one item of a resource's contents. */
export function Contents({ contents }: { readonly contents: ResourceContents }): JSX.Element {
  const type = contents.mimeType ?? "";
  return (
    <div class="contents">
      <p class="about">
        <code>{contents.uri}</code> {type}
      </p>
      {"blob" in contents ? <Media type={type} data={contents.blob} /> : <TextView text={contents.text} />}
    </div>
  );
}

/** Shows an image, an audio player, or a link that saves a file. */
function Media({ type, data }: { readonly type: string; readonly data: string }): JSX.Element {
  const size = sizeOf(data);
  const source = sourceOf(type, data);
  return (
    <>
      {source === undefined ? (
        <a class="button" download="content" href={`data:application/octet-stream;base64,${data}`}>
          Save
        </a>
      ) : type.startsWith("image/") ? (
        <img src={source} alt={`Result: ${type}, ${size}`} />
      ) : (
        // biome-ignore lint/a11y/useMediaCaption: a result has no captions.
        <audio controls src={source} />
      )}
      <p class="about">
        {type || "no media type"}, {size}
      </p>
    </>
  );
}
