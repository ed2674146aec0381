import { type ChatRequest, invalidField, type Model } from '../../../src/plugin.ts';

/** Rejects a request for what its model does not serve, such as a chat completion by a model of embeddings. */
export function checkOperation({ operation }: ChatRequest, { id, operations = ['chat'] }: Model): void {
  const name = operation?.name ?? 'chat';
  if (!operations.includes(name))
    throw invalidField('model', `${id} serves ${operations.join(', ')}, not ${name}.`);
}
