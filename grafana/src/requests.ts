import {
  classOfReason,
  classOfType,
  clientTypes,
  type ErrorClass,
  failedReasons,
  refusal_statuses,
} from '../../src/common/end-class.ts';
import { type Expr, of, ofModel, perSecond, promql, rate, sum } from './promql.ts';

const requests = 'sluice_requests_total';
/** The endpoints that ask a model. */
const asking = 'endpoint!~"models|usage|messages.count-tokens|unknown"';
/** Types of errors that are not the client's: an overload ends as `refused` with one of them. */
const ours = 'error_type=~"provider_error|server_error|timeout_error|configuration_error"';

/** Requests that ended, per second, by `labels`. */
export const ended = (...labels: readonly string[]): Expr => rate(of(requests, ofModel), ...labels);

const asked = (matcher: string): Expr => perSecond(of(requests, ofModel, asking, matcher));

/** Requests that failed, per second, as the alerts count them. */
export const failed: Expr = sum(
  promql`${asked(`end_reason=~"${failedReasons.join('|')}"`)} or ${asked(ours)}`,
);

/** Requests that were let in, per second: all but those refused for what the client did, such as an unknown key or a full limit. */
export const letIn: Expr = sum(promql`${asked('end_reason!="refused"')} or ${asked(ours)}`);

const known = Object.keys(classOfType);
/** Types that say whose a failure is, where a provider has failed. */
const telling = known.filter(type => !clientTypes.some(one => one === type)).join('|');
const refusals = refusal_statuses.join('|');
/** The series of errors without a type, by status. */
const untyped: Readonly<Partial<Record<ErrorClass, string>>> = {
  gateway_failed: 'status=~"5.."',
  refusal: `status=~"${refusals}"`,
  client_error: `status=~"4..",status!~"${refusals}"`,
};

/** Matchers of the requests whose end has a class, as `endClassOf` has it: each of these matches one of them, and none two. */
export function endMatchers(end: ErrorClass): string[] {
  const reasons = Object.entries(classOfReason);
  const types = known.filter(type => classOfType[type as keyof typeof classOfType] === end);
  const isClients = clientTypes.some(type => types.includes(type));
  const named = (those: typeof reasons) => `end_reason=~"${those.map(([reason]) => reason).join('|')}"`;
  const open = reasons.filter(([, { isOpen }]) => isOpen);
  const closed = reasons.filter(([, { own, isOpen }]) => !isOpen && own === end);
  const own = open.filter(([, reason]) => reason.own === end);
  const byStatus = open.filter(([, reason]) => reason.own !== 'provider_failed');
  const others =
    end === 'provider_failed'
      ? [`error_type!~"${telling}"`]
      : [`error_type!~"|${known.join('|')}"`, 'error_type="",status!~"[45].."'];
  return [
    `${named(isClients ? byStatus : open)},error_type=~"${types.join('|')}"`,
    ...(closed.length > 0 ? [named(closed)] : []),
    ...(own.length > 0 ? others.map(matcher => `${named(own)},${matcher}`) : []),
    ...(untyped[end] ? [`${named(byStatus)},error_type="",${untyped[end]}`] : []),
  ];
}

/** Requests that ended with an error of a class, per second, by `labels`. */
export const endedAs = (end: ErrorClass, ...labels: readonly string[]): Expr =>
  sum(
    endMatchers(end)
      .map(matcher => perSecond(of(requests, ofModel, matcher)))
      .reduce((all, each) => promql`${all} or ${each}`),
    ...labels,
  );
