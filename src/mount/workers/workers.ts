import { within } from '../../common/within.ts';
import { type Channel, ChannelUnavailable } from './channel.ts';

/** Answers the requests of one worker. */
type Service = (channel: Channel, worker: number) => void;

/** What a worker has answered. */
export interface WorkerAnswer {
  readonly worker: number;
  readonly channel: Channel;
  readonly value: unknown;
}

/** The channels of the primary process to its workers. A worker that is started in the place of another has its number. */
export class Workers {
  readonly #channels = new Map<Channel, number>();
  readonly #services: Service[] = [];

  /** How many there are to be. */
  size = 0;

  /** The numbers of those that are there. */
  get numbers(): number[] {
    return [...this.#channels.values()].sort((one, other) => one - other);
  }

  /** Begins to serve a worker. It is forgotten when its channel closes. */
  add(worker: number, channel: Channel): void {
    this.#channels.set(channel, worker);
    channel.onClosed(() => this.#channels.delete(channel));
    for (const serve of this.#services) serve(channel, worker);
  }

  /** Lets `service` serve each worker, those that are there and those to come. */
  serve(service: Service): void {
    this.#services.push(service);
    for (const [channel, worker] of this.#channels) service(channel, worker);
  }

  /** Tells all workers, but the one that has told it. */
  notify(name: string, payload?: unknown, teller?: Channel): void {
    for (const channel of this.#channels.keys()) if (channel !== teller) channel.notify(name, payload);
  }

  /** The answers of all workers that answer within `limit_ms`, by their numbers. */
  async ask(name: string, limit_ms: number, payload?: unknown): Promise<WorkerAnswer[]> {
    const late = () => new ChannelUnavailable(`no answer within ${limit_ms} ms`);
    const asked = [...this.#channels].map(async ([channel, worker]) => {
      const value = await within(channel.request(name, payload), limit_ms, late);
      return { worker, channel, value };
    });
    const ended = await Promise.allSettled(asked);
    return ended
      .flatMap(end => (end.status === 'fulfilled' ? [end.value] : []))
      .sort((one, other) => one.worker - other.worker);
  }
}
