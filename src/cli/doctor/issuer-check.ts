import { type Finding, finding } from '../../common/finding.ts';
import { asObject } from '../../common/json-object.ts';
import { askServer, faultOf } from '../../mount/provider-check/ask-server.ts';
import { refusalOf } from '../../mount/provider-check/list-models.ts';

const { fault, ok } = finding;

/** Reads the description of an OpenID provider, as the first sign-in does. */
export async function checkIssuer(section: string, issuer: string): Promise<Finding[]> {
  const thing = `OpenID issuer of ${section}`;
  const remedy = `check ${section}.oidc.issuer: it is what stands as issuer at its /.well-known/openid-configuration`;
  try {
    const address = `${issuer.replace(/\/+$/, '')}/.well-known/openid-configuration`;
    const { status, text } = await askServer(address, { headers: { accept: 'application/json' } });
    if (status !== 200) return [fault(thing, `${issuer}: ${refusalOf(status, '').message}`, remedy)];
    const { issuer: named } = asObject(JSON.parse(text));
    if (named !== issuer)
      return [fault(thing, `${issuer} names another issuer: ${String(named).slice(0, 200)}`, remedy)];
    return [ok(thing, `${issuer} describes itself`)];
  } catch (thrown) {
    const finding = faultOf(thing, thrown, remedy);
    return [{ ...finding, found: `${issuer}: ${finding.found}` }];
  }
}
