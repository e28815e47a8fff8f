/**
 * Decides what a caller may use at a provider through the gateway's credential. No other place does: dialects
 * and kinds of requests list what a request uses (`ProviderUse`), and this stage allows or refuses each use.
 */

import { GatewayError } from '../core/errors.ts'
import { budgetsOf } from '../limits/reservation-plan.ts'
import { checkPriced } from '../limits/unpriced.ts'
import { mayNameUrls } from '../mcp/tool-scope.ts'
import { mayUseModel } from '../models/scope.ts'
import { map, type PassThroughStage } from '../pipeline/stage.ts'
import { speaksDialect } from '../providers/speaks-dialect.ts'
import { kinds } from '../providers/kinds.ts'
import { shorten } from '../text/shorten.ts'
import { maxUrlLength } from '../../schemas/url.ts'
import { contextOf, type RoutedCall } from '../core/call.ts'
import type { Route } from '../core/route.ts'
import type { ProviderUse } from '../core/provider-use.ts'
import type { Dialect } from '../dialects/dialect.ts'
import type { Provider } from '../providers/provider.ts'
import type { Services } from '../services.ts'

type UseServices = Pick<Services, 'providers' | 'settings' | 'namedBudgets'>

/**
 * Checks everything a request uses at its provider, besides the chosen model, against the rights of its key:
 * one call in, the same call out. Runs after `routeModel`, since it needs the providers and models.
 *
 * @param usesOf lists what the input uses
 * @param dialect lists what a request in the caller's own dialect uses, which counts where a provider gets it
 *   as written, or may get it from the store later
 * @throws GatewayError `insufficient_permissions` naming the field
 */
export function checkProviderUses<R, C> (
  services: UseServices,
  usesOf: (request: R) => readonly ProviderUse[],
  { direct, stored }: Pick<Dialect<never, C>, 'direct' | 'stored'> = {}
): PassThroughStage<RoutedCall<R>> {
  const { providers, settings } = services
  const hosts: ProviderHosts = new Map(
    settings.providers.map(({ id, kind, baseUrl }) => [id, hostsOf(baseUrl, kinds[kind].baseUrl)])
  )
  return map(<T extends RoutedCall<R>>(call: T): T => {
    for (const use of usesOf(call.request)) new UseCheck(call, { direct: [] }, services, hosts).check(use)
    if (direct === undefined) return call
    const isDirect = ({ providerId }: Route): boolean =>
      speaksDialect(providers.get(providerId), direct.dialect)
    const context: C = contextOf(call)
    const routes = call.routes.filter(isDirect)
    const isOnlyStored = routes.length === 0 && stored?.isStored?.(context) === true
    if (routes.length === 0 && !isOnlyStored) return call
    const uses = new UseCheck(call, { direct: routes, isOnlyStored }, services, hosts)
    for (const use of direct.uses(context)) uses.check(use)
    return call
  })
}

/** Who gets the request as the caller wrote it. */
interface Receivers {
  /**
   * The routes whose providers get it. Other models, servers and tools matter for these only: translations
   * omit them.
   */
  readonly direct: readonly Route[]
  /**
   * True if none gets it now, but another may once the stored response is continued, where stored items are
   * not checked again.
   */
  readonly isOnlyStored?: boolean
}

/** The hosts of each provider, by its id. */
type ProviderHosts = ReadonlyMap<string, readonly string[]>

class UseCheck {
  readonly #call: RoutedCall<unknown>
  readonly #direct: readonly Route[]
  readonly #isOnlyStored: boolean
  readonly #services: UseServices
  readonly #hosts: ProviderHosts

  constructor (
    call: RoutedCall<unknown>,
    { direct, isOnlyStored = false }: Receivers,
    services: UseServices,
    hosts: ProviderHosts
  ) {
    this.#call = call
    this.#direct = direct
    this.#isOnlyStored = isOnlyStored
    this.#services = services
    this.#hosts = hosts
  }

