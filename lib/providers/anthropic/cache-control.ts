import { objectOf } from '../../json/guards.ts'
import type { CacheControl } from './wire.ts'

/**
 * Returns the cache mark on a part or a tool, or `undefined`. It is no field of this API's schemas but the
 * only way to use the provider's prompt cache through it, and every client knows it.
 */
export function cacheControlOf (marked: object): CacheControl | undefined {
  const mark = objectOf(Reflect.get(marked, 'cache_control'))
  if (mark?.['type'] !== 'ephemeral') return undefined
  const { ttl } = mark
  return ttl === '5m' || ttl === '1h' ? { type: 'ephemeral', ttl } : { type: 'ephemeral' }
}
