import { systemClock } from '../common/clock.ts';
import { loadProvider } from '../config/load-provider.ts';
import { Provider } from '../gateway/upstream/http/provider.ts';
import { createLog } from '../telemetry/log.ts';
import type { Voice } from './command.ts';
import { catalogTemplate } from './init/catalog-template.ts';
import { askForModels, baseOf, modelsIn } from './list-models.ts';

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
    const headers = { ...provider.ownHeaders, ...provider.keys.next()?.headers };
    const server = { adapter: definition.name, base_url: settings.base_url, headers };
    const seen = modelsIn(await askForModels(server));
    if (seen.length === 0) throw new Error('the server lists no models');
    print(catalogTemplate(name, seen, new Date().toISOString().slice(0, 10)).trimEnd());
  } catch (thrown) {
    const { message } = thrown as Error;
    throw new Error(`models: ${name} (${baseOf(settings.base_url)}/models): ${provider.redacted(message)}`);
  } finally {
    await provider.close();
  }
}
