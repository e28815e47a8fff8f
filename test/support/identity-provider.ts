/** An OpenID Connect provider on a free port: `oidc-provider`, with the test's people. */

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'
import type { Test } from 'tap'

export interface TestPerson {
  readonly email?: string
  readonly email_verified?: boolean | string
  readonly name?: string
  readonly groups?: string | readonly string[]
  /** Claims that are kept elsewhere, with the name of the place. */
  readonly _claim_names?: Readonly<Record<string, string>>
  readonly _claim_sources?: Readonly<Record<string, object>>
}

export interface IdentityProvider {
  readonly issuer: string
  /** People by subject. Each change takes effect at the next sign-in. */
  readonly people: Map<string, TestPerson>
  /** Sets who signs in next: nobody types anything there. */
  signsIn: string
  /** Sets the address to which browsers are sent back. */
  readonly allow: (redirectUri: string) => void
}

export const client = { id: 'headgate', secret: 'a secret of the client' }

/** @param authMethod how the client must send its secret */
export async function identityProvider (
  t: Test,
  authMethod: 'client_secret_basic' | 'client_secret_post' = 'client_secret_basic'
): Promise<IdentityProvider> {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => { server.close().closeAllConnections() })
  const { port } = server.address() as AddressInfo // of TCP
  const people = new Map<string, TestPerson>()
  const redirectUris: string[] = []
  const provider = new Provider(`http://127.0.0.1:${port}`, {
    clients: [
      {
        client_id: client.id,
        client_secret: client.secret,
        token_endpoint_auth_method: authMethod,
        redirect_uris: ['https://nowhere.example'],
        scope: 'openid email profile groups'
      }
    ],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'], groups: ['groups'] },
    scopes: ['openid', 'email', 'profile', 'groups'],
    clientAuthMethods: [authMethod],
    pkce: { required: () => true },
    features: { devInteractions: { enabled: false } },
    cookies: { keys: ['a key of the test'] },
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, ...people.get(id) }) }),
    interactions: { url: (_, { uid }) => `/interaction/${uid}` }
  })
  provider.Client.prototype.redirectUriAllowed = uri => redirectUris.includes(uri)
  const place: IdentityProvider = {
    issuer: `http://127.0.0.1:${port}`,
    people,
    signsIn: '',
    allow: uri => {
      redirectUris.push(uri)
    }
  }
  const answer = provider.callback()
  server.on('request', (request, response) => {
    if (authMethod === 'client_secret_post' && request.headers.authorization?.startsWith('Basic ') === true) {
      // `oidc-provider` would take it.
      response.writeHead(401, { 'content-type': 'application/json' }).end('{"error":"invalid_client"}')
      return
    }
    if (request.url?.startsWith('/interaction/') !== true) return void answer(request, response)
    void interact(provider, place, request, response)
  })
  return place
}

/** Signs a person in, and grants the client's request. */
async function interact (
  provider: Provider,
  { signsIn }: IdentityProvider,
  ...[request, response]: Parameters<Provider['interactionDetails']>
): Promise<void> {
  const { prompt, params, grantId } = await provider.interactionDetails(request, response)
  if (prompt.name === 'login') {
    return await provider.interactionFinished(request, response, { login: { accountId: signsIn } })
  }
  const grant =
    (grantId === undefined ? undefined : await provider.Grant.find(grantId)) ??
    new provider.Grant({ accountId: signsIn, clientId: client.id })
  grant.addOIDCScope(String(params['scope']))
  await provider.interactionFinished(
    request,
    response,
    { consent: { grantId: await grant.save() } },
    { mergeWithLastSubmission: true }
  )
}
