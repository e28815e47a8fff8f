/**
 * Resolves an entry of `mcp_servers` to a server.
 *
 * A slug is looked up in the operator's configuration, then in the registry, if there is one. A URL belongs
 * to the caller: it receives none of the operator's headers, even if it is the address of a configured
 * server.
 */

import { createHash } from 'node:crypto'
import { Secret } from '../core/secret.ts'
import { isOwnHost } from '../net/own-host.ts'
import { isHeaderSafe } from '../text/header-value.ts'
import { ToolServerFailure } from './failure.ts'
import { notFound, type Registry } from './registry.ts'
import type { ToolServerSettings } from '../core/settings.ts'
import type { LocalServer, RemoteServer, ToolServerTarget } from './tool-server-target.ts'
import type { RequestedServer } from '../chat/requested-servers.ts'

/**
 * Sends credentials to a tool server: base64url of a JSON object that maps connection names to the caller's
 * values (sealed strings or objects), unchanged.
 */
const credentialsHeader = 'x-mcp-credentials'

export type Resolve = (
  requested: RequestedServer,
  keyId: string,
  signal: AbortSignal
) => Promise<ToolServerTarget>

/**
 * Returns a function that resolves entries.
 *
 * @throws ToolServerFailure of phase `resolve`
 */
export function createResolve (
  configured: readonly ToolServerSettings[],
  registry?: Pick<Registry, 'find'>
): Resolve {
  const bySlug = new Map(configured.map(server => [server.slug, server]))
  return async (requested, keyId, signal) => {
    const { slug, version, url } = requested
    const callerHeaders = callerHeadersOf(requested)
    if (url !== undefined) return target(requested, remote(url, callerHeaders, true), keyId)
    if (slug === undefined) throw notFound(requested.name)
    const settings = bySlug.get(slug)
    if (settings !== undefined) {
      return {
        ...configuredTarget(requested, settings, callerHeaders, keyId),
        ...version !== undefined && { version }
      }
    }
    if (registry === undefined) throw notFound(slug, version)
    const { url: found, requiredHeaders } = await registry.find(slug, version, signal)
    const missing = requiredHeaders.filter(name => !(name.toLowerCase() in callerHeaders))
    if (missing.length > 0) {
      throw new ToolServerFailure(
        'resolve',
        `The tool server \`${slug}\` requires headers that were not sent.`,
        {
          recommendation: `Send ${missing.join(', ')} in \`headers\` of its entry in \`mcp_servers\`.`
        }
      )
    }
    return target(requested, remote(found, callerHeaders, true), keyId)
  }
}

function configuredTarget (
  requested: RequestedServer,
  settings: ToolServerSettings,
  callerHeaders: Record<string, Secret>,
  keyId: string
): ToolServerTarget {
  const { url, headers, command, args, env, shared, allowedTools, timeoutMs, propagate } = settings
  const operatorHeaders = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])
  )
  const via: RemoteServer | LocalServer =
    url === undefined
      ? { kind: 'command', command: command ?? '', args, env }
      : // callers cannot override the operator's headers
        remote(url, { ...callerHeaders, ...operatorHeaders }, false)
  // A session may hold server-side state, which must not reach other keys.
  const perKey = !shared || (via.kind === 'remote' && Object.keys(callerHeaders).length > 0)
  const allowed = intersection(allowedTools, requested.allowedTools)
  return {
    name: requested.name,
    sessionKey: sessionKey(via, perKey ? keyId : ''),
    ...perKey && { keyId },
    connection: via,
    propagate: propagate ?? (url === undefined || isOwnHost(new URL(url)) ? 'traceparent' : 'none'),
    ...allowed !== undefined && { allowedTools: allowed },
    ...timeoutMs !== undefined && { timeoutMs }
  }
}

function target (requested: RequestedServer, via: RemoteServer, keyId: string): ToolServerTarget {
  const allowed = intersection(requested.allowedTools)
  return {
    name: requested.name,
    sessionKey: sessionKey(via, keyId),
    keyId,
    connection: via,
    ...allowed !== undefined && { allowedTools: allowed }
  }
}

function remote (url: string, headers: Record<string, Secret>, checkAddress: boolean): RemoteServer {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (
    parsed === undefined ||
    !/^https?:$/.test(parsed.protocol) ||
    parsed.username !== '' ||
    parsed.password !== ''
  ) {
    throw new ToolServerFailure('resolve', 'The URL of the tool server is not valid.', {
      recommendation:
        'Send an http or https URL without user name and password; put credentials in `headers`.'
    })
  }
  return { kind: 'remote', url: parsed.href, headers, checkAddress }
}

/** Connection and protocol headers, which callers cannot set. */
const reserved = new Set([
  'host', 'connection', 'content-length', 'content-type', 'accept', 'transfer-encoding', 'upgrade', 'te',
  'trailer', 'expect', 'keep-alive', 'mcp-session-id', 'mcp-protocol-version', 'last-event-id'
])

/** Returns the headers from the caller, by lower-case name. */
function callerHeadersOf ({ headers, credentials }: RequestedServer): Record<string, Secret> {
  const callerHeaders: Record<string, Secret> = {}
  for (const [given, value] of Object.entries(headers)) {
    const name = given.toLowerCase()
    if (reserved.has(name)) continue
    if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(name) || !isHeaderSafe(value)) {
      throw new ToolServerFailure('resolve', 'A header for the tool server is not valid.', {
        recommendation: 'Remove line breaks and other characters that HTTP headers do not allow from `headers` and `authorization`.'
      })
    }
    callerHeaders[name] = new Secret(value)
  }
  if (Object.keys(credentials).length > 0) {
    callerHeaders[credentialsHeader] = new Secret(
      Buffer.from(JSON.stringify(credentials)).toString('base64url')
    )
  }
  return callerHeaders
}

function intersection (...lists: ReadonlyArray<readonly string[] | undefined>): Set<string> | undefined {
  const [first, ...rest] = lists.filter(list => list !== undefined).map(list => new Set(list))
  return first === undefined
    ? undefined
    : new Set([...first].filter(name => rest.every(set => set.has(name))))
}

function sessionKey (via: RemoteServer | LocalServer, keyId: string): string {
  const secrets = Object.entries(via.kind === 'remote' ? via.headers : via.env)
    .map(([name, value]) => [name, value.reveal()])
    .toSorted(([a = ''], [b = '']) => a < b ? -1 : 1)
  const where = via.kind === 'remote' ? [via.url, via.checkAddress] : [via.command, ...via.args]
  return createHash('sha256').update(JSON.stringify([via.kind, where, secrets, keyId])).digest('base64url')
}
