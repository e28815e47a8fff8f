/** Converts LiteLLM's cache to `cache.answers`. */

import { amountOf, objectOrEmpty } from './values.ts'
import type { ImportPlan } from './plan.ts'
import { nonEmptyText, type JsonObject } from '../json/type-guards.ts'

/** LiteLLM's caches for equal requests. Its other caches look for similar requests. */
const exactKinds: ReadonlySet<string> = new Set(['local', 'redis'])
const maxTtlMs = 30 * 24 * 60 * 60 * 1000

/** Returns `cache`; `undefined` if there is none for equal requests. */
export function readCache (file: JsonObject, plan: ImportPlan): JsonObject | undefined {
  const settings = objectOrEmpty(file['litellm_settings'])
  if (settings['cache'] !== true) {
    for (const field of ['cache', 'cache_params']) plan.note(`litellm_settings.${field}`, 'exact', 'off')
    return undefined
  }
  const params = objectOrEmpty(settings['cache_params'])
  const kind = nonEmptyText(params['type']) ?? 'local'
  if (!exactKinds.has(kind)) {
    for (const field of ['cache', 'cache_params']) {
      plan.note(`litellm_settings.${field}`, 'unsupported', `${kind}: answers are cached for equal requests only`)
    }
    return undefined
  }
  const difference = '`cache.answers`: within a project, of conversations only'
  plan.note('litellm_settings.cache', 'approximate', difference)
  const path = 'litellm_settings.cache_params'
  const where = kind === 'redis' ? 'in Redis with `coordination.url`, else in memory' : 'in memory'
  plan.note(`${path}.type`, 'exact', where)
  for (const field of ['host', 'port', 'password', 'url', 'ssl', 'username']) {
    plan.note(`${path}.${field}`, 'manual', 'set `coordination.url`')
  }
  plan.note(`${path}.ttl`, 'exact', '`cache.answers.ttl_ms`')
  plan.note(`${path}.mode`, 'exact', '`cache.answers.when`')
  plan.note(`${path}.namespace`, 'exact', 'answers are of a project')
  plan.note(`${path}.supported_call_types`, 'approximate', 'conversations only')
  const seconds = amountOf(params['ttl'])
  return {
    answers: {
      scope: 'project',
      ...seconds !== undefined && seconds > 0 && { ttl_ms: Math.min(maxTtlMs, Math.ceil(seconds * 1000)) },
      ...params['mode'] === 'default_off' && { when: 'asked' }
    }
  }
}
