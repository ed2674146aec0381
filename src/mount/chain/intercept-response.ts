import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { refusal } from '../../gateway/exchange/errors.ts';
import type { ReplySink } from '../../gateway/outbound/reply-sink.ts';
import { DetachedResponse } from './detached-response.ts';
import { HandlerBody } from './handler-body.ts';
import { HandlerHead, type HeaderList } from './handler-head.ts';

/** A foreign handler's reply, read like an upstream's, and the response to which the resulting reply is written. */
export interface Interception {
  /** Calls the handler. From now on it must not be silent for too long. */
  call(): void;
  /** Resolves when the handler begins its reply. Rejects if it destroys the response, or its client leaves, before that. */
  readonly head: Promise<{ readonly status: number; readonly headers: IncomingHttpHeaders }>;
  /** The handler's body. Fails if the handler destroys the response in the middle, or its client leaves. */
  readonly body: HandlerBody;
  /** The original response. An error goes out without any of the handler's headers. */
  readonly sink: ReplySink;
  /** Keeps the end of the response from ending the handler, whose reply is read on. */
  readOn(): void;
  /** Ends the handler; readers of its reply get `server_error`. */
  cancel(): void;
}

const listening = [
  'on',
  'addListener',
  'once',
  'prependListener',
  'prependOnceListener',
  'off',
  'removeListener',
] as const;
type Listening = Pick<ServerResponse, (typeof listening)[number]>;

const intercepted = new WeakSet<object>();

/** Whether `response` is intercepted by a chain. */
export function isIntercepted(response: ServerResponse): boolean {
  return intercepted.has(response);
}

/**
 * Intercepts a response for the handler behind the chain (design: the one place where a response is patched). The handler's `writeHead`,
 * `write`, `end`, `destroy` and headers no longer reach the client, nor does the client's `drain` reach the handler; `close` and `finish`
 * do, unless its reply is read on. Calls `onSend` before a head goes out. A handler that is silent for `idle_ms` after its call has failed.
 */
export function interceptResponse(
  response: ServerResponse & { flush?: () => void },
  onSend: () => void,
  idle_ms: number,
  handler: () => void,
): Interception {
  intercepted.add(response);
  const sent = { head: response.headersSent };
  const handlerHead = new HandlerHead(response);
  const body = new HandlerBody(idle_ms, () => fail(new Error(`the handler was silent for ${idle_ms} ms`)));
  const detached = new DetachedResponse(response, body.events);
  const sink = sinkOf(response, handlerHead, sent, onSend);
  const head = Promise.withResolvers<{ status: number; headers: IncomingHttpHeaders }>();
  // It may fail while nothing waits for it; an unhandled rejection would end the process.
  head.promise.catch(() => {});
  let begun = false;
  let ended = false;

  const begin = () => {
    if (begun) return;
    begun = true;
    head.resolve({ status: response.statusCode, headers: handlerHead.headers });
  };
  const fail = (error: Error) => {
    head.reject(error);
    body.finish(error);
    detached.close();
  };

  const patched = {
    writeHead(status: number, reason?: string | HeaderList, headers?: HeaderList) {
      if (begun) return response;
      response.statusCode = status;
      handlerHead.add(headers ?? (typeof reason === 'string' ? undefined : reason));
      begin();
      return response;
    },
    flushHeaders: begin,
    write(part: unknown, encoding?: unknown, callback?: unknown): boolean {
      begin();
      return body.push(part, encoding, callback);
    },
    end(...args: unknown[]) {
      begin();
      ended = true;
      const callback = args.find(argument => typeof argument === 'function');
      if (callback) response.once('finish', callback as () => void);
      if (args[0] != null && args[0] !== callback)
        body.push(args[0], args[1] === callback ? undefined : args[1]);
      body.finish();
      detached.finish();
      return response;
    },
    destroy(error?: Error) {
      fail(error ?? new Error('the handler destroyed the response'));
      return response;
    },
  };
  response.once('finish', () => {
    if (!detached.isOn) body.events.emit('finish');
  });
  response.once('close', () => {
    if (detached.isOn) return detached.revive();
    fail(new Error('the client left, or had its reply'));
    if (ended) body.events.emit('close');
    else asUnfinished(response, () => body.events.emit('close'));
  });
  Object.assign(response, patched, handlerHead.standIns, divertedEvents(response, body.events));
  const outer = Object.getOwnPropertyDescriptor(response, 'headersSent');
  Object.defineProperties(response, {
    // A handler that asks must see that its reply has begun, though nothing has reached the client yet.
    headersSent: {
      configurable: true,
      get: () => begun || (!detached.isOn && (sent.head || (outer?.get?.() ?? false))),
    },
    writableNeedDrain: { configurable: true, get: () => body.full },
  });
  return {
    call() {
      body.expect();
      handler();
    },
    head: head.promise,
    body,
    sink,
    readOn: () => detached.begin(),
    cancel() {
      if (!body.ended) fail(refusal('server_error', { cause: new Error('the handler was ended from here') }));
    },
  };
}

/**
 * Calls `tell` while the response looks as if it had been cut off. A handler whose reply the chain has replaced must end its own request:
 * proxies do so only if the response has closed before its end.
 */
function asUnfinished(response: ServerResponse, tell: () => void): void {
  const names = ['finished', 'writableEnded', 'writableFinished'] as const;
  const own = names.map(name => Object.getOwnPropertyDescriptor(response, name));
  for (const name of names)
    Object.defineProperty(response, name, { configurable: true, writable: true, value: false });
  tell();
  for (const [at, name] of names.entries()) {
    const descriptor = own[at];
    if (descriptor) Object.defineProperty(response, name, descriptor);
    else Reflect.deleteProperty(response, name);
  }
}

const ofTheHandler = ['drain', 'finish', 'close'];

/** Makes `drain` and the handler's own end come from `events`; all other listeners stay on the response. */
function divertedEvents(response: ServerResponse, events: NodeJS.EventEmitter): Listening {
  const diverted: Record<string, unknown> = {};
  for (const name of listening) {
    const own = response[name];
    diverted[name] = (event: string, listener: (...args: unknown[]) => void) => {
      if (ofTheHandler.includes(event)) events[name](event, listener);
      else Reflect.apply(own, response, [event, listener]);
      return response;
    };
  }
  return diverted as Listening;
}

/** A sink that calls the response's methods from before they are patched. */
function sinkOf(
  response: ServerResponse & { flush?: () => void },
  handlerHead: HandlerHead,
  sent: { head: boolean },
  onSend: () => void,
): ReplySink {
  const { writeHead, write, end, destroy, on, off } = response;
  let statusMessage = '';
  return {
    writeHead: ((status: number, headers?: OutgoingHttpHeaders) => {
      onSend();
      handlerHead.withOwn(() => {
        if (status < 400) handlerHead.apply();
        response.statusMessage = statusMessage;
        Reflect.apply(writeHead, response, [status, headers]);
      });
      sent.head = true;
      return response;
    }) as ReplySink['writeHead'],
    write: write.bind(response),
    end: end.bind(response),
    destroy: destroy.bind(response),
    on: on.bind(response),
    off: off.bind(response),
    flush: () => response.flush?.(),
    get destroyed() {
      return response.destroyed;
    },
    get socket() {
      return response.socket;
    },
    get headersSent() {
      return sent.head;
    },
    get statusMessage() {
      return statusMessage;
    },
    set statusMessage(text: string) {
      statusMessage = text;
    },
  };
}
