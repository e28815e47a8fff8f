/**
 * Opens what LiteLLM has encrypted in its database with its salt key, or with the master key where it has
 * none: `encrypt_decrypt_utils.py` of its proxy.
 */

import { createDecipheriv, createHash, hkdfSync } from 'node:crypto'

export interface Decryption {
  /** Returns the text; `undefined` for what was not encrypted with this key. */
  readonly open: (value: string) => string | undefined
  /** What to do about a value that stays closed. */
  readonly advice: string
}

/** Opens a box of NaCl: XSalsa20 and Poly1305, which Node.js does not have. */
type OpenBox = (box: Uint8Array, nonce: Uint8Array, key: Uint8Array) => Uint8Array | null

interface Scheme {
  /** Before the text in base64url. */
  readonly mark: string
  readonly keyOf: (saltKey: string) => Buffer
}

const sha256 = (saltKey: string): Buffer => createHash('sha256').update(saltKey).digest()

/** AES-256-GCM: nonce (12 bytes), text, tag (16). */
const gcmSchemes: readonly Scheme[] = [
  {
    mark: 'v3:gcm:',
    keyOf: saltKey => Buffer.from(hkdfSync('sha256', saltKey, '', 'litellm-at-rest-v3', 32))
  },
  { mark: 'v2:gcm:', keyOf: sha256 }
]

const gcmNonceBytes = 12
const gcmTagBytes = 16
const boxNonceBytes = 24
const boxTagBytes = 16

/**
 * @param saltKey the empty text opens nothing
 * @param openBox absent where `tweetnacl` is not installed: values of its scheme stay closed
 */
export function decryption (saltKey: string, openBox: OpenBox | undefined): Decryption {
  const setKey = 'set LITELLM_SALT_KEY to the key that it was encrypted with'
  const advice = saltKey !== '' && openBox === undefined ? '`npm install tweetnacl`, which opens it' : setKey
  return { advice, open: value => saltKey === '' ? undefined : opened(value, saltKey, openBox) }
}

function opened (value: string, saltKey: string, openBox: OpenBox | undefined): string | undefined {
  const scheme = gcmSchemes.find(({ mark }) => value.startsWith(mark))
  try {
    return scheme === undefined
      ? openBox && openedBox(openBox, decoded(value), sha256(saltKey))
      : openedGcm(decoded(value.slice(scheme.mark.length)), scheme.keyOf(saltKey))
  } catch {
    return undefined // of another key, or not encrypted
  }
}

/** Returns true for a value that LiteLLM may have encrypted, by its form. */
export function looksEncrypted (value: string): boolean {
  if (gcmSchemes.some(({ mark }) => value.startsWith(mark))) return true
  const isBase64 = /^[\w+/-]+={0,2}$/.test(value) && value.length % 4 === 0
  return isBase64 && decoded(value).length >= boxNonceBytes + boxTagBytes
}

/** Loads the package that opens boxes; `undefined` where it is not installed. */
export async function loadOpenBox (): Promise<OpenBox | undefined> {
  try {
    const { default: { secretbox } } = await import('tweetnacl')
    return (box, nonce, key) => secretbox.open(box, nonce, key)
  } catch {
    return undefined
  }
}

function decoded (text: string): Buffer {
  return Buffer.from(text, 'base64url')
}

function openedBox (openBox: OpenBox, sealed: Buffer, key: Buffer): string | undefined {
  if (sealed.length < boxNonceBytes + boxTagBytes) return undefined
  const text = openBox(sealed.subarray(boxNonceBytes), sealed.subarray(0, boxNonceBytes), key)
  return text === null ? undefined : Buffer.from(text).toString('utf8')
}

/** @throws for another key or a changed text */
function openedGcm (sealed: Buffer, key: Buffer): string {
  const tagFrom = sealed.length - gcmTagBytes
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, gcmNonceBytes))
  decipher.setAuthTag(sealed.subarray(tagFrom))
  const text = decipher.update(sealed.subarray(gcmNonceBytes, tagFrom))
  return Buffer.concat([text, decipher.final()]).toString('utf8')
}
