/** Encrypts texts that are stored where others can read them: AES-256-GCM, with a new nonce each time. */

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

const algorithm = 'aes-256-gcm'
const [ivBytes, tagBytes] = [12, 16]

/**
 * Encrypts a text. The result is base64 and differs each time.
 *
 * @param key 32 bytes
 * @param name what the text belongs to: it cannot be decrypted under another name
 */
export function sealText (text: string, key: Buffer, name: string): string {
  const iv = randomBytes(ivBytes)
  const cipher = createCipheriv(algorithm, key, iv).setAAD(Buffer.from(name))
  return Buffer.concat([iv, cipher.update(text), cipher.final(), cipher.getAuthTag()]).toString('base64')
}

/** Decrypts a text; `undefined` for anything that was not sealed with this key and name. */
export function openText (sealed: string, key: Buffer, name: string): string | undefined {
  const bytes = Buffer.from(sealed, 'base64')
  if (bytes.length < ivBytes + tagBytes) return undefined
  const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, ivBytes)).setAAD(Buffer.from(name))
  decipher.setAuthTag(bytes.subarray(-tagBytes))
  try {
    return decipher.update(bytes.subarray(ivBytes, -tagBytes), undefined, 'utf8') + decipher.final('utf8')
  } catch {
    return undefined // someone else wrote it
  }
}
