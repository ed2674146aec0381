import { loadProvider } from '../config/load-provider.ts';
import { askForModels, baseOf, modelsIn, providerToAsk } from '../mount/provider-check/list-models.ts';
import type { Voice } from './command.ts';
import { catalogTemplate } from './init/catalog-template.ts';

export interface ModelsOptions {
  readonly config: string;
  readonly provider: string;
}

/** Prints the models that a provider lists, as `models:` of a configuration. */
export async function printModels(
  { config, provider: name }: ModelsOptions,
  print: Voice['print'],
): Promise<void> {
  const settings = await loadProvider(config, name);
  const { base_url } = settings.config;
  const provider = providerToAsk(settings);
  try {
    const headers = { ...provider.ownHeaders, ...provider.keys.next()?.headers };
    const server = { adapter: settings.definition.name, base_url, headers };
    const seen = modelsIn(await askForModels(server));
    if (seen.length === 0) throw new Error('the server lists no models');
    print(catalogTemplate(name, seen, new Date().toISOString().slice(0, 10)).trimEnd());
  } catch (thrown) {
    const { message } = thrown as Error;
    throw new Error(`models: ${name} (${baseOf(base_url)}/models): ${provider.redacted(message)}`);
  } finally {
    await provider.close();
  }
}
