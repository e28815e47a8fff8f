/** `cache` of `headgate.yaml`: cached answers. */

import { Type, type Static } from 'typebox'
import { OneOf } from '../nullable.ts'
import { Closed, day, mebibyte, Milliseconds, Section } from './entries.ts'

const AnswerCacheConfig = Closed(
  {
    ttl_ms: Milliseconds(300_000, 'Time for which an answer is reused.', 30 * day),
    max_bytes: Type.Integer({
      minimum: mebibyte,
      maximum: 64 * 1024 * mebibyte,
      default: 256 * mebibyte,
      description:
        'Memory for answers, per process; the least recently used are removed first. With `coordination.url`, answers are in Redis instead, where `ttl_ms` alone bounds them. An answer over a sixteenth of it, or over 2 MiB, is not kept.'
    }),
    scope: OneOf(['key', 'project'], {
      default: 'key',
      description:
        'Which calls share answers: calls of the same key, or of all keys of a project with the same rights.'
    }),
    when: OneOf(['always', 'asked', 'deterministic'], {
      default: 'always',
      description:
        'Which calls use the cache. `always`: all; `asked`: those with `"cache": true` or a map of options; `deterministic`: those with `temperature: 0` or a `seed`.'
    })
  },
  { description: 'Caches answers to identical requests. Default: off.' }
)
export type AnswerCacheConfig = Static<typeof AnswerCacheConfig>

export const CacheConfig = Section(
  { answers: Type.Optional(AnswerCacheConfig) },
  'The answer cache.'
)
