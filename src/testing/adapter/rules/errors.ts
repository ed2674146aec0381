import type { IncomingHttpHeaders } from 'node:http';
import { failureOf, failureOfErrorReply } from '../../../gateway/upstream/attempt/attempt-failure.ts';
import { jsonOf, UpstreamError } from '../../../gateway/upstream/http/upstream-error.ts';
import { ContractError } from '../../contract-error.ts';
import type { AdapterErrorFixture, ShownError } from '../adapter-contract.ts';
import type { AdapterSetting } from '../adapter-setting.ts';
import { mutationsOf } from '../mutations.ts';
import { inBatches, long_text } from './nonsense.ts';

const textOf = (body: unknown): string => (typeof body === 'string' ? body : (JSON.stringify(body) ?? ''));

/** An error becomes what a client should be shown of it. */
export function checkError(setting: AdapterSetting, error: AdapterErrorFixture): void {
  const { name, status = 200, headers = {}, body, stream, shown } = error;
  const place = { fixture: name, cut: stream === undefined ? `status ${status}` : 'in a stream' };
  if (stream === undefined && status >= 300)
    return compare(setting, place, shown, errorReply(setting, place, status, textOf(body), headers));
  const read =
    stream === undefined ? setting.decode(place, textOf(body)) : setting.read(place, [Buffer.from(stream)]);
  const fault = 'fault' in read ? read.fault : undefined;
  if (!UpstreamError.is(fault)) {
    const got = fault ?? 'a reply';
    throw setting.breach('errors', place, 'does not report an error of the upstream', {
      expected: 'an UpstreamError',
      got,
    });
  }
  checkStatus(setting, place, fault.status);
  compare(setting, place, shown, failureOf(fault, true).error);
}

/** Error replies of every kind have a plausible status, whatever their body is. */
export function checkErrorReplies(setting: AdapterSetting): void {
  const own = (setting.contract.errors ?? []).filter(({ body }) => typeof body === 'object');
  for (const { name, body } of [{ name: 'an error reply', body: { error: { message: 'x' } } }, ...own]) {
    inBatches(setting, mutationsOf(body), ([change, text]) => {
      const place = { fixture: name, cut: `body, ${change}` };
      const statuses = text.length > long_text ? [400] : [400, 429, 500];
      for (const status of statuses) errorReply(setting, place, status, text, {});
    });
  }
  for (const body of ['', '<html></html>', '{"error'])
    errorReply(setting, { fixture: 'an error reply', cut: JSON.stringify(body) }, 503, body, {});
}

type Place = { readonly fixture: string; readonly cut: string };

/** What a client is shown of an error reply. */
function errorReply(
  setting: AdapterSetting,
  place: Place,
  status: number,
  text: string,
  headers: IncomingHttpHeaders,
) {
  const { adapter } = setting;
  try {
    return setting.inTime(place, () => {
      checkStatus(setting, place, adapter.errorStatus?.(status, jsonOf(text)) ?? status);
      return failureOfErrorReply(adapter, { status, headers }, text, false).error;
    });
  } catch (got) {
    if (got instanceof ContractError) throw got;
    const problem = 'throws at the body of an error reply';
    throw setting.breach('errors', place, problem, { expected: 'no throw', got });
  }
}

/** The status of an error, if it is known, is one. */
function checkStatus(setting: AdapterSetting, place: Place, status: number | undefined): void {
  if (status === undefined) return;
  if (Number.isInteger(status) && status >= 400 && status <= 599) return;
  const values = { expected: 'an integer from 400 to 599', got: status };
  throw setting.breach('errors', place, 'gives an error a status that is no error status', values);
}

function compare(setting: AdapterSetting, place: Place, shown: ShownError, got: ShownError): void {
  const { status, type, message } = got;
  if (
    shown.status === status &&
    shown.type === type &&
    (shown.message === undefined || shown.message === message)
  )
    return;
  const values = { expected: shown, got: { status, type, message } };
  throw setting.breach('errors', place, 'shows clients another error', values);
}
