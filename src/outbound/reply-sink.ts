import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Where a reply is written: a response, or what lies behind one whose methods are intercepted. */
export type ReplySink = Pick<
  ServerResponse,
  'writeHead' | 'write' | 'end' | 'destroy' | 'on' | 'off' | 'destroyed' | 'headersSent' | 'statusMessage'
> & {
  /** Of the `compression` middleware: hands over what it holds back. */
  flush?: () => void;
  /** The request that is answered, where a reply may come before all of it has been read. */
  readonly req?: IncomingMessage;
  /** Whether the reply has been ended, where that is known. */
  readonly writableEnded?: boolean;
  /** The client's connection; none once it has closed. */
  readonly socket?: Socket | null;
};
