import type { Target } from './adapter.ts';
import type { Provider } from './provider.ts';

/** One of those who serve a model: a provider, and what the model is called there. */
export class Upstream {
  readonly provider: Provider;
  readonly target: Target;
  readonly priority: number;
  readonly weight: number;

  constructor(
    provider: Provider,
    target: Target,
    { priority, weight }: { priority: number; weight: number },
  ) {
    this.provider = provider;
    this.target = target;
    this.priority = priority;
    this.weight = weight;
  }
}
