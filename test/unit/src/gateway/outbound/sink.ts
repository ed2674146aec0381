import { EventEmitter } from 'node:events';
import type { OutgoingHttpHeaders } from 'node:http';
import type { ReplySink } from '../../../../../src/gateway/outbound/reply-sink.ts';

/** A client's connection as the outbound side sees it: takes what is written, and reads it only when a test says so. */
export class FakeSink extends EventEmitter {
  written = '';
  destroyed = false;
  headersSent = false;
  headers: OutgoingHttpHeaders = {};
  statusMessage = '';
  /** What `write` answers: whether the client keeps up. */
  keepsUp = true;
  isEnded = false;

  writeHead(_status: number, headers: OutgoingHttpHeaders = {}): this {
    this.headersSent = true;
    this.headers = headers;
    return this;
  }

  write(text: string): boolean {
    this.written += text;
    return this.keepsUp;
  }

  end(text = ''): this {
    this.written += text;
    this.isEnded = true;
    return this;
  }

  destroy(): this {
    this.destroyed = true;
    this.emit('close');
    return this;
  }

  /** The same, for what takes a response. */
  get sink(): ReplySink {
    return this as unknown as ReplySink;
  }
}
