import { isObject, type Json } from '../../../common/json-object.ts';
import { CommandMistake } from '../../command.ts';
import { Fields } from '../fields.ts';
import { Findings } from '../findings.ts';
import { jsonIn, textOf } from '../written-file.ts';
import type { Deployment } from './deployment.ts';

/** LiteLLM's list of models, `model_prices_and_context_window.json`, with their prices and bounds; empty without a file. */
export class KnownModels {
  readonly #models: Json;
  /** Dropped: the list is not the operator's. */
  readonly #findings = new Findings('', () => undefined);

  /** Throws a CommandMistake for a file that is no object of models. */
  constructor(file: string | undefined) {
    const models = file === undefined ? {} : jsonIn(textOf(file));
    if (!isObject(models))
      throw new CommandMistake(`${file}: must be a list of prices in JSON: an object by model`);
    this.#models = models;
  }

  /** What it says of the model of a deployment, by the names under which LiteLLM looks it up. */
  find({ info, vendor, model }: Deployment): Fields {
    const base = info.value('base_model');
    const names = [
      ...(typeof base === 'string' ? [`${vendor}/${base}`, base] : []),
      `${vendor}/${model}`,
      model,
    ];
    const found = names.find(name => Object.hasOwn(this.#models, name) && isObject(this.#models[name]));
    return new Fields(found === undefined ? {} : this.#models[found], [], this.#findings);
  }
}
