import { systemClock } from '../../common/clock.ts';
import type { ProviderSettings } from '../../config/load-provider.ts';
import { Provider } from '../../gateway/upstream/http/provider.ts';
import { withoutCredentials } from '../../gateway/upstream/http/scrub.ts';
import { createLog } from '../../telemetry/log.ts';
import { askServer, NoAnswer, type ServerAnswer } from './ask-server.ts';
import { type DiscoveredModel, discoveredModels } from './discovered-model.ts';

/** A server to be asked for its models. */
export interface ModelsServer {
  readonly adapter: string;
  readonly base_url: string;
  /** Those of the adapter, the configuration and the key. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A provider for a command that asks its server; to be closed. */
export const providerToAsk = ({ name, definition, config, options }: ProviderSettings): Provider =>
  new Provider(name, definition, config, options, {
    clock: systemClock,
    log: createLog('silent'),
    content: { capture_content: false, max_content_characters: 0 },
  });

/** Address below which a server's API is, without a slash at its end and without a user and password. */
export function baseOf(base_url: string): string {
  const url = new URL(base_url);
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

/** Asks a server for its list of models. Rejects with NoAnswer. */
export function askForModels({ adapter, base_url, headers }: ModelsServer): Promise<ServerAnswer> {
  // Anthropic's API lists twenty unless it is asked for more.
  const query = adapter === 'anthropic' ? '?limit=1000' : '';
  return askServer(`${baseOf(base_url)}/models${query}`, {
    headers: { accept: 'application/json', ...headers },
  });
}

/** The models in an answer to a request, with a key or without one. Throws NoAnswer for an error, and for anything that is not a list of models. */
export function modelsIn({ status, text }: ServerAnswer, hasKey = true): readonly DiscoveredModel[] {
  if (status < 200 || status > 299) throw refusalOf(status, text, hasKey);
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new NoAnswer(`answered with something that is not JSON: ${text.slice(0, 100)}`, rightAddress);
  }
  try {
    return discoveredModels(body);
  } catch (thrown) {
    throw new NoAnswer((thrown as Error).message, rightAddress);
  }
}

const rightAddress = 'check the address: it usually ends with /v1';

/** What an error status of a server means for its operator, who has sent a key or none. */
export function refusalOf(status: number, text: string, hasKey = true): NoAnswer {
  const said = withoutCredentials(text, 300).trim();
  return new NoAnswer(`answered ${status}${said === '' ? '' : `: ${said}`}`, remedyFor(status, hasKey));
}

function remedyFor(status: number, hasKey: boolean): string {
  if (status === 401 || status === 403)
    return hasKey
      ? 'the server does not accept the key: check it, and its rights'
      : 'the server asks for a key, and none was sent: give it one';
  if (status === 404) return rightAddress;
  if (status === 429) return 'its limit is reached: wait, or raise it there';
  if (status >= 300 && status < 400) return 'redirects are not followed: use the address that it leads to';
  return status >= 500 ? 'look at the log of the server' : rightAddress;
}
