/** Answers requests to unknown paths: names the path that serves the purpose, or the one that was meant. */

import { GatewayError } from '../core/errors.ts'

/**
 * Paths of providers' APIs that clients use and the gateway lacks, with the replacement. The first match
 * counts.
 */
const elsewhere: ReadonlyArray<readonly [path: RegExp, sentence: string]> = [
  [
    /^\/v1\/(?:messages\/)?batches\b/,
    'Batches are not available. Send each request by itself, or with `deferred: true` to POST /v1/chat/completions: xAI supports this for its own models; for all others, the operator must set `deferred.for_all_providers`.'
  ],
  [
    /^\/v1\/(?:files|uploads)\b/,
    'Files are not stored here. Send documents and images within the request, as base64.'
  ],
  [
    /^\/v1\/(?:assistants|threads|conversations|chatkit)\b/,
    'Conversations are kept as responses: use `previous_response_id` of POST /v1/responses.'
  ],
  [
    /^\/v1\/vector_stores\b/,
    'Vector stores are not available. Use POST /v1/embeddings to create vectors for your own store.'
  ],
  [
    /^\/v1\/realtime\b/,
    'Realtime sessions are not available. Use POST /v1/audio/speech and POST /v1/audio/transcriptions.'
  ],
  [
    /^\/v1\/(?:skills|containers|fine_tuning|evals|moderations|videos)\b/,
    'This part of the API is not available. GET /openapi.json lists what is.'
  ],
  [/^\/v1\/complete\b/, 'Text completions of this form are not available. Use POST /v1/messages.']
]

/** Maximum length of a path in a lookup and in an error: no path of the API is longer. */
const maxPathLength = 200

/**
 * Finds the path that a client meant: a path of the API below another base URL, or misspelt by an `s`. One or
 * two lookups for each path.
 */
export class NotFound {
  /** Paths of the API without parameters. */
  readonly #fixed: ReadonlySet<string>
  /** The beginnings of paths with parameters: `/v1/models/`. */
  readonly #beginnings: readonly string[]
  /** The beginnings of other versioned APIs: `/admin/v1/`. */
  readonly #others: readonly string[]

  /** @param paths of all endpoints */
  constructor (paths: readonly string[]) {
    const ofApi = paths.filter(path => path.startsWith('/v1/'))
    this.#fixed = new Set(ofApi.filter(path => !/[:*]/.test(path)))
    this.#beginnings = [...new Set(ofApi.flatMap(path => /^([^:*]+)[:*]/.exec(path)?.[1] ?? []))]
    this.#others = [...new Set(paths.flatMap(path => /^\/(?!v1\/)[^/]+\/v1\//.exec(path) ?? []))]
  }

  /** Returns the error for an unknown path, with the replacement where clients are known to use the path. */
  errorOf (method: string, path: string): GatewayError {
    if (path.length > maxPathLength) {
      return new GatewayError('not_found', {
        message: `Not found: ${method} ${path.slice(0, maxPathLength)}…`
      })
    }
    const hint = this.#hintFor(path)
    return new GatewayError('not_found', {
      message: `Not found: ${method} ${path}.${hint === undefined ? '' : ` ${hint}`}`
    })
  }

  #hintFor (path: string): string | undefined {
    if (this.#others.some(other => path.startsWith(other))) return undefined
    if (/^\/(?:v1\/?)?$/.test(path)) {
      return 'This is the base URL of the API: clients add paths such as `/chat/completions` to it. GET /v1/models lists the models.'
    }
    const twice = this.#servedBefore(path)
    if (twice !== undefined) {
      return `The base URL of the client includes the endpoint path. End it at \`/v1\`; this endpoint is served at \`${twice}\`.`
    }
    const below = path.lastIndexOf('/v1/')
    const meant = below === -1 ? `/v1${path}` : path.slice(below)
    const served = this.#served(meant)
    if (served !== undefined && below === -1) {
      return `\`${served.slice('/v1'.length)}\` is served at \`${served}\`.`
    }
    if (served !== undefined && below > 0) {
      return `The base URL of the client contains extra path segments. Remove them; this endpoint is served at \`${served}\`.`
    }
    const spelt = [`${meant}s`, meant.replace(/s$/, '')].find(candidate => this.#fixed.has(candidate))
    return spelt === undefined
      ? elsewhere.find(([pattern]) => pattern.test(meant))?.[1]
      : `Did you mean \`${spelt}\`?`
  }

  /**
   * Returns the path of the API to which a client has appended another:
   * `/v1/chat/completions/chat/completions`.
   */
  #servedBefore (path: string): string | undefined {
    for (const fixed of this.#fixed) {
      if (path.startsWith(`${fixed}/`) && this.#served(`/v1${path.slice(fixed.length)}`) !== undefined) {
        return this.#served(`/v1${path.slice(fixed.length)}`)
      }
    }
    return undefined
  }

  /** Returns the API's path that serves a request path, with `…` for its parameters. */
  #served (path: string): string | undefined {
    const fixed = path.endsWith('/') ? path.slice(0, -1) : path
    if (this.#fixed.has(fixed)) return fixed
    const beginning = this.#beginnings.find(text => path.startsWith(text))
    return beginning === undefined ? undefined : `${beginning}…`
  }
}
