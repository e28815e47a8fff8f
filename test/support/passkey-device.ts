/**
 * A device with passkeys, made of a key pair and the few bytes of the Web Authentication API around it.
 */

import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import type {
  PasskeyChallenge,
  PasskeyCreation,
  PasskeyRegistration,
  PasskeySignIn
} from '../../schemas/admin/passkeys.ts'

const userPresentAndVerified = 0x05
const withCredential = 0x40

export interface PasskeyDevice {
  /** @param origin the page's origin as seen by the browser */
  readonly create: (options: PasskeyCreation['options'], origin: string) => PasskeyRegistration['credential']
  /** Each proof counts as a use, unless `uses` sets the number to claim. */
  readonly prove: (
    options: PasskeyChallenge['options'],
    origin: string,
    uses?: number
  ) => PasskeySignIn['credential']
}

export function passkeyDevice (): PasskeyDevice {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  // COSE: a key of two coordinates, on P-256, for ES256.
  const coseKey = Buffer.concat([
    Buffer.from('a5010203262001215820', 'hex'),
    Buffer.from(x, 'base64url'),
    Buffer.from('225820', 'hex'),
    Buffer.from(y, 'base64url')
  ])
  const id = randomBytes(32)
  let user = ''
  let counted = 0

  const authenticatorData = (host: string, flags: number, credential = Buffer.alloc(0)): Buffer => {
    const counter = Buffer.alloc(4)
    counter.writeUInt32BE(counted)
    return Buffer.concat([
      createHash('sha256').update(host).digest(),
      Buffer.from([flags]),
      counter,
      credential
    ])
  }
  const credential = {
    id: id.toString('base64url'),
    rawId: id.toString('base64url'),
    type: 'public-key',
    clientExtensionResults: {}
  } as const

  return {
    create ({ challenge, rp, user: { id: userId } }, origin) {
      user = userId
      const attested = Buffer.concat([Buffer.alloc(16), Buffer.from([0, id.length]), id, coseKey])
      const data = authenticatorData(rp.id ?? '', userPresentAndVerified | withCredential, attested)
      const attestationObject = Buffer.concat([
        cborMap(3),
        cborText('fmt'),
        cborText('none'),
        cborText('attStmt'),
        cborMap(0),
        cborText('authData'),
        cborBytes(data)
      ])
      return {
        ...credential,
        response: {
          clientDataJSON: clientData('webauthn.create', challenge, origin),
          attestationObject: attestationObject.toString('base64url')
        }
      }
    },
    prove ({ challenge, rpId }, origin, uses = counted + 1) {
      counted = uses
      const data = authenticatorData(rpId, userPresentAndVerified)
      const clientDataJSON = clientData('webauthn.get', challenge, origin)
      const signed = Buffer.concat([
        data,
        createHash('sha256').update(Buffer.from(clientDataJSON, 'base64url')).digest()
      ])
      return {
        ...credential,
        response: {
          clientDataJSON,
          authenticatorData: data.toString('base64url'),
          signature: sign('sha256', signed, privateKey).toString('base64url'),
          userHandle: user
        }
      }
    }
  }
}

function clientData (type: string, challenge: string, origin: string): string {
  return Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false })).toString('base64url')
}

function cborMap (entries: number): Buffer {
  return Buffer.from([0xa0 + entries])
}

/** @param text of up to 23 bytes */
function cborText (text: string): Buffer {
  return Buffer.concat([Buffer.from([0x60 + text.length]), Buffer.from(text)])
}

/** @param bytes up to 255 of them */
function cborBytes (bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from([0x58, bytes.length]), bytes])
}
