import { installCommand, missingPrograms } from './programs.ts';

/** Says at the end how many tests were left out because programs are not installed, and what installs these. */
export default class MissingProgramsReporter {
  onRunComplete(_contexts, { numPendingTests }) {
    const missing = missingPrograms();
    if (numPendingTests === 0 || missing.length === 0) return;
    process.stderr.write(
      `\n${numPendingTests} tests were left out: ${missing.join(', ')} ${missing.length > 1 ? 'are' : 'is'} not installed.\n` +
        `This installs what they need, on Debian and Ubuntu: ${installCommand(missing)}\n`,
    );
  }
}
