import type { ChatRequest, Model } from '../../../src/plugin.ts';

/** Fills in what the client has left out. Of embeddings and rerankings there is nothing to fill in. */
export function fillIn(request: ChatRequest, defaults: NonNullable<Model['defaults']>): void {
  if (request.operation && request.operation.name !== 'text_completion') return;
  const { temperature, max_tokens, stop, reasoning_effort, ...parameters } = defaults;
  for (const [name, value] of Object.entries({ temperature, max_tokens, stop, reasoning_effort }))
    if (value !== undefined) Object.assign(request, { [name]: request[name as keyof ChatRequest] ?? value });
  for (const [name, value] of Object.entries(parameters)) request.parameters[name] ??= value;
}
