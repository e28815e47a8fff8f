/**
 * Finds tool servers by slug in a registry with the MCP Registry API.
 *
 * Registry names are reverse-DNS (`io.github.org/name`). Such a slug is looked up directly; the slug
 * `org/name` stands for the only name that equals it or ends with `.org/name`.
 *
 * @see https://github.com/modelcontextprotocol/registry/blob/main/docs/reference/api/openapi.yaml
 */

import { property } from '../json/type-guards.ts'
import type { Dispatcher } from 'undici'
import { ExpiringMap } from '../async/expiring-map.ts'
import { ToolServerFailure } from './failure.ts'
import { loadUndici } from '../net/load-undici.ts'

/** A server's address in a registry, and what to send to it. */
export interface RegisteredServer {
  readonly url: string
  readonly requiredHeaders: readonly string[]
}

const maxBytes = 1024 * 1024
const foundTtlMs = 600_000
/** Short, because a missing server may be published at any time. */
const notFoundTtlMs = 30_000

export class Registry {
  readonly #base: string
  readonly #dispatcher: () => Dispatcher
  readonly #servers = new ExpiringMap<RegisteredServer | ToolServerFailure>(1000)

  /** @param dispatcher for requests to the registry */
  constructor (baseUrl: string, dispatcher: () => Dispatcher) {
    const base = baseUrl.replace(/\/$/, '')
    this.#base = /\/v0(\.\d+)?$/.test(base) ? base : `${base}/v0`
    this.#dispatcher = dispatcher
  }

  /** @throws ToolServerFailure of phase `resolve` */
  async find (slug: string, version: string | undefined, signal: AbortSignal): Promise<RegisteredServer> {
    const key = `${slug}@${version ?? ''}`
    const remembered = this.#servers.get(key)
    if (remembered instanceof ToolServerFailure) throw remembered
    if (remembered !== undefined) return remembered
    try {
      const found = await this.#lookUp(slug, version, signal)
      this.#servers.set(key, found, foundTtlMs)
      return found
    } catch (error) {
      if (signal.aborted) throw error
      if (!(error instanceof ToolServerFailure)) {
        throw new ToolServerFailure('resolve', 'The registry of tool servers could not be reached.', {
          recommendation: 'Try again later, or send the URL of the server.', cause: error
        })
      }
      this.#servers.set(key, error, notFoundTtlMs)
      throw error
    }
  }

  async #lookUp (slug: string, version: string | undefined, signal: AbortSignal): Promise<RegisteredServer> {
    const name = slug.split('/')[0]?.includes('.') === true ? slug : await this.#fullName(slug, signal)
    const found =
      name === undefined
        ? undefined
        : await this.#get(
            `/servers/${encodeURIComponent(name)}/versions/${encodeURIComponent(version ?? 'latest')}`,
            signal
          )
    if (found === undefined) throw notFound(slug, version)
    return remoteOf(found, slug)
  }

  async #fullName (slug: string, signal: AbortSignal): Promise<string | undefined> {
    const listed = await this.#get(
      `/servers?search=${encodeURIComponent(slug)}&version=latest&limit=100`,
      signal
    )
    const names = list(property(listed, 'servers')).map(entry => String(property(serverOf(entry), 'name')))
    if (names.includes(slug)) return slug
    const candidates = [...new Set(names.filter(name => name.endsWith(`.${slug}`)))]
    if (candidates.length < 2) return candidates[0]
    throw new ToolServerFailure('resolve', `Several registered tool servers match \`${slug}\`.`, {
      recommendation: `Use the full name: ${candidates.slice(0, 5).join(', ')}.`
    })
  }

  /** Returns the JSON at a path; `undefined` for 404. */
  async #get (path: string, signal: AbortSignal): Promise<unknown> {
    const { statusCode, body } = await loadUndici().request(`${this.#base}${path}`, {
      dispatcher: this.#dispatcher(),
      signal,
      headers: { accept: 'application/json' }
    })
    if (statusCode === 404) {
      await body.dump()
      return undefined
    }
    const parts: Buffer[] = []
    let bytes = 0
    for await (const part of body as AsyncIterable<Buffer>) { // undici bodies yield buffers
      bytes += part.length
      if (bytes > maxBytes) throw new Error('the answer of the registry is too large')
      parts.push(part)
    }
    if (statusCode !== 200) throw new Error(`the registry responded with HTTP ${statusCode}`)
    return JSON.parse(Buffer.concat(parts).toString()) // three fields are read
  }
}

export function notFound (slug: string, version?: string): ToolServerFailure {
  const name = version === undefined ? slug : `${slug}@${version}`
  return new ToolServerFailure('resolve', `Unknown tool server \`${name}\`.`, {
    recommendation: 'Check the slug, or send the URL of the server.'
  })
}

function remoteOf (answer: unknown, slug: string): RegisteredServer {
  const remotes = list(property(serverOf(answer), 'remotes'))
  const remote =
    remotes.find(entry => typeOf(entry) === 'streamable-http') ??
    remotes.find(entry => typeOf(entry) === 'sse')
  const url = property(remote, 'url')
  if (typeof url !== 'string' || !/^https?:\/\//.test(url) || url.includes('{')) {
    throw new ToolServerFailure('resolve', `The tool server \`${slug}\` has no remote endpoint.`, {
      recommendation: 'Run it yourself and send its URL, or ask the operator to configure it.'
    })
  }
  const requiredHeaders = list(property(remote, 'headers'))
    .filter(
      header => property(header, 'isRequired') === true && typeof property(header, 'value') !== 'string'
    )
    .map(header => String(property(header, 'name')))
  return { url, requiredHeaders }
}

/** Returns the server, which newer registries wrap in `{ server, _meta }`. */
function serverOf (entry: unknown): unknown {
  return property(entry, 'server') ?? entry
}

function typeOf (remote: unknown): unknown {
  return property(remote, 'type') ?? property(remote, 'transport_type')
}

function list (value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}
