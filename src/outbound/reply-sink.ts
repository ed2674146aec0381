import type { IncomingMessage, ServerResponse } from 'node:http';

/** Where a reply is written: a response, or what lies behind one whose methods are intercepted. */
export type ReplySink = Pick<
  ServerResponse,
  'writeHead' | 'write' | 'end' | 'destroy' | 'on' | 'off' | 'destroyed' | 'headersSent' | 'statusMessage'
> & {
  /** Of the `compression` middleware: hands over what it holds back. */
  flush?: () => void;
  /** The request that is answered, where a reply may come before all of it has been read. */
  readonly req?: IncomingMessage;
};
