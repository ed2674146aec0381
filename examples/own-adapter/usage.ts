import { isObject, tokenCount, type Usage, usageOf } from 'sluice/plugin';

/** Usage of one reply. Counts of a stream are cumulative; those that are 0 are left out. */
export class RunningUsage {
  #completion = 0;
  #thoughts: number | undefined;

  /** The usage so far, with what this `usageMetadata` adds; `undefined` if it is none. */
  seen(metadata: unknown): Usage | undefined {
    if (!isObject(metadata)) return undefined;
    const prompt = tokenCount(metadata.promptTokenCount);
    if (prompt === undefined) return undefined;
    const thoughts = tokenCount(metadata.thoughtsTokenCount);
    this.#completion = Math.max(this.#completion, generatedTokens(metadata, prompt, thoughts ?? 0));
    this.#thoughts = Math.max(this.#thoughts ?? 0, thoughts ?? 0) || undefined;
    return usageOf(
      prompt + (tokenCount(metadata.toolUsePromptTokenCount) ?? 0),
      this.#completion,
      tokenCount(metadata.cachedContentTokenCount),
      this.#thoughts === undefined ? undefined : { reasoning_tokens: this.#thoughts },
    );
  }
}

/** Thoughts are billed as output. Some servers of this API count them among the candidates' tokens, which the total gives away. */
function generatedTokens(metadata: Record<string, unknown>, prompt: number, thoughts: number): number {
  const candidates = tokenCount(metadata.candidatesTokenCount) ?? 0;
  return prompt + candidates === metadata.totalTokenCount ? candidates : candidates + thoughts;
}
