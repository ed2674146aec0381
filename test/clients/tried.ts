import { after, it, suite } from 'node:test';
import { clientKey } from '../support/gateway-under-test.ts';
import { type ClientFacts, clientFacts } from './facts.ts';
import { type ClientName, clients } from './libraries/all.ts';
import type { Client, Connection } from './libraries/client.ts';
import { closeAll, gatewayWith } from './place.ts';

// What is open keeps the run from ending.
after(closeAll);

/** No test takes longer, also on a machine that is busy with other things. */
const timeout = 60_000;

/** A client library in front of the gateway with the configuration of its row. */
export interface Tried {
  readonly name: ClientName;
  readonly facts: ClientFacts;
  /** With a valid key; repeats nothing by itself. */
  readonly client: Client;
  connect(connection?: Partial<Connection>): Client;
}

/** A case of a test, by what happens. */
export type Cases<Case> = Readonly<Record<string, Case>>;

/** Every client. */
export const names = Object.keys(clients) as ClientName[];
const ways = { reply: 'reply', stream: 'stream' } as const;

interface Options {
  readonly at_a_time?: number;
  readonly who?: readonly ClientName[];
  /** Further settings of the gateway. */
  readonly server?: object;
  readonly config?: object;
}

/** Tries something with every client: a column of the table. */
export function tried<Case>(
  what: string,
  cases: Cases<Case>,
  test: (one: Tried, value: Case) => Promise<unknown>,
  { at_a_time = 1, who = names, server = {}, config = {} }: Options = {},
): void {
  suite(what, { concurrency: at_a_time }, () => {
    for (const name of who)
      suite(name, { concurrency: at_a_time }, () => {
        for (const [title, value] of Object.entries(cases))
          it(title, { timeout }, async () => {
            await test(await triedWith(name, server, config), value);
          });
      });
  });
}

/** The same for replies and streams. */
export const triedBothWays = (
  what: string,
  test: (one: Tried, way: 'reply' | 'stream') => Promise<unknown>,
  more?: Options,
): void => tried(what, ways, test, more);

/** Tries something with one library alone. */
export function triedOf(
  what: string,
  library: keyof typeof clientFacts,
  cases: Cases<() => Promise<unknown>>,
): void {
  suite(what, () =>
    suite(library, () => {
      for (const [title, test] of Object.entries(cases))
        it(title, { timeout }, async () => void (await test()));
    }),
  );
}

async function triedWith(name: ClientName, server: object, config: object): Promise<Tried> {
  const facts: ClientFacts = clientFacts[name];
  const { url } = await gatewayWith({ server, config: { ...facts.under, ...config } });
  const connect = (connection: Partial<Connection> = {}) =>
    clients[name]({ url: `${url}/v1`, key: clientKey, retries: 0, ...connection });
  return { name, facts, connect, client: connect() };
}
