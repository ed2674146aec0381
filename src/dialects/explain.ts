import type { z } from 'zod';
import { fieldPath, shown, valueAt } from '../diagnostics/field-path.ts';
import { type GatewayError, invalidField, refusal } from '../errors.ts';

/** The first fault that a schema found, as a refusal: field, what is accepted, what was sent. A whole sentence has nothing added to it. */
export function refusalOf(error: z.ZodError, body: unknown): GatewayError {
  const issue = error.issues[0];
  if (!issue) return refusal('invalid_request');
  const path = fieldPath(issue.path);
  const value = valueAt(body, issue.path);
  const { message } = issue;
  const problem = value === undefined || message.endsWith('.') ? message : `${message}, not ${shown(value)}`;
  return path === '' ? refusal('invalid_request', { message: problem }) : invalidField(path, problem);
}
