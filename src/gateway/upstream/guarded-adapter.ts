import { ConfigError } from '../../common/config-error.ts';
import { isObject } from '../../common/json-object.ts';
import { http } from '../../common/node-http.ts';
import { isPromise } from '../../common/refused-promise.ts';
import type { Choice, Chunk, ChunkChoice, Completion, StreamDecoder } from '../exchange/canonical.ts';
import { chunkFault, replyFault } from '../exchange/canonical-faults.ts';
import { GatewayError, refusal } from '../exchange/errors.ts';
import type { SseEvent } from '../sse/parse.ts';
import type { Adapter, UpstreamRequest } from './adapter.ts';
import { UpstreamError } from './http/upstream-error.ts';

const { validateHeaderName, validateHeaderValue } = http;

/** What is expected of a method, and the error of the catalogue if anything else comes. */
interface Promised {
  readonly must: string;
  readonly code: 'server_error' | 'provider_invalid';
  readonly is: (returned: unknown) => boolean;
}

const isRequest = (value: unknown): boolean => {
  const { path, body, ignored } = Object(value) as Partial<UpstreamRequest>;
  const isPath = typeof path === 'string' && path.startsWith('/');
  return isPath && isObject(body) && (ignored === undefined || Array.isArray(ignored));
};

const promised = {
  encode: {
    must: 'a request: a path that begins with /, a body that is an object, and ignored as an array if at all',
    code: 'server_error',
    is: isRequest,
  },
  decodeReply: {
    must: 'a completion with its choices',
    code: 'provider_invalid',
    is: value => isObject(value) && Array.isArray(value.choices),
  },
  openStream: {
    must: 'a decoder',
    code: 'provider_invalid',
    is: value => typeof Object(value).decode === 'function',
  },
  decode: { must: 'an array of chunks', code: 'provider_invalid', is: Array.isArray },
  errorStatus: { must: 'a status', code: 'provider_invalid', is: Number.isInteger },
  errorMessage: {
    must: 'a text or undefined',
    code: 'provider_invalid',
    is: value => value == null || typeof value === 'string',
  },
} satisfies Record<string, Promised>;

type Method = keyof typeof promised;
type Methods = Record<Method, (one?: unknown, other?: unknown) => unknown>;

/** Characters that are kept of a finish reason. */
const max_word_characters = 64;

/** Takes the finish reasons of a server that its adapter does not know. */
export type OnUnknownFinish = (word: string) => void;

/**
 * `adapter` as a provider calls it. What its methods throw is an error that the gateway knows, or else one whose cause names the adapter and
 * the method, as it is when a method returns a promise or anything else that it may not. A bug in `encode` is no fault of the upstream.
 */
export function guarded(
  name: string,
  adapter: Adapter,
  onUnknownFinish: OnUnknownFinish = () => {},
): Adapter {
  const guard = new Guard(name, adapter, onUnknownFinish);
  const { parameters, messageFields, headers, operations } = adapter;
  return {
    providerName: adapter.providerName,
    parameters,
    ...(messageFields && { messageFields }),
    ...(headers && { headers }),
    ...(operations && { operations }),
    ...(adapter.credential && {
      credential: key => checkedHeaders(`credential of the adapter ${name}`, adapter.credential?.(key)),
    }),
    encode: (request, target) => guard.call('encode', request, target),
    decodeReply(body) {
      const reply: Completion = guard.call('decodeReply', body);
      const fault = replyFault(reply);
      if (fault !== undefined) throw guard.faulty('decodeReply', `a reply with ${fault}`);
      for (const choice of reply.choices)
        if (choice.native_finish_reason !== undefined) guard.finished(choice);
      return reply;
    },
    openStream: () => new GuardedDecoder(guard, guard.call('openStream')),
    ...(adapter.errorStatus && {
      errorStatus: (status, body) => guard.call('errorStatus', status, body),
    }),
    ...(adapter.errorMessage && {
      errorMessage: body => guard.call('errorMessage', body) ?? undefined,
    }),
  };
}

