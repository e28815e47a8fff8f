/** Service tiers, from and to the provider's names. */

import type { ChatInput } from '../../chat/input.ts'
import type { MessagesRequest } from './wire.ts'

/** `default` forces standard pricing; `priority` uses reserved capacity if available. */
const requested: Readonly<Record<string, MessagesRequest['service_tier']>> = {
  auto: 'auto', priority: 'auto', default: 'standard_only', standard_only: 'standard_only'
}
const served: ReadonlyMap<unknown, string> = new Map([
  ['standard', 'default'], ['batch', 'default'], ['priority', 'priority']
])

export function requestedServiceTier (tier: ChatInput['service_tier']): MessagesRequest['service_tier'] {
  return tier === undefined ? undefined : requested[tier]
}

/** Maps the tier that served an answer. */
export function servedServiceTier (tier: unknown): string | undefined {
  return served.get(tier)
}
