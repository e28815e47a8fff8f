import fc from 'fast-check'
import t from 'tap'
import { AnswerCache } from '../../lib/cache/answer-cache.ts'
import { MemoryEntries, SealedEntries, type Entries, type RequestDigest } from '../../lib/cache/entries.ts'
import { CallRecord } from '../../lib/core/record.ts'
import { Secret } from '../../lib/core/secret.ts'
import { holds, holdsAsync } from '../support/property.ts'
import { route, routedCall } from '../support/stages.ts'
import type { AnswerCacheSettings, CacheTerms } from '../../lib/cache/cache-terms.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { RoutedCall } from '../../lib/core/call.ts'
import type { ApiKey } from '../../lib/core/key.ts'

const settings: AnswerCacheSettings = {
  ttlMs: 60_000,
  maxBytes: 16 * 1024 * 1024,
  scope: 'key',
  when: 'always'
}

function cacheOf (
  parts: Partial<AnswerCacheSettings> = {},
  configuration = '',
  secret = Buffer.alloc(32, 1)
): AnswerCache {
  return new AnswerCache({
    settings: { ...settings, ...parts },
    entries: new MemoryEntries(1000),
    secret,
    configuration
  })
}

/** Everything that distinguishes one call from another. */
interface Facts {
  readonly configuration: string
  readonly keyId: string
  readonly guards: readonly string[] | undefined
  readonly requestedGuards: readonly string[] | undefined
  readonly models: readonly string[] | undefined
  readonly endpoints: readonly string[] | undefined
  readonly mcpServers: readonly string[] | undefined
  readonly providerObjects: boolean | undefined
  readonly endpoint: string
  readonly requestedModel: string
  readonly routes: readonly string[]
  readonly temperature: number | undefined
  readonly contents: readonly string[]
  readonly beta: string | undefined
  readonly query: string | undefined
  readonly namespace: string | undefined
  readonly unknown: unknown
  readonly asWritten: string | undefined
}

const word = fc.constantFrom('a', 'b', 'a,b', '["a"]')
const facts: fc.Arbitrary<Facts> = fc.record({
  configuration: word,
  keyId: word,
  guards: fc.option(fc.array(word, { maxLength: 2 }), { nil: undefined }),
  requestedGuards: fc.option(fc.array(word, { maxLength: 2 }), { nil: undefined }),
  models: fc.option(fc.array(word, { maxLength: 2 }), { nil: undefined }),
  endpoints: fc.option(fc.array(word, { maxLength: 2 }), { nil: undefined }),
  mcpServers: fc.option(fc.array(word, { maxLength: 2 }), { nil: undefined }),
  providerObjects: fc.constantFrom(undefined, true, false),
  endpoint: fc.constantFrom('chat', 'messages', 'responses', 'completions'),
  requestedModel: word,
  routes: fc.array(word, { minLength: 1, maxLength: 2 }),
  temperature: fc.constantFrom(undefined, 0, 1),
  contents: fc.array(word, { maxLength: 3 }),
  beta: fc.option(word, { nil: undefined }),
  query: fc.option(word, { nil: undefined }),
  namespace: fc.option(word, { nil: undefined }),
  unknown: fc.option(fc.constantFrom(0, '0', [0], { a: 0 }), { nil: undefined }),
  asWritten: fc.option(word, { nil: undefined })
})

/** Fields that do not affect the answer. */
interface Noise {
  readonly user: string
  readonly safetyIdentifier: string
  readonly promptCacheKey: string
  readonly stream: boolean
  readonly metadata: Record<string, string>
  readonly id: string
}

const noise: fc.Arbitrary<Noise> = fc.record({
  user: word,
  safetyIdentifier: word,
  promptCacheKey: word,
  stream: fc.boolean(),
  metadata: fc.dictionary(word, word),
  id: word
})

function digestOf (given: Facts, noise: Noise): string {
  return cacheOf({}, given.configuration).digestOf(toCall(given, noise), {
    maxAgeMs: Infinity,
    ttlMs: 1,
    namespace: given.namespace
  }).name
}

