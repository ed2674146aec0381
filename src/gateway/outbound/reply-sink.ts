import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Destination of a reply: a response, or the original methods of an intercepted one. */
export type ReplySink = Pick<
  ServerResponse,
  'writeHead' | 'write' | 'end' | 'destroy' | 'on' | 'off' | 'destroyed' | 'headersSent' | 'statusMessage'
> & {
  /** Added by the `compression` middleware: sends what it holds back. */
  flush?: () => void;
  /** The request, for replies that may be sent before all of it has been read. */
  readonly req?: IncomingMessage;
  /** Whether the reply has been ended, if known. */
  readonly writableEnded?: boolean;
  /** The client's connection; null once it has closed. */
  readonly socket?: Socket | null;
};
