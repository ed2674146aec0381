import { catalogTemplate } from '../catalog/catalog-template.ts';
import { discoveredModels } from '../catalog/discovered-model.ts';
import { systemClock } from '../clock.ts';
import { loadProvider } from '../config/load-provider.ts';
import { createLog } from '../telemetry/log.ts';
import { Provider } from '../upstream/http/provider.ts';
import type { Voice } from './command.ts';

const timeout_ms = 10_000;

export interface ModelsOptions {
  readonly config: string;
  readonly provider: string;
}

/** Prints the models that a provider lists, as `models:` of a configuration. */
export async function printModels(
  { config, provider: name }: ModelsOptions,
  print: Voice['print'],
): Promise<void> {
  const { definition, config: settings, options } = await loadProvider(config, name);
  const provider = new Provider(name, definition, settings, options, {
    clock: systemClock,
    log: createLog('silent'),
    content: { capture_content: false, max_content_characters: 0 },
  });
  try {
    const seen = discoveredModels(await askForModels(provider));
    if (seen.length === 0) throw new Error('the server lists no models');
    print(catalogTemplate(name, seen, new Date().toISOString().slice(0, 10)).trimEnd());
  } catch (thrown) {
    const { message } = thrown as Error;
    throw new Error(`models: ${name} (${settings.base_url}/models): ${provider.redacted(message)}`);
  } finally {
    await provider.close();
  }
}

async function askForModels(provider: Provider): Promise<unknown> {
  const address = `${provider.config.base_url.replace(/\/+$/, '')}/models`;
  const headers = { accept: 'application/json', ...provider.ownHeaders, ...provider.keys.next()?.headers };
  const response = await fetch(address, { headers, signal: AbortSignal.timeout(timeout_ms) }).catch(fault => {
    throw new Error(
      fault.name === 'TimeoutError' ? `no answer within ${timeout_ms / 1000} s` : causeOf(fault),
    );
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`answered ${response.status}: ${text.slice(0, 300)}`);
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`answered with something that is not JSON: ${text.slice(0, 100)}`);
  }
}

const causeOf = ({ cause, message }: Error): string =>
  cause instanceof Error ? cause.message || String((cause as NodeJS.ErrnoException).code) : message;
