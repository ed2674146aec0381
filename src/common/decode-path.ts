/** Part of a path without percent-encoding. Text that cannot be decoded, such as `%zz`, stays as it is. */
export function decodePath(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