function toCall (given: Facts, noise: Noise): RoutedCall<ChatInput> {
  const { user, safetyIdentifier, promptCacheKey, stream, metadata, id } = noise
  const {
    configuration: _,
    namespace: _namespace,
    keyId,
    endpoint,
    requestedModel,
    routes,
    temperature,
    contents,
    beta,
    query,
    unknown,
    asWritten,
    requestedGuards,
    ...rights
  } = given
  const [first = '', ...others] = routes
  const record = new CallRecord(endpoint)
  record.request.requestedModel = requestedModel
  const present = Object.fromEntries(Object.entries(rights).filter(([, value]) => value !== undefined))
  const key: ApiKey = { id: keyId, name: 'n', ...present }
  const request = {
    model: 'm',
    messages: contents.map(content => ({ role: 'user' as const, content })),
    user,
    safety_identifier: safetyIdentifier,
    prompt_cache_key: promptCacheKey,
    stream,
    metadata,
    ...temperature !== undefined && { temperature },
    ...unknown !== undefined && { unknown },
    ...asWritten !== undefined && { asWritten: { system: asWritten, stream } }
  }
  return routedCall<ChatInput>(request, {
    id, record, key,
    headers: { 'x-request-id': id, ...beta !== undefined && { 'anthropic-beta': beta } },
    ...query !== undefined && { query },
    ...requestedGuards !== undefined && { requestedGuards },
    routes: [{ ...route, model: first }, ...others.map(model => ({ ...route, model }))]
  })
}

t.test(
  'calls have equal digests exactly when nothing that may change the answer differs',
  async t => {
    holds(
      t,
      fc.property(
        facts,
        noise,
        noise,
        (one, first, second) => digestOf(one, first) === digestOf(one, second)
      )
    )
    holds(
      t,
      fc.property(facts, facts, noise, noise, (one, other, first, second) => {
        const isSame = JSON.stringify(sorted(one)) === JSON.stringify(sorted(other))
        return (digestOf(one, first) === digestOf(other, second)) === isSame
      }),
      { numRuns: 2000 }
    )
    // Random pairs that differ in a single fact are rare, so they are made here.
    holds(
      t,
      fc.property(
        facts,
        facts,
        fc.constantFrom(...(Object.keys(sorted(sample())) as Array<keyof Facts>)),
        noise,
        (one, other, name, any) => {
          const changed = { ...one, [name]: other[name] }
          return (
            (digestOf(one, any) === digestOf(changed, any)) ===
            (JSON.stringify([one[name]]) === JSON.stringify([other[name]]))
          )
        }
      ),
      { numRuns: 3000 }
    )
  }
)

function sample (): Facts {
  const [one] = fc.sample(facts, 1)
  if (one === undefined) throw new Error('no sample')
  return one
}

function sorted (given: Facts): object {
  return Object.fromEntries(
    Object.keys(given)
      .toSorted()
      .map(name => [name, given[name as keyof Facts] ?? null])
  )
}

t.test(
  'an answer is found only by an equal call of the same key, or of the same project if shared',
  async t => {
    const projects = fc.option(word, { nil: undefined })
    const shared = new Map<string, string>()
    const stores: ReadonlyArray<() => Entries> = [
      () => new MemoryEntries(1e6),
      () => new SealedEntries({
        get: async name => shared.get(name),
        set: (name, text) => { shared.set(name, text) }
      })
    ]
    for (const entriesOf of stores) {
      for (const scope of ['key', 'project'] as const) {
        await holdsAsync(
          t,
          fc.asyncProperty(
            facts,
            facts,
            projects,
            projects,
            noise,
            async (one, other, first, second, any) => {
              const cache = new AnswerCache({
                settings: { ...settings, scope },
                entries: entriesOf(),
                secret: Buffer.alloc(32, 1),
                configuration: ''
              })
              const callOf = (given: Facts, project: string | undefined): RoutedCall<ChatInput> => {
                const call = toCall(given, any)
                return {
                  ...call,
                  key: { ...call.key, ...project !== undefined && { project: { id: project, name: 'p' } } }
                }
              }
              const terms = ({ namespace }: Facts): CacheTerms => ({
                maxAgeMs: Infinity,
                ttlMs: 1000,
                namespace
              })
              cache.set(cache.digestOf(callOf(one, first), terms(one)), 'the answer', 1000)
              const found = await cache.get(cache.digestOf(callOf(other, second), terms(other)))
              const own = (
                { configuration: _, keyId, ...given }: Facts,
                project: string | undefined
              ): string =>
                JSON.stringify([
                  sorted({ ...given, keyId: scope === 'key' ? keyId : '', configuration: '' }),
                  scope === 'key' ? null : (project ?? 'default')
                ])
              shared.clear()
              return (
                (found !== undefined) === (own(one, first) === own(other, second)) &&
                (found ?? 'the answer') === 'the answer'
              )
            }
          ),
          { numRuns: 300 }
        )
        // Random pairs that differ in a single fact are rare, so they are made here.
        await holdsAsync(
          t,
          fc.asyncProperty(
            facts,
            facts,
            fc.constantFrom(...(Object.keys(sorted(sample())) as Array<keyof Facts>)),
            noise,
            async (one, other, name, any) => {
              const cache = new AnswerCache({
                settings: { ...settings, scope },
                entries: entriesOf(),
                secret: Buffer.alloc(32, 1),
                configuration: ''
              })
              const changed: Facts = { ...one, [name]: other[name] }
              const digest = (given: Facts): RequestDigest =>
                cache.digestOf(toCall(given, any), {
                  maxAgeMs: Infinity,
                  ttlMs: 1000,
                  namespace: given.namespace
                })
              cache.set(digest(one), 'the answer', 1000)
              const isSame =
                JSON.stringify([one[name]]) === JSON.stringify([changed[name]]) ||
                name === 'configuration' ||
                (name === 'keyId' && scope === 'project')
              const found = await cache.get(digest(changed))
              shared.clear()
              return (found !== undefined) === isSame
            }
          ),
          { numRuns: 500 }
        )
      }
    }
  }
)

