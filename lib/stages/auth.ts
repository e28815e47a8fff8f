/** Finds out who is calling, before the body is read. */

import { GatewayError } from '../core/errors.ts'
import { hintOf } from '../keys/key-text.ts'
import { map, type Stage } from '../pipeline/stage.ts'
import { refine, type AuthedCall, type Call } from '../core/call.ts'
import type { ApiKey } from '../core/key.ts'
import type { Services } from '../services.ts'

/**
 * Authenticates a call: one in, the same one with its key out. The key comes as `Authorization: Bearer
 * <key>`, where everything after the first space is the key, or as `X-API-Key`. Some clients fill both: one
 * good key is enough, and `Authorization` wins where both are good.
 *
 * @throws GatewayError `invalid_api_key` alike for a missing, wrong, disabled or expired key;
 *   `insufficient_permissions` for one that may not use this endpoint
 */
export function auth ({
  keys,
  captureBodies,
  recordAnswer
}: Pick<Services, 'keys' | 'captureBodies' | 'recordAnswer'>): Stage<Call, AuthedCall> {
  const check = (presented: string | undefined): ApiKey | undefined =>
    presented === undefined ? undefined : keys.check(presented)
  return map(call => {
    const [first, second] = presentedKeys(call.headers)
    const key = check(first) ?? check(second)
    if (key === undefined) {
      call.record.refusedKey = describeRefused(first)
      throw new GatewayError('invalid_api_key')
    }
    call.record.keyId = key.id
    call.record.keyName = key.name
    call.record.keyCheckedAtMs = performance.now()
    if (key.endpoints !== undefined && !key.endpoints.includes(call.record.endpoint)) {
      throw new GatewayError('insufficient_permissions')
    }
    if (captureBodies !== undefined) call.record.bodies = captureBodies(key, call.record.endpoint)
    return refine(call, { key, recordAnswer })
  })
}

/**
 * Says what was presented, for the log: keys by the characters that lists show of them, and nothing of what
 * may be a key of another service.
 */
function describeRefused (presented: string | undefined): string {
  if (presented === undefined || presented === '') return 'no key'
  if (presented.startsWith('hga_')) return 'an admin key'
  return /^hg_[\w-]{20,}$/.test(presented) ? hintOf(presented) : 'not a gateway key'
}

/** Returns the keys a caller presents, the one that counts first. */
function presentedKeys ({
  authorization,
  'x-api-key': apiKey
}: Call['headers']): ReadonlyArray<string | undefined> {
  const second = typeof apiKey === 'string' ? apiKey : undefined
  if (typeof authorization !== 'string' || !/^bearer /i.test(authorization)) return [second]
  return [authorization.slice('bearer '.length), second]
}
