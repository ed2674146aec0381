import { CannotServe, CommandRejected } from '../../../src/plugin.ts';

/** `OOM` of `OOM command not allowed …`; before Redis 7 it stands inside of `ERR Error running script …: -OOM command not allowed …`. */
function codeOf(message: string): string | undefined {
  return /: -([A-Z]+) /.exec(message)?.[1] ?? /^[A-Z]+/.exec(message)?.[0];
}

const rejections = new Set(['WRONGTYPE', 'CROSSSLOT', 'NOSCRIPT']);
const scriptFault = /user_script|(?:running|compiling) script/;

/** The error that a reply such as `-OOM …` stands for. Any but the faults of our own scripts and keys means that the server cannot serve. */
export function errorOfReply(message: string): CannotServe | CommandRejected {
  const code = codeOf(message);
  const isOurs = rejections.has(code ?? '') || (code === 'ERR' && scriptFault.test(message));
  return isOurs ? new CommandRejected(message) : new CannotServe(message);
}

/** Errors of servers that are not, or no longer, the primary. A new connection to the same name may find the current one. */
const elsewhere = new Set(['READONLY', 'MASTERDOWN', 'NOREPLICAS', 'MOVED']);

/** Whether another server may have taken over from the one that sent this error. */
export function mayHaveMoved(message: string): boolean {
  return elsewhere.has(codeOf(message) ?? '');
}
