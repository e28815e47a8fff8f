/** Asks the browser for a passkey, in the JSON that the server sends and reads. */

/** Returns what proves that the user has one of their passkeys. */
export async function readPasskey (options: Readonly<Record<string, unknown>>): Promise<Record<string, unknown>> {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options as unknown as PublicKeyCredentialRequestOptionsJSON)
  return toJson(await navigator.credentials.get({ publicKey }))
}

/** Makes a passkey on this device, and returns what the server keeps of it. */
export async function createPasskey (options: Readonly<Record<string, unknown>>): Promise<Record<string, unknown>> {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options as unknown as PublicKeyCredentialCreationOptionsJSON)
  return toJson(await navigator.credentials.create({ publicKey }))
}

function toJson (credential: Credential | null): Record<string, unknown> {
  if (!(credential instanceof PublicKeyCredential)) throw new Error('The browser returned no passkey.')
  return { ...credential.toJSON() }
}
