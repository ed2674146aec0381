import { z } from 'zod';
import {
  defineStage,
  ignoreParameters,
  invalidField,
  refusal,
  type StageFactory,
} from '../../../src/plugin.ts';
import { fillIn } from './defaults.ts';
import { checkEffort } from './effort.ts';
import { checkContext, checkInputs, checkMaxTokens } from './length.ts';
import { checkMedia } from './media.ts';
import { checkMetadata } from './metadata.ts';
import { checkOperation } from './operation.ts';
import type { ValidationOptions } from './options.ts';
import { dropToolChoice } from './tool-choice.ts';

const schema = z.strictObject({
  unknown_parameters: z
    .enum(['ignore', 'reject'])
    .default('ignore')
    .describe('Fields outside the interface: not forwarded and named in `x-ignored-parameters`, or refused.'),
  max_tokens_above_cap: z
    .enum(['reject', 'clamp'])
    .default('reject')
    .describe("`max_tokens` above the model's `max_completion_tokens`: refused, or lowered to it."),
  unseen_media: z
    .enum(['refuse', 'note'])
    .default('refuse')
    .describe(
      'An image, file or sound for a model whose `modality` does not take it: refused, or replaced by a note such as `[file: report.pdf]`.',
    ),
  max_choices: z.int().min(1).max(128).default(8).describe('The largest `n`.'),
});

/** Checks what depends on the catalog and on policy; nothing is ever coerced silently. */
export const validation: StageFactory<ValidationOptions> = defineStage({
  name: 'validation',
  schema,
  create({ unknown_parameters, max_tokens_above_cap, max_choices, unseen_media }) {
    return {
      takesTokens: true,
      onRequest(exchange) {
        const { request, model } = exchange;
        if (!model) {
          throw invalidField(
            'model',
            `unknown model '${request.model.slice(0, 128)}'; GET /v1/models lists those available.`,
          );
        }
        if (model.defaults) fillIn(request, model.defaults);
        if (request.operation || model.operations) checkOperation(request, model);
        if (request.metadata) checkMetadata(request.metadata);
        checkEffort(request, model);
        checkMaxTokens(request, model, max_tokens_above_cap);
        if (request.operation) checkInputs(request.messages, model);
        // Its provider says so, and another model answers.
        else if (!model.fallbacks?.context_length) checkContext(request.messages, model);
        if (request.n !== undefined && request.n > max_choices) {
          throw invalidField('n', `must be at most ${max_choices}, not ${request.n}`);
        }
        if (request.tools?.length && !model.tool_calls) {
          throw invalidField('tools', `${model.id} does not accept tools.`);
        }
        checkMedia(request, model, unseen_media);
        const withoutTools = dropToolChoice(request);
        if (withoutTools.length > 0) ignoreParameters(exchange, withoutTools);
        const unknown = Object.keys(request.unknown);
        if (unknown.length === 0) return;
        const ignored = unknown.filter(name => !model.extra_parameters.includes(name));
        if (ignored.length === 0) return;
        if (unknown_parameters === 'reject') {
          throw refusal('invalid_request', {
            message: `${ignored[0]!.slice(0, 64)}: unknown parameter.`,
            param: ignored[0]!,
          });
        }
        ignoreParameters(exchange, ignored);
      },
    };
  },
});