  check (use: ProviderUse): void {
    const { param } = use
    switch (use.kind) {
      case 'object': return this.#checkObject(param)
      case 'address': return this.#checkAddress(use.url, param)
      case 'model': return this.#checkModel(use.name, param, `the model \`${shorten(use.name)}\``)
      case 'default_model': return this.#checkModel('*', param, 'the default model of this tool')
      case 'tool_server': return this.#checkToolServer(param)
      case 'unpriced': return this.#checkUnpriced(param)
      case 'router_field': return this.#checkRouterField(param)
      case 'unknown_tool': return this.#checkUnknownTool(use.name, param)
      default: use satisfies never
    }
  }

  /**
   * Refuses objects in the provider's account: all keys of the gateway share it, so each key could reach
   * objects of the others. A caller with their own account may use everything in it.
   */
  #checkObject (param: string): void {
    const { key, providerKey } = this.#call
    if (providerKey !== undefined || key.providerObjects === true) return
    throw refused(
      `${param}: this API key may not use what is stored in the gateway's account at the provider, such as ` +
        'files, recordings, containers, caches and conversations. Send the content itself, such as a file ' +
        `in base64, ${this.#isOnlyStored ? '`store: false`, ' : ''}or your own key in X-Provider-Key.`,
      param
    )
  }

  /** An address at the provider itself names an object there. */
  #checkAddress (url: string, param: string): void {
    const isOwn = ({ providerId }: Route): boolean => isAt(url, this.#hosts.get(providerId) ?? [])
    if (this.#call.routes.some(isOwn)) this.#checkObject(param)
  }

  /**
   * A later attempt may send the same request to another provider of the dialect.
   *
   * @param name `*` for any model
   */
  #checkModel (name: string, param: string, what: string): void {
    const { key } = this.#call
    if (this.#direct.every(({ providerId }) => mayUseModel(key, `${providerId}/${name}`))) return
    throw refused(
      `This API key may not use ${what}.${name === '*' ? ' Name a model that the key may use, or leave the tool out.' : ''}`,
      param
    )
  }

  #checkToolServer (param: string): void {
    if (this.#direct.length === 0 || mayNameUrls(this.#call.key)) return
    throw refused('This API key may not use tool servers by URL.', param)
  }

  #checkUnpriced (param: string): void {
    const { settings, namedBudgets } = this.#services
    if (this.#direct.length > 0) checkPriced(param, budgetsOf(this.#call, settings, namedBudgets))
  }

  #checkRouterField (param: string): void {
    const { key, routes } = this.#call
    const { providers, settings, namedBudgets } = this.#services
    const isPassedOn = routes.some(({ providerId }) => passesOn(providers.get(providerId), param))
    if (this.#direct.length === 0 && !isPassedOn) return
    checkPriced(param, budgetsOf(this.#call, settings, namedBudgets))
    if (key.models === undefined) return
    throw refused(
      `This API key is limited to certain models, and \`${param}\` may choose another: leave it out.`,
      param
    )
  }

  #checkUnknownTool (name: string, param: string): void {
    if (this.#direct.length === 0) return
    this.#checkUnpriced(param)
    if (this.#call.key.models === undefined) return
    this.#checkModel('*', param, `a tool of the type \`${shorten(name)}\``)
  }
}

/** Returns true if a provider gets a field of chat requests that this gateway does not know. */
function passesOn (provider: Provider | undefined, field: string): boolean {
  return provider?.quirks.extraFields?.includes(field) === true
}

function hostsOf (...baseUrls: ReadonlyArray<string | undefined>): readonly string[] {
  return baseUrls.flatMap(url => url !== undefined && URL.canParse(url) ? [new URL(url).hostname] : [])
}

/**
 * Returns true for an address at one of the hosts, and for one that only the provider could read (`gs://`).
 * An address above the maximum length counts as such without being parsed, which would take a second for some
 * megabytes.
 */
function isAt (url: string, hosts: readonly string[]): boolean {
  if (url.length > maxUrlLength) return true
  if (!URL.canParse(url)) return false
  const { protocol, hostname } = new URL(url)
  return !/^https?:$/.test(protocol) || hosts.includes(hostname.replace(/\.$/, ''))
}

function refused (message: string, param: string): GatewayError {
  return new GatewayError('insufficient_permissions', { message, param })
}
