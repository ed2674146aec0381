import type { Children } from '../children.ts';
import type { TaskName } from '../tasks.ts';

/** A gateway that runs. */
export interface Gateway {
  readonly port: number;
  /** Without it there is nothing whose CPU could be read. */
  readonly pid: number | undefined;
  readonly version: string;
  /** Request headers that it needs. */
  readonly headers?: Readonly<Record<string, string>>;
  /** How many spans have come where it sends them. */
  spans?(): Promise<number>;
}

/** What a contestant is started with. */
export interface Surroundings {
  readonly children: Children;
  /** For its configuration; removed at the end. */
  readonly directory: string;
  readonly upstream_port: number;
}

/** One way of asking a contestant for a stream; each is a row of the table. */
export interface StreamVariant {
  /** Added to the title. */
  readonly suffix: string;
  readonly stream_options: Readonly<Record<string, boolean>> | undefined;
  /** Events beside those with text and `[DONE]`: role and finish, and at a proxy the upstream's own usage event. */
  readonly frame_events: number;
}

/** Something that stands between the load generator and the upstream. */
export interface Contestant {
  /** For `--only`. */
  readonly name: string;
  readonly title: string;
  /** What it is asked in a closed loop. */
  readonly task: TaskName;
  readonly streamed: readonly StreamVariant[];
  start(surroundings: Surroundings): Promise<Gateway>;
}

/** Thrown by `start` when a contestant cannot take part; its row says why. */
export class Unavailable extends Error {}

/** A proxy passes on what the client asks for, so the client asks for what sluice asks for: usage on every chunk. */
export const proxied: StreamVariant = {
  suffix: '',
  stream_options: { include_usage: true, continuous_usage_stats: true },
  frame_events: 3,
};
