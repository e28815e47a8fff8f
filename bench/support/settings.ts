/** Settings for in-process benchmarks: the defaults, and one provider that no request reaches. */

import { tmpdir } from 'node:os'
import { loadSettings } from '../../lib/config/read-settings.ts'
import type { ApiKey } from '../../lib/core/key.ts'
import type { Settings } from '../../lib/core/settings.ts'

export const benchKey = 'hg_bench_0123456789abcdef0123456789abcdef'

/** Limits of the key that no lane reaches, one of every kind. */
export const benchLimits = {
  requests_per_minute: 1_000_000, tokens_per_minute: 1_000_000_000, concurrent_calls: 100_000,
  budget: { usd: 1_000_000, per: 'month', unpriced: 'allow' }
} as const

/** Prices of models whose calls count in the budget; those of others do not. */
export const benchPrices = {
  'mock/json': { price: { input: 1, output: 2 } },
  'mock/eights': { price: { input: 1, output: 2 } }
}

/** The key with these limits inside a gateway. */
export const benchApiKey: ApiKey = {
  id: 'key-bench',
  name: 'bench',
  limits: {
    requestsPerMinute: benchLimits.requests_per_minute,
    tokensPerMinute: benchLimits.tokens_per_minute,
    concurrentCalls: benchLimits.concurrent_calls,
    budget: benchLimits.budget
  }
}

export function benchSettings (): Settings {
  return loadSettings({
    env: { BENCH_UPSTREAM_KEY: 'sk-mock' },
    cwd: tmpdir(),
    config: {
      server: { workers: 1 },
      limits: { max_share_per_key: 1 },
      providers: {
        mock: {
          kind: 'openai',
          base_url: 'http://127.0.0.1:1/v1',
          api_key: 'env:BENCH_UPSTREAM_KEY',
          list_models: false
        },
        sandbox: { enabled: false }
      },
      models: benchPrices
    }
  })
}
