/** Asks the browser for a passkey, in the JSON that the server sends and reads. */

import type { Answer, RequestBody } from '../api/client.ts'

/** Browsers keep passkeys for host names, not for IP addresses. */
export const keepsPasskeys =
  isSecureContext && 'PublicKeyCredential' in window && !/^[\d.]+$|:/.test(location.hostname)

/** Returns the proof that the user has one of their passkeys. */
export async function readPasskey (
  options: Answer<'POST /admin/v1/sign-in/passkey/options'>['options']
): Promise<RequestBody<'POST /admin/v1/sign-in/passkey'>['credential']> {
  const credential = toJson(
    await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) })
  )
  if (!('signature' in credential.response)) throw new Error('The browser returned no passkey.')
  return { ...credential, type: 'public-key', response: credential.response }
}

/** Creates a passkey on this device, and returns what the server stores of it. */
export async function createPasskey (
  options: Answer<'POST /admin/v1/passkeys/options'>['options']
): Promise<RequestBody<'POST /admin/v1/passkeys'>['credential']> {
  const credential = toJson(
    await navigator.credentials.create({
      publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options)
    })
  )
  if (!('attestationObject' in credential.response)) throw new Error('The browser returned no passkey.')
  return { ...credential, type: 'public-key', response: credential.response }
}

function toJson (credential: Credential | null): ReturnType<PublicKeyCredential['toJSON']> {
  if (!(credential instanceof PublicKeyCredential)) throw new Error('The browser returned no passkey.')
  return credential.toJSON()
}
