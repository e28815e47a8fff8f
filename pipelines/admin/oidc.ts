/**
 * Sign-in through a provider of OpenID Connect. The browser goes there and comes back, so every answer is a
 * redirect.
 */

import { admitPerson, SignInRefusal } from '../../lib/accounts/admit-person.ts'
import { challengeMs } from '../../lib/accounts/challenges.ts'
import { printCookie, readCookie } from '../../lib/accounts/cookies.ts'
import { beginOidc, finishOidc, type OidcSignIn } from '../../lib/accounts/oidc.ts'
import { newToken } from '../../lib/accounts/random-tokens.ts'
import { GatewayError } from '../../lib/core/errors.ts'
import { noteError } from '../../lib/core/record.ts'
import type { OidcSettings } from '../../lib/core/settings.ts'
import type { Services } from '../../lib/services.ts'
import type { AdminCall } from '../../lib/stages/admin-auth.ts'
import { AdminReply, type AdminHandlers } from './handler.ts'
import { createSession } from './session.ts'
import { noteFailure } from './sign-in.ts'

export const oidcHandlers: AdminHandlers<
  'GET /admin/v1/sign-in/oidc' | 'GET /admin/v1/sign-in/oidc/callback'
> = {
  'GET /admin/v1/sign-in/oidc': async (call, services) => {
    const { admin: { accounts: { challenges } }, origin: { address, secure, url } } = call
    const settings = oidcOf(services)
    const holder = newToken()
    try {
      const location = await beginOidc(
        settings,
        `${url}/admin/v1/sign-in/oidc/callback`,
        async kept =>
          await challenges.create({
            purpose: 'oidc_sign_in',
            holder,
            address,
            content: JSON.stringify(kept)
          })
      )
      return redirect(
        location.href,
        printCookie({ kind: 'sign_in', value: holder, secure, maxAgeSeconds: challengeMs / 1000 })
      )
    } catch (error) {
      return refuse(call, error)
    }
  },

  'GET /admin/v1/sign-in/oidc/callback': async (call, services) => {
    const { admin: { accounts }, origin: { address, secure }, query, search } = call
    const settings = oidcOf(services)
    const state = search.get('state') ?? ''
    const content = await accounts.challenges.take(
      'oidc_sign_in',
      state,
      readCookie(call.headers, 'sign_in', secure) ?? ''
    )
    if (content === undefined) return toPage('expired')
    try {
      const kept = JSON.parse(content) as OidcSignIn // written above
      const user = await admitPerson(
        accounts,
        await finishOidc(settings, kept, query ?? '', state),
        settings,
        address
      )
      const { cookie, csrfToken } = await createSession(call, user, false)
      await accounts.audit.add(
        { id: user.id, name: user.name, address },
        { action: 'session.sign_in', subject: user, after: { by: 'oidc', role: user.role } }
      )
      return redirect(`/dashboard/#/signed-in/${csrfToken}`, cookie)
    } catch (error) {
      noteFailure(call, 'oidc')
      return refuse(call, error)
    }
  }
}

function oidcOf ({ settings: { accounts: { oidc } } }: Services): OidcSettings {
  if (oidc === undefined) throw new GatewayError('not_found')
  return oidc
}

/** Logs why the sign-in failed, which the answer does not reveal. */
function refuse ({ record }: AdminCall, cause: unknown): AdminReply {
  noteError(record.end, new GatewayError('invalid_credentials', { cause }))
  return toPage(cause instanceof SignInRefusal ? cause.reason : 'provider_failed')
}

/** Redirects to the page, which shows a message for the reason. */
function toPage (reason: string): AdminReply {
  return redirect(`/dashboard/?refused=${reason}`)
}

function redirect (location: string, cookie?: string): AdminReply {
  return new AdminReply({
    status: 303,
    headers: {
      location,
      'content-type': 'text/plain; charset=utf-8',
      ...cookie !== undefined && { 'set-cookie': cookie }
    },
    body: ''
  })
}
