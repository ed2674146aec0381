import { validateHeaderName, validateHeaderValue } from 'node:http';
import type { ChatRequest, Message } from '../../../gateway/exchange/canonical.ts';
import { GatewayError } from '../../../gateway/exchange/errors.ts';
import type { Target, UpstreamRequest } from '../../../gateway/upstream/adapter.ts';
import { fitted } from '../../../gateway/upstream/attempt/fit-request.ts';
import { knownEfforts } from '../../../gateway/upstream/openai/effort-fields.ts';
import { ContractError } from '../../contract-error.ts';
import type { AdapterFixture } from '../adapter-contract.ts';
import type { AdapterSetting } from '../adapter-setting.ts';
import { meaningOfReply } from '../meaning.ts';
import { leastRequest } from '../standard-conversation.ts';
import type { StandardRequest } from '../standard-request.ts';
import { standardRequests } from '../standard-requests.ts';

const key = 'kit-key-0123456789';

/** Every standard request and those of the contract are encoded, refused by field, or name what they leave out. */
export function checkRequests(setting: AdapterSetting): void {
  const { efforts = knownEfforts } = setting.definition;
  const { messageFields } = setting.adapter;
  const fit = standardRequests(efforts).filter(({ declared }) => !declared || messageFields?.has(declared));
  const own = Object.entries(setting.contract.requests ?? {}).map(([name, request]) => ({ name, request }));
  for (const standard of [...fit, ...own]) checkRequest(setting, standard);
  const unknown = {
    name: 'a field that the configuration does not let through',
    request: { unknown: { kit_extra: 2718 } },
  };
  const encoded = encode(setting, unknown);
  if (!encoded || !textOf(encoded).includes('kit_extra')) return;
  const values = { expected: 'no kit_extra', got: encoded.body };
  throw setting.breach('requests', { fixture: unknown.name }, 'sends a field that may not be sent', values);
}

function checkRequest(setting: AdapterSetting, standard: StandardRequest): void {
  const { name: fixture, field, without = {}, says = [], isNeeded = false } = standard;
  const encoded = encode(setting, standard);
  if (!encoded) return;
  const sent = textOf(encoded);
  for (const text of says) {
    if (sent.includes(JSON.stringify(text).slice(1, -1))) continue;
    const values = { expected: text, got: encoded.body };
    throw setting.breach('requests', { fixture }, 'does not send what the request says', values);
  }
  if (field === undefined || (!isNeeded && encoded.ignored?.includes(field))) return;
  const plain = encode(setting, { name: `${fixture}, without ${field}`, request: without });
  if (plain && textOf(plain) !== sent) return;
  const problem = `leaves ${field} out${isNeeded ? '' : ' and does not say so'}`;
  const expected = isNeeded
    ? `${field} in the request`
    : `${field} in the request, in \`ignored\` or refused`;
  throw setting.breach('requests', { fixture }, problem, { expected, got: encoded.body });
}

/** The calls of each fixture can be sent back with their results. */
export function checkToolLoop(setting: AdapterSetting, fixture: AdapterFixture): void {
  for (const { content, tool_calls } of meaningOfReply(fixture).choices) {
    if (tool_calls.length === 0) continue;
    const calls = tool_calls.map(({ id, ...called }, at) => ({
      id: id ?? `call_kit${at}`,
      type: 'function' as const,
      function: called,
    }));
    const results = calls.map(
      ({ id }): Message => ({ role: 'tool', tool_call_id: id, content: 'kit result' }),
    );
    const messages = [...leastRequest.messages, { role: 'assistant' as const, content, tool_calls: calls }];
    const request = { messages: [...messages, ...results] };
    const says = ['kit result', ...tool_calls.map(({ name }) => name)];
    checkRequest(setting, { name: `the tool results for ${fixture.name}`, request, says });
  }
}

const textOf = ({ path, headers, body }: UpstreamRequest): string => JSON.stringify([path, headers, body]);

