import type { ModelConfig } from '../../common/options.ts';

/** A model as the chain sees it: the record behind both the public catalog and validation. */
export type Model = Readonly<ModelConfig> & {
  /** Request fields outside the interface that at least one of its providers is sent. */
  readonly extra_parameters: readonly string[];
  /** Whether it is known what one of its upstreams is paid. */
  readonly has_paid_prices?: boolean;
};

/** Whether a model takes images, by the input of its modality. */
export const takesImages = ({ architecture: { modality } }: Pick<Model, 'architecture'>): boolean =>
  modality.slice(0, modality.indexOf('->')).includes('image');

/** All configured models, looked up by their exact id. */
export class Catalog {
  /** All models, in the order of the configuration. */
  readonly models: readonly Model[];
  readonly #byId: ReadonlyMap<string, Model>;

  constructor(models: readonly Model[]) {
    this.models = models;
    this.#byId = new Map(models.map(model => [model.id, model]));
  }

  /** The model of this id; undefined if there is none. */
  find(id: string): Model | undefined {
    return this.#byId.get(id);
  }
}
