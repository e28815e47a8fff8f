import { objectOf } from '../../json/type-guards.ts'
import type { CacheControl } from './wire.ts'

/**
 * Returns the `cache_control` of a part or a tool, if any. It is not in the chat-completions schema, but
 * clients send it, and nothing else controls the provider's prompt cache.
 */
export function cacheControlOf (marked: object): CacheControl | undefined {
  const mark = objectOf(Reflect.get(marked, 'cache_control'))
  if (mark?.['type'] !== 'ephemeral') return undefined
  const { ttl } = mark
  return ttl === '5m' || ttl === '1h' ? { type: 'ephemeral', ttl } : { type: 'ephemeral' }
}
