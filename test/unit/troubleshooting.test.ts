import { describe, expect, it } from '@jest/globals';
import { errorCatalogue } from '../../src/gateway/exchange/errors.ts';
import { read } from '../support/documents/blocks.ts';
import { explainedMessages, loggedMessages } from '../support/documents/log-messages.ts';

const page = read('docs/reference/troubleshooting.md');

/** The text below a heading of the second level. */
const below = (heading: string): string => page.split(`\n## ${heading}\n`)[1]!.split('\n## ')[0]!;

const byText = ([one]: readonly [string, string], [other]: readonly [string, string]): number =>
  one < other ? -1 : 1;

describe('the page about trouble', () => {
  it('has every message that is logged at warn or above with its level, and no other', () => {
    const { messages, warnings, faults } = loggedMessages();
    expect(faults).toEqual([]);
    expect(warnings.size).toBeGreaterThan(20);
    const expected = [...messages]
      .filter(([text]) => !warnings.has(text))
      .map(([text, levels]): [string, string] => [text, levels.join(', ')]);
    const listed = [...below('By log message').matchAll(/^- `(.+)` \(([a-z, ]+)\)$/gm)];
    const others = listed.map(([, text, levels]): [string, string] => [text!, levels!]);
    expect([...explainedMessages(page), ...others].toSorted(byText)).toEqual(expected.toSorted(byText));
  });

  it('has every error of the catalogue with its status, type and message', () => {
    const found = [...below('By error').matchAll(/^### (\w+)\n\n(.*)\n/gm)].map(([, code, line]) => [
      code,
      line,
    ]);
    const expected = Object.entries(errorCatalogue).map(([code, { status, type, message }]) => [
      code,
      `${status} \`${type}\`: ${message}`,
    ]);
    expect(found).toEqual(expected);
  });
});

describe('the messages of the log', () => {
  const found = (code: string, file = 'src/sample.ts') => {
    const { messages, faults } = loggedMessages(new Map([[file, code]]));
    return { messages: Object.fromEntries(messages), faults };
  };

  it('are found in texts, templates, constants and both branches of a choice', () => {
    expect(
      found(`
        const told = 'in a constant';
        log.warn('alone');
        this.#options.log?.error({ err }, \`of \${name} and \${other}\`);
        exchange.log.fatal({}, told);
        log[isOne ? 'warn' : 'error']({}, isOne ? 'one' : 'other');
        this.#throttled.write('kind', log, 'warn', {}, 'now and then');
        this.#throttled.write('kind', log, 'info', {}, 'not loud');
        function* warnings(): Generator<string> { yield 'without effect'; yield* more(); }
      `),
    ).toEqual({
      messages: {
        alone: ['warn'],
        'of … and …': ['error'],
        'in a constant': ['fatal'],
        one: ['error', 'warn'],
        other: ['error', 'warn'],
        'now and then': ['warn'],
        'without effect': ['warn'],
      },
      faults: [],
    });
  });

  it('are a fault where they are not in the code that logs them, or where it is unclear what logs', () => {
    expect(found("log.warn({}, messageOf(fault)); log.error(message); sink.error('what is this');")).toEqual({
      messages: {},
      faults: ['src/sample.ts: log.warn(…)', 'src/sample.ts: log.error(…)', 'src/sample.ts: sink.error(…)'],
    });
  });

  it('are left out below warn', () => {
    expect(found("log.info('normal'); log.debug({}, 'detail');")).toEqual({ messages: {}, faults: [] });
  });
});
