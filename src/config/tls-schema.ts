import { z } from 'zod';

const file = z.string().min(1, 'must be the path of a file').meta({ shown: true });

/** TLS on a listener. */
export const tlsSchema = z.strictObject({
  cert_file: file.describe(
    'File with the certificate and those between it and its root, in PEM. Read again when it changes. Paths begin at the folder of the configuration.',
  ),
  key_file: file.describe(
    'File with the private key of the certificate, in PEM, without a passphrase. Read again when it changes.',
  ),
  client_ca_file: file
    .optional()
    .describe(
      'File with authorities in PEM. Only clients with a certificate of one of them may connect; they need a key as well. Read again when it changes.',
    ),
  min_version: z
    .enum(['TLSv1.2', 'TLSv1.3'])
    .default('TLSv1.2')
    .describe('Oldest version of TLS that is accepted. Changes with a restart.'),
});

/** TLS on a listener: the paths of its files, and what clients must speak. */
export type TlsConfig = z.output<typeof tlsSchema>;
