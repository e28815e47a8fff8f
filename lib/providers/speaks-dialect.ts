import type { DirectDialect } from '../core/events.ts'
import type { Provider } from './provider.ts'

/** Returns true if the provider speaks the caller's dialect and gets requests unchanged. */
export function speaksDialect (
  provider: Provider | undefined,
  dialect: DirectDialect | undefined,
  capability: 'chat' | 'tokenCount' = 'chat'
): boolean {
  if (dialect === undefined || provider?.adapters[capability]?.directDialects?.includes(dialect) !== true) {
    return false
  }
  return dialect !== 'responses' || provider.quirks.responsesApi === true
}
