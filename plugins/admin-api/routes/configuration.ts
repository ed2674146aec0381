import { z } from 'zod';
import { mistakesIn } from '../../../src/plugin.ts';
import { apiError } from '../api-error.ts';
import { defineRoute } from '../route.ts';

const texts = z.array(z.string());

const reload = defineRoute({
  method: 'POST',
  path: '/reload',
  name: 'reloadConfiguration',
  summary: 'Read the configuration again and serve it from the next request on, as `sluice reload` does',
  permission: 'administer',
  reply: z
    .object({
      object: z.literal('reload'),
      changed: texts.describe('Sections that are not as they were.'),
      needs_restart: texts.describe('Options that keep their former value until a restart.'),
      warnings: texts.describe('Options that have no effect.'),
    })
    .meta({ id: 'Reload' }),
  async handler({ context, operator }) {
    context.log.info({ actor: operator.actor }, 'reload of the configuration was asked for');
    const { changed, needsRestart, warnings } = await context.reload().catch(refused);
    return {
      body: {
        object: 'reload' as const,
        changed: [...changed],
        needs_restart: [...needsRestart],
        warnings: [...warnings],
      },
    };
  },
});

/** The configuration before it serves on. */
function refused(thrown: unknown): never {
  const mistakes = mistakesIn(thrown);
  if (!mistakes) throw thrown;
  throw apiError('configuration_refused', { message: mistakes.join('\n') });
}

/** The configuration. */
export const configurationRoutes = [reload];
