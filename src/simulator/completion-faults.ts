import { breakOff } from './break-off.ts';
import type { Directives } from './directives.ts';
import type { SimulatedExchange } from './simulated-exchange.ts';
import { failureBody } from './stream-faults.ts';

/**
 * Sends a plain completion with the faults of the directives. There are no chunks to count, so a fault with any K
 * strikes in the middle of the body: reset and cut break the connection there, truncate and garbage end it there
 * as if it were complete; stall sends the headers only, and error is a 500 as in vLLM.
 */
export function sendCompletion(exchange: SimulatedExchange, text: string, directives: Directives): void {
  const half = text.slice(0, text.length / 2);
  if (directives.reset !== undefined || directives.cut !== undefined) {
    startBody(exchange, text);
    breakOff(exchange.response, directives.reset === undefined ? 'cut' : 'reset', half);
  } else if (directives.stall !== undefined) {
    startBody(exchange, text);
    exchange.response.flushHeaders();
  } else if (directives.error !== undefined) {
    const body = failureBody(directives, 500);
    exchange.send(500, body.content_type, body.text);
  } else {
    const broken = directives.truncate !== undefined || directives.garbage !== undefined;
    exchange.send(200, 'application/json', broken ? half : text);
  }
}

function startBody(exchange: SimulatedExchange, text: string): void {
  const headers = { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) };
  exchange.response.writeHead(200, headers);
}
