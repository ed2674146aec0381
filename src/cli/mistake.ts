/** A command line that cannot be carried out. The message is for its author. */
export class CommandMistake extends Error {
  override readonly name = 'CommandMistake';
}
