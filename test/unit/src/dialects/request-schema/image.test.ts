import { describe, expect, it } from '@jest/globals';
import { isImageUrl } from '../../../../../src/dialects/request-schema/image.ts';

describe('the address of an image', () => {
  it.each([
    'https://images.example.com/a.png?size=large',
    'HTTPS://1.1.1.1/a.png',
    'https://[2606:4700:4700::1111]/a.png',
    'data:image/png;base64,iVBORw0KGgo=',
  ])('is accepted as %s', url => {
    expect(isImageUrl(url)).toBe(true);
  });

  it.each([
    'http://images.example.com/a.png',
    'file:///etc/passwd',
    'https://user:secret@images.example.com/a.png',
    'data:text/html;base64,AAAA',
    'data:image/png;base64,<script>',
    'data:image/png,AAAA',
  ])('is refused as %s', url => {
    expect(isImageUrl(url)).toBe(false);
  });

  it.each([
    'https://localhost/a.png',
    'https://vllm:8000/metrics',
    'https://127.0.0.1/a.png',
    'https://0x7f.1/a.png',
    'https://10.0.0.7/a.png',
    'https://169.254.169.254/latest/meta-data',
    'https://[::1]/a.png',
    'https://[::ffff:10.0.0.7]/a.png',
    'https://[fd00::7]/a.png',
    'https://metadata.google.internal/a.png',
    'https://metadata.google.internal./a.png',
    'https://vllm.default.svc.cluster.local/a.png',
  ])("is refused in the upstream's own network, as %s", url => {
    expect(isImageUrl(url)).toBe(false);
  });
});
