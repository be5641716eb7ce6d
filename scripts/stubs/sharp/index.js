/** Stands in for the image library, which only the Images binding of miniflare uses. */
export default function sharp() {
  throw new Error("sharp is replaced by a stub in this repository. Remove it from overrides in package.json.");
}
