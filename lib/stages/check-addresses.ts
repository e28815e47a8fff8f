/**
 * Refuses addresses that a server of the operator would fetch from inside their network.
 *
 * A provider on the internet can reach no more than the caller can. A server run by the operator can. Each
 * address sent to such a server therefore follows the rule for addresses that the gateway fetches itself. A
 * name may still resolve differently when that server looks it up; only its own network can prevent that.
 */

import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { abortable } from '../async/cancellation.ts'
import { GatewayError } from '../core/errors.ts'
import { map, pass, type PassThroughStage } from '../pipeline/stage.ts'
import { isObject } from '../json/type-guards.ts'
import { AllowedAddresses, bareHost, isPublicAddress } from '../net/public-address.ts'
import { holdsBytes, isWrittenAddress, plainUrl } from '../net/written-address.ts'
import { speaksDialect } from '../providers/speaks-dialect.ts'
import { callerParam } from '../providers/caller-param.ts'
import { kinds } from '../providers/kinds.ts'
import { maxUrlLength } from '../../schemas/url.ts'
import type { ChatInput } from '../chat/input.ts'
import type { RoutedCall } from '../core/call.ts'
import type { Settings } from '../core/settings.ts'
import type { Dialect } from '../dialects/dialect.ts'
import type { Services } from '../services.ts'

/** Few threads resolve names, and all calls share them. */
const maxNames = 16

export interface CheckAddressesServices extends Pick<Services, 'providers'> {
  readonly settings: Pick<Settings, 'providers'> & { readonly tools: Pick<Settings['tools'], 'allowedHosts'> }
}

/** Resolves a name to its addresses. */
export type Resolve = (name: string) => Promise<readonly string[]>

/** An address that a provider may fetch, and its location in the caller's request. */
export interface NamedAddress {
  readonly url: string
  readonly param: string
}

/** What is read here of a request of any kind. */
type AddressedRequest = Pick<ChatInput, 'asWritten'> & { readonly model?: unknown }

/**
 * Checks addresses: one call in, the same call out. Calls to providers on the internet are not checked.
 *
 * @param addressesOf lists the addresses in the input, such as `chatAddresses`
 * @param dialect the caller's own dialect, whose requests some servers get as they were written
 * @param resolve default: the system's resolver
 * @throws GatewayError `invalid_value` naming the part or the field whose address is not public
 */
export function checkAddresses<R extends AddressedRequest, C> (
  { settings, providers }: CheckAddressesServices,
  addressesOf: (request: R) => readonly NamedAddress[],
  { direct }: Pick<Dialect<never, C>, 'direct'> = {},
  resolve: Resolve = resolveName
): PassThroughStage<RoutedCall<R>> {
  const allowed = new AllowedAddresses(settings.tools.allowedHosts)
  const internal = new InternalProviders(settings.providers, resolve)
  if (internal.isNone) return pass
  const getsOwnWords = (id: string): boolean => speaksDialect(providers.get(id), direct?.dialect)

  const check = async <T extends RoutedCall<R>>(
    call: T,
    addresses: readonly NamedAddress[]
  ): Promise<T> => {
    const { request: { asWritten }, routes, signal } = call
    const ids = [...new Set(routes.map(({ providerId }) => providerId))]
    const found = await Promise.all(ids.map(async id => await internal.has(id)))
    const internalIds = ids.filter((_, index) => found[index])
    if (internalIds.length === 0) return call
    const readers = internalIds.filter(getsOwnWords)
    const written = asWritten === undefined || readers.length === 0
      ? []
      : addressesAsWritten(asWritten, readers.some(id => internal.runsOwnSoftware(id)))
    await abortable(checkEach([...addresses, ...written], allowed, resolve), signal)
    return call
  }
  return map(<T extends RoutedCall<R>>(call: T): T | Promise<T> => {
    const { request, routes } = call
    if (!routes.some(({ providerId }) => internal.mayHave(providerId))) return call
    const addresses = addressesOf(request)
    const isChecked =
      addresses.length > 0 ||
      (request.asWritten !== undefined &&
        routes.some(({ providerId }) => internal.mayHave(providerId) && getsOwnWords(providerId)))
    return isChecked ? check(call, addresses) : call
  })
}

