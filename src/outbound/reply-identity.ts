import { randomUUID } from 'node:crypto';
import type { Identity } from '../dialects/define-dialect.ts';
import type { Exchange } from '../exchange.ts';

/** The id, time and model of the reply, in place of the upstream's own (protocol d1). */
export function identityOf({ clock, request }: Exchange): Identity {
  const now_s = () => Math.floor(clock.epoch_ms() / 1000);
  return { key: randomUUID(), created: now_s(), model: request.model, request, now_s };
}
