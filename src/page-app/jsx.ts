/** The JSX factory. `scripts/page-app.ts` imports it into every file that contains JSX. */
export { Fragment, h } from "preact";
