/** Limits of keys as the admin API writes them, and as the store has them. */

import type { Static } from 'typebox'
import type { KeyLimitsConfig, KeyLimitsRequest } from '../../schemas/config/keys.ts'
import type { KeyLimits } from '../core/key.ts'

type WireLimits = Static<typeof KeyLimitsConfig>

export function toKeyLimits ({ requests_per_minute, tokens_per_minute, concurrent_calls, budget, strict }: Static<typeof KeyLimitsRequest>): KeyLimits {
  return {
    ...requests_per_minute !== undefined && { requestsPerMinute: requests_per_minute },
    ...tokens_per_minute !== undefined && { tokensPerMinute: tokens_per_minute },
    ...concurrent_calls !== undefined && { concurrentCalls: concurrent_calls },
    ...budget !== undefined && { budget: { per: 'month', ...budget } },
    ...strict !== undefined && { strict }
  }
}

export function fromKeyLimits ({ requestsPerMinute, tokensPerMinute, concurrentCalls, budget, strict }: KeyLimits): WireLimits {
  return {
    ...requestsPerMinute !== undefined && { requests_per_minute: requestsPerMinute },
    ...tokensPerMinute !== undefined && { tokens_per_minute: tokensPerMinute },
    ...concurrentCalls !== undefined && { concurrent_calls: concurrentCalls },
    ...budget !== undefined && { budget },
    ...strict !== undefined && { strict }
  }
}