t.test('fields of the request that the response repeats are part of the digest', async t => {
  const of = (endpoint: string, metadata: Record<string, string>): string => {
    const call = routedCall<ChatInput>(
      { model: 'm', messages: [], asWritten: { metadata } },
      { record: new CallRecord(endpoint) }
    )
    return cacheOf().digestOf(call, { maxAgeMs: 1, ttlMs: 1, namespace: undefined }).name
  }
  t.not(of('responses', { a: '1' }), of('responses', { a: '2' }))
  t.equal(of('messages', { a: '1' }), of('messages', { a: '2' }))
})

t.test('keys of a project with the same rights share answers, and digests depend on a secret', async t => {
  const named = (cache: AnswerCache, key: ApiKey): string =>
    cache.digestOf(routedCall<ChatInput>({ model: 'm', messages: [] }, { key }), {
      maxAgeMs: 1,
      ttlMs: 1,
      namespace: undefined
    }).name
  const project = { id: 'p', name: 'P' }
  const shared = cacheOf({ scope: 'project' })
  t.equal(named(shared, { id: '1', name: 'a', project }), named(shared, { id: '2', name: 'b', project }))
  t.not(
    named(shared, { id: '1', name: 'a', project }),
    named(shared, { id: '2', name: 'b', project, models: ['m'] })
  )
  t.not(
    named(shared, { id: 'p', name: 'a' }),
    named(cacheOf(), { id: 'p', name: 'a' }),
    'a key with the id of a project'
  )
  t.not(
    named(cacheOf(), { id: '1', name: 'a' }),
    named(cacheOf({}, '', Buffer.alloc(32, 2)), { id: '1', name: 'a' }),
    'another secret'
  )
})

t.test('some calls have no part in it', async t => {
  const of = (request: Partial<ChatInput>, parts: Partial<RoutedCall<ChatInput>> = {}): boolean =>
    cacheOf().termsOf(routedCall<ChatInput>({ model: 'm', messages: [], ...request }, parts)) !== undefined
  t.ok(of({}))
  t.ok(of({ mcp_servers: [] }))
  const large = new CallRecord('chat')
  large.request.bodyBytes = 300_000
  t.notOk(of({}, { record: large }), 'large')
  t.notOk(
    of({}, { media: () => ({ bytesOf: () => undefined, restore: printed => printed }) }),
    'media kept outside the body'
  )
  t.notOk(of({}, { providerKey: new Secret('sk') }), 'a provider key from the caller')
  t.notOk(of({}, { origin: { providerId: 'one', account: 'a' } }), 'state kept at a provider')
  t.notOk(of({ mcp_servers: ['a/b'] }), 'server tools')
  t.notOk(of({ store: true }))
  t.notOk(of({ deferred: true }))
})

t.test('there is one flight per digest and form until it has ended', async t => {
  const cache = cacheOf()
  const digest = { name: 'a', encryptionKey: Buffer.alloc(32) }
  const flight = cache.begin(digest, false)
  t.ok(flight)
  t.equal(cache.begin(digest, false), undefined)
  t.equal(cache.flight(digest, false), flight)
  t.ok(cache.begin(digest, true))
  flight?.end('failed')
  await flight?.ended
  t.equal(cache.flight(digest, false), undefined)
  t.ok(cache.begin(digest, false))
})
