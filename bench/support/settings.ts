/** Settings for benchmarks inside one process: the defaults, and one provider that no request reaches. */

import { tmpdir } from 'node:os'
import { loadSettings } from '../../lib/config/read-settings.ts'
import type { Settings } from '../../lib/core/settings.ts'

export const benchKey = 'hg_bench_0123456789abcdef0123456789abcdef'

/** Limits of the key that no lane reaches. */
export const benchLimits = { requests_per_minute: 1_000_000, tokens_per_minute: 1_000_000_000, concurrent_calls: 100_000 }

export function benchSettings (): Settings {
  return loadSettings({
    env: { BENCH_UPSTREAM_KEY: 'sk-mock' },
    cwd: tmpdir(),
    config: {
      server: { workers: 1 },
      limits: { max_share_per_key: 1 },
      providers: {
        mock: { kind: 'openai', base_url: 'http://127.0.0.1:1/v1', api_key: 'env:BENCH_UPSTREAM_KEY', list_models: false },
        sandbox: { enabled: false }
      }
    }
  })
}
