/**
 * Refuses addresses that a server of the operator would fetch from inside their network.
 *
 * A provider on the internet can reach no more than the caller. A server that the operator runs can, so
 * each address it would be sent follows the same rule as those that the gateway fetches itself. A name
 * may resolve differently when the server looks it up: only its own network can exclude that.
 */

import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { abortable } from '../async/abortable.ts'
import { GatewayError } from '../core/errors.ts'
import { map, type PassThroughStage } from '../core/stage.ts'
import { AllowedAddresses, bareHost, isPublicAddress } from '../net/public-address.ts'
import { kinds } from '../providers/kinds.ts'
import { maxUrlLength } from '../../schemas/url.ts'
import type { ChatInput } from '../chat/input.ts'
import type { RoutedCall } from '../core/call.ts'
import type { Settings } from '../core/settings.ts'

/** Names are looked up by few threads, which all calls share. */
const maxNames = 16

export interface CheckAddressesServices {
  readonly settings: Pick<Settings, 'providers'> & { readonly tools: Pick<Settings['tools'], 'allowedHosts'> }
}

/** Returns the addresses of a name. */
export type Resolve = (name: string) => Promise<readonly string[]>

/**
 * Checks addresses: one call in, the same call out; providers on the internet get it as it is.
 *
 * @param resolve default: the resolver of the system
 * @throws GatewayError `invalid_value` naming the part whose address is not public
 */
export function checkAddresses (
  { settings }: CheckAddressesServices, resolve: Resolve = resolveName
): PassThroughStage<RoutedCall<ChatInput>> {
  const allowed = new AllowedAddresses(settings.tools.allowedHosts)
  const providers = new Map(settings.providers.map(provider => [provider.id, provider]))
  const internal = new Map<string, Promise<boolean>>()
  const isInternal = async (id: string): Promise<boolean> => {
    const provider = providers.get(id)
    if (provider === undefined) return false
    const network = kinds[provider.kind].traits?.network
    if (network !== 'by_address') return network === 'internal'
    const known = internal.get(id) ?? isInternalHost(provider.baseUrl, resolve)
    internal.set(id, known)
    return await known
  }

  const check = async <C extends RoutedCall<ChatInput>>(call: C, addresses: readonly NamedAddress[]): Promise<C> => {
    const ids = new Set(call.routes.map(({ providerId }) => providerId))
    const forwarded = await Promise.all([...ids].map(isInternal))
    if (forwarded.includes(true)) await abortable(checkEach(addresses, allowed, resolve), call.signal)
    return call
  }
  return map(<C extends RoutedCall<ChatInput>>(call: C): C | Promise<C> => {
    const addresses = addressesIn(call.request)
    return addresses.length === 0 ? call : check(call, addresses)
  })
}

interface NamedAddress {
  readonly url: string
  readonly param: string
}

/** Returns what the parts of messages ask a server to fetch. */
function addressesIn ({ messages }: ChatInput): NamedAddress[] {
  const found: NamedAddress[] = []
  for (const [index, { role, content }] of messages.entries()) {
    if (role !== 'user' || !Array.isArray(content)) continue
    for (const [position, part] of content.entries()) {
      const param = `messages[${index}].content[${position}]`
      if (part.type === 'image_url') add(part.image_url.url, `${param}.image_url.url`)
      if (part.type === 'file' && typeof part.file.file_data === 'string') add(part.file.file_data, `${param}.file.file_data`)
    }
  }
  return found

  function add (url: string, param: string): void {
    if (isAddress(url)) found.push({ url, param })
  }
}

/** Leaves out data: URLs and bare base64, which hold the bytes themselves. */
function isAddress (text: string): boolean {
  const scheme = /^\s*([a-z][a-z0-9+.-]*):/i.exec(text.slice(0, 64))?.[1]
  return (scheme !== undefined && scheme.toLowerCase() !== 'data') || /^\s*\/\//.test(text.slice(0, 64))
}

async function checkEach (addresses: readonly NamedAddress[], allowed: AllowedAddresses, resolve: Resolve): Promise<void> {
  const names = new Map<string, Promise<readonly string[]>>()
  for (const { url, param } of addresses) {
    if (url.length > maxUrlLength) throw refused(param, `has more than ${maxUrlLength} characters`)
    const parsed = URL.canParse(url) ? new URL(url) : undefined
    if (parsed === undefined || !/^https?:$/.test(parsed.protocol)) throw refused(param, 'is not an http or https URL')
    const { port, protocol } = parsed
    const host = bareHost(parsed.hostname)
    if (allowed.admitsName(host, port, protocol)) continue
    const found = names.get(host) ?? resolve(host)
    names.set(host, found)
    if (names.size > maxNames) throw refused(param, `exceeds the ${maxNames} hosts that one request may name`)
    const resolved = await found.catch(() => [])
    if (resolved.length === 0) throw refused(param, 'cannot be resolved')
    const isAllowed = (address: string): boolean => isPublicAddress(address) || allowed.admit(host, port, protocol, address)
    if (!resolved.every(isAllowed)) throw refused(param, 'is not public')
  }
}

/** Judges the server itself by where it is; one that cannot be resolved may be anywhere. */
async function isInternalHost (baseUrl: string, resolve: Resolve): Promise<boolean> {
  const addresses = await resolve(bareHost(new URL(baseUrl).hostname)).catch(() => [])
  return addresses.length === 0 || !addresses.every(isPublicAddress)
}

async function resolveName (name: string): Promise<readonly string[]> {
  if (isIP(name) !== 0) return [name]
  return (await lookup(name, { all: true })).map(({ address }) => address)
}

function refused (param: string, why: string): GatewayError {
  return new GatewayError('invalid_value', {
    message: `The address at \`${param}\` ${why}. Send the file as a data: URL, or ask the operator to list the host in \`tools.allowed_hosts\`.`,
    param
  })
}
