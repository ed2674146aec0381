import { ERROR_SHAPES } from '../../../../src/simulator/error-body.ts';
import type { Dice } from '../../../../src/simulator/seed.ts';
import { isBroken, isInvalid, isRefusal } from './checks.ts';
import { type Kind, kind, maybeStreaming, type Request, simulated, streaming } from './request.ts';

const failing = (name: string, weight: number, make: Kind['make']): Kind =>
  kind(name, weight, ['upstream_failed'], make);
/** A stream of 60 events in which something goes wrong somewhere. */
const inStream = (fault: string, weight: number): Kind =>
  failing(`${fault} in a stream`, weight, (dice, id) => ({
    ...simulated(dice, id, `tokens=60 ${fault}={2-40}`, streaming),
    check: isBroken,
  }));

/** Upstreams that fail in every way that the simulator knows. */
export const faultyKinds: readonly Kind[] = [
  kind('upstream status the client caused', 2.5, ['refused'], (dice, id) => ({
    ...withStatus(dice, id, '{400|413|422}'),
    check: isRefusal(400),
  })),
  failing('upstream status the operator caused', 2.5, (dice, id) => ({
    ...withStatus(dice, id, '{401|403|404}'),
    check: isRefusal(400, 'configuration_error'),
    alarms: true,
  })),
  failing('upstream status', 5, (dice, id) => ({
    ...withStatus(dice, id, '{409|429|500|502|503|529}'),
    check: isInvalid,
  })),
  ...['reset', 'cut', 'truncate', 'error', 'garbage'].flatMap(fault => [
    inStream(fault, 2),
    failing(`${fault} in a reply`, 1, (dice, id) => ({
      ...simulated(dice, id, `${fault}=3`),
      check: isInvalid,
    })),
  ]),
  ...['reset', 'cut', 'html', 'error200'].map(fault =>
    failing(`${fault} before a reply`, 1, (dice, id) => ({
      ...simulated(dice, id, fault, maybeStreaming),
      check: isInvalid,
    })),
  ),
  inStream('stall', 0.4),
  failing('stall before a reply', 0.4, (dice, id) => ({
    ...simulated(dice, id, 'stall', maybeStreaming),
    check: isBroken,
  })),
  failing('aborted by the upstream', 1, (dice, id) => ({
    ...simulated(dice, id, 'finish={abort|error}', maybeStreaming),
    check: isBroken,
  })),
];

/** Protocol b6 to b8. */
const withStatus = (dice: Dice, id: string, codes: string): Request =>
  simulated(dice, id, `status=${codes} body={${ERROR_SHAPES.join('|')}}`, maybeStreaming);
