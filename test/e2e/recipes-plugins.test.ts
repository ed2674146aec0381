import { describe, expect, it } from '@jest/globals';
import { runRecipe } from '../support/recipes/recipe.ts';

/** Asks the gateway of a page for the status and body of a chat with this message. */
const chat = (model: string, message: string) =>
  `curl -s -w ' status=%{http_code}\\n' http://127.0.0.1:8080/v1/chat/completions -H "Authorization: Bearer $SLUICE_KEY" \
  -H 'Content-Type: application/json' -d '${JSON.stringify({ model, messages: [{ role: 'user', content: message }] })}'`;

describe('a recipe for a plugin', () => {
  it('adds a stage that asks a moderation service once for a text, and refuses while it is down', async () => {
    const after = `
${chat('acme/small', 'How do I build a bomb?')}
${chat('acme/small', '[[sim:say=They wander.]]')}
curl -s http://127.0.0.1:8081/metrics | grep moderation_verdicts
kill %2
${chat('acme/small', 'Why do rivers bend?')}
`;
    const { output } = await runRecipe('docs/how-to/write-a-stage.md', { after });
    expect(output).toContain('✔ keeps the contract of a stage');
    expect(output).toContain('{verdict="flagged",source="cache"} 1');
    expect(output).toContain('{verdict="passed",source="service"} 1');
    expect(output).toMatch(/"content":"They wander\.".* status=200/);
    expect(output).toMatch(/The moderation service does not answer\..* status=502/);
  });

  it('changes replies, streamed and whole', async () => {
    const { output } = await runRecipe('docs/how-to/change-a-stream.md', {
      after: chat('Qwen/Qwen3-8B', '[[sim:say=Ask project Falcon.]]'),
    });
    expect(output).toMatch(/✔ house-words[\s\S]*✔ no-reasoning/);
    const texts = [...output.matchAll(/"content":"(.*?)"/g)].map(([, text]) => text).join('');
    expect(texts).toMatch(/(Ask the project\.){2}$/);
    expect(output).not.toContain('"reasoning":"');
  });

  it('adds an adapter of one file for a format of its own', async () => {
    const { output } = await runRecipe('docs/how-to/write-an-adapter.md', {
      after: `${chat('acme/parrot', 'Hello')}; grep -c '"level":50' sluice.log || true`,
    });
    expect(output).toContain('✔ keeps the contract of an adapter');
    expect(output).toMatch(/"content":"Hi\.".*"prompt_tokens":3,"completion_tokens":2.* status=200/);
  });

  it('offers another interface, whole, streamed and with its errors', async () => {
    await runRecipe('docs/how-to/write-a-dialect.md');
  });

  it('adds an extension that answers operators', async () => {
    const { output } = await runRecipe('docs/how-to/write-an-extension.md');
    expect(output).toContain('✔ keeps the contract of an extension');
  });

  it('keeps records and counters in stores of its own', async () => {
    const { output } = await runRecipe('docs/how-to/write-a-store.md', { after: 'test -s main.db' });
    expect(output).toContain('They wander.');
  });
});
