import t from 'tap'
import { cacheTerms, type AnswerCacheSettings } from '../../lib/cache/cache-terms.ts'
import { route, routedCall } from '../support/stages.ts'
import type { ChatInput } from '../../lib/chat/input.ts'

const settings: AnswerCacheSettings = { ttlMs: 60_000, maxBytes: 1, scope: 'key', when: 'always' }

function termsOf (
  request: Partial<ChatInput>,
  header?: string | string[],
  parts: Partial<AnswerCacheSettings> = {},
  route_ = route
): unknown {
  const call = routedCall<ChatInput>(
    { model: 'm', messages: [], ...request },
    { routes: [route_], ...header !== undefined && { headers: { 'cache-control': header } } }
  )
  return cacheTerms(call, { ...settings, ...parts })
}

const all = { maxAgeMs: Infinity, ttlMs: 60_000, namespace: undefined }

t.test('a call sets the maximum age it accepts, and how long its answer may be cached', async t => {
  const cases: ReadonlyArray<
    readonly [request: Partial<ChatInput>, header: string | undefined, terms: unknown]
  > = [
    [{}, undefined, all],
    [{}, 'max-age=10', { ...all, maxAgeMs: 10_000 }],
    [{}, 'private, Max-Age="10"', { ...all, maxAgeMs: 10_000 }],
    [{}, 'max-age=ten', all],
    [{}, 'no-cache', { ...all, maxAgeMs: 0 }],
    [{}, 'max-age=10, no-store', undefined],
    [{ cache: { 's-maxage': 5 } }, 'max-age=10', { ...all, maxAgeMs: 5000 }],
    [{ cache: { ttl: 10 } }, undefined, { ...all, ttlMs: 10_000 }],
    [{ cache: { ttl: 6000 } }, undefined, all],
    [{ cache: { 'no-cache': true, namespace: 'n' } }, undefined, { ...all, maxAgeMs: 0, namespace: 'n' }],
    [{ cache: { 'no-store': true } }, undefined, undefined],
    [{ cache: { 'no-store': false } }, undefined, all],
    [{ cache: false }, undefined, undefined]
  ]
  for (const [request, header, terms] of cases) {
    t.same(termsOf(request, header), terms, JSON.stringify([request, header]))
  }
  t.same(termsOf({}, ['max-age=10', 'no-cache']), { ...all, maxAgeMs: 0 })
})

t.test('a route may opt in for its calls, or make them deterministic', async t => {
  t.same(termsOf({}, undefined, { when: 'asked' }), undefined)
  t.same(termsOf({}, undefined, { when: 'asked' }, { ...route, settings: { cache: true } }), all)
  t.same(
    termsOf({ cache: false }, undefined, { when: 'asked' }, { ...route, settings: { cache: true } }),
    undefined,
    'the request takes precedence'
  )
  t.same(termsOf({}, undefined, { when: 'deterministic' }, { ...route, settings: { temperature: 0 } }), all)
  t.same(
    termsOf(
      { temperature: 0.1 },
      undefined,
      { when: 'deterministic' },
      { ...route, settings: { temperature: 0 } }
    ),
    undefined
  )
})
