/** Signing in and out, and the signed-in user. */

import { Type, type Static } from 'typebox'
import { Email, Id, Milliseconds, Name, OrNull, Password, Request, Role } from './common.ts'

/** GET /admin/v1/sign-in: the ways to sign in. No session is needed. */
export const SignInOptions = Type.Object({
  password: Type.Boolean({ description: 'False while no user has a password.' }),
  passkey: Type.Boolean({ description: 'False while no user has a passkey.' }),
  oidc: OrNull(
    Type.Object({
      name: Type.String(),
      url: Type.String({ description: 'Open it in the browser: `/admin/v1/sign-in/oidc`.' })
    })
  ),
  first_start: Type.Boolean({
    description: 'True while no user can sign in but by the one-time link that the gateway printed.'
  })
})
export type SignInOptions = Static<typeof SignInOptions>

const Token = Type.String({ minLength: 16, maxLength: 256, description: 'The token from the fragment of the link.' })

export const PasswordSignIn = Request({ email: Email, password: Type.String({ maxLength: 256 }) })
export type PasswordSignIn = Static<typeof PasswordSignIn>

export const LinkSignIn = Request({ token: Token })
export type LinkSignIn = Static<typeof LinkSignIn>

export const InvitationSignIn = Request({
  token: Token,
  name: Name,
  email: Type.Optional(
    Type.Union([Email], { description: 'For an invitation without one: it is what people sign in with.' })
  ),
  password: Type.Optional(Password)
})
export type InvitationSignIn = Static<typeof InvitationSignIn>

/**
 * POST /admin/v1/invitation: describes an invitation before it is accepted. The token is in the body, since
 * addresses appear in the logs of proxies.
 */
export const InvitationLink = Request({ token: Token })
export type InvitationLink = Static<typeof InvitationLink>
export const InvitationPreview = Type.Object({
  email: OrNull(Type.String()),
  role: Role,
  invited_by: Type.String(),
  expires_at_ms: Milliseconds
})
export type InvitationPreview = Static<typeof InvitationPreview>

/** GET /admin/v1/session: the signed-in user, and what the page may show. */
export const Session = Type.Object({
  user: Type.Object({ id: Id, name: Type.String(), email: OrNull(Type.String()), role: Role }),
  expires_at_ms: Milliseconds,
  has_password: Type.Boolean(),
  passkeys: Type.Integer({ description: 'Number of passkeys of the user.' }),
  needs_credential: Type.Boolean({
    description: 'True: the page should prompt the user to set a password or add a passkey.'
  }),
  projects: Type.Array(Type.Object({ id: Id, name: Type.String() }), {
    description: 'The projects that the user may see.'
  }),
  version: Type.String(),
  public_url: Type.String({
    description: 'The address of the gateway, for examples: without a slash at its end.'
  }),
  features: Type.Object({
    edit_config: Type.Boolean({
      description: 'True when the configuration may be saved here (`dashboard.edit_config`), by owners.'
    }),
    keep_bodies: Type.Boolean({ description: 'True when bodies of calls are kept for some project.' })
  })
})
export type Session = Static<typeof Session>

/** The answer to a sign-in; the token is nowhere else. */
export const NewSession = Type.Object({
  ...Session.properties,
  csrf_token: Type.String({
    description: 'Send it as `X-Headgate-CSRF` with every request of the session. Given once: keep it.'
  })
})
export type NewSession = Static<typeof NewSession>

/** One sign-in of the user, in the list of sessions. */
export const SignIn = Type.Object({
  id: Id,
  created_at_ms: Milliseconds,
  last_seen_at_ms: Milliseconds,
  expires_at_ms: Milliseconds,
  address: OrNull(Type.String()),
  user_agent: OrNull(Type.String()),
  current: Type.Boolean()
})
export type SignIn = Static<typeof SignIn>

export const ProfileChange = Request({ name: Type.Optional(Name), email: Type.Optional(Email) })
export type ProfileChange = Static<typeof ProfileChange>

/** Sets a password, and ends the other sessions of the user. */
export const PasswordChange = Request({
  current_password: Type.Optional(
    Type.String({
      maxLength: 256,
      description: 'Required when there is one, unless the session began with a one-time link.'
    })
  ),
  new_password: Password,
  email: Type.Optional(
    Type.Union([Email], {
      description: 'Required when the user has none yet: it is what people sign in with.'
    })
  )
})
export type PasswordChange = Static<typeof PasswordChange>
