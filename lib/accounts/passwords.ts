/**
 * Passwords, as scrypt hashes that include their parameters.
 *
 * A hash takes 32 MiB and some 200 ms of a thread. At most two are computed at a time, so that sign-ins
 * cannot take the memory and threads that calls need.
 *
 * @see https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html#scrypt
 */

import { randomBytes, scrypt, timingSafeEqual, type ScryptOptions } from 'node:crypto'
import { promisify } from 'node:util'
import { Semaphore } from '../async/semaphore.ts'
import { GatewayError } from '../core/errors.ts'
import { isCommonPassword } from './common-passwords.ts'

const derive = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt)
const parameters = { N: 2 ** 15, r: 8, p: 3 }
const keyBytes = 32
const maxWaiting = 20
const semaphore = new Semaphore(2, maxWaiting)

/** @throws GatewayError `invalid_value` for a common password; the schema checks its length */
export function checkPassword (password: string, known: readonly string[]): void {
  if (!isCommonPassword(password, known)) return
  throw new GatewayError('invalid_value', {
    param: 'new_password',
    message: 'This password is easy to guess. Choose one without common words, names and keyboard patterns.'
  })
}

/**
 * Returns the hash to store: `scrypt$32768$8$3$SALT$HASH`.
 *
 * @param owner who waits for it: the network of a stranger, or the id of a user. Owners are served in
 *   rotation
 * @throws GatewayError `overloaded` when too many wait
 */
export async function hashPassword (password: string, owner: string): Promise<string> {
  const salt = randomBytes(16)
  const { N, r, p } = parameters
  const hash = await derived(password, salt, parameters, owner)
  return ['scrypt', N, r, p, salt.toString('base64url'), hash.toString('base64url')].join('$')
}

/**
 * Returns whether a password matches a hash. Without a hash it takes the same time, so that timing does not
 * reveal which users exist.
 *
 * @param owner as for `hashPassword`
 * @throws GatewayError `overloaded` when too many wait
 */
export async function verifyPassword (
  password: string,
  stored: string | undefined,
  owner: string
): Promise<boolean> {
  const [, N, r, p, salt = '', hash = ''] = (stored ?? noPassword).split('$')
  const expected = Buffer.from(hash, 'base64url')
  const cost = { N: Number(N), r: Number(r), p: Number(p) }
  const found = await derived(password, Buffer.from(salt, 'base64url'), cost, owner)
  return timingSafeEqual(found, expected) && stored !== undefined
}

const noPassword = `scrypt$${parameters.N}$${parameters.r}$${parameters.p}$${'A'.repeat(22)}$${'A'.repeat(43)}`

async function derived (
  password: string,
  salt: Buffer,
  { N, r, p }: typeof parameters,
  owner: string
): Promise<Buffer> {
  await new Promise<void>((enter, reject) => {
    semaphore.acquire(
      { enter, refuse: () => reject(tooMany()) },
      owner
    )
  })
  try {
    return await derive(password.normalize('NFKC'), salt, keyBytes, { N, r, p, maxmem: 256 * N * r })
  } finally {
    semaphore.release()
  }
}

function tooMany (): GatewayError {
  return new GatewayError('overloaded', {
    message: 'Too many passwords are being checked. Try again later.', retryAfterSeconds: 5
  })
}