class Guard {
  readonly #name: string;
  readonly #adapter: Adapter;
  readonly #onUnknownFinish: OnUnknownFinish;

  constructor(name: string, adapter: Adapter, onUnknownFinish: OnUnknownFinish) {
    this.#name = name;
    this.#adapter = adapter;
    this.#onUnknownFinish = onUnknownFinish;
  }

  /** What the adapter's `method` returns. Throws for anything but what is promised of it. */
  call<T>(method: Exclude<Method, 'decode'>, one?: unknown, other?: unknown): T {
    let returned: unknown;
    try {
      returned = (this.#adapter as unknown as Methods)[method](one, other);
    } catch (thrown) {
      throw this.known(method, thrown);
    }
    if (promised[method].is(returned)) return returned as T;
    throw this.wrong(method, returned);
  }

  /** `thrown`, if the gateway knows such errors. */
  known(method: Method, thrown: unknown): unknown {
    if (GatewayError.is(thrown) || UpstreamError.is(thrown)) return thrown;
    const message = `the adapter ${this.#name} threw in ${method}`;
    return refusal(promised[method].code, { cause: new Error(message, { cause: thrown }) });
  }

  /** The error for a reply or chunk that cannot be sent or billed. */
  faulty(method: Method, what: string): GatewayError {
    const cause = new Error(`the adapter ${this.#name} returned ${what} from ${method}`);
    return refusal(promised[method].code, { cause });
  }

  /** Takes an unknown finish reason from `choice` and reports it. */
  finished(choice: Choice | ChunkChoice): void {
    this.#onUnknownFinish(String(choice.native_finish_reason).slice(0, max_word_characters));
    delete choice.native_finish_reason;
  }

  wrong(method: Method, returned: unknown): GatewayError {
    const { must, code } = promised[method];
    const message = isPromise(returned)
      ? `the adapter ${this.#name} returned a promise from ${method}; adapters are synchronous`
      : `the adapter ${this.#name} must return ${must} from ${method}`;
    return refusal(code, { cause: new Error(message) });
  }
}

class GuardedDecoder implements StreamDecoder {
  readonly #guard: Guard;
  readonly #decoder: StreamDecoder;
  /** Read after each event. */
  done: boolean;

  constructor(guard: Guard, decoder: StreamDecoder) {
    this.#guard = guard;
    this.#decoder = decoder;
    this.done = decoder.done === true;
  }

  get complete(): boolean {
    return this.#decoder.complete;
  }

  decode(event: SseEvent): Chunk[] {
    let chunks: Chunk[];
    try {
      chunks = this.#decoder.decode(event);
    } catch (thrown) {
      throw this.#guard.known('decode', thrown);
    }
    if (!Array.isArray(chunks)) throw this.#guard.wrong('decode', chunks);
    this.done = this.#decoder.done === true;
    for (let at = 0; at < chunks.length; at++) {
      const fault = chunkFault(chunks[at]);
      if (fault !== undefined) throw this.#guard.faulty('decode', fault);
      const { choices } = chunks[at]!;
      for (let place = 0; place < choices.length; place++)
        if (choices[place]!.native_finish_reason !== undefined) this.#guard.finished(choices[place]!);
    }
    return chunks;
  }
}

/** `headers`. Throws a ConfigError of `source` if no request can have them; it names no values, which may be keys. */
export function checkedHeaders(source: string, headers: unknown): Readonly<Record<string, string>> {
  const mistake = (message: string) => new ConfigError(source, [{ path: [], message }]);
  if (isPromise(headers))
    throw mistake('must not be a promise; create and all methods of an adapter are synchronous');
  if (!isObject(headers)) throw mistake('must be an object of headers');
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value !== 'string') throw mistake(`the header ${name} must be a string`);
    try {
      validateHeaderName(name);
      validateHeaderValue(name, value);
    } catch {
      throw mistake(`the header '${name}' has characters that no header can have, in its name or its value`);
    }
  }
  return headers as Readonly<Record<string, string>>;
}
