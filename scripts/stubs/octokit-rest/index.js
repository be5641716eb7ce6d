/** Stands in for the client of GitHub's API, which no script of this repository uses. */
export class Octokit {
  constructor() {
    throw new Error(
      "@octokit/rest is replaced by a stub in this repository. Remove it from overrides in package.json.",
    );
  }
}
