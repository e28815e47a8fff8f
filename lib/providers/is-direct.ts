import type { DirectDialect } from '../core/direct-request.ts'
import type { Provider } from './provider.ts'

/** Returns true for a provider that gets requests in the caller's own words. */
export function isDirect (
  provider: Provider | undefined,
  dialect: DirectDialect | undefined,
  capability: 'chat' | 'tokenCount' = 'chat'
): boolean {
  if (dialect === undefined || provider?.adapters[capability]?.directDialects?.includes(dialect) !== true) {
    return false
  }
  return dialect !== 'responses' || provider.quirks.responsesApi === true
}
