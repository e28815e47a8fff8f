/** Normalises the tool servers of a request: `mcp_servers` has several formats. */

import type { ToolServerSpec, Credential } from '../../schemas/tools.ts'
import type { ChatInput } from './input.ts'

/** One entry of `mcp_servers` with its credentials. */
export interface RequestedServer {
  /** Unique within the request. */
  readonly name: string
  /** Either `slug` or `url` is set; the version is removed from the slug. */
  readonly slug?: string
  readonly version?: string
  readonly url?: string
  readonly headers: Readonly<Record<string, string>>
  /** By connection name, unchanged: sealed values stay sealed. */
  readonly credentials: Readonly<Record<string, unknown>>
  readonly allowedTools?: readonly string[]
}

/** Returns the entries of `mcp_servers`, in order and without duplicates. */
export function requestedServers (
  request: Pick<ChatInput, 'mcp_servers' | 'credentials'>
): RequestedServer[] {
  const { mcp_servers: servers, credentials } = request
  const entries = servers === undefined ? [] : Array.isArray(servers) ? servers : [servers]
  const given = credentials === undefined ? [] : Array.isArray(credentials) ? credentials : [credentials]
  const names = new Set<string>()
  const seen = new Set<string>()
  return entries.flatMap(entry => {
    const spec = typeof entry === 'string' ? parseEntry(entry) : entry
    const fingerprint = JSON.stringify(spec)
    if (seen.has(fingerprint)) return []
    seen.add(fingerprint)
    return [requestedServer(spec, given, names)]
  })
}

function requestedServer (
  spec: ToolServerSpec,
  given: readonly Credential[],
  names: Set<string>
): RequestedServer {
  const { slug, version } = spec.slug == null ? {} : splitSlug(spec.slug)
  const displayName = spec.name ?? slug ?? displayUrl(spec.url ?? '')
  const { authorization } = spec
  return {
    name: unique(displayName, names),
    ...slug !== undefined && { slug },
    ...(spec.version ?? version) && { version: spec.version ?? version ?? '' },
    ...spec.url != null && { url: spec.url },
    headers: {
      ...spec.headers,
      // Usually a bare token; a value with a scheme is sent unchanged.
      ...authorization != null && {
        authorization: /\s/.test(authorization) ? authorization : `Bearer ${authorization}`
      }
    },
    credentials: { ...matching(given, [spec.name, slug, slug?.split('/')[1]]), ...spec.credentials },
    ...spec.allowed_tools != null && { allowedTools: spec.allowed_tools }
  }
}

/** Selects credentials of the request whose connection is one of the server's names. */
function matching (
  given: readonly Credential[],
  names: ReadonlyArray<string | null | undefined>
): Record<string, unknown> {
  const matches = given.filter(({ connection_name: name }) => names.includes(name))
  return Object.fromEntries(matches.map(({ connection_name: name, values }) => [name, values]))
}

function parseEntry (text: string): ToolServerSpec {
  return /^https?:\/\//i.test(text) ? { url: text } : { slug: text }
}

function splitSlug (text: string): { slug: string, version?: string } {
  const [, slug = text, version] = /^([^@]+)@(.+)$/.exec(text) ?? []
  return version === undefined ? { slug } : { slug, version }
}

/** Returns a URL without credentials and query, which may be secret. */
function displayUrl (text: string): string {
  if (!URL.canParse(text)) return 'tool server'
  const { origin, pathname } = new URL(text)
  return `${origin}${pathname === '/' ? '' : pathname}`
}

function unique (name: string, names: Set<string>): string {
  let candidate = name
  for (let count = 2; names.has(candidate); count++) candidate = `${name} (${count})`
  names.add(candidate)
  return candidate
}