/**
 * Servers in a network of the operator: those of a kind that people run themselves, and those at an address
 * of the operator's choice that is not public, whatever their kind.
 */
class InternalProviders {
  readonly #lookups = new Map<string, boolean | Promise<boolean>>()
  /** Providers at another address than that of their kind, which decides, by id. */
  readonly #baseUrls = new Map<string, string>()
  readonly #ownSoftware = new Set<string>()
  readonly #resolve: Resolve

  constructor (providers: Settings['providers'], resolve: Resolve) {
    this.#resolve = resolve
    for (const { id, kind, baseUrl } of providers) {
      const { inProcess, traits, baseUrl: usual } = kinds[kind]
      if (traits?.network === 'internet' || inProcess !== undefined) continue
      if (traits?.network !== undefined) this.#ownSoftware.add(id)
      if (traits?.network === 'internal') this.#lookups.set(id, true)
      else if (baseUrl !== usual) this.#baseUrls.set(id, baseUrl)
    }
  }

  /** Returns true for software that operators run themselves, which may fetch an address from any field. */
  runsOwnSoftware (id: string): boolean {
    return this.#ownSoftware.has(id)
  }

  /** True if every provider is on the internet. */
  get isNone (): boolean {
    return this.#lookups.size === 0 && this.#baseUrls.size === 0
  }

