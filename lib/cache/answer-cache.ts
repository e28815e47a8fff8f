/**
 * A cache of answers: equal requests get the same answer again.
 *
 * Two requests are equal if everything that may change the answer is: the request after the guards have
 * inspected it, the guards it names, its caller, the rights of its key, the models that may answer, and the
 * configuration of providers and guards. An HMAC of all this names the entry and encrypts it.
 */

import { createHmac } from 'node:crypto'
import { callOptionNames } from '../../schemas/call-options.ts'
import { needsSlices } from '../core/request-size.ts'
import { projectIdOf } from '../core/key.ts'
import { cacheTerms, type AnswerCacheSettings, type CacheTerms } from './cache-terms.ts'
import { Flight } from './flight.ts'
import { recordedVersion } from './recorded-answer.ts'
import type { ChatInput } from '../chat/input.ts'
import type { RoutedCall } from '../core/call.ts'
import type { Entries, RequestDigest } from './entries.ts'

export interface AnswerCacheOptions {
  readonly settings: AnswerCacheSettings
  readonly entries: Entries
  /** Known only to the processes that share answers. */
  readonly secret: Buffer
  /** Changes with everything in the configuration that may change an answer, except the routes of a call. */
  readonly configuration: string
}

/** The number of answers of maximum size that the memory must hold. */
const minAnswersInMemory = 16
const maxCharacters = 1024 * 1024

export class AnswerCache {
  readonly #options: AnswerCacheOptions
  readonly #flights = new Map<string, Flight>()

  constructor (options: AnswerCacheOptions) {
    this.#options = options
  }

  /** Maximum characters of a cached answer. */
  get maxLength (): number {
    return Math.min(maxCharacters, Math.floor(this.#options.settings.maxBytes / minAnswersInMemory / 2))
  }

  /** Memory of this process taken by answers. */
  get bytes (): number {
    return this.#options.entries.bytes ?? 0
  }

  /** Returns how a call may use the cache; `undefined` if it may not. */
  termsOf (call: RoutedCall<ChatInput>): CacheTerms | undefined {
    return isCacheable(call) ? cacheTerms(call, this.#options.settings) : undefined
  }

  digestOf (call: RoutedCall<ChatInput>, { namespace }: CacheTerms): RequestDigest {
    const { secret, settings: { scope }, configuration } = this.#options
    const { key, record, routes, headers, query, requestedGuards } = call
    const text = JSON.stringify([
      recordedVersion,
      configuration,
      scope,
      scope === 'key' ? key.id : projectIdOf(key),
      [key.endpoints, key.models, key.mcpServers, key.mcpUrls, key.providerObjects],
      [key.guards, requestedGuards],
      record.endpoint,
      namespace,
      record.request.requestedModel,
      routes.map(({ providerId, model, modelId, traits, settings }) => [
        providerId, model, modelId, traits, settings
      ]),
      providerHeaders(headers),
      query,
      requestOf(call.request, record.endpoint)
    ])
    const digest = createHmac('sha512', secret).update(text).digest()
    return { name: digest.toString('base64url', 0, 32), encryptionKey: digest.subarray(32) }
  }

  get (digest: RequestDigest): string | undefined | Promise<string | undefined> {
    return this.#options.entries.get(digest)
  }

  set (digest: RequestDigest, text: string, ttlMs: number): void {
    this.#options.entries.set(digest, text, ttlMs)
  }

  /** Returns the call in flight whose answer has this digest and form. */
  flight (digest: RequestDigest, streamed: boolean): Flight | undefined {
    return this.#flights.get(flightName(digest, streamed))
  }

  /**
   * Starts a flight that others can wait for; `undefined` if there already is one.
   *
   * @param unreadSinceMs see `Flight`. Default: its caller always reads
   */
  begin (
    digest: RequestDigest, streamed: boolean, unreadSinceMs?: () => number | undefined
  ): Flight | undefined {
    const name = flightName(digest, streamed)
    if (this.#flights.has(name)) return undefined
    const flight = new Flight(unreadSinceMs)
    this.#flights.set(name, flight)
    void flight.ended.then(() => this.#flights.delete(name))
    return flight
  }
}

function flightName ({ name }: RequestDigest, streamed: boolean): string {
  return `${name} ${streamed}`
}

/** Returns false for calls that depend on data kept elsewhere, and for calls too large to compare. */
function isCacheable (call: RoutedCall<ChatInput>): boolean {
  const { request, providerKey, origin, record } = call
  const { mcp_servers: servers = [], store, deferred } = request
  return (
    providerKey === undefined &&
    origin === undefined &&
    [servers].flat().length === 0 &&
    store !== true &&
    deferred !== true &&
    !needsSlices(record.request) &&
    call.media?.() === undefined
  )
}

/** Fields that change only the form of an answer. */
const formFields = new Set(['stream', 'stream_options', ...callOptionNames])
/** The same, and fields that name the caller, which only answers of the Responses API repeat. */
const callerFields = new Set([...formFields, 'user', 'safety_identifier', 'prompt_cache_key', 'metadata'])

function requestOf ({ asWritten, ...request }: ChatInput, endpoint: string): unknown {
  const ignored = endpoint === 'responses' ? formFields : callerFields
  return [without(request, callerFields), asWritten && without(asWritten, ignored)]
}

function without (request: object, names: ReadonlySet<string>): object {
  return Object.fromEntries(Object.entries(request).filter(([name]) => !names.has(name)))
}

/** Headers that may be sent to providers. */
function providerHeaders (headers: RoutedCall<unknown>['headers']): unknown {
  return Object.entries(headers)
    .filter(([name]) => /^(?:x-)?(?:anthropic|openai)-/.test(name))
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
}
