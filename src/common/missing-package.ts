const isAbsent = (name: string, { code, message }: NodeJS.ErrnoException): boolean =>
  /^(?:ERR_)?MODULE_NOT_FOUND$/.test(code ?? '') && message.includes(`'${name}'`);

/** In every message about a package that is absent. */
export const notInstalled = 'which is not installed';

/** What to do about an optional package that could not be loaded: one sentence, for after the path of the option that needs it. */
export function missingPackage(name: string, cause: unknown): string {
  const [why] = (cause as Error).message.split('\n');
  return isAbsent(name, cause as Error)
    ? `needs the package ${name}, ${notInstalled}: npm install ${name}`
    : `needs the package ${name}, which cannot be loaded: ${why}`;
}
