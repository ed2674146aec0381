import { gateway_core, load_core } from './children.ts';
import { bodyText } from './conversation.ts';
import { embeddingsText } from './embeddings.ts';
import { events_per_second } from './jobs.ts';
import type { Options } from './options.ts';
import { completionText } from './replies.ts';
import { tasks } from './tasks.ts';

/** How the numbers were made, in the words that belong under them. */
export function foot(options: Options): string[] {
  const { seconds, rounds, connections, streams } = options;
  return [
    `Gateways on core ${gateway_core}, one at a time under load; load generator and upstream on core ${load_core}; all on loopback. Medians, of ratios too, of ` +
      `${rounds} interleaved rounds of ${seconds} s after one that is thrown away.`,
    `Requests: closed loop, ${connections} connections, not streamed, ${Buffer.byteLength(bodyText())} bytes of JSON to the gateway, ` +
      `${Buffer.byteLength(completionText)} from the upstream. More per second is better.`,
    `Events: ${streams} streams of ${events_per_second} events per second; the upstream sends usage on every one. CPU is user and ` +
      'system time of all threads and processes of the gateway from /proc, while all streams run. Less is better.',
    'Every reply is checked: status, text or length, number of events, `[DONE]`. NODE_ENV is production for all.',
    'nginx: one worker, proxy_buffering off, upstream keep-alive. http-proxy-middleware: nothing but `target` and a keep-alive agent. ' +
      'Neither looks at what it carries.',
    `Pass-through: ${tasks.embeddings.body.length} bytes of JSON up, ${embeddingsText.length} down; sluice with key, limits, metrics and error envelope.`,
    'Parts: what is counted alone is so in a process of its own: all that metrics or tracing are told of a whole reply, in a loop, sent and all, less the loop without it. Spans go by OTLP to a process on the other core that swallows them.',
    'Portkey: told its upstream by headers, as it is meant to be without a configuration.',
    'sluice: the whole default chain, a key, an account with every limit, metrics on, log level warn, run from its TypeScript sources. ' +
      'It parses, checks and writes anew every request, reply and event.',
  ];
}
