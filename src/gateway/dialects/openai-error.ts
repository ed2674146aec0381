import type { GatewayError } from '../exchange/errors.ts';

/** OpenAI's error envelope, with `param` and `code` if `openaiFields` is set. The default on all paths. */
export function openAiError({ message, type, openaiFields, param, code }: GatewayError): {
  error: { message: string; type: string; param?: string | null; code?: string | null };
} {
  if (!openaiFields) return { error: { message, type } };
  return { error: { message, type, param: param ?? null, code: code ?? null } };
}

/** The JSON of OpenAI's error envelope. */
export const openAiErrorBody = (error: GatewayError): string => JSON.stringify(openAiError(error));
