import { type Finding, finding } from '../../common/finding.ts';
import { NoAnswer } from '../ask-server.ts';

const { fault } = finding;

/** Finding for what a check has thrown; `remedy` for errors that bring none of their own. */
export function faultOf(thing: string, thrown: unknown, remedy: string): Finding {
  const message = (thrown as Error).message.split('\n')[0]!;
  return fault(thing, message, thrown instanceof NoAnswer ? thrown.remedy : remedy);
}
