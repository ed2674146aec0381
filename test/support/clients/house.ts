import { afterAll, beforeAll } from '@jest/globals';
import { type Simulator, startSimulator } from '../../../src/simulator/server.ts';
import { clientKey } from '../gateway-under-test.ts';
import { type SidecarProcess, sidecarConfig, startSidecar } from '../sidecar-process.ts';
import type { Client, Connect, ShownUsage } from './client.ts';
import type { ClientFacts } from './facts.ts';
import { NetworkWatch } from './network-watch.ts';

/** What the upstream says to a request, asked without the gateway. */
export interface Truth {
  readonly text: string;
  readonly reasoning: string;
  readonly usage: ShownUsage;
}

/** A sidecar in front of a simulated server. */
class ClientPlace {
  readonly under: ClientFacts['under'];
  simulator!: Simulator;
  sidecar!: SidecarProcess;

  constructor(under: ClientFacts['under']) {
    this.under = under;
  }

  async open(): Promise<void> {
    this.simulator = await startSimulator({ cached_tokens: 0.5 });
    this.sidecar = await startSidecar(sidecarConfig(this.simulator.url, this.under));
  }

  async close(): Promise<void> {
    await this.sidecar?.stop();
    await this.simulator?.close();
  }
}

/** A client library in front of a sidecar in front of a simulated server. */
export class ClientHouse {
  readonly facts: ClientFacts;
  readonly #connect: Connect;
  readonly #place: ClientPlace;
  readonly network = new NetworkWatch();

  constructor(facts: ClientFacts, connect: Connect, place: ClientPlace) {
    this.facts = facts;
    this.#connect = connect;
    this.#place = place;
  }

  get simulator(): Simulator {
    return this.#place.simulator;
  }

  get sidecar(): SidecarProcess {
    return this.#place.sidecar;
  }

  /** The client with a valid key, which repeats nothing by itself. */
  get client(): Client {
    return this.connect(clientKey);
  }

  /** The same in front of the simulated server itself. */
  get direct(): Client {
    return this.#connect({ url: this.simulator.url, key: clientKey, retries: 0 });
  }

  connect(key: string): Client {
    return this.#connect({ url: `${this.sidecar.url}/v1`, key, retries: 0 });
  }

  /** The last request as it reached the upstream. */
  get asked(): Readonly<Record<string, unknown>> {
    const last = this.simulator.requests.at(-1);
    if (!last) throw new Error('nothing has reached the upstream');
    return last.body as Record<string, unknown>;
  }

  /** What the upstream says to the last request that reached it. Simulated answers depend on the request alone. */
  async truth(): Promise<Truth> {
    const { stream, stream_options, ...asked } = this.asked;
    const response = await fetch(`${this.simulator.url}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(asked),
    });
    const { choices, usage } = (await response.json()) as WireReply;
    return {
      text: choices[0].message.content,
      reasoning: choices[0].message.reasoning,
      usage: {
        input: usage.prompt_tokens,
        output: usage.completion_tokens,
        total: usage.total_tokens,
        cached: usage.prompt_tokens_details.cached_tokens,
        reasoning: usage.completion_tokens_details.reasoning_tokens,
      },
    };
  }
}

interface WireReply {
  readonly choices: readonly [{ readonly message: { readonly content: string; readonly reasoning: string } }];
  readonly usage: {
    readonly prompt_tokens: number;
    readonly completion_tokens: number;
    readonly total_tokens: number;
    readonly prompt_tokens_details: { readonly cached_tokens: number };
    readonly completion_tokens_details: { readonly reasoning_tokens: number };
  };
}

/** A house that stands while the tests of a file, or of a `describe`, run. */
export function clientHouse(facts: ClientFacts, connect: Connect): ClientHouse {
  const [house] = clientHouses([facts, connect]);
  return house!;
}

/** A house for each client, in front of one sidecar with the configuration of the first. */
export function clientHouses(...clients: readonly (readonly [ClientFacts, Connect])[]): ClientHouse[] {
  const place = new ClientPlace(clients[0]?.[0].under);
  const houses = clients.map(([facts, connect]) => new ClientHouse(facts, connect, place));
  beforeAll(() => place.open());
  afterAll(async () => {
    for (const { network } of houses) network.stop();
    await place.close();
  });
  return houses;
}
