/** Passkeys: lists, adds and removes those of the user, and signs in with one. */

import { challengeMs } from '../../lib/accounts/challenges.ts'
import { printCookie, readCookie } from '../../lib/accounts/cookies.ts'
import { newToken } from '../../lib/accounts/random-tokens.ts'
import { GatewayError } from '../../lib/core/errors.ts'
import type { AdminCall } from '../../lib/stages/admin-auth.ts'
import type { Services } from '../../lib/services.ts'
import { audit, notFound, param, principalOf } from './acts.ts'
import { AdminReply, type AdminHandlers } from './handler.ts'
import { currentUser } from './session.ts'
import { noteFailure, signIn } from './sign-in.ts'

export const passkeyHandlers: AdminHandlers<
  | 'GET /admin/v1/passkeys'
  | 'POST /admin/v1/passkeys/options'
  | 'POST /admin/v1/passkeys'
  | 'DELETE /admin/v1/passkeys/:passkey_id'
  | 'POST /admin/v1/sign-in/passkey/options'
  | 'POST /admin/v1/sign-in/passkey'
> = {
  'GET /admin/v1/passkeys': async call => ({
    object: 'list',
    data: await call.admin.accounts.passkeys.list(principalOf(call).id),
    next_cursor: null
  }),

  'POST /admin/v1/passkeys/options': async (call, services) => {
    const { passkeys, challenges } = call.admin.accounts
    const options = await passkeys.creationOptions(await currentUser(call), pageOf(call, services))
    return {
      challenge_id: await challenges.create({
        purpose: 'add_passkey',
        holder: sessionId(call),
        address: null,
        content: options.challenge
      }),
      options
    }
  },

  'POST /admin/v1/passkeys': async (call, services) => {
    const {
      admin: {
        accounts: { passkeys, challenges, sessions }
      },
      request: { challenge_id: id, name, credential }
    } = call
    const challenge = await challenges.take('add_passkey', id, sessionId(call))
    if (challenge === undefined) {
      throw new GatewayError('invalid_value', { param: 'challenge_id', message: usedUp })
    }
    const user = await currentUser(call)
    const added = await passkeys.add({ user, name, challenge, page: pageOf(call, services), credential })
    // The session has ended in the meantime, and its passkeys may have been removed.
    if (await sessions.find(call.credential) === undefined) {
      await passkeys.remove(user.id, added.id)
      throw new GatewayError('invalid_api_key')
    }
    await audit(call, { action: 'passkey.add', subject: added })
    return added
  },

  'DELETE /admin/v1/passkeys/:passkey_id': async call => {
    const removed = await call.admin.accounts.passkeys.remove(principalOf(call).id, param(call, 'passkey_id'))
    if (removed === undefined) throw notFound('passkey_id', 'passkey')
    await audit(call, { action: 'passkey.delete', subject: removed })
    return { id: removed.id, deleted: true }
  },

  'POST /admin/v1/sign-in/passkey/options': async (call, services) => {
    const { admin: { accounts: { passkeys, challenges } }, origin: { address, secure } } = call
    const options = await passkeys.signInOptions(pageOf(call, services))
    const holder = newToken()
    const id = await challenges.create({
      purpose: 'passkey_sign_in',
      holder,
      address,
      content: options.challenge
    })
    return new AdminReply({
      status: 200,
      headers: {
        'set-cookie': printCookie({
          kind: 'sign_in',
          value: holder,
          secure,
          maxAgeSeconds: challengeMs / 1000
        })
      },
      body: JSON.stringify({ challenge_id: id, options })
    })
  },

  'POST /admin/v1/sign-in/passkey': async (call, services) => {
    const {
      admin: {
        accounts: { challenges, passkeys, users }
      },
      origin: { secure },
      request: { challenge_id: id, credential }
    } = call
    const challenge = await challenges.take(
      'passkey_sign_in',
      id,
      readCookie(call.headers, 'sign_in', secure) ?? ''
    )
    if (challenge === undefined) throw new GatewayError('invalid_credentials', { message: usedUp })
    const proof = {
      challenge,
      page: pageOf(call, services),
      isConfigured: services.settings.server.publicUrl !== undefined,
      credential
    }
    const userId = await passkeys.check(proof).catch((error: unknown) => {
      if (error instanceof GatewayError && error.code === 'invalid_credentials') noteFailure(call, 'passkey')
      throw error
    })
    const user = await users.find(userId)
    if (user === undefined || user.disabled_at_ms !== null) {
      noteFailure(call, 'passkey', user)
      throw new GatewayError('invalid_credentials')
    }
    return await signIn(
      call,
      services,
      user,
      { action: 'session.sign_in', subject: user, after: { by: 'passkey' } },
      false
    )
  }
}

const usedUp = 'This sign-in attempt has already been used or has expired. Start again.'

function sessionId (call: AdminCall): string {
  return principalOf(call).session?.id ?? ''
}

/**
 * Returns the origin of the page: `public_url`, or the browser's `Origin`, which `adminAuth` has compared
 * with the URL of the request.
 *
 * @throws GatewayError `invalid_value` if the page's origin differs from `public_url`: its browser would not
 *   use the passkeys there
 */
function pageOf ({ headers, origin }: AdminCall, { settings: { server: { publicUrl } } }: Services): URL {
  const page = new URL(headers.origin ?? origin.url)
  if (publicUrl === undefined || page.origin === new URL(publicUrl).origin) return page
  throw new GatewayError('invalid_value', {
    message: 'Passkeys work only at the address in `server.public_url`. Open the dashboard there.'
  })
}
