import { defineExtension } from '../../src/plugin.ts';
import { responses } from '../dialects/responses/index.ts';
import { responsesOptions } from '../dialects/responses/responses-options.ts';
import { webSocketLimits } from '../dialects/responses/web-socket-options.ts';
import type { WebSockets } from './web-sockets.ts';

/** The Responses API over WebSocket, at the path of the API and with its own options. */
export const responsesWebSocket = defineExtension({
  name: 'responses-websocket',
  section: 'responses',
  schema: responsesOptions,
  open(context, given) {
    const formatOf = (options: typeof given) => responses.create(options, { models: context.catalog.models });
    let options = given;
    let limits = webSocketLimits(options.websocket);
    let sockets: WebSockets | undefined;
    return {
      upgradePath: () => limits && '/v1/responses',
      async upgrade(request) {
        const { WebSockets } = await import('./web-sockets.ts');
        sockets ??= new WebSockets(context, limits!, formatOf(options));
        sockets.open(request);
      },
      configure(next) {
        options = next;
        limits = webSocketLimits(options.websocket);
        sockets?.configure(limits, formatOf(options));
      },
      drain: () => sockets?.drain(),
      close: () => sockets?.close(),
    };
  },
});
