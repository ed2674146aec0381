import { clientFieldName } from '../dialects/client-field-names.ts';
import { defineKey, type ExchangeView } from './exchange-view.ts';

const byStages = defineKey<readonly string[]>('parameters that stages ignore');
const byUpstream = defineKey<readonly string[]>('parameters that the upstream in use does not take');

/** Notes parameters that no stage forwards; the reply names them in `x-ignored-parameters`. */
export function ignoreParameters(exchange: ExchangeView, names: readonly string[]): void {
  if (names.length === 0) return;
  exchange.set(byStages, [...(exchange.get(byStages) ?? []), ...names]);
  announce(exchange);
}

/** Notes parameters that the current upstream does not support, in place of those of an earlier upstream. */
export function ignoredByUpstream(exchange: ExchangeView, names: readonly string[] = []): void {
  if (names.length === 0 && !exchange.get(byUpstream)) return;
  exchange.set(byUpstream, names);
  announce(exchange);
}

function announce(exchange: ExchangeView): void {
  const ignored = [...(exchange.get(byStages) ?? []), ...(exchange.get(byUpstream) ?? [])];
  const names = new Set(ignored.map(name => clientFieldName(exchange.request, name)));
  if (names.size > 0) exchange.replyHeaders['x-ignored-parameters'] = listed([...names]);
  else delete exchange.replyHeaders['x-ignored-parameters'];
}

/** Names formatted for a header: visible ASCII without commas, at most twenty. */
function listed(names: readonly string[]): string {
  const safe = names.slice(0, 20).map(name => name.replace(/[^\x21-\x2b\x2d-\x7e]/g, '?').slice(0, 64));
  return names.length > 20 ? `${safe.join(', ')}, ...` : safe.join(', ');
}
