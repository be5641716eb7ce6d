/** What elements in JSX become. `scripts/page-app.ts` adds it to every file that has some. */
export { Fragment, h } from "preact";
