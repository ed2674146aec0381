import { parse } from 'yaml';
import { defaultModels } from '../config/example-models.ts';
import type { NoAnswer } from '../mount/provider-check/ask-server.ts';
import { askForModels, modelsIn } from '../mount/provider-check/list-models.ts';
import { CommandMistake } from './command.ts';
import type { DemoServer } from './demo.ts';
import { catalogTemplate } from './init/catalog-template.ts';

const max_models = 20;

/**
 * The `models` of a demo in front of a real server: the example catalog if the server has all of its models, else what it lists, at most
 * twenty. Throws a CommandMistake with what to do for a server that cannot be asked, or that lists none.
 */
export async function demoModels({ base_url, adapter, api_key }: DemoServer): Promise<unknown[]> {
  const headers = api_key === undefined ? {} : { authorization: `Bearer ${api_key}` };
  try {
    const listed = modelsIn(await askForModels({ adapter, base_url, headers }), api_key !== undefined);
    if (listed.length === 0)
      throw new CommandMistake('UPSTREAM_URL: the server lists no models: load one there');
    const example = defaultModels('upstream');
    const names = new Set(listed.map(({ id }) => id));
    if (example.every(({ upstreams }) => upstreams.every(({ model }) => names.has(model)))) return example;
    const today = new Date().toISOString().slice(0, 10);
    return parse(catalogTemplate('upstream', listed.slice(0, max_models), today)).models;
  } catch (thrown) {
    if (thrown instanceof CommandMistake) throw thrown;
    const { message, remedy = 'correct the address' } = thrown as NoAnswer;
    throw new CommandMistake(`UPSTREAM_URL could not be asked for its models: ${message}\n${remedy}`);
  }
}
