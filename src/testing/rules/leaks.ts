import type { Case } from '../reading.ts';
import { decodedArguments, type Result, resultOfReply } from '../result.ts';
import type { Setting } from '../setting.ts';
import { throughOnReply } from './results.ts';

/** A stage that changes a text changes it wherever it stands: what it leaves anywhere reaches the client after all. */
export async function checkLeaks(setting: Setting, { name, uncut, reply }: Case): Promise<void> {
  const whole = { fixture: name, cut: 'not streamed' };
  checkResult(setting, { fixture: name, cut: 'uncut' }, uncut);
  checkResult(setting, whole, resultOfReply(await throughOnReply(setting, whole, structuredClone(reply!))));
}

function checkResult(setting: Setting, place: { fixture: string; cut: string }, { choices }: Result): void {
  const { sample } = setting;
  const [choice] = choices;
  if (!choice || choice.content.includes(sample)) {
    if (setting.options.sample === undefined) return;
    const values = { expected: 'another text', got: choice?.content };
    throw setting.breach('leaks', place, 'does not change the text of the option sample', values);
  }
  const places: Record<string, string> = {
    logprobs: choice.tokens.map(token => String((token as { token?: unknown }).token)).join(''),
    ...(setting.changes.has('text') && {
      reasoning: choice.reasoning,
      refusal: choice.refusal,
      'tool arguments': choice.tool_calls.map(call => decodedArguments(call.function.arguments)).join(),
    }),
  };
  for (const [where, got] of Object.entries(places)) {
    if (!got.includes(sample)) continue;
    const other = where === 'logprobs' ? 'drop it' : "declare changes: ['content']";
    const problem = `changes content and leaves the same text in ${where}: map it there too, as mapText does, or ${other}`;
    throw setting.breach('leaks', place, problem, { expected: 'another text', got });
  }
}
