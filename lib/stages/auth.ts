/** Finds out who is calling, before the body is read. */

import { GatewayError } from '../core/errors.ts'
import { map, type Stage } from '../core/stage.ts'
import { extend, type AuthedCall, type Call } from '../core/call.ts'
import type { Services } from '../services.ts'

/**
 * Authenticates a call: one in, the same one with its key out. The key comes as `Authorization: Bearer <key>`,
 * where everything after the first space is the key, or as `X-API-Key`; `Authorization` wins.
 *
 * @throws GatewayError `invalid_api_key` alike for a missing, wrong, disabled or expired key;
 *   `insufficient_permissions` for one that may not use this endpoint
 */
export function auth ({ keys }: Pick<Services, 'keys'>): Stage<Call, AuthedCall> {
  return map(call => {
    const presented = presentedKey(call.headers)
    const key = presented === undefined ? undefined : keys.check(presented)
    if (key === undefined) throw new GatewayError('invalid_api_key')
    call.record.keyId = key.id
    if (key.endpoints !== undefined && !key.endpoints.includes(call.record.endpoint)) {
      throw new GatewayError('insufficient_permissions')
    }
    return extend(call, { key })
  })
}

function presentedKey ({ authorization, 'x-api-key': apiKey }: Call['headers']): string | undefined {
  if (typeof authorization === 'string' && /^bearer /i.test(authorization)) {
    return authorization.slice('bearer '.length)
  }
  return typeof apiKey === 'string' ? apiKey : undefined
}
