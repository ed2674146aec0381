/** A URL with its first host alone, and the others as they stand behind it: `,b:6379,c:6379`. */
export interface SeveralHosts {
  /** The address of the first host. */
  readonly url: URL;
  /** The other hosts. */
  readonly others: string;
}

/** A URL that may name several hosts, as those of clusters do; undefined where it is none. */
export function severalHostsOf(text: string): SeveralHosts | undefined {
  const [, begin = '', others = '', end = ''] =
    /^([a-z+]+:\/\/(?:[^/?#]*@)?[^,/?#]+)((?:,[^,/?#]+)*)(.*)$/s.exec(text) ?? [];
  return URL.canParse(begin + end) ? { url: new URL(begin + end), others } : undefined;
}

/** The whole URL again. */
export const hrefOf = ({ url, others }: SeveralHosts): string =>
  others === '' ? url.href : url.href.replace(url.host, () => url.host + others);