  /** Returns false for a provider known to be on the internet, whose calls need no check. */
  mayHave (id: string): boolean {
    return (this.#lookups.get(id) ?? this.#baseUrls.has(id)) !== false
  }

  async has (id: string): Promise<boolean> {
    const baseUrl = this.#baseUrls.get(id)
    if (baseUrl !== undefined && !this.#lookups.has(id)) this.#lookups.set(id, this.#isOwn(id, baseUrl))
    return await this.#lookups.get(id) ?? false
  }

  /** Decides by the address of the server. A name that cannot be resolved now may be anywhere. */
  async #isOwn (id: string, baseUrl: string): Promise<boolean> {
    const addresses = await this.#resolve(bareHost(new URL(baseUrl).hostname)).catch(() => [])
    const isInternal = addresses.length === 0 || !addresses.every(isPublicAddress)
    if (addresses.length === 0) this.#lookups.delete(id) // the next call looks it up again
    else this.#lookups.set(id, isInternal)
    return isInternal
  }
}

/** Lists the addresses that parts of messages ask a server to fetch. */
export function chatAddresses (request: ChatInput): readonly NamedAddress[] {
  const found: NamedAddress[] = []
  for (const [index, { content }] of request.messages.entries()) {
    if (!Array.isArray(content)) continue
    for (const [position, part] of content.entries()) {
      const param = `messages[${index}].content[${position}]`
      if (part.type === 'image_url') add(part.image_url.url, `${param}.image_url.url`)
      if (part.type === 'file' && typeof part.file.file_data === 'string') {
        add(part.file.file_data, `${param}.file.file_data`)
      }
      if (part.type === 'input_audio') add(part.input_audio.data, `${param}.input_audio.data`)
    }
  }
  return found

  function add (url: string, param: string): void {
    if (!holdsBytes(url)) found.push({ url, param: callerParam(param, { request, quirks: {} }) })
  }
}

/** Fields that describe something or hold content already read; servers fetch nothing that they name. */
const descriptions: ReadonlySet<string> = new Set([
  'parameters',
  'schema',
  'input_schema',
  'input_examples',
  'arguments',
  'metadata',
  'attributes',
  'annotations',
  'citations',
  'action',
  'actions',
  'operation',
  'headers',
  'logprobs'
])

/**
 * Fields whose strings are read by a model or name something; servers fetch none of them. A string in any
 * other field may be an address.
 */
const texts: ReadonlySet<string> = new Set([
  'text',
  'content',
  'input',
  'instructions',
  'output',
  'refusal',
  'summary',
  'thinking',
  'signature',
  'encrypted_content',
  'title',
  'context',
  'description',
  'server_description',
  'definition',
  'code',
  'logs',
  'stdout',
  'stderr',
  'lines',
  'error',
  'error_message',
  'reason',
  'message',
  'query',
  'queries',
  'stop',
  'stop_sequences',
  'id',
  'item_id',
  'call_id',
  'tool_use_id',
  'approval_request_id',
  'previous_response_id',
  'model',
  'name',
  'namespace',
  'type',
  'role',
  'status',
  'filename',
  'server_label',
  'authorization',
  'user',
  'safety_identifier',
  'prompt_cache_key',
  'system'
])

/** By type of block, a field that only records something. In other blocks it may be an address. */
const records: ReadonlyMap<string, string> = new Map([
  ['tool_use', 'input'],
  ['server_tool_use', 'input'],
  ['mcp_tool_use', 'input'],
  ['search_result', 'source'],
  ['web_search_result', 'url'],
  ['web_fetch_result', 'url']
])

/**
 * Lists the addresses in the caller's own request that a server may fetch. The translated conversation may
 * lack items and parts that the server reads.
 *
 * @param readsAnyField false to read only fields of media, whose names are known: agents send many others
 */
function addressesAsWritten (request: object, readsAnyField: boolean): NamedAddress[] {
  const found: NamedAddress[] = []
  const open: Array<readonly [field: string, param: string, value: unknown]> = [['', '', request]]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [field, param, value] = next
    if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) open.push([field, `${param}[${index}]`, item])
    } else if (isObject(value)) {
      // The data of a plain-text document is the text itself.
      const isText = (name: string): boolean => texts.has(name) || (name === 'data' && value.type === 'text')
      const record = typeof value.type === 'string' ? records.get(value.type) : undefined
      for (const [name, member] of Object.entries(value)) {
        if (name === record || descriptions.has(name) || (isText(name) && isStrings(member))) continue
        open.push([name, param === '' ? name : `${param}.${name}`, member])
      }
    } else if (
      typeof value === 'string' &&
      (readsAnyField
        ? holdsMedia(field) ? !holdsBytes(value) : isWrittenAddress(value)
        : holdsMedia(field) && isWrittenAddress(value))
    ) {
      found.push({ url: value, param })
    }
  }
  return found
}

function isStrings (field: unknown): boolean {
  return typeof field === 'string' || (Array.isArray(field) && field.every(item => typeof item === 'string'))
}

/** Includes fields of servers that accept more than OpenAI, such as `video_url`. */
function holdsMedia (field: string): boolean {
  return /^(?:url|data|image|images|audio|video|file)$|_(?:url|urls|data)$/.test(field)
}

async function checkEach (
  addresses: readonly NamedAddress[],
  allowed: AllowedAddresses,
  resolve: Resolve
): Promise<void> {
  const names = new Map<string, readonly string[]>()
  for (const { url, param } of addresses) {
    if (url.length > maxUrlLength) throw refused(param, `has more than ${maxUrlLength} characters`)
    const parsed = plainUrl(url)
    if (parsed === undefined) throw refused(param, 'is not a plain http or https URL')
    const { port, protocol } = parsed
    const host = bareHost(parsed.hostname)
    if (allowed.admitsName(host, port, protocol)) continue
    if (names.size === maxNames && !names.has(host)) {
      throw refused(param, `exceeds the ${maxNames} hosts that one request may name`)
    }
    const resolved = names.get(host) ?? await resolve(host).catch(() => [])
    names.set(host, resolved)
    if (resolved.length === 0) throw refused(param, 'cannot be resolved')
    const isAllowed = (address: string): boolean =>
      isPublicAddress(address) || allowed.admit(host, port, protocol, address)
    if (!resolved.every(isAllowed)) throw refused(param, 'is not public')
  }
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
