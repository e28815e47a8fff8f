/**
 * Checks the key of a call before its body is read, and sets in the record what follows from the key and the
 * endpoint (`core/record-rules`).
 */

import { GatewayError } from '../core/errors.ts'
import { presentedKeys, type ApiKey } from '../core/key.ts'
import { hintOf } from '../keys/key-text.ts'
import { map, type Stage } from '../pipeline/stage.ts'
import { updateCall, type AuthedCall, type Call } from '../core/call.ts'
import type { Services } from '../services.ts'

export interface AuthOptions {
  /** True for an endpoint open to every key, even to a key limited to other endpoints. Default: false. */
  readonly admitsEveryKey?: boolean
}

/**
 * Authenticates a call and adds its key (`presentedKeys` of `core/key` lists the headers). Some clients fill
 * several of them; one valid key is enough.
 *
 * @throws GatewayError `invalid_api_key`, the same for a missing, wrong, revoked or expired key;
 *   `insufficient_permissions` for a key that may not use this endpoint
 */
export function auth (
  { keys, recordRules = {} }: Pick<Services, 'keys' | 'recordRules'>,
  { admitsEveryKey = false }: AuthOptions = {}
): Stage<Call, AuthedCall> {
  const { inspectedEndpoints, hidesCost, ownTags, digestEndUsers, acceptsAnyMetadata, captureBodies } =
    recordRules
  return map(call => {
    const { record } = call
    const presented = presentedKeys(call.headers)
    let key: ApiKey | undefined
    for (const text of presented) key ??= keys.check(text)
    if (key === undefined) {
      record.caller.refusedKey = describeRefused(presented[0])
      throw new GatewayError('invalid_api_key')
    }
    record.caller.keyId = key.id
    record.caller.keyName = key.name
    record.caller.projectName = key.project?.name
    record.times.keyCheckedAtMs = performance.now()
    if (!admitsEveryKey && key.endpoints !== undefined && !key.endpoints.includes(record.endpoint)) {
      throw new GatewayError('insufficient_permissions', {
        message: `This API key may not call the endpoint \`${record.endpoint}\`. Use another key.`
      })
    }
    if (inspectedEndpoints?.has(record.endpoint) === true) record.guards.awaitsInspection = true
    if (hidesCost !== undefined) record.cost.isHidden = hidesCost(key)
    if (ownTags !== undefined) record.caller.tags = ownTags(key)
    if (digestEndUsers !== undefined) record.caller.digestEndUser = digestEndUsers(key)
    if (acceptsAnyMetadata === true) record.caller.acceptsAnyMetadata = true
    if (captureBodies !== undefined) record.bodies = captureBodies(key, record.endpoint, record.trace)
    return updateCall(call, { key })
  })
}

/**
 * Describes the presented key for the log: one of our keys by the characters that lists show, and nothing of
 * what may be the key of another service.
 */
function describeRefused (presented: string | undefined): string {
  if (presented === undefined || presented === '') return 'no key'
  if (presented.startsWith('hga_')) return 'an admin key'
  return /^hg_[\w-]{20,}$/.test(presented) ? hintOf(presented) : 'not a gateway key'
}
