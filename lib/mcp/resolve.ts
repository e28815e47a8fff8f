/**
 * From what a caller wants to a server that can be connected to.
 *
 * A slug is looked for in the operator's configuration, then in the registry, if there is one. A
 * URL is the caller's own: nothing of the operator's goes there, even when it is the address of a
 * configured server.
 */

import { createHash } from 'node:crypto'
import { Secret } from '../core/secret.ts'
import { isHeaderSafe } from '../text/header-value.ts'
import { ToolServerFailure } from './failure.ts'
import { notFound, type Registry } from './registry.ts'
import type { ToolServerSettings } from '../core/settings.ts'
import type { LocalServer, RemoteServer, ToolServerTarget } from './tool-server-target.ts'
import type { RequestedServer } from './requested-servers.ts'

/**
 * Credentials by connection name travel to a tool server in this header: base64url of a JSON object
 * from connection name to what the caller sent, sealed text or an object of values, unchanged.
 */
export const credentialsHeader = 'x-mcp-credentials'

export type Resolve = (wanted: RequestedServer, keyId: string, signal: AbortSignal) => Promise<ToolServerTarget>

/** @throws ToolServerFailure of phase `resolve` */
export function createResolve (configured: readonly ToolServerSettings[], registry?: Registry): Resolve {
  const bySlug = new Map(configured.map(server => [server.slug, server]))
  return async (wanted, keyId, signal) => {
    const { slug, version, url } = wanted
    const own = ownHeaders(wanted)
    if (url !== undefined) return target(wanted, remote(url, own, true), keyId)
    if (slug === undefined) throw notFound(wanted.name)
    const settings = bySlug.get(version === undefined ? slug : `${slug}@${version}`) ?? bySlug.get(slug)
    if (settings !== undefined) return configuredTarget(wanted, settings, own, keyId)
    if (registry === undefined) throw notFound(slug, version)
    const { url: found, requiredHeaders } = await registry.find(slug, version, signal)
    const missing = requiredHeaders.filter(name => !(name.toLowerCase() in own))
    if (missing.length > 0) {
      throw new ToolServerFailure('resolve', `The tool server \`${slug}\` needs headers that were not given.`, {
        recommendation: `Send ${missing.join(', ')} in \`headers\` of its entry in \`mcp_servers\`.`
      })
    }
    return target(wanted, remote(found, own, true), keyId)
  }
}

function configuredTarget (
  wanted: RequestedServer, settings: ToolServerSettings, own: Record<string, Secret>, keyId: string
): ToolServerTarget {
  const { url, headers, command, args, env, allowedTools, timeoutMs } = settings
  const theirs = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  const via: RemoteServer | LocalServer = url === undefined
    ? { kind: 'local', command: command ?? '', args, env }
    : remote(url, { ...own, ...theirs }, false) // what the operator set is not the caller's to change
  const callers = via.kind === 'remote' && Object.keys(own).length > 0
  const allowed = intersection(allowedTools, wanted.allowedTools)
  return {
    name: wanted.name,
    sessionKey: sessionKey(via, callers ? keyId : ''),
    via,
    ...(allowed === undefined ? {} : { allowedTools: allowed }),
    ...(timeoutMs === undefined ? {} : { timeoutMs })
  }
}

function target (wanted: RequestedServer, via: RemoteServer, keyId: string): ToolServerTarget {
  const allowed = intersection(wanted.allowedTools)
  return {
    name: wanted.name,
    sessionKey: sessionKey(via, keyId),
    via,
    ...(allowed === undefined ? {} : { allowedTools: allowed })
  }
}

function remote (url: string, headers: Record<string, Secret>, checkAddress: boolean): RemoteServer {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol) || parsed.username !== '' || parsed.password !== '') {
    throw new ToolServerFailure('resolve', 'The URL of the tool server cannot be used.', {
      recommendation: 'Give an http or https URL without user name and password; credentials go into `headers`.'
    })
  }
  return { kind: 'remote', url: parsed.href, headers, checkAddress }
}

/** Headers that belong to the connection or to the protocol, not to whoever uses them. */
const reserved = new Set([
  'host', 'connection', 'content-length', 'content-type', 'accept', 'transfer-encoding', 'upgrade', 'te',
  'trailer', 'expect', 'keep-alive', 'mcp-session-id', 'mcp-protocol-version', 'last-event-id'
])

/** What the caller sends to the server, by lower-case name. */
function ownHeaders ({ headers, credentials }: RequestedServer): Record<string, Secret> {
  const own: Record<string, Secret> = {}
  for (const [given, value] of Object.entries(headers)) {
    const name = given.toLowerCase()
    if (reserved.has(name)) continue
    if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(name) || !isHeaderSafe(value)) {
      throw new ToolServerFailure('resolve', 'A header for the tool server is not valid.', {
        recommendation: 'Remove line breaks and unusual characters from `headers` and `authorization`.'
      })
    }
    own[name] = new Secret(value)
  }
  if (Object.keys(credentials).length > 0) {
    own[credentialsHeader] = new Secret(Buffer.from(JSON.stringify(credentials)).toString('base64url'))
  }
  return own
}

function intersection (...lists: ReadonlyArray<readonly string[] | undefined>): Set<string> | undefined {
  const given = lists.filter(list => list !== undefined)
  const [first, ...rest] = given
  return first === undefined ? undefined : new Set(first.filter(name => rest.every(list => list.includes(name))))
}

function sessionKey (via: RemoteServer | LocalServer, keyId: string): string {
  const secrets = Object.entries(via.kind === 'remote' ? via.headers : via.env)
    .map(([name, value]) => [name, value.reveal()])
    .toSorted(([a = ''], [b = '']) => a < b ? -1 : 1)
  const where = via.kind === 'remote' ? [via.url, via.checkAddress] : [via.command, ...via.args]
  return createHash('sha256').update(JSON.stringify([via.kind, where, secrets, keyId])).digest('base64url')
}
