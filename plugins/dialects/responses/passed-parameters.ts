import type { ChatRequest, Model } from '../../../src/plugin.ts';

/** Sends `service_tier` and `text.verbosity` under chat's names to a model with a provider that is sent such fields. */
export function passParameters(request: ChatRequest, model: Model | undefined): void {
  const { unknown, client } = request;
  const takes = (name: string): boolean => model?.extra_parameters.includes(name) ?? false;
  const service_tier = client?.echo?.service_tier;
  if (service_tier !== undefined && takes('service_tier')) unknown.service_tier = service_tier;
  const { 'text.verbosity': verbosity } = unknown;
  if (verbosity === undefined || !takes('verbosity')) return;
  delete unknown['text.verbosity'];
  unknown.verbosity = verbosity;
}
