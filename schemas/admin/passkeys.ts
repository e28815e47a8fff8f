/**
 * Passkeys: the options and results of the browser, in the JSON of the Web Authentication API. Bytes are
 * base64url.
 *
 * @see https://www.w3.org/TR/webauthn-3/#sctn-parseCreationOptionsFromJSON
 */

import { Type, type Static } from 'typebox'
import { Id, Milliseconds, Name, OrNull, Request } from './common.ts'

export const Passkey = Type.Object({
  id: Id,
  name: Type.String(),
  host: Type.String({
    description: 'The name of the gateway where it was made: browsers offer it there only.'
  }),
  created_at_ms: Milliseconds,
  last_used_at_ms: OrNull(Milliseconds)
})
export type Passkey = Static<typeof Passkey>

const Bytes = Type.String({ maxLength: 65_536 })
const PublicKeyType = Type.Literal('public-key')
const Required = Type.Literal('required')
const challengeId = Type.String({
  minLength: 1,
  maxLength: 128,
  description: 'Send it with the answer of the browser: once, within ten minutes.'
})

/** Options for `navigator.credentials.create`. */
export const PasskeyCreation = Type.Object({
  challenge_id: challengeId,
  options: Type.Object({
    challenge: Bytes,
    rp: Type.Object({ id: Type.Optional(Type.String()), name: Type.String() }),
    user: Type.Object({ id: Bytes, name: Type.String(), displayName: Type.String() }),
    pubKeyCredParams: Type.Array(Type.Object({ type: PublicKeyType, alg: Type.Integer() })),
    excludeCredentials: Type.Array(Type.Object({ type: PublicKeyType, id: Bytes })),
    authenticatorSelection: Type.Object({ residentKey: Required, userVerification: Required })
  })
})
export type PasskeyCreation = Static<typeof PasskeyCreation>

/** Options for `navigator.credentials.get`. */
export const PasskeyChallenge = Type.Object({
  challenge_id: challengeId,
  options: Type.Object({ challenge: Bytes, rpId: Type.String(), userVerification: Required })
})
export type PasskeyChallenge = Static<typeof PasskeyChallenge>

const credential = { id: Bytes, rawId: Bytes, type: PublicKeyType, clientExtensionResults: Type.Object({}) }

export const PasskeyRegistration = Request({
  challenge_id: Id,
  name: Name,
  credential: Type.Object({
    ...credential,
    response: Type.Object({ clientDataJSON: Bytes, attestationObject: Bytes })
  })
})
export type PasskeyRegistration = Static<typeof PasskeyRegistration>

export const PasskeySignIn = Request({
  challenge_id: Id,
  credential: Type.Object({
    ...credential,
    response: Type.Object({
      clientDataJSON: Bytes,
      authenticatorData: Bytes,
      signature: Bytes,
      userHandle: Type.Optional(Bytes)
    })
  })
})
export type PasskeySignIn = Static<typeof PasskeySignIn>
