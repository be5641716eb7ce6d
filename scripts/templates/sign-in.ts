/** Signs in at a template as one of its development users. */
import { connect } from "../../src/client/index.ts";
import { oauth } from "../../src/client/oauth/index.ts";
import { Person } from "../../templates/oauth/test/person.ts";

/** Where the browser would return to. Nothing listens there. */
const CALLBACK = "http://127.0.0.1:8976/callback";

/** Returns an access token for a server that has development users. */
export async function tokenFor(url: string): Promise<string> {
  const person = new Person("Ada");
  const authorize = (page: string) => person.authorize(page);
  const redirect = { url: CALLBACK, open: () => ({ url: CALLBACK, authorize, close: () => undefined }) };
  let token: string | undefined;
  const client = await connect(url, {
    name: "templates",
    version: "1.0.0",
    auth: oauth({
      redirect,
      fetch: async (to, init) => {
        const answer = await fetch(to, init);
        const { access_token } = (await answer
          .clone()
          .json()
          .catch(() => ({}))) as { access_token?: string };
        token = access_token ?? token;
        return answer;
      },
    }),
  });
  await client.close();
  if (token === undefined) throw new Error(`${url} let the client in without a token.`);
  return token;
}