/** What is sent of a request; `undefined` if the adapter refuses it by field. */
function encode(
  setting: AdapterSetting,
  { name, request, target }: StandardRequest,
): UpstreamRequest | undefined {
  const { adapter, contract } = setting;
  const place = { fixture: name };
  const whole: Target = {
    model: contract.model ?? 'kit-model',
    effortMap: {},
    extraParameters: [],
    maxTokens: 4096,
    ...target,
  };
  const asked: ChatRequest = structuredClone({ ...leastRequest, ...request });
  const before = JSON.stringify(asked);
  const { extraParameters: extra } = whole;
  const messages = { fields: adapter.messageFields ?? new Set<never>(), send_reasoning: 'always' as const };
  const fit = fitted(asked, { parameters: adapter.parameters, drop: [], extra, messages });
  let encoded: UpstreamRequest;
  try {
    encoded = setting.inTime(place, () => adapter.encode(fit.request, whole));
  } catch (got) {
    checkRefusal(setting, name, got);
    return undefined;
  }
  if (JSON.stringify(asked) !== before) {
    const values = { expected: before, got: JSON.stringify(asked) };
    throw setting.breach('requests', place, 'changes the request, which another attempt may need', values);
  }
  checkUpstreamRequest(setting, name, encoded);
  return { ...encoded, ignored: [...fit.ignored, ...(encoded.ignored ?? [])] };
}

function checkRefusal(setting: AdapterSetting, fixture: string, got: unknown): void {
  if (GatewayError.is(got) && got.status === 400 && got.param !== undefined) return;
  if (got instanceof ContractError) throw got;
  const problem = 'refuses a request without naming the field';
  const expected = 'what invalidField creates';
  throw setting.breach('requests', { fixture }, problem, { expected, got });
}

function checkUpstreamRequest(setting: AdapterSetting, fixture: string, encoded: UpstreamRequest): void {
  const { path, headers = {}, body } = encoded;
  const wrong = (problem: string, expected: unknown, got: unknown) =>
    setting.breach('requests', { fixture }, problem, { expected, got });
  if (!/^\/[\x21-\x22\x24-\x7e]*$/.test(path)) throw wrong('has a path that no request can have', '/…', path);
  try {
    const unlike = unlikeJson(JSON.parse(JSON.stringify(body)), body, 'body');
    if (unlike !== undefined) throw wrong('has a body that is no JSON', 'plain JSON values', unlike);
  } catch (got) {
    if (got instanceof ContractError) throw got;
    throw wrong('has a body that cannot be written as JSON', 'JSON', got);
  }
  const invalid = invalidHeader(headers);
  if (invalid !== undefined) throw wrong('has a header that cannot be sent', 'a valid header', invalid);
}

/** The path of a value that is written as JSON otherwise than it is; members that are `undefined` are left out. */
function unlikeJson(written: unknown, value: unknown, path: string): string | undefined {
  if (typeof value !== 'object' || value === null) return Object.is(written, value) ? undefined : path;
  const entries = Object.entries(value).filter(([, part]) => part !== undefined);
  for (const [name, part] of entries) {
    const found = unlikeJson((written as Record<string, unknown>)[name], part, `${path}.${name}`);
    if (found !== undefined) return found;
  }
  return Object.keys(written as object).length === entries.length ? undefined : path;
}

function invalidHeader(headers: Readonly<Record<string, string>>): string | undefined {
  for (const [name, value] of Object.entries(headers)) {
    try {
      validateHeaderName(name);
      validateHeaderValue(name, value);
    } catch {
      return `${name}: ${value}`;
    }
  }
  return undefined;
}

/** The key is in a valid header, and neither in the path nor in the body; a model's name of any characters makes a valid path. */
export function checkCredential(setting: AdapterSetting): void {
  const { adapter } = setting;
  const place = { fixture: 'the key' };
  const wrong = (problem: string, expected: unknown, got: unknown) =>
    setting.breach('credentials', place, problem, { expected, got });
  const carrying = adapter.credential?.(key);
  if (carrying) {
    const invalid = invalidHeader(carrying);
    if (invalid !== undefined) throw wrong('has a header that cannot be sent', 'a valid header', invalid);
    if (!Object.values(carrying).some(value => value.includes(key)))
      throw wrong('does not send the key', 'a header with the key', carrying);
  }
  const invalid = invalidHeader(adapter.headers ?? {});
  if (invalid !== undefined) throw wrong('has a header that cannot be sent', 'a valid header', invalid);
  for (const stream of [true, false]) {
    const sent = encode(setting, { name: 'the key', request: { stream } });
    if (sent && textOf(sent).includes(key))
      throw wrong('sends the key outside of its header, where it would be logged', 'no key', textOf(sent));
  }
  const model = 'kit org/model:1.5?x=1#ü';
  encode(setting, { name: 'a model with an odd name', request: {}, target: { model } });
}
