/** What a request says of tool servers, in one shape: `mcp_servers` has many. */

import type { ToolServerSpec, Credential } from '../../schemas/tools.ts'
import type { ChatInput } from '../chat/input.ts'

/** One entry of `mcp_servers` with the credentials meant for it. */
export interface RequestedServer {
  /** Unique within the request. */
  readonly name: string
  /** Exactly one of `slug` and `url` is given; a version in the slug has been taken out of it. */
  readonly slug?: string
  readonly version?: string
  readonly url?: string
  readonly headers: Readonly<Record<string, string>>
  /** By connection name, exactly as they came: sealed values stay sealed. */
  readonly credentials: Readonly<Record<string, unknown>>
  readonly allowedTools?: readonly string[]
}

/** The entries of `mcp_servers`, in order; an entry that is there twice counts once. */
export function requestedServers (request: Pick<ChatInput, 'mcp_servers' | 'credentials'>): RequestedServer[] {
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

function requestedServer (spec: ToolServerSpec, given: readonly Credential[], names: Set<string>): RequestedServer {
  const { slug, version } = spec.slug == null ? {} : splitSlug(spec.slug)
  const shown = spec.name ?? slug ?? displayUrl(spec.url ?? '')
  const { authorization } = spec
  return {
    name: unique(shown, names),
    ...(slug === undefined ? {} : { slug }),
    ...(spec.version ?? version ? { version: spec.version ?? version ?? '' } : {}),
    ...(spec.url == null ? {} : { url: spec.url }),
    headers: {
      ...spec.headers,
      // The widely used field holds a bare token; a scheme of the caller's own is left alone.
      ...(authorization == null ? {} : { authorization: /\s/.test(authorization) ? authorization : `Bearer ${authorization}` })
    },
    credentials: { ...matching(given, [spec.name, slug, slug?.split('/')[1]]), ...spec.credentials },
    ...(spec.allowed_tools == null ? {} : { allowedTools: spec.allowed_tools })
  }
}

/** The request-level credentials whose connection is one of the names of a server. */
function matching (given: readonly Credential[], names: ReadonlyArray<string | null | undefined>): Record<string, unknown> {
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

/** Without what could be secret in it. */
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
