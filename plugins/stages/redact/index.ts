import { z } from 'zod';
import { defineStage, type StageFactory } from '../../../src/plugin.ts';
import type { RedactOptions } from './options.ts';
import { type BuiltInName, builtIn, builtInPatterns } from './patterns.ts';
import { mapText } from './text/map-text.ts';

const names = Object.keys(builtInPatterns) as [BuiltInName, ...BuiltInName[]];

const ownPattern = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z][a-z0-9_]*$/, 'must be in snake_case')
    .describe('What a match is called: it becomes `[name]`.'),
  regex: z
    .string()
    .min(1)
    .describe('A regular expression without lookaround, back references and lazy quantifiers.'),
  ignore_case: z.boolean().default(false).describe('Match capitals and small letters alike.'),
  replacement: z.string().optional().describe('What a match becomes, in place of `[name]`.'),
});

const options = z
  .strictObject({
    patterns: z
      .array(z.union([z.enum(names), ownPattern]))
      .min(1)
      .default(['email', 'credit_card', 'iban', 'api_key'])
      .describe(
        `What is masked, each as \`[its name]\`: ${names.map(name => `\`${name}\``).join(', ')}, or \`{ name, regex, ignore_case, replacement }\`. A regular expression has no lookaround, back references or lazy quantifiers.`,
      ),
    where: z
      .enum(['both', 'requests', 'replies'])
      .default('both')
      .describe(
        'Whether requests are masked before they leave, replies before the client sees them, or both.',
      ),
    window: z
      .int()
      .min(16)
      .max(4096)
      .default(1024)
      .describe(
        'The longest match, in characters, and the most that a stream holds back while one is possible.',
      ),
  })
  .meta({ shown: true });

const schema = options.superRefine(({ patterns, window }, issues) => {
  for (const [at, pattern] of patterns.entries()) {
    if (typeof pattern === 'string') continue;
    try {
      mapText([{ pattern: expressionOf(pattern), replace: '' }], { window });
    } catch (thrown) {
      issues.addIssue({
        code: 'custom',
        path: ['patterns', at, 'regex'],
        message: (thrown as Error).message,
      });
    }
  }
});

/** Masks personal data and secrets in requests and replies. Listed before `reasoning-split`, it sees replies that are split. */
export const redact: StageFactory<RedactOptions> = defineStage({
  name: 'redact',
  schema,
  create({ patterns, where, window }, { metrics }) {
    const counter = metrics.counter({
      name: 'matches_total',
      help: 'Texts that were masked in requests and replies, by the name of their pattern.',
      labels: ['pattern'],
    });
    const replacements = patterns.map(pattern => {
      const name = typeof pattern === 'string' ? pattern : pattern.name;
      const matches = counter.labels(name);
      if (typeof pattern === 'string') return builtIn(pattern, () => matches.inc());
      const replace = () => {
        matches.inc();
        return pattern.replacement ?? `[${name}]`;
      };
      return { pattern: expressionOf(pattern), replace };
    });
    const text = mapText(replacements, { window });
    return {
      ...(where !== 'replies' && { onRequest: ({ request }) => text.request(request) }),
      ...(where !== 'requests' && {
        onReply: (_, reply) => text.reply(reply),
        onStream: () => text.stream(),
      }),
    };
  },
});

const expressionOf = ({ regex, ignore_case }: z.output<typeof ownPattern>): RegExp =>
  new RegExp(regex, ignore_case ? 'i' : '');
