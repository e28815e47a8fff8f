/** How a call may use the cache: `cache-control` of HTTP, and LiteLLM's `cache` in the body. */

import { mergeSettings } from '../chat/merge-settings.ts'
import type { ChatInput } from '../chat/input.ts'
import type { RoutedCall } from '../core/call.ts'
import type { Settings } from '../core/settings.ts'

export type AnswerCacheSettings = NonNullable<Settings['cache']['answers']>

export interface CacheTerms {
  /** Maximum age of a cached answer that the call accepts; 0: none. */
  readonly maxAgeMs: number
  /** How long its answer may be reused; 0: the answer is not cached. */
  readonly ttlMs: number
  /** Separates calls that are otherwise equal. */
  readonly namespace: string | undefined
}

/** Returns the terms of a call; `undefined` if the call does not use the cache. */
export function cacheTerms (
  call: RoutedCall<ChatInput>,
  settings: AnswerCacheSettings
): CacheTerms | undefined {
  const { cache: asked } = mergeSettings(call.request, call.routes[0].settings)
  if (asked === false || !isCachingWanted(call, settings.when, asked)) return undefined
  const options = typeof asked === 'object' ? asked : {}
  const header = directivesOf(call.headers['cache-control'])
  if (header.has('no-store') || options['no-store'] === true) return undefined
  const isNew = header.has('no-cache') || options['no-cache'] === true
  return {
    maxAgeMs: isNew ? 0 : 1000 * Math.min(secondsOf(header.get('max-age')), options['s-maxage'] ?? Infinity),
    ttlMs: Math.min(settings.ttlMs, 1000 * (options.ttl ?? Infinity)),
    namespace: options.namespace
  }
}

function isCachingWanted (
  { request, routes }: RoutedCall<ChatInput>,
  when: AnswerCacheSettings['when'],
  asked: ChatInput['cache']
): boolean {
  switch (when) {
    case 'always': return true
    case 'asked': return asked !== undefined
    case 'deterministic':
      return routes.every(({ settings }) => {
        const { temperature, seed } = mergeSettings(request, settings)
        return temperature === 0 || seed !== undefined
      })
    default: return when satisfies never
  }
}

/** Reads `no-cache, max-age=60`. */
function directivesOf (header: string | string[] | undefined): ReadonlyMap<string, string> {
  if (header === undefined) return new Map()
  return new Map(
    [header].flat().join(',').toLowerCase().split(',').map(directive => {
      const [name = '', value = ''] = directive.split('=', 2)
      return [name.trim(), value.trim().replaceAll('"', '')]
    })
  )
}

/** A value that is not a number is ignored. */
function secondsOf (value: string | undefined): number {
  return value !== undefined && /^\d{1,10}$/.test(value) ? Number(value) : Infinity
}
