import { createContext, Script } from 'node:vm';
import { Registry } from 'prom-client';
import { systemClock } from '../../common/clock.ts';
import { checkedBy } from '../../common/config-error.ts';
import type { Chunk, Completion } from '../../gateway/exchange/canonical.ts';
import { GatewayError } from '../../gateway/exchange/errors.ts';
import {
  type Adapter,
  type AnyProviderDefinition,
  createAdapter,
  type ProviderDefinition,
} from '../../gateway/upstream/adapter.ts';
import { decodeText } from '../../gateway/upstream/http/decode-reply.ts';
import { StreamReader } from '../../gateway/upstream/http/stream-reader.ts';
import { UpstreamError } from '../../gateway/upstream/http/upstream-error.ts';
import { createLog } from '../../telemetry/log.ts';
import { pluginMetrics } from '../../telemetry/metric-factory.ts';
import { type AdapterRule, type Breach, ContractError, type Place } from '../contract-error.ts';
import type { AdapterContract } from './adapter-contract.ts';

/** Runs code of this realm under V8's own time limit, which ends endless loops as well. */
const timed: { run: () => unknown } = { run: () => undefined };
const realm = createContext(timed);
const script = new Script('run()');

const limits = { max_event_bytes: 1_048_576, max_reply_bytes: 67_108_864 };

/** What comes of a stream: the chunks, and the error that it ends with. */
export interface StreamReading {
  readonly chunks: readonly Chunk[];
  readonly fault: unknown;
}

/** What comes of a whole reply. */
export type ReplyReading = { readonly reply: Completion } | { readonly fault: unknown };

/** The adapter under check, as a provider of the gateway uses it. */
export class AdapterSetting {
  readonly name: string;
  readonly adapter: Adapter;
  readonly definition: AnyProviderDefinition;
  readonly contract: AdapterContract;
  /** How many events with the same parts have been malformed. */
  readonly malformed = new Map<string, number>();
  /** What runs now. */
  #place: Place | undefined;
  #isTimed = false;

  constructor(definition: AnyProviderDefinition, contract: AdapterContract) {
    this.name = definition.name;
    this.definition = definition;
    this.contract = contract;
    this.adapter = createAdapter(definition as ProviderDefinition, checkedOptions(definition, contract), {
      provider: 'contract',
      log: createLog('silent'),
      clock: systemClock,
      metrics: pluginMetrics(new Registry(), definition.name),
    });
  }

  breach(
    rule: AdapterRule,
    place: Place,
    problem: string,
    { expected, got }: Pick<Breach, 'expected' | 'got'>,
  ): ContractError {
    return new ContractError({ rule, subject: this.name, ...place, problem, expected, got });
  }

  /** Reads a stream that arrives in these parts, as the gateway reads it. */
  read(place: Place, parts: readonly Buffer[]): StreamReading {
    return this.inTime(place, () => {
      const chunks: Chunk[] = [];
      let fault: unknown;
      const owner = {
        isOver: false,
        give: (more: readonly Chunk[]) => chunks.push(...more) > 0,
        finish: () => void (owner.isOver = true),
        fault: (thrown: unknown) => {
          if (!owner.isOver) fault = thrown;
          owner.isOver = true;
        },
      };
      try {
        const reader = new StreamReader(this.adapter.openStream(), owner, limits);
        for (const part of parts) reader.bytes(part);
        reader.end();
        reader.close();
      } catch (thrown) {
        // The decoder is not what it should be.
        fault ??= thrown;
      }
      return { chunks, fault };
    });
  }

  /** Reads a whole reply. */
  decode(place: Place, text: string): ReplyReading {
    return this.inTime(place, () => {
      try {
        return { reply: decodeText(text, this.adapter) };
      } catch (fault) {
        return { fault };
      }
    });
  }

  /** Runs synchronous code of the adapter; throws a breach if it does not end in time, even out of an endless loop. */
  inTime<T>(place: Place, run: () => T): T {
    this.#place = place;
    return this.#isTimed ? run() : this.together(run);
  }

  /** Runs many checks under one time limit, which costs a thread each time. A breach names the one that did not end. */
  together<T>(run: () => T): T {
    const { timeout_ms: timeout = 5000 } = this.contract;
    this.#isTimed = true;
    try {
      timed.run = run;
      return script.runInContext(realm, { timeout }) as T;
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw thrown;
      const values = { expected: `an end within ${timeout} ms`, got: 'none' };
      throw this.breach('nonsense', this.#place!, 'does not end', values);
    } finally {
      this.#isTimed = false;
    }
  }
}

const checkedOptions = (
  { name, schema }: AnyProviderDefinition,
  { options = {} }: AdapterContract,
): unknown => checkedBy(`checkAdapter: the options of ${name}`, schema, options);

/** Whether the gateway knows what such an error means. */
export const isKnownError = (thrown: unknown): thrown is GatewayError | UpstreamError =>
  GatewayError.is(thrown) || UpstreamError.is(thrown);
